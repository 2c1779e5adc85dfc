"""bridge() and sync() with flags of gflags and of Abseil, as Debian has them."""

from __future__ import annotations

import ast

import pytest
from bridged import program
from support import build_plugin, run, write

pytestmark = pytest.mark.extended


def test_the_types_of_abseil_have_their_types_here(abseil):
    told = program(
        """
own = ctypes.CDLL(sys.argv[1])
print(pf.bridge("abseil"))
for name in sorted(pf.FLAGS):
    flag = pf.FLAGS[name]
    print(name, flag.type, flag.value, flag.default, flag.help, flag.source)
print(pf.FLAGS["a_level"].module == own._name, pf.FLAGS["a_level"].file.endswith("a.cpp"))
""",
        abseil,
    )
    assert told == [
        "{}",
        "a_again int32 6 6 Sets itself and another default",
        "a_big int64 6 6 A number default",
        "a_bytes uint64 6 6 A number default",
        "a_check bool False False A bool default",
        "a_count uint32 6 6 A number default",
        "a_delay string 2s 2s A duration default",
        "a_level int32 6 6 A number default",
        "a_list string   A list default",
        "a_mode string fast fast A text default",
        "a_ratio double 0.1 0.1 A fraction default",
        "a_share double 0.5 0.5 A fraction default",
        "a_short int32 6 6 A short number default",
        "a_slow int32 6 6 Calls back default",
        "a_throwing int32 6 6 Throws default",
        "True True",
    ]


def test_abseil_is_in_step_in_both_directions_and_keeps_sources(abseil):
    told = program(
        """
own = ctypes.CDLL(sys.argv[1])
pf.bridge("abseil")
own.assign(8)
print(pf.FLAGS.a_level, pf.FLAGS["a_level"].source, own.updates())
pf.FLAGS.a_level = 9
print(own.level(), own.updates(), pf.FLAGS["a_level"].history[0].place.endswith("1"))
rest = ["--a_delay=120s", "--a_share=0.1", "--a_list=x,y", "--a_short=-3", "--a_check"]
pf.parse(["program", *rest])
for name in ("a_delay", "a_share", "a_list", "a_short", "a_check"):
    print(name, pf.FLAGS[name].value, pf.FLAGS[name].source)
print(own.seconds())
own.shorten(4)
print(pf.FLAGS.a_share, pf.FLAGS["a_share"].source)
with pf.override(a_level=1):
    print(own.level())
print(own.level())
pf.FLAGS["a_level"].reset()
print(own.level(), pf.FLAGS.a_level)
""",
        abseil,
    )
    assert told == [
        "8 run time 2",
        "9 3 False",
        "a_delay 120s argv",
        "a_share 0.1 argv",
        "a_list x,y argv",
        "a_short -3 argv",
        "a_check True argv",
        "120",
        "0.25 run time",
        "1",
        "9",
        "6 6",
    ]


def test_what_abseil_or_gflags_rejects_is_rejected_and_nothing_changes(abseil, gflags):
    told = program(
        """
ctypes.CDLL(sys.argv[1])
own = ctypes.CDLL(sys.argv[2])
pf.bridge("abseil", "gflags")
for name, text in (("a_delay", "soon"), ("a_short", "40000"), ("g_level", "7")):
    try:
        pf.FLAGS[name].set_from_string(text)
    except pf.FlagError as error:
        print(error)
print(pf.FLAGS.a_delay, pf.FLAGS.a_short, pf.FLAGS.g_level, own.level())
try:
    pf.parse(["program", "--g_mode=slow", "--g_level=3"], exit=False)
except pf.FlagParseError as error:
    print(error)
print(pf.FLAGS.g_mode)
""",
        abseil,
        gflags,
    )
    assert told[0] == "a_delay=soon: expected a value that Abseil accepts"
    assert told[1].startswith("a_short=40000: ")
    assert told[2].startswith("g_level=7: ")
    assert told[3] == "2s 6 6 6"
    assert told[4].startswith("--g_level=3")
    assert told[5] == "fast"


