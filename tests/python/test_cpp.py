"""pd_flags.hpp in plugins: joining, compilers, and what they refuse."""

from __future__ import annotations

import platform
import re
from typing import TYPE_CHECKING

import pytest
from joining import REGISTRY, Maker, environment, obey, python
from support import CXX, INCLUDE, SANITIZE, WARNINGS, build, build_plugin, run, tool, write

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.extended  # each test compiles

STRICT = [
    *WARNINGS,
    *["-Wcast-qual", "-Wundef", "-Wredundant-decls", "-Wsign-conversion", "-Wdouble-promotion"],
    *["-Wfloat-equal", "-Wwrite-strings", "-Wmissing-declarations", "-Wformat=2"],
    *["-Wold-style-cast", "-Wzero-as-null-pointer-constant", "-Wnon-virtual-dtor"],
]
PLUGIN = """
#include <pd_flags.hpp>
#include <string>
#include <vector>
#ifdef _WIN32
#define EXPORT extern "C" __declspec(dllexport)
#else
#define EXPORT extern "C" __attribute__((visibility("default")))
#endif
namespace geometry {
struct size { int width, height; };
inline bool pd_parse(const char *text, size &out, std::string &why) {
  why = "expected <width>x<height>";
  return std::sscanf(text, "%dx%d", &out.width, &out.height) == 2 && out.width > 0;
}
inline std::string pd_format(const size &s) {
  char text[32];
  std::snprintf(text, sizeof text, "%dx%d", s.width, s.height);
  return text;
}
}
static int told;
static pd::flag<int> level{"NAME_level", 6, "Level", pd::range(1, 9), pd::watch([] { told++; })};
static pd::flag<geometry::size> page{"NAME_page", {4, 3}, "Size of a page"};
static pd::flag<std::vector<std::string>> paths{"NAME_paths", {"."}, "Where to look"};
static std::string said;
EXPORT int NAME_level();
EXPORT int NAME_area();
EXPORT int NAME_set();
EXPORT int NAME_told();
EXPORT const char *NAME_said();
int NAME_level() { return level; }
int NAME_area() { return page->width * page->height + 1000 * static_cast<int>(paths->size()); }
int NAME_told() { return told; }
int NAME_set() {
  pd::status done = page.set({7, 5});
  said = done.message();
  return done.code();
}
const char *NAME_said() { return said.c_str(); }
"""
# Threads construct flags while another one brings the registry.
RACE = """
#include <pd_flags.hpp>
#include <dlfcn.h>
#include <thread>
template <int number>
static pd::flag<int> &numbered() {
  static char name[20];
  static int written = std::snprintf(name, sizeof name, "race_%d", number);
  static pd::flag<int> flag{written > 0 ? name : "", number, "One of many"};
  return flag;
}
template <int number>
struct many {
  static bool make() { return numbered<number>() == number && many<number - 1>::make(); }
  static bool defined() { return numbered<number>().handle() && many<number - 1>::defined(); }
};
template <>
struct many<0> {
  static bool make() { return true; }
  static bool defined() { return true; }
};
int main(int, char **argv) {
  std::thread first(many<60>::make), second(many<30>::make);
  bool loaded = dlopen(argv[1], RTLD_NOW) != nullptr;
  first.join();
  second.join();
  return loaded && many<60>::defined() ? 0 : 1;
}
"""
# Types whose values aren't all of those that a double has.
PARTIAL = """
#include <pd_flags.hpp>
#include <chrono>
#include <string>
#include <vector>
using namespace std::chrono;
static pd::flag<float> share{"share", 0.1f, "Share"};
static pd::flag<float> part{"part", 0.1f, "Part", pd::range(0.0f, 0.7f)};
static pd::flag<std::vector<float>> parts{"parts", {0.1f, 3.5f}, "Parts"};
static pd::flag<milliseconds> nap{"nap", milliseconds(200), "Nap", pd::at_least(milliseconds(1))};
static pd::flag<hours> day{"day", hours(2), "Day"};
extern "C" int exact();
int exact() { return share == 0.1f && part == 0.7f; }
"""
FOREVER = """
#include <pd_flags.hpp>
#include <chrono>
static pd::flag<std::chrono::nanoseconds> forever{
    "forever", std::chrono::nanoseconds::max(), "Forever"};
"""
# What is wrong, and a part of what a compiler says to it.
WRONG = {
    "a type that can't be read": (
        'struct odd {}; static pd::flag<odd> a{"cpp_a", odd(), "A"};',
        "not a type of flags",
    ),
    "a range of text": (
        'static pd::flag<std::string> a{"cpp_a", "x", "A", pd::range(1, 2)};',
        "a range is for flags of numbers and durations",
    ),
    "fractions for an integer": (
        'static pd::flag<int> a{"cpp_a", 1, "A", pd::range(0.5, 2)};',
        "pd::range of an integer takes integers",
    ),
    "something that is no attribute": (
        'static pd::flag<int> a{"cpp_a", 1, "A", 9};',
        "behind the help text of a flag come attributes",
    ),
    "a validator of something else": (
        'static pd::flag<int> a{"cpp_a", 1, "A", pd::validate([](std::string) { return true; })};',
        "pd::validate takes bool",
    ),
    "assigning": (
        'static pd::flag<int> a{"cpp_a", 1, "A"}; void f(); void f() { a = 5; }',
        "a flag is set by flag.set(value), which checks the value",
    ),
    "a default that doesn't fit": (
        'static pd::flag<int8_t> a{"cpp_a", 300, "A"};',
        "narrow",
    ),
}


