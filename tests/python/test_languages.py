"""Modules in other languages than C join, and read what Python sets."""

import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

import pytest
from joining import python
from support import (
    CC,
    CXX,
    INCLUDE,
    ROOT,
    build_plugin,
    build_program,
    package,
    run,
    tool,
    write,
    zig,
)

pytestmark = pytest.mark.release  # needs other compilers

EXAMPLES = ROOT / "examples" / "languages"
TEMPLATES = ROOT / "paddle_flags" / "_new" / "templates"
PYTHON_H = f"-I{sysconfig.get_path('include')}"
EXTENSION = [PYTHON_H, f"-I{INCLUDE}", "-O1", "-shared", "-fPIC", "-fvisibility=hidden"]


def build_cython(out: Path) -> None:
    package("Cython", "cython")
    source = out.with_suffix(".c")
    run(sys.executable, "-m", "cython", EXAMPLES / "cython" / "counter.pyx", "-o", source)
    run(*CC, *EXTENSION, source, "-o", out)


def build_cpp(out: Path) -> None:
    run(*CXX, "-std=c++11", *EXTENSION, EXAMPLES / "cpp" / "sampler.cpp", "-o", out)


def build_pybind11(out: Path) -> None:
    headers = f"-I{package('pybind11').get_include()}"
    source = EXAMPLES / "pybind11" / "tracer.cpp"
    run(*CXX, "-std=c++17", *EXTENSION, headers, source, "-o", out)


def build_nanobind(out: Path) -> None:
    nanobind = package("nanobind")
    place = Path(nanobind.source_dir())
    headers = [f"-I{nanobind.include_dir()}", f"-I{place.parent / 'ext/robin_map/include'}"]
    sources = [EXAMPLES / "nanobind" / "planner.cpp", place / "nb_combined.cpp"]
    run(*CXX, "-std=c++17", "-fno-strict-aliasing", *EXTENSION, *headers, *sources, "-o", out)


def build_rust(out: Path, name: str = "scanner") -> None:
    source = EXAMPLES / "rust" / f"{name}.rs"
    rustc = [tool("rustc"), "--edition", "2021", "--crate-type", "cdylib", "-O", "-Dwarnings"]
    run(*rustc, source, "-o", out)


def build_zig(out: Path, name: str = "mixer") -> None:
    source = EXAMPLES / "zig" / f"{name}.zig"
    record = TEMPLATES / "zig" / "pd_flags.zig"
    library = ["build-lib", "-dynamic", "-lc", "-fPIC", "-OReleaseSmall", f"-femit-bin={out}"]
    modules = ["--dep", "pd_flags", f"-Mroot={source}", f"-Mpd_flags={record}"]
    run(*zig(), *library, *modules, cwd=out.parent)


class Example(NamedTuple):
    name: str
    number: str
    text: str
    defaults: str
    values: str


LANGUAGES = {
    build_cpp: Example("sampler", "cpp_points", "cpp_scale", "32 linear", "64 log"),
    build_cython: Example("counter", "cython_limit", "cython_unit", "100 word", "7 line"),
    build_pybind11: Example("tracer", "pybind_depth", "pybind_style", "8 tree", "9 list"),
    build_nanobind: Example("planner", "nanobind_steps", "nanobind_order", "12 depth", "3 breadth"),
    build_rust: Example("scanner", "rust_depth", "rust_format", "4 text", "64 json"),
    build_zig: Example("mixer", "zig_gain", "zig_device", "5 default", "11 loud"),
}

# Words: how the module comes, its path, the flags, the values to set.
SCRIPT = """
import ctypes, importlib.machinery, importlib.util, sys

how, path, number, text, new_number, new_text = sys.argv[1:]

class Library:
    def __init__(self):
        self.image = ctypes.CDLL(path)
        self.image.text.restype = ctypes.c_char_p
    def number(self): return self.image.number()
    def text(self): return self.image.text().decode()

def bring():
    if path.endswith(".plain.so"): return Library()
    name = path.split("/")[-1].split(".")[0]
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_loader(name, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module

if how == "module first": module = bring()
import paddle_flags as pf
if how == "load_plugin": pf.load_plugin(path)
if how != "module first": module = bring()
print(module.number(), module.text())
print(pf.FLAGS[number].value, pf.FLAGS[text].value)
pf.FLAGS.update({number: int(new_number), text: new_text})
print(module.number(), module.text())
try:
    pf.FLAGS[number].value = -1
except pf.FlagValueError as error:
    print(error)
"""