def test_libraries_that_come_later_are_found_and_get_their_values(abseil, gflags):
    told = program(
        """
print(pf.bridge())
pf.parse(["program", "--g_level=8", "--a_level=9", "--a_delay=soon"], allow_pending=True)
own = ctypes.CDLL(sys.argv[1])
print(pf.FLAGS.g_level, own.level(), pf.FLAGS["g_level"].source)
other = ctypes.CDLL(sys.argv[2])
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    print("a_level" in pf.FLAGS, other.level())
    pf.sync()
print(*[str(each.message) for each in caught])
print(pf.FLAGS.a_delay, len(list(pf.FLAGS)))
""",
        gflags,
        abseil,
    )
    assert told[:3] == ["{}", "8 8 argv", "True 9"]
    assert "a_delay=soon" in told[3]
    assert told[4] == "2s 16"


LIES = {
    "paddle": """
struct info { std::string name; void *variable; char value[40]; std::string doc; bool writable; };
static std::map<std::string, info> map;
extern "C" std::map<std::string, info> &lie() __asm__("_ZN3phi22GetExportedFlagInfoMapB5cxx11Ev");
extern "C" std::map<std::string, info> &lie() {
  map["level"] = info{"another", nullptr, {0}, "", true};
  return map;
}
""",
    "c10": """
struct registry {
  std::unordered_map<std::string, std::function<void()>> creators;
  std::unordered_map<std::string, int> priorities;
  bool terminate, warning;
  std::unordered_map<std::string, std::string> help;
};
int64_t FLAGS_wide = 1;
int FLAGS_level = 6;
extern "C" registry *lie() __asm__("_ZN3c1016C10FlagsRegistryB5cxx11Ev");
extern "C" registry *lie() {
  static registry made;
  const char *const help[][2] = {{"wide", "(int, default 1) Wide"}, {"gone", "(int, default 1) "},
                                 {"odd", "(Odd, default 1) "}, {"bare", "no type"},
                                 {"level", "(int, default 6) Level"}};
  for (auto &each : help) {
    made.creators[each[0]], made.priorities[each[0]] = 1, made.help[each[0]] = each[1];
  }
  return &made;
}
""",
}
TRUTH = {
    "paddle": {"paddle": "this version of Paddle stores its flags in another way"},
    "c10": {
        "wide": "its variable has 8 bytes, expected the 4 of int",
        "gone": "no library exports the variable FLAGS_gone",
        "odd": "its type is not one of C10_DEFINE's",
        "bare": "its type is not one of C10_DEFINE's",
    },
}


@pytest.mark.parametrize("library", list(LIES))
def test_what_is_not_as_expected_in_a_library_is_left_out(library, tmp_path):
    heads = ("cstdint", "functional", "map", "string", "unordered_map")
    text = "".join(f"#include <{head}>\n" for head in heads) + LIES[library]
    source = write(tmp_path / "lies.cpp", text)
    run("g++", "-std=c++17", "-shared", "-fPIC", source, "-o", tmp_path / "liblies.so")
    script = f"ctypes.CDLL(sys.argv[1])\nprint(pf.bridge({library!r}))\nprint(list(pf.FLAGS))"
    told = program(script, tmp_path / "liblies.so")
    assert ast.literal_eval(told[0]) == TRUTH[library]
    assert told[1] == ("['level']" if library == "c10" else "[]")


def test_a_library_that_is_missing_leaves_the_others_bridged(gflags):
    told = program(
        """
own = ctypes.CDLL(sys.argv[1])
try: pf.bridge("gflags", "paddle")
except pf.FlagUnsupportedError as error: print(error)
pf.FLAGS.g_level = 8
print(own.level(), pf.bridge("gflags"))
""",
        gflags,
    )
    assert told[0].startswith("bridge('paddle'): no flags of Paddle are in this process")
    assert told[1] == "8 {}"


