"""Modules in other languages than C join, and read what Python sets."""

import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

import pytest
from joining import python
from support import CC, CXX, INCLUDE, ROOT, build_program, package, run, tool, write, zig

EXAMPLES = ROOT / "examples" / "languages"
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


def build_rust(out: Path) -> None:
    source = EXAMPLES / "rust" / "scanner.rs"
    rustc = [tool("rustc"), "--edition", "2021", "--crate-type", "cdylib", "-O"]
    run(*rustc, source, "-o", out)


def build_zig(out: Path) -> None:
    source = EXAMPLES / "zig" / "mixer.zig"
    record = ROOT / "paddle_flags" / "_new" / "templates" / "zig" / "pd_flags.zig"
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
print(pf.get(number), pf.get(text))
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