@pytest.fixture(scope="module", params=list(LANGUAGES), ids=lambda build: build.__name__[6:])
def built(request, tmp_path_factory):
    """Give an example and the path of its module."""
    example = LANGUAGES[request.param]
    library = request.param in (build_cpp, build_rust, build_zig)
    suffix = ".plain.so" if library else sysconfig.get_config_var("EXT_SUFFIX")
    out = tmp_path_factory.mktemp(example.name) / f"{example.name}{suffix}"
    request.param(out)
    return example, out


@pytest.mark.parametrize("how", ["registry first", "module first", "load_plugin"])
def test_a_module_in_another_language_reads_what_python_sets(how, built):
    example, out = built
    said = python(SCRIPT, how, out, example.number, example.text, *example.values.split())
    assert said[:3] == [example.defaults, example.defaults, example.values]
    assert said[3].startswith(f"{example.number}=-1: expected an integer ")


def test_a_module_in_another_language_links_nothing_of_ours(built):
    _, out = built
    needed = run(tool("readelf", "binutils"), "-dW", out).stdout
    assert "libpd_flags" not in needed


# What the filters in Rust and Zig need, and another implementation of theirs.
OTHER = """
#include <pd_flags.h>
#define EXPORT __attribute__((visibility("default")))
static int more(double *values, size_t count) {
  values[0] += 1;
  return (int)count;
}
static double nothing(double x, int32_t width) { return x * 0 + width; }
static double in_c(double x, int32_t width) { return x + width; }
PD_DEFINE_OP(sharpen, int, (double *, size_t), more, "Make it sharper");
PD_IMPORT_SCOPED_OP(WHICH_smooth, double, (double, int32_t), nothing);
PD_IMPL(WHICH_smooth, in_c, in_c);
EXPORT double smooth(double x);
EXPORT double smooth(double x) { return PD_SCOPED_CALL(WHICH_smooth)(x, 49); }
EXPORT double sharpen(double x);
EXPORT double sharpen(double x) { return PD_CALL(sharpen)(&x, 1) * x; }
"""
# Words: the order, the paths of the filter and of the other module, the prefix of the names.
OPERATES = """
import ctypes, sys
order, filter_path, other_path, prefix = sys.argv[1:]

def bring(path):
    image = ctypes.CDLL(path)
    for name in ("smooth", "sharpen"):
        function = getattr(image, name)
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double]
    return image

if order == "registry last":
    first = bring(filter_path)
    print(first.width(), first.smooth(6.0), first.sharpen(6.0))
import paddle_flags as pf
if order == "other first": other = bring(other_path)
first = bring(filter_path)
if order != "other first": other = bring(other_path)

def say():
    print(first.width(), first.smooth(49.0), other.smooth(49.0),
          first.sharpen(6.0), other.sharpen(6.0))

with pf.scoped({f"{prefix}_width": 49}):
    say()
    with pf.scoped({f"impl.{prefix}_smooth": ["in_c"]}):
        say()
    for choice in ("in_c", "native", "*"):
        pf.FLAGS.update({f"impl.{prefix}_smooth": [choice], "impl.sharpen": ["twice"]})
        say()
pf.FLAGS["impl.sharpen"].value = ["native"]
pf.FLAGS[f"{prefix}_width"].value = 7
say()
"""


@pytest.mark.parametrize("order", ["registry first", "registry last", "other first"])
@pytest.mark.parametrize(("build", "prefix"), [(build_rust, "rust"), (build_zig, "zig")])
def test_operations_and_scoped_flags_of_another_language_work_with_those_of_c(
    order, build, prefix, tmp_path
):
    build(tmp_path / "filter.so", "filter")
    source = write(tmp_path / "other.c", OTHER.replace("WHICH", prefix))
    other = build_plugin(tmp_path / "other.so", source)
    said = python(OPERATES, order, tmp_path / "filter.so", other, prefix)
    if order == "registry last":
        assert said.pop(0) == "3 2.0 -6.0"  # its own, and its fallback
    rounded_twice = 49 * (1 / 49)
    best = "7.0" if order == "other first" else "12.0"  # of the same rank, the first one
    assert said == [
        f"49 {rounded_twice} {rounded_twice} {best} {best}",
        f"49 98.0 98.0 {best} {best}",
        "49 98.0 98.0 12.0 12.0",
        "49 1.0 1.0 12.0 12.0",
        f"49 {rounded_twice} {rounded_twice} 12.0 12.0",
        f"7 7.0 {rounded_twice} 7.0 7.0",
    ]