def test_without_the_module_in_cxx_absl_py_is_bridged_and_the_others_are_left_out():
    pytest.importorskip("absl")
    told = program(
        """
sys.modules["paddle_flags._bridges"] = None
try: pf.bridge("gflags")
except pf.FlagUnsupportedError as error: print(error)
from absl import flags
flags.DEFINE_integer("p_level", 6, "A number")
print(list(pf.bridge()), pf.FLAGS.p_level, "nothing" in pf.FLAGS)
print(pf.bridge("absl-py"))
pf.sync()
"""
    )
    assert told[0].startswith("bridge: paddle_flags._bridges can't be imported")
    assert told[1:] == ["['paddle', 'c10', 'gflags', 'abseil'] 6 False", "{}"]


def test_a_child_process_has_the_flags_and_changes_its_own(abseil, gflags):
    told = program(
        """
import os
own, other = map(ctypes.CDLL, sys.argv[1:])
pf.bridge("abseil", "gflags")
child = os.fork()
if child == 0:
    pf.FLAGS.update(a_level=3, g_level=4)
    pf.sync()
    pf.bridge()
    os._exit(own.level() * 10 + other.level())
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), own.level(), other.level())
""",
        abseil,
        gflags,
    )
    assert told == ["34 6 6"]


def test_a_text_with_a_nul_is_left_as_it_is(gflags):
    told = program(
        """
own = ctypes.CDLL(sys.argv[1])
own.cut()
pf.bridge("gflags")
print(pf.FLAGS.g_mode, own.length())
""",
        gflags,
    )
    assert told == ["ab 5"]


LOADERS = """
import importlib.machinery, importlib.util, types
class Loader:
    __slots__ = ()
    def create_module(self, spec): return None
    def exec_module(self, module): module.done = True
class ByClass:
    @classmethod
    def create_module(cls, spec): return None
    @classmethod
    def exec_module(cls, module): module.done = True
class Finder:
    def find_spec(self, name, path=None, target=None):
        loader = {"paddle": Loader(), "torch": ByClass}.get(name)
        return loader and importlib.machinery.ModuleSpec(name, loader)
sys.meta_path.insert(0, Finder())
pf.bridge()
importlib.util.find_spec("paddle"), importlib.util.find_spec("torch")
import paddle, torch
print(paddle.done, torch.done, type(paddle.__spec__.loader).__name__, torch.__loader__ is ByClass)
importlib.reload(torch)
sys.modules["absl.flags"] = types.ModuleType("absl.flags")
print("can't be used" in pf.bridge()["absl-py"])
sys.modules["absl.flags"] = None
print(pf.bridge())
"""


def test_imports_that_are_watched_keep_their_loaders_and_other_modules_are_left_out():
    assert program(LOADERS) == ["True True Loader True", "True", "{}"]


def test_a_flag_that_was_undefined_joins_again(abseil, gflags):
    told = program(
        """
own = ctypes.CDLL(sys.argv[1])
ctypes.CDLL(sys.argv[2])
pf.bridge("abseil", "gflags")
for name in ("a_level", "g_level"):
    pf.undefine(name)
    print(name in list(pf.FLAGS))
pf.bridge("abseil", "gflags")
pf.FLAGS.update(a_level=3, g_level=4)
print(own.level())
""",
        abseil,
        gflags,
    )
    assert told == ["False", "False", "3"]


def test_a_name_that_is_taken_is_left_out_and_a_namespace_helps(gflags):
    told = program(
        """
own = ctypes.CDLL(sys.argv[1])
pf.define("g_level", 1, "The first of this name")
left_out = pf.bridge("gflags")
print(list(left_out), left_out["g_level"])
pf.FLAGS.g_level = 4
print(own.level())
print(pf.bridge("gflags", namespace="g"), "g.g_level" in pf.FLAGS)
pf.FLAGS["g.g_level"].value = 8
print(own.level(), pf.FLAGS.g_level)
""",
        gflags,
    )
    assert told[0].startswith("['g_level'] 'g_level' is already defined")
    assert told[1:] == ["6", "{} True", "8 4"]


