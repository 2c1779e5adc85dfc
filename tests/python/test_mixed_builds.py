"""Plugins that were built by different compilers and settings share one process."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import pytest
from joining import python
from support import INCLUDE, SANITIZE, run, tool, write

pytestmark = pytest.mark.release  # builds much, as the matrix does

if TYPE_CHECKING:
    from pathlib import Path

# One source for all: the flags and the operation that they share are defined once, and met many
# times. Each brings an implementation of its own.
SOURCE = """
#include <pd_flags.h>
#ifdef __cplusplus
#include <pd_flags.hpp>
#endif
#define PASTE_(a, b) a##b
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)
#define PASTE(a, b) PASTE_(a, b)
#ifdef __cplusplus
#define C extern "C" __attribute__((visibility("default")))
#else
#define C __attribute__((visibility("default")))
#endif

PD_DEFINE_int32(mixed_shared, 2, "What all of them read", .min = 1, .max = 9);
PD_DEFINE_SCOPED_int32(mixed_scoped, 2, "What all of them read, in one thread");
PD_IMPORT_int64(mixed_python, 1);
static int native_step(int n) { return n; }
static int own_step(int n) { return n + NUMBER; }
PD_DEFINE_OP(mixed_step, int, (int), native_step, "What all of them call");
PD_DEFINE_SCOPED_OP(mixed_hop, int, (int), native_step, "What each thread chooses");
#define IMPLEMENT(name) PD_IMPL(mixed_step, name, own_step); PD_IMPL(mixed_hop, name, own_step)
IMPLEMENT(NAME);
#define DEFINE_OWN(name) \\
  PD_DEFINE_int32(name##_level, 2, "Its own", .min = 1, .max = 9); \\
  PD_DEFINE_string(name##_mode, "fast", "Its own text", .choices = "fast|best");
#define OWN(name) DEFINE_OWN(name)
OWN(NAME)
#ifdef __cplusplus
static pd::flag<int> object{TEXT(NAME) "_object", 3, "An object", pd::range(1, 9)};
#else
PD_DEFINE_int32(no_object, 3, "As C has it");
#define object FLAGS_no_object
#endif

#ifdef __cpp_exceptions
static int thrown(int value) {
  try {
    throw value;
  } catch (int caught) {
    return caught;
  }
}
#else
static int thrown(int value) { return value; }
#endif
#ifdef __GXX_RTTI
#include <typeinfo>
struct base { virtual ~base() {} };
struct derived : base {};
static int is_derived(const base &b) { return dynamic_cast<const derived *>(&b) != nullptr; }
static int seen(void) { return is_derived(derived()); }
#else
static int seen(void) { return 1; }
#endif

C int level(void) { return seen() ? thrown(PASTE(FLAGS_, PASTE(NAME, _level))) : -1; }
C int shared(void) { return FLAGS_mixed_shared; }
C int held(void) { return object; }
C int scoped(void) { return PD_SCOPED(mixed_scoped); }
C int step(void) { return PD_CALL(mixed_step)(100); }
C int hop(void) { return PD_SCOPED_CALL(mixed_hop)(200); }
C int imported(void) { return (int)FLAGS_mixed_python; }
C int best(void) {
  const char *mode = PASTE(FLAGS_, PASTE(NAME, _mode));
  return mode[0] == 'b';
}
"""


class Build(NamedTuple):
    compiler: str
    flags: str


BUILDS = {
    "c99": Build("gcc", "-x c -std=c99 -DNDEBUG -O2 -fvisibility=hidden"),
    "gnu17": Build("gcc", "-x c -std=gnu17 -O0 -g -fno-plt -fvisibility=default"),
    "c11": Build("clang", "-x c -std=c11 -O1 -fvisibility=protected"),
    "lto": Build("gcc", "-x c -std=gnu11 -O2 -flto -ffunction-sections -Wl,--gc-sections"),
    "bare": Build("g++", "-std=c++11 -O0 -fno-exceptions -fno-rtti -fvisibility=hidden"),
    "full": Build("g++", "-std=c++2b -O2 -fexceptions -frtti -fvisibility=default"),
    "old": Build("g++", "-std=c++14 -O2 -DNDEBUG -fno-rtti -D_GLIBCXX_USE_CXX11_ABI=0"),
    "checked": Build("g++", "-std=c++17 -O1 -D_GLIBCXX_ASSERTIONS -D_FORTIFY_SOURCE=2"),
    "inline": Build("g++", "-std=c++20 -O0 -fvisibility-inlines-hidden -fno-threadsafe-statics"),
    "clang_bare": Build("clang++", "-std=c++14 -O2 -fno-exceptions -fno-rtti -DNDEBUG"),
    "clang_full": Build(
        "clang++", "-std=c++20 -O0 -fvisibility=hidden -fno-semantic-interposition"
    ),
    "bound": Build("clang++", "-std=c++17 -O1 -Wl,-Bsymbolic -fno-exceptions"),
}

# Words: how the plugins come, their paths.
SCRIPT = """
import ctypes, os, sys
how, *paths = sys.argv[1:]
names = [os.path.basename(path)[3:-3] for path in paths]
scopes = [ctypes.RTLD_GLOBAL, ctypes.RTLD_LOCAL]

def bring():
    return {n: ctypes.CDLL(p, scopes[i % 2]) for i, (n, p) in enumerate(zip(names, paths))}

if how == "registry last":
    plugins = bring()
import paddle_flags as pf
pf.define("mixed_python", 5, "Defined by Python", min=1, max=9)
if how == "load_plugin":
    for path in paths: pf.load_plugin(path)
if how != "registry last":
    plugins = bring()

def see(what):
    found = {getattr(plugin, what)() for plugin in plugins.values()}
    return found.pop() if len(found) == 1 else {n: getattr(p, what)() for n, p in plugins.items()}

print(see("level"), see("shared"), see("imported"), see("best"))
pf.FLAGS.mixed_shared = 7
pf.FLAGS.mixed_python = 8
print(see("level"), see("shared"), see("imported"), see("best"))
for number, name in enumerate(names):
    pf.FLAGS.update({f"{name}_level": number % 9 + 1, f"{name}_mode": "best"})
    try:
        pf.FLAGS[f"{name}_level"].value = 10
    except pf.FlagValueError:
        pass
    else:
        print(name, "takes what is out of range")
own = [plugins[name].level() == n % 9 + 1 for n, name in enumerate(names)]
pf.FLAGS.update({n: 5 for n in pf.FLAGS if n.endswith("_object")})
for number, name in enumerate(names):
    pf.FLAGS["impl.mixed_step"].value = [name]
    if see("step") != 100 + number:
        print(name, "is chosen and", see("step"), "runs")
pf.FLAGS["impl.mixed_step"].reset()
with pf.scoped({"mixed_scoped": 3, "impl.mixed_hop": [names[4]]}):
    print(see("step"), see("scoped"), see("hop"))
print(all(own), see("shared"), see("imported"), see("best"), see("held"))
pf.check("modules")
"""


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Give the plugins, compiled two at a time."""
    place = tmp_path_factory.mktemp("mixed")
    source = write(place / "mixed.inc", SOURCE)

    def build(name: str) -> Path:
        compiler, flags = BUILDS[name]
        number = list(BUILDS).index(name)
        language = [] if flags.startswith("-x c ") else ["-x", "c++"]
        defines = [f"-DNAME={name}", f"-DNUMBER={number}"]
        words = [*language, *flags.split(), *defines, f"-I{INCLUDE}", "-Wall", "-Werror"]
        out = place / f"lib{name}.so"
        run(tool(compiler), *words, "-shared", "-fPIC", source, "-o", out)
        return out

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(build, BUILDS))


@pytest.mark.skipif(bool(SANITIZE), reason="the plugins aren't built for it")
@pytest.mark.parametrize("how", ["load_plugin", "registry first", "registry last"])
def test_plugins_of_every_setting_live_together(how: str, mixed: list[Path]) -> None:
    said = python(SCRIPT, how, *mixed)
    assert said == ["2 2 5 0", "2 7 8 0", "100 3 204", "True 7 8 1 5"]


def test_the_settings_are_what_they_say(mixed: list[Path]) -> None:
    (full,) = (path for path in mixed if path.stem == "libfull")
    (bare,) = (path for path in mixed if path.stem == "libbare")
    symbols = [run(tool("nm", "binutils"), "-D", path).stdout for path in (full, bare)]
    assert ["__cxa_throw" in text for text in symbols] == [True, False]
    assert ["dynamic_cast" in text for text in symbols] == [True, False]


def test_no_setting_makes_a_plugin_export_what_is_the_header_s(mixed: list[Path]) -> None:
    for path in mixed:
        table = run(tool("readelf", "binutils"), "-W", "--dyn-syms", path).stdout
        # GNU ld lists the bounds of a section as well, hidden, which loaders pass over.
        symbols = re.findall(r" (?:DEFAULT|PROTECTED) +\d+ (\S+)$", table, re.MULTILINE)
        assert {"level", "shared", "imported", "best", "step"} <= set(symbols)
        assert [name for name in symbols if "pd_" in name or "FLAGS" in name] == [], path