# One function of many types, as tests/c/test_op_codes.c has it, and its codes.
CODES = [10, 78, 46, 67, 33, 65, 2, 10, 11, 13, 12, 36, 69, 5, 0]
RUST_CODES = """
#[path = "RECORD"]
mod pd_flags;
use pd_flags::{Char, Function, Pointee, STRUCT};
use std::ffi::c_void;
struct Opaque;
impl Pointee for Opaque { const CODE: u8 = STRUCT; }
type Many = extern "C" fn(*const Opaque, *mut Opaque, *const Char, *mut c_void, *const c_void, bool,
                          i64, u64, f64, f32, *mut i8, *const u8, u8) -> i64;
fn main() {
    assert_eq!(Many::TYPES[..15], [CODES]);
    assert_eq!(<extern "C" fn()>::TYPES[..3], [1, 1, 0]);
}
"""
ZIG_CODES = """
const pd = @import("pd_flags");
const Opaque = opaque {};
const Many = *const fn (*const Opaque, ?*Opaque, [*:0]const c_char, *anyopaque, *const anyopaque,
    bool, i64, u64, f64, f32, [*]i8, [*:0]const u8, u8) callconv(.c) i64;
comptime {
    for (pd.typesOf(Many)[0..15], [_]u8{ CODES }) |is, expected| {
        if (is != expected) @compileError("wrong");
    }
    if (pd.typesOf(*const fn () callconv(.c) void)[1] != 1) @compileError("wrong: (void)");
}
"""


def with_codes(text: str) -> str:
    return text.replace("CODES", ", ".join(map(str, CODES)))


def test_rust_gives_types_the_codes_of_c(tmp_path):
    record = TEMPLATES / "rust" / "src" / "pd_flags.rs"
    source = write(tmp_path / "main.rs", with_codes(RUST_CODES).replace("RECORD", str(record)))
    run(tool("rustc"), "--edition", "2021", source, "-o", tmp_path / "main")
    run(tmp_path / "main")


def test_zig_gives_types_the_codes_of_c(tmp_path):
    source = write(tmp_path / "main.zig", with_codes(ZIG_CODES))
    modules = ["--dep", "pd_flags", f"-Mroot={source}"]
    modules += [f"-Mpd_flags={TEMPLATES / 'zig' / 'pd_flags.zig'}"]
    run(*zig(), "build-obj", "-lc", "-fno-emit-bin", *modules, cwd=tmp_path)


THROWER = r"""
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <pd_flags.h>

PD_DEFINE_int32(thrown_level, 6, "How hard to try");

static bool refuse(const pd_flag_entry *const *, void *, char *, size_t) { throw 1; }

int main() {
  pd_flag *flag;
  pd_hook hook;
  std::set_terminate([] { std::puts("terminated"); std::fflush(stdout); std::_Exit(7); });
  if (pd_flag_find("thrown_level", &flag, nullptr) != PD_OK) return 1;
  if (pd_validator_add(&flag, 1, refuse, nullptr, nullptr, &hook, nullptr) != PD_OK) return 2;
  try {
    pd_flag_set_int32(flag, 3, nullptr);
  } catch (int) {
    std::printf("went through, %d\n", FLAGS_thrown_level.get());
  }
  if (pd_hook_remove(hook, nullptr) != PD_OK) return 3;
  if (pd_flag_set_int32(flag, 4, nullptr) != PD_OK) return 4;
  std::printf("set, %d\n", FLAGS_thrown_level.get());
}
"""


def test_an_exception_of_a_c_validator_passes_through_to_whoever_sets_the_flag(tmp_path):
    program = build_program(tmp_path / "thrower", write(tmp_path / "thrower.cc", THROWER))
    ended = run(program, check=False)
    assert (ended.returncode, ended.stdout) == (0, "went through, 6\nset, 4\n")