@pytest.fixture(scope="module")
def host(maker: Maker) -> Path:
    # Where a plugin brings libstdc++, that is bound to its templates and keeps it.
    return maker.program("host", flags=("-Wl,--no-as-needed", "-lstdc++", "-Wl,--as-needed"))


@pytest.fixture(scope="module")
def alpha(maker: Maker) -> Path:
    code = write(maker.directory / "alpha.cc", PLUGIN.replace("NAME", "alpha"))
    return build_plugin(maker.directory / "libalpha.so", code, flags=("-std=c++11", "-O1"))


@pytest.mark.parametrize("first", ["registry", "plugin"])
def test_objects_join_with_their_plugin_whoever_comes_first(monkeypatch, host, alpha, first):
    # Values that readers may hold stay when their plugin has gone: for ASan they are lost.
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0")
    steps = [("registry", REGISTRY), ("open local", alpha)]
    steps.sort(reverse=first == "registry")
    lines = obey(host, *steps[0], *steps[1], "call", alpha, "alpha_area",
                 "set alpha_level 7 set alpha_page 5x6 set alpha_page 0x6",
                 "call", alpha, "alpha_level", "call", alpha, "alpha_area",
                 "call", alpha, "alpha_set", "get alpha_page", "call", alpha, "alpha_told",
                 "close", alpha, "get alpha_level")  # fmt: skip
    wrong = "PD_ERR_REFUSED: alpha_page=0x6: expected <width>x<height>"
    gone = "PD_ERR_UNDEFINED: no flag is named 'alpha_level'"
    assert lines[2:] == ["1012", "ok", "ok", wrong, "7", "1030", "0", "7x5", "1", "ok", gone]


def test_python_sees_them_in_a_namespace_and_after_a_reload(alpha):
    script = """
import ctypes, sys
import paddle_flags as pf
for _ in range(2):
    plugin = pf.load_plugin(sys.argv[1], namespace="beta")
    native = ctypes.CDLL(plugin.path)
    print(*sorted(plugin.flags), native.alpha_area())
    pf.FLAGS["beta.alpha_page"].value = "20x10"
    pf.FLAGS["beta.alpha_paths"].value = ["a", "b,c"]
    print(native.alpha_area(), native.alpha_set(), pf.FLAGS["beta.alpha_page"].value)
    try:
        pf.FLAGS["beta.alpha_page"].value = "wide"
    except pf.FlagError as error:
        print(error)
    pf.FLAGS["beta.alpha_page"].value = "2x3"
    import _ctypes
    _ctypes.dlclose(native._handle)
    plugin.unload()
"""
    lines = python(script, alpha, env=environment())
    names = "beta.alpha_level beta.alpha_page beta.alpha_paths"
    wrong = "beta.alpha_page=wide: expected <width>x<height>"
    assert lines[:3] == [f"{names} 1012", "2200 0 7x5", wrong]
    assert lines[3:] == [f"{names} 2006", "2200 0 7x5", wrong]