def test_a_flag_of_a_library_cannot_be_defined_again(gflags):
    told = program(
        """
own = ctypes.CDLL(sys.argv[1])
pf.bridge("gflags")
for replace in (False, True):
    try: pf.define("g_level", 1, replace=replace)
    except pf.FlagConflictError as error: print(error)
pf.FLAGS.g_level = 8
print(own.level())
""",
        gflags,
    )
    assert len(told) == 3
    for line in told[:2]:
        assert line.endswith("; gflags has this flag, too: choose another name")
    assert told[2] == "8"


def test_a_library_with_bridged_flags_stays_when_it_is_closed(gflags):
    told = program(
        """
import _ctypes
own = ctypes.CDLL(sys.argv[1])
pf.bridge("gflags")
_ctypes.dlclose(own._handle)
pf.FLAGS.g_level = 8
pf.sync()
print(pf.FLAGS.g_level)
""",
        gflags,
    )
    assert told == ["8"]


BAD = {
    "bridge('gflag')": "bridge('gflag'): expected 'paddle', 'c10', 'gflags', 'abseil', 'absl-py';"
    " did you mean 'gflags'?",
    "bridge('paddle')": "bridge('paddle'): no flags of Paddle are in this process: import paddle"
    " first, or call bridge(), which takes what is loaded later, too",
    "bridge(3)": "bridge: expected names of libraries, or one ArgumentParser or"
    " FlagValues alone, not int",
    "bridge(namespace='x')": "bridge: a namespace is for the flags of one library: expected one"
    " name with it",
    "bridge('gflags', namespace='a b')": "bridge: namespace 'a b': expected a name such as 'torch'",
    "bridge('absl-py', namespace='x')": "bridge: flags of absl-py have no namespace; expected"
    " another library, or none",
}


@pytest.mark.parametrize("call", list(BAD))
def test_bad_arguments_are_errors_that_say_what_is_expected(call):
    script = f"try: pf.{call}\nexcept pf.FlagError as error: print(error)\nprint(len(pf.FLAGS))"
    assert program(script) == [BAD[call], "0"]


ENDING = """
import atexit
atexit.register(lambda: print(pf.FLAGS.g_mode, pf.FLAGS.a_mode))
for each in sys.argv[1:]: ctypes.CDLL(each)
pf.bridge()
pf.FLAGS.update(g_mode="x" * 100, a_mode="y" * 100)
"""


def test_a_process_ends_well_with_strings_of_other_libraries_bridged(gflags, abseil):
    assert program(ENDING, gflags, abseil) == [f"{'x' * 100} {'y' * 100}"]


HEADER = """
#define PD_HEADER_ONLY
#include <pd_flags/bridge_abseil.hpp>
#include <pd_flags/bridge_c10.hpp>
#include <pd_flags/bridge_gflags.hpp>
#include <pd_flags/bridge_paddle.hpp>
extern "C" __attribute__((visibility("default"))) size_t bridge_all() {
  return pd::bridge_abseil() + pd::bridge_gflags() * 1000 + pd::bridge_c10() + pd::bridge_paddle();
}
"""


@pytest.mark.parametrize("standard", ["c++11", pytest.param("c++20", marks=pytest.mark.release)])
def test_the_headers_bridge_from_c_plus_plus_too(standard, gflags, abseil, tmp_path):
    source = write(tmp_path / "bridge.cpp", HEADER)
    plugin = build_plugin(tmp_path / "libbridge.so", source, flags=(f"-std={standard}",))
    told = program(
        """
for path in sys.argv[1:3]: ctypes.CDLL(path)
host = ctypes.CDLL(pf.load_plugin(sys.argv[3]).path)
print(host.bridge_all(), host.bridge_all(), pf.FLAGS.a_delay, pf.FLAGS.g_mode)
""",
        gflags,
        abseil,
        plugin,
    )
    assert told == ["2014 0 2s fast"]
