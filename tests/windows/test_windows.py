"""Modules and the registry on Windows: found through a PE section, with nothing exported."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import mingw
import pytest
from mingw import windows_path
from support import ROOT, run, tool, write

if TYPE_CHECKING:
    from conftest import Windows

pytestmark = pytest.mark.release  # runs Wine

EXPORT = "#define EXPORT __declspec(dllexport)\n"
LEVEL = f"""
#include <pd_flags.h>
{EXPORT}
PD_DEFINE_int32(join_level, 6, "How hard to try", .min = 0, .max = 99);
PD_DEFINE_string(join_mode, "fast", "How to search", .choices = "fast|best");
EXPORT int level(void);
EXPORT const char *mode(void);
int level(void) {{ return FLAGS_join_level; }}
const char *mode(void) {{ return FLAGS_join_mode; }}
"""
CPP = f"""
#include <pd_flags.h>
{EXPORT}
PD_DEFINE_int32(join_level, 6, "How hard to try", .min = 0, .max = 99);
PD_DEFINE_string(join_mode, "fast", "How to search", .choices = "fast|best");
extern "C" {{
EXPORT int level(void) {{ return FLAGS_join_level; }}
EXPORT const char *mode(void) {{ return FLAGS_join_mode; }}
}}
"""
# C and C++ alike: an operation, an implementation of it, and what it is called with.
OPERATES = """
#include <pd_flags.h>
#ifdef __cplusplus
#define EXPORT extern "C" __declspec(dllexport)
#else
#define EXPORT __declspec(dllexport)
#endif
PD_DEFINE_SCOPED_int32(op_stride, 5, "How far to go");
static int32_t native(int32_t n) { return n + 1; }
static int32_t ten(int32_t n) { return n + 10; }
PD_DEFINE_OP(op_step, int32_t, (int32_t), native, "Where to go from n");
PD_IMPL(op_step, ten, ten, .rank = 100);
EXPORT int step(void);
int step(void) { return PD_CALL(op_step)(PD_SCOPED(op_stride)); }
"""
FOLLOWS = f"""
#include <pd_flags.h>
{EXPORT}
PD_IMPORT_int32(join_level, -1);
EXPORT int followed(void);
int followed(void) {{ return FLAGS_join_level; }}
"""
COMMON = '#include <pd_flags.h>\nPD_DEFINE_int32(common_n, 1, "A flag of both");\n'
READS_COMMON = f"""
#include <pd_flags.h>
{EXPORT}
PD_DECLARE_int32(common_n);
EXPORT int common(void);
int common(void) {{ return FLAGS_common_n; }}
"""
CLASH = """
#include <pd_flags.h>
PD_DEFINE_int32(clash_free, 1, "Nobody else has it");
PD_DEFINE_bool(join_level, false, "Another meaning");
"""
# It links nothing, and asks the registry all the same.
ASKS = f"""
#define PD_HEADER_ONLY
#include <pd_flags.h>
{EXPORT}
static pd_error error;
EXPORT int ask(void);
EXPORT const char *said(void);
int ask(void) {{
  pd_flag *flag = NULL;
  pd_status status = pd_flag_find("join_level", &flag, &error);
  return (int)(status ? status : pd_flag_set_int32(flag, 7, &error));
}}
const char *said(void) {{ return error.message; }}
"""
# Flags that constructors of C++ define.
OBJECTS = f"""
#include <pd_flags.hpp>
#include <string>
#include <vector>
{EXPORT}
static pd::flag<int> level{{"object_level", 6, "How hard to try", pd::range(0, 99)}};
static pd::flag<std::vector<std::string>> paths{{"object_paths", {{"a", "b"}}, "Where to look"}};
extern "C" EXPORT int objects();
extern "C" EXPORT int on_stack();
int objects() {{ return level + 100 * static_cast<int>(paths->size()); }}
int on_stack() {{ return pd::flag<int>("object_local", 1, "On the stack").status().code(); }}
"""
# A module with a copy of the library, in whatever way it is linked.
SETS = f"""
#include <pd_flags.h>
{EXPORT}
PD_DEFINE_int32(NAME, 1, "A flag of its own");
EXPORT int own(void);
EXPORT int set_levels(void);
int own(void) {{ return FLAGS_NAME; }}
int set_levels(void) {{
  pd_flag *flag;
  pd_status status = pd_flag_find("join_level", &flag, NULL);
  return status ? (int)status : (int)pd_flag_set_int32(flag, NUMBER, NULL);
}}
"""
ORDER = """
#include <stdio.h>
#include <pd_flags.h>
PD_DEFINE_int32(order_level, 6, "How hard to try", .min = 0, .max = 99);
static void say(const char *when) {
  printf("%s %d\\n", when, static_cast<int>(FLAGS_order_level));
  fflush(stdout);
}
struct Object {
  Object() { say("made"); }
  ~Object() { say("gone"); }
};
static Object object;
__attribute__((constructor(101))) static void c101() { say("constructor 101"); }
__attribute__((constructor)) static void constructor() { say("constructor"); }
__attribute__((destructor)) static void destructor() { say("destructor"); }
__attribute__((destructor(101))) static void d101() { say("destructor 101"); }
"""

BUILDS = {
    "C": {},
    "C++": {"by": "g++"},
    "optimised": {"flags": ["-O2"]},
    "stripped": {"flags": ["-s"]},
    "gc_sections": {"flags": ["-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections", "-s"]},
    "lto": {"flags": ["-O2", "-flto"]},
    "lto_gc_sections": {"flags": ["-O2", "-flto", "-flto-partition=max", "-Wl,--gc-sections"]},
    "all_exported": {"flags": ["-Wl,--export-all-symbols"]},
    "clang": {"by": "clang"},
    "clang_lld": {"by": "clang", "flags": ["-O2", "-fuse-ld=lld", "-Wl,--gc-sections"]},
}


def setter(name: str, number: int) -> str:
    """Give the source of a module with the flag `name` that sets join_level to `number`."""
    return SETS.replace("NAME", name).replace("NUMBER", str(number))


@pytest.fixture(scope="module")
def level(windows: Windows) -> Path:
    return windows.dll("level", LEVEL)


def objdump(path: Path, *options: str) -> str:
    return run(tool(f"{mingw.TRIPLE}-objdump", "binutils-mingw-w64-x86-64"), *options, path).stdout


def exported(path: Path) -> set[str]:
    """Give the names in the table of exports."""
    table = objdump(path, "-p").partition("[Ordinal/Name Pointer] Table")[2]
    return set(
        re.findall(r"^\s*\[ *\d+\] (?:\+base\[ *\d+\] +[0-9a-f]+ )?(\w+)$", table, re.MULTILINE)
    )


# ---- What the files hold ----


def test_the_dll_exports_exactly_the_functions_of_the_header_and_needs_the_system_alone(windows):
    header = ROOT / "csrc" / "include" / "pd_flags.h"
    text = run(*mingw.compiler("gcc"), "-E", "-P", "-DPD_CDEF", header).stdout
    assert exported(windows.registry) == set(re.findall(r"\b(pd_\w+)\s*\(", text))
    needed = re.findall(r"DLL Name: (\S+)", objdump(windows.registry, "-p"))
    assert {name.lower() for name in needed} == {"kernel32.dll", "msvcrt.dll"}


def test_a_plugin_exports_nothing_of_ours_and_needs_nothing_of_ours(level):
    assert exported(level) == {"level", "mode"}
    assert "pd_flags" not in "".join(re.findall(r"DLL Name: .*", objdump(level, "-p")))


# ---- Joining ----


@pytest.mark.parametrize("first", ["registry", "plugin"])
@pytest.mark.parametrize("build", BUILDS)
def test_a_plugin_that_links_nothing_joins_before_and_after_the_registry(windows, build, first):
    text = CPP if BUILDS[build].get("by") == "g++" else LEVEL
    plugin = windows.dll(f"level_{build}", text, **BUILDS[build])
    steps = [("registry", windows.registry), ("open local", plugin)]
    steps.sort(reverse=first == "registry")
    words = [word for step in steps for word in step]
    lines = windows.obey(
        *words,
        *("call", plugin, "level", "set join_level 9 set join_mode best"),
        *("call", plugin, "level text", plugin, "mode set join_level 100"),
    )
    wrong = "PD_ERR_RANGE: join_level=100: expected an integer in [0, 99]"
    assert lines == ["ok", "ok", "6", "ok", "ok", "9", "best", wrong]


@pytest.mark.parametrize("build", BUILDS)
def test_a_plugin_that_links_nothing_brings_operations_and_scoped_flags(windows, build):
    plugin = windows.dll(f"operates_{build}", OPERATES, **BUILDS[build])
    lines = windows.obey(
        *("registry", windows.registry, "open local", plugin, "call", plugin),
        *("step set op_stride 6 set impl.op_step native call", plugin, "step"),
    )
    assert lines == ["ok", "ok", "15", "ok", "ok", "7"]


def test_a_dll_that_links_nothing_calls_the_functions_of_the_registry(windows, level):
    asks = windows.dll("asks", ASKS)
    assert exported(asks) == {"ask", "said"}
    lines = windows.obey(
        *("open local", asks, "call", asks, "ask text", asks, "said"),
        *("registry", windows.registry, "open local", level, "call", asks, "ask"),
        *("call", level, "level"),
    )
    none = "no registry is in this process: load libpd_flags, or what brings it, first"
    assert lines == ["ok", "16", f"pd_flag_find: {none}", "ok", "ok", "0", "7"]


@pytest.mark.parametrize("first", ["registry", "plugin"])
def test_objects_of_cpp_are_flags_of_their_dll(windows, first):
    plugin = windows.dll("objects", OBJECTS, by="g++")
    steps = [("registry", windows.registry), ("open local", plugin)]
    steps.sort(reverse=first == "registry")
    lines = windows.obey(
        *(word for step in steps for word in step),
        *("call", plugin, "objects set object_level 7 set object_paths a,b,c"),
        *("call", plugin, "objects call", plugin, "on_stack close", plugin, "get object_level"),
    )
    gone = "PD_ERR_UNDEFINED: no flag is named 'object_level'"
    assert lines[2:] == ["206", "ok", "ok", "307", "1", "ok", gone]


def test_a_dll_reads_a_flag_of_another_dll_without_an_export_of_data(windows, level):
    follows = windows.dll("follows", FOLLOWS)
    assert exported(follows) == {"followed"}
    lines = windows.obey(
        *("registry", windows.registry, "open local", follows, "call", follows, "followed"),
        *("open local", level, "call", follows, "followed set join_level 8"),
        *("call", follows, "followed call", level, "level cells join_level"),
        *("close", level, "call", follows, "followed"),
    )
    assert lines == ["ok", "ok", "-1", "ok", "6", "ok", "8", "8", "2", "ok", "-1"]


def test_a_source_that_two_dlls_have_in_common_is_one_flag(windows):
    source = write(windows.directory / "common.c", COMMON)
    plugins = [
        windows.dll(name, READS_COMMON, flags=[str(source)]) for name in ("common_a", "common_b")
    ]
    a, b = plugins
    lines = windows.obey(
        *("registry", windows.registry, "load", a, "load", b, "set common_n 7"),
        *("call", a, "common call", b, "common cells common_n"),
    )
    assert lines == ["ok", "ok", "ok", "ok", "7", "7", "2"]


def test_another_meaning_of_a_name_is_refused_whole_with_both_places(windows, level):
    clash = windows.dll("clash", CLASH)
    loads = ("load", level, "load", clash)
    lines = windows.obey("registry", windows.registry, *loads, "get clash_free")
    assert lines[:2] == ["ok", "ok"]
    places = r"PD_ERR_CONFLICT: 'join_level' .*level\.c:5 in .*clash\.c:4 in"
    assert re.match(places, lines[2]), lines[2]
    assert lines[3].startswith("PD_ERR_UNDEFINED: ")


def test_values_stay_when_a_dll_is_unloaded_and_loaded_again(windows, level):
    lines = windows.obey(
        *("registry", windows.registry, "load", level, "set join_level 8 unload", level),
        *("mapped", level, "get join_level load", level, "call", level, "level modules"),
        *("unload", level, "open local", level, "call", level, "level close", level),
        *("mapped", level, "open local", level, "call", level, "level"),
    )
    assert lines[:5] == ["ok", "ok", "ok", "ok", "no"]
    assert lines[5].startswith("PD_ERR_UNDEFINED: ")
    assert lines[6:] == ["ok", "8", "1", "ok", "ok", "8", "ok", "no", "ok", "8"]


def test_values_of_the_environment_reach_a_dll_that_comes_later(windows, level):
    lines = windows.obey(
        *("registry", windows.registry, "env FLAGS_ load", level),
        *("call", level, "level text", level, "mode"),
        FLAGS_join_level="31",
        FLAGS_join_mode="quick",
    )
    refused = "environment: FLAGS_join_mode=quick: expected one of fast, best"
    assert lines == ["ok", "ok", f"joined, PD_ERR_CHOICE: {refused}", "31", "fast"]


ASSIGNED = """
#include <pd_flags/assignable.hpp>
PD__ASSIGNABLE(int32, FLAGS_join_level, "join_level", , , 6, "Level")
PD__ASSIGNABLE_TEXT(FLAGS_join_mode, "join_mode", , , "fast", "How to search")
static std::string seen = FLAGS_join_mode;
extern "C" __declspec(dllexport) const char *first() { return seen.c_str(); }
extern "C" __declspec(dllexport) const char *mode() { return FLAGS_join_mode.c_str(); }
extern "C" __declspec(dllexport) int assign() {
  FLAGS_join_mode += ", but longer than a string that stands in itself";
  return FLAGS_join_level = 9;
}
"""


def test_variables_that_a_dll_assigns_to_are_flags(windows):
    plugin = windows.dll("assigned", ASSIGNED, by="g++")
    again = ["unload", plugin, "load", plugin, "text", plugin, "first"]
    lines = windows.obey(
        *("registry", windows.registry, "env FLAGS_ load", plugin, "text", plugin, "first call"),
        *(plugin, "assign get join_level get join_mode", *again, "set join_mode 1 text", plugin),
        *("mode", *again),
        FLAGS_join_mode="given",
    )
    longer = "given, but longer than a string that stands in itself"
    assert lines == [
        *3 * ["ok"],
        "given",
        "9",
        "9",
        longer,
        "ok",
        "ok",
        longer,
        "ok",
        "1",
        "ok",
        "ok",
        "1",
    ]


def test_text_of_the_environment_is_utf_8(windows):
    text = '#include <pd_flags.h>\nPD_DEFINE_string(join_word, "", "A word");\n'
    plugin = windows.dll("word", text)
    lines = windows.obey(
        *("registry", windows.registry, "env FLAGS_ load", plugin, "get join_word"),
        FLAGS_join_word="naïve 漢字",
        LC_ALL="C.UTF-8",
    )
    assert lines[3] == "naïve 漢字"


def test_variables_have_no_case_and_misspelt_ones_are_reported(windows):
    source = ROOT / "tests" / "windows" / "variables.c"
    program = mingw.build(windows.directory / "variables.exe", source, flags=[windows.shared])
    warned = "environment variable aPP_Ann_Treads names no flag; did you mean App_ann_threads?\n"
    assert mingw.run_wine(program).stdout == warned


def test_flags_have_their_values_before_all_constructors_and_until_after_all_destructors(windows):
    plugin = windows.dll("order", ORDER, by="g++")
    lines = windows.obey(
        *("registry", windows.registry, "env FLAGS_ open local", plugin),
        *("set order_level 40 close", plugin, "get order_level open local", plugin),
        FLAGS_order_level="31",
    )
    assert lines[:2] == ["ok", "ok"]
    assert sorted(lines[2:5]) == ["constructor 101 31", "constructor 31", "made 31"]
    assert lines[5:7] == ["ok", "ok"]
    assert sorted(lines[7:10]) == ["destructor 101 40", "destructor 40", "gone 40"]
    assert lines[10] == "ok"
    assert lines[11].startswith("PD_ERR_UNDEFINED: ")
    assert sorted(lines[12:15]) == ["constructor 101 40", "constructor 40", "made 40"]
    assert sorted(lines[16:]) == ["destructor 101 40", "destructor 40", "gone 40"]


def test_a_program_ends_while_another_thread_sets_flags(windows, level):
    source = ROOT / "tests" / "windows" / "ending.c"
    program = mingw.build(windows.directory / "ending.exe", source, flags=[windows.shared])
    for _ in range(10):
        assert mingw.run_wine(program, windows_path(level)).stdout == "ends\n"


def test_a_program_ends_while_another_thread_is_in_a_watcher_of_a_dll(windows):
    source = ROOT / "tests" / "windows" / "held.c"
    held = mingw.build(windows.directory / "held.dll", source, flags=["-shared", "-DHELD"])
    program = mingw.build(windows.directory / "held.exe", source, flags=[windows.shared])
    assert mingw.run_wine(program, windows_path(held)).stdout == "ends\n"


def test_a_module_by_hand_is_found_and_damaged_notes_are_passed_over(windows):
    source = ROOT / "tests" / "windows" / "worked.s"
    plugin = windows.directory / "worked.dll"
    run(*mingw.compiler("gcc"), "-shared", source, "-o", plugin)
    lines = windows.obey(
        *("registry", windows.registry, "load", plugin, "set worked_level 9"),
        *("call", plugin, "worked_level set worked_level 10 modules"),
    )
    refused = "PD_ERR_RANGE: worked_level=10: expected an integer in [1, 9]"
    assert lines == ["ok", "ok", "ok", "9", refused, "1"]


# ---- Copies ----


@pytest.mark.parametrize("host", ["host", "shared", "static"])
@pytest.mark.parametrize("order", ["dll_first", "static_first"])
def test_static_copies_and_the_dll_share_one_registry(windows, level, host, order):
    # The host resolves functions at run time: what it links arrives when it starts.
    flags = ["-Wno-pedantic", "-Wno-conversion", "-Wl,-u,pd_version"]
    linked = {"host": "", "shared": windows.shared, "static": windows.static}[host]
    name = f"host_{host}.exe"
    program = windows.program(name, linked, flags=flags) if linked else windows.host
    one = windows.dll("copy_one", setter("one_n", 11), flags=[windows.static])
    two = windows.dll("copy_two", setter("two_n", 22), flags=[windows.static, "-s"])
    dll = windows.dll("copy_dll", setter("dll_n", 33), flags=[windows.shared])
    modules = [dll, one, two] if order == "dll_first" else [one, two, dll]
    words = [word for m in modules for word in ("open local", m)]
    calls = [word for m in modules for word in ("call", m, "set_levels call", level, "level")]
    lines = windows.obey(
        *words,
        *("open local", level, "registry", windows.registry),
        *calls,
        "set one_n 5 set two_n 6 set dll_n 7",
        *("call", one, "own call", two, "own call", dll, "own"),
        host=program,
    )
    values = ["33", "11", "22"] if order == "dll_first" else ["11", "22", "33"]
    assert lines[:5] == ["ok"] * 5
    assert lines[5:11] == [line for value in values for line in ("0", value)]
    assert lines[11:] == ["ok", "ok", "ok", "5", "6", "7"]


# ---- pd_module_load's complaints ----


def load(windows: Windows, path: Path | str) -> str:
    """Give the one line that a failed load prints, without the path."""
    shown = windows_path(path) if isinstance(path, Path) else path
    line = windows.obey("registry", windows.registry, "load", path)[1]
    assert line.startswith(f"PD_ERR_LOAD: {shown}: "), line
    return line.partition(f"{shown}: ")[2]


def test_a_path_that_leads_to_no_dll_is_refused_with_the_reason(windows, level, tmp_path):
    text = write(tmp_path / "text.dll", "This is not a library.")
    short = tmp_path / "short.dll"
    short.write_bytes(level.read_bytes()[: level.stat().st_size // 4])
    shorter = tmp_path / "shorter.dll"
    shorter.write_bytes(level.read_bytes()[:100])
    other = tmp_path / "other.dll"
    other.write_bytes(level.read_bytes())
    with other.open("r+b") as file:
        file.seek(0x3C)
        file.seek(int.from_bytes(file.read(4), "little") + 4)
        file.write((0xAA64).to_bytes(2, "little"))
    assert load(windows, tmp_path / "missing.dll") == "no such file"
    assert load(windows, tmp_path) == "is a directory, expected a shared library"
    assert load(windows, text) == "is not a shared library"
    assert load(windows, short) == "is cut short"
    assert load(windows, shorter) == "is cut short"
    assert load(windows, other) == "was built for another architecture"
    program = "is a program or an object file, expected a shared library"
    assert load(windows, windows.host) == program
    assert load(windows, "kernel32.dll") == "no such file"


def test_a_dll_that_lacks_another_is_refused_and_the_other_is_named(windows, tmp_path):
    text = f"{EXPORT}EXPORT int needed(void);\nint needed(void) {{ return 1; }}"
    needed = windows.dll("needed", text)
    text = "int needed(void);\nint needs(void);\nint needs(void) { return needed(); }"
    needs = windows.dll("needs", text, flags=[str(needed)])
    assert windows.obey("registry", windows.registry, "load", needs) == ["ok", "ok"]
    alone = Path(shutil.copy(needs, tmp_path))
    assert load(windows, alone) == "needs needed.dll, which was not found"


def test_paths_may_have_any_letters_and_either_case(windows, level, tmp_path):
    place = tmp_path / "naïve 漢字"
    place.mkdir()
    source = ROOT / "tests" / "windows" / "paths.c"
    program = mingw.build(windows.directory / "paths.exe", source, flags=[windows.shared])
    shutil.copy(level, place / "Level.dll")
    assert mingw.run_wine(program, cwd=place).stdout == "ok\n"


def test_flagfiles_are_read_and_what_cannot_be_read_is_told(windows, tmp_path):
    source = ROOT / "tests" / "c" / "bad_input.c"
    flags = ["-include", "posix.h", windows.shared]
    program = mingw.build(windows.directory / "bad_input.exe", source, flags=flags)
    (tmp_path / "good flags").write_bytes(b"--count=5\r\n*\\bad_input.exe\r\n--on\r\n")
    with (tmp_path / "big").open("wb") as file:
        file.truncate(100_000_000)
    cases = {
        "good flags": "0 arguments",
        ".": "PD_ERR_FILE: --flagfile=.: is a directory, expected a regular file",
        "none": "PD_ERR_FILE: --flagfile=none: no such file",
        "big": "PD_ERR_FILE: --flagfile=big: is too big, files may have 64 MiB together",
        "NUL": "PD_ERR_FILE: --flagfile=NUL: ",  # the words are the system's
    }
    for path, expected in cases.items():
        said = mingw.run_wine(program, "words", f"--flagfile={path}", cwd=tmp_path).stdout
        assert said.startswith(expected)


# ---- The library's own tests ----


@pytest.mark.parametrize(
    "name",
    [
        *("argv", "environment", "error", "pending", "report", "config", "text", "value"),
        *("variables", "words"),
    ],
)
def test_the_tests_of_a_source_pass_on_windows(windows, name):
    source = ROOT / "tests" / "c" / f"test_{name}.c"
    flags = ["-include", "posix.h", windows.shared]
    program = mingw.build(windows.directory / f"test_{name}.exe", source, flags=flags)
    tests = re.findall(r"^TEST\((\w+)\)", source.read_text("utf-8"), re.MULTILINE)
    assert tests
    for test in tests:
        # Windows names locales otherwise: the next test has one. Its variables have no case.
        if not re.search("locale|upper_case|spellings|two_flags_may|claims", test):
            mingw.run_wine(program, test, cwd=windows.directory)


def test_a_locale_with_a_decimal_comma_changes_nothing(windows):
    source = ROOT / "tests" / "windows" / "locale.c"
    program = mingw.build(windows.directory / "locale.exe", source, flags=[windows.shared])
    assert mingw.run_wine(program).stdout == "ok\n"