def test_floats_have_their_shortest_text_and_bounds_that_nobody_set_stay_open(maker):
    code = write(maker.directory / "partial.cc", PARTIAL)
    plugin = build_plugin(maker.directory / "libpartial.so", code, flags=("-std=c++11",))
    code = write(maker.directory / "forever.cc", FOREVER)
    forever = build_plugin(maker.directory / "libforever.so", code, flags=("-std=c++11",))
    script = """
import ctypes, sys
import paddle_flags as pf
plugin = pf.load_plugin(sys.argv[1])
for name in plugin.flags:
    flag = pf.FLAGS[name]
    print(name, flag.default, flag.min, flag.max)
for text in ["share=1e39", "parts=1,1e39", "part=0.71", "nap=0", "nap=1e30", "day=-1e30"]:
    try:
        pf.parse(["", "--" + text], exit=False)
    except pf.FlagError as error:
        print(error)
pf.FLAGS.part = 0.7
print(ctypes.CDLL(plugin.path).exact())
try:
    pf.load_plugin(sys.argv[2])
except pf.FlagError as error:
    print(error)
"""
    lines = python(script, plugin, forever, env=environment())
    assert lines[:5] == [
        "share 0.1 None None",
        "part 0.1 0.0 0.7",
        "parts (0.1, 3.5) None None",
        "nap 0.2 0.001 None",
        "day 7200.0 None None",
    ]
    assert lines[5:11] == [
        "--share=1e+39: expected a number that a float can hold",
        "--parts=1,1e39: item 2: expected a number that a float can hold",
        "--part=0.71: expected a number in [0, 0.7]",
        "--nap=0: expected a number of seconds >= 0.001",
        "--nap=1e+30: expected at most 9000000000000s",
        "--day=-1e+30: expected at least -3.24e+19s",
    ]
    assert lines[11] == "1"
    assert "expected a number of seconds in [-9000000, 9000000]" in lines[12]


def test_flags_that_threads_construct_while_the_registry_comes_are_all_defined(maker):
    code = write(maker.directory / "race.cc", RACE)
    program = build(maker.directory / "race", code, flags=("-std=c++11", "-pthread", "-ldl"))
    for _ in range(20):
        run(program, REGISTRY)


@pytest.mark.skipif(bool(SANITIZE), reason="built for a sanitizer")
def test_a_plugin_exports_nothing_of_ours(alpha):
    names = run("nm", "-DC", "--defined-only", alpha).stdout
    assert "alpha_area" in names
    assert not re.search(r" pd(::|_)", names), names
    assert not re.search(r"(?m)^\w+ u ", names), names  # which glibc would never unload


@pytest.mark.skipif(platform.machine() != "x86_64", reason="looks at x86-64 instructions")
@pytest.mark.skipif(bool(SANITIZE), reason="built for a sanitizer")
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_a_read_of_a_number_is_one_load(maker, compiler):
    text = """
#include <pd_flags.hpp>
static pd::flag<int> level{"cpp_level", 6, "Level"};
extern "C" int read_level() { return level; }
"""
    source = write(maker.directory / "load.cc", text)
    command = [tool(compiler, "clang" if compiler == "clang++" else None), "-std=c++11", "-O2"]
    code = run(*command, f"-I{INCLUDE}", "-S", "-fPIC", source, "-o", "-").stdout
    body = code.split("\nread_level:")[1].split("\tret")[0]
    lines = [line.split("#")[0].strip() for line in body.splitlines()]
    instructions = [each for each in lines if re.match(r"[a-z]", each) and each != "endbr64"]
    assert len(instructions) == 1, instructions
    assert re.match(r"movl?\s.*level.*, %eax", instructions[0])


@pytest.mark.parametrize("standard", ["c++11", "c++14", "c++17", "c++20", "c++2b"])
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_every_standard_compiles_it_without_a_warning(maker, compiler, standard):
    code = write(maker.directory / "strict.cc", PLUGIN.replace("NAME", "strict"))
    command = [tool(compiler, "clang" if compiler == "clang++" else None), f"-std={standard}"]
    bare = ["-fno-exceptions", "-fno-rtti"] if standard in ("c++11", "c++20") else []
    run(*command, *STRICT, *bare, f"-I{INCLUDE}", "-fsyntax-only", code)


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_refused_by_the_compiler_in_words(maker, what):
    text, words = WRONG[what]
    start = "#include <pd_flags.hpp>\n#include <string>"
    code = write(maker.directory / "wrong.cc", f"{start}\n{text}\n")
    command = [*CXX, "-std=c++11", "-Werror=narrowing", f"-I{INCLUDE}", "-fsyntax-only", code]
    ended = run(*command, check=False)
    assert ended.returncode != 0
    assert words in ended.stderr


def test_or_throw_without_exceptions_is_refused_by_the_compiler(maker):
    text = "#include <pd_flags.hpp>\nvoid f();\nvoid f() { pd::status().or_throw(); }\n"
    code = write(maker.directory / "throw.cc", text)
    command = [*CXX, "-std=c++11", f"-I{INCLUDE}", "-fsyntax-only", code]
    assert run(*command, "-fno-exceptions", check=False).returncode != 0
    run(*command)
