"""Every header that users include: alone, in every standard, and under clang-tidy.

Headers are found by themselves: all in csrc/include, but for parts of others, which
lie in a directory `pd_flags`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from mingw import compiler as mingw_compiler
from support import CXX, ROOT, WARNINGS, run, tool, write
from test_headers import EVERYTHING, NEWEST, STRICT, STRICT_C, STRICT_CXX

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.extended  # each test compiles

INCLUDE = ROOT / "csrc" / "include"
ON_PATH = [f"-I{INCLUDE / 'compat'}", f"-I{INCLUDE}"]
PUBLIC = sorted(
    path.relative_to(INCLUDE).as_posix().replace("compat/", "", 1)
    for path in [*INCLUDE.rglob("*.h"), *INCLUDE.rglob("*.hpp")]
    if "pd_flags" not in path.parent.parts
)
# What a user of it writes, where that is more than to include it.
USES = {
    "pd_flags.hpp": 'static pd::flag<int> an_object{"an_object", 6, "A", pd::range(1, 9)};',
    "gflags/gflags.h": 'DEFINE_int32(a_gflag, 1, "A");\nDEFINE_string(a_gtext, "x", "A");',
    "c10/util/Flags.h": 'C10_DEFINE_int(a_c10, 1, "A");\nC10_DEFINE_string(a_c10_text, "x", "A");',
    "paddle/common/flags.h": 'PHI_DEFINE_EXPORTED_int32(a_phi, 1, "A");',
    "absl/flags/flag.h": 'ABSL_FLAG(int, an_absl, 1, "A");\nABSL_FLAG(bool, a_bool, true, "A");',
}
OLDER = ("c++11", "c++14")


def needs(header: str) -> int:
    """The standard that a header asks for: Abseil itself needs C++17."""
    return 17 if header.startswith("absl/") else 11


def compile_text(text: str, place: Path, command: list[str], *flags: str) -> None:
    suffix = "cc" if "++" in command[0] else "c"
    source = write(place / f"source.{suffix}", f"{text}\nextern int unit;")
    run(tool(command[0]), *command[1:], *ON_PATH, *flags, "-fsyntax-only", source)


def newest(place: Path, suffix: str, command: list[str]) -> str:
    """The newest standard that a compiler knows."""
    for standard in reversed([s for s in NEWEST[suffix] if "gnu" not in s]):
        source = write(place / f"empty.{suffix}", "")
        words = [tool(command[0]), *command[1:], f"-std={standard}", "-fsyntax-only", source]
        if run(*words, check=False).returncode == 0:
            return standard
    raise AssertionError(command)


def test_the_headers_are_found() -> None:
    assert {"pd_flags.h", "gflags/gflags.h", "c10/util/Flags.h"} <= set(PUBLIC)
    assert set(USES) <= set(PUBLIC)


@pytest.mark.parametrize("header", PUBLIC)
def test_a_header_brings_all_that_it_needs(header: str, tmp_path: Path) -> None:
    text = f"#include <{header}>\n#include <{header}>\n{USES.get(header, '')}"
    compile_text(text, tmp_path, ["clang++"], *WARNINGS, f"-std=c++{needs(header)}")


@pytest.mark.parametrize("header", [*PUBLIC, "pd_flags/record.h"])
def test_microsofts_compiler_is_told_to_be_clang_cl(header: str, tmp_path: Path) -> None:
    source = write(tmp_path / "plugin.cc", f"#include <{header}>\n")
    as_cl = ["-U__clang__", "-D_MSC_VER=1940", "-D_WIN32", "-D_WIN64"]
    if header == "pd_flags.hpp" or header.startswith("absl/"):  # they ask for a standard themselves
        as_cl += ["-U__cplusplus", "-D__cplusplus=199711L"]  # which cl.exe says of itself
    words = [*CXX, f"-std=c++{needs(header)}", *as_cl, *ON_PATH, "-E", source]
    ended = run(*words, "-o", tmp_path / "plugin.ii", check=False)
    errors = [line for line in ended.stderr.splitlines() if "error: " in line]
    assert ended.returncode != 0
    assert "use clang-cl" in errors[0]


# Numbers, durations and C text, with all that a flag does but messages.
WITHOUT_STRING = """
#include <pd_flags.hpp>
static pd::flag<int> depth{"depth", 3, "How deep", pd::range(1, 9),
                           pd::validate([](int v) { return v != 4; }, "not 4"), pd::watch([] {})};
static pd::flag<float> rate{"rate", 0.1f, "How fast"};
static pd::flag<const char *> title{"title", "x", "Title"};
static pd::import<bool> fast{"fast", false};
PD_DEFINE_SCOPED_int32(level, 6, "Level");
PD_DEFINE_SCOPED_double(share, 0.5, "Share");
int use(int &argc, char **argv);
int use(int &argc, char **argv) {
  if (!pd::parse(argc, argv) || !pd::set("depth", "5") || !depth.set(7) || !depth.reset()) return 1;
  pd::result<pd::ref<int>> found = pd::find<int>("depth");
  if (!found || found->get().value_or(3) != 3 || !depth.on_change([] {})) return 2;
  pd::scoped_value guard{FLAGS_level, 9}, other{FLAGS_share, 1};
  try {
    depth.set_text("4").or_throw();
  } catch (const pd::error &e) {
    return *e.what() + *title.get();
  }
  return pd::load("x").ok() && fast && rate > 0.5f;
}
"""
COSTLY = ("string", "vector", "chrono", "optional", "string_view", "stdexcept", "map", "iostream")


@pytest.mark.parametrize("command", ["g++", "clang++"])
@pytest.mark.parametrize("standard", ["c++11", "c++17", "c++20"])
def test_costly_headers_come_from_the_source_that_uses_them(
    standard: str, command: str, tmp_path: Path
) -> None:
    compile_text(WITHOUT_STRING, tmp_path, [command], *WARNINGS, f"-std={standard}")
    words = [tool(command), *ON_PATH, f"-std={standard}", "-M", tmp_path / "source.cc"]
    read = {path.rpartition("/")[2] for path in run(*words).stdout.split()}
    assert "type_traits" in read
    assert read.isdisjoint([*COSTLY, "basic_string.h"])


@pytest.mark.parametrize("command", ["g++", "clang++"])
@pytest.mark.parametrize(
    "use",
    [
        'static pd::flag<std::string> mode{"mode", "fast", "How"};',
        'static pd::flag<e> mode{"mode", e::one, "How"};',
        "static const std::string &text = pd::status().message();",
    ],
)
def test_a_source_that_lacks_string_is_told_so(use: str, command: str, tmp_path: Path) -> None:
    start = "#include <pd_flags.hpp>\nenum class e { one };\npd::names<e> pd_names(e);\n"
    source = write(tmp_path / "source.cc", f"{start}{use}\n")
    words = [tool(command), *ON_PATH, "-std=c++17", "-fsyntax-only", source]
    assert "include <string> before" in run(*words, check=False).stderr
    write(source, f"{start}#include <string>\n{use}\n")
    run(*words)


@pytest.mark.parametrize("header", [name for name in PUBLIC if needs(name) > 11])
def test_a_header_for_newer_standards_says_so_in_an_older_one(header: str, tmp_path: Path) -> None:
    source = write(tmp_path / "source.cc", f"#include <{header}>\n")
    words = [tool("g++"), *ON_PATH, "-std=c++14", "-fsyntax-only", source]
    said = run(*words, check=False).stderr
    assert f"{header} needs C++{needs(header)} or newer" in said


@pytest.mark.parametrize(
    ("command", "standards"),
    [
        ("g++", ["c++11", "c++17", "newest"]),
        ("clang++", ["c++14", "c++20"]),
        pytest.param("x86_64-w64-mingw32-g++", ["c++11"], marks=pytest.mark.extended),
    ],
)
def test_all_headers_together_compile_without_a_warning(
    command: str, standards: list[str], tmp_path: Path
) -> None:
    # On Windows gcc may come without std::mutex, which Paddle's interface needs.
    threads = "mingw" not in command or "Thread model: posix" in run(tool(command), "-v").stderr
    usable = [name for name in PUBLIC if threads or not name.startswith("paddle/")]
    for standard in standards:
        known = newest(tmp_path, "cc", [command]) if standard == "newest" else standard
        headers = [name for name in usable if known not in OLDER or needs(name) == 11]
        text = "".join(f"#include <{name}>\n" for name in headers)
        text += "\n".join(USES[name] for name in headers if name in USES)
        compile_text(text, tmp_path, [command], *WARNINGS, f"-std={known}")


@pytest.mark.extended
@pytest.mark.parametrize("by", ["gcc", "g++", "clang"])
def test_the_header_compiles_for_windows_in_every_standard(by: str, tmp_path: Path) -> None:
    command = [word for word in mingw_compiler(by) if not word.startswith("-L")]
    suffix, kind, strict = ("cc", "c++", STRICT_CXX) if by == "g++" else ("c", "c", STRICT_C)
    numbers = ("11", "14", "17", "20") if by == "g++" else ("99", "11", "17")
    for standard in (*(kind + number for number in numbers), newest(tmp_path, suffix, command)):
        compile_text(EVERYTHING, tmp_path, command, *STRICT, *strict, f"-std={standard}")


def tidy(source: Path, *flags: str, checks: str = "") -> list[str]:
    """What clang-tidy says of our headers, and of what their macros leave in a source."""
    words = [tool("clang-tidy"), "--quiet", f"--config-file={ROOT / '.clang-tidy'}"]
    chosen = [f"--checks={checks}"] if checks else []
    filtered = f"--header-filter={INCLUDE}"
    ended = run(*words, *chosen, filtered, source, "--", *flags, *ON_PATH, check=False)
    return re.findall(r"^\S+: (?:error|warning): .*", ended.stdout, re.MULTILINE)


# The function of a user in it may change what it gets a pointer to; this one doesn't.
CALM = EVERYTHING.replace("return entries", "if (why) *why = 0;\n  return entries")


@pytest.mark.parametrize(("suffix", "standard"), [("c", "c11"), ("cc", "c++17")])
def test_clang_tidy_finds_nothing_in_the_header_and_its_macros(
    suffix: str, standard: str, tmp_path: Path
) -> None:
    assert tidy(write(tmp_path / f"source.{suffix}", CALM), f"-std={standard}") == []


def test_clang_tidy_would_see_it(tmp_path: Path) -> None:
    wrong = CALM.replace("return *FLAGS_a_string", "if (sizeof(b) == 5) return 0;\n  return *b")
    source = write(tmp_path / "source.c", wrong + "int f(char *p);\nint f(char *p) { return *p; }")
    assert len(tidy(source, "-std=c11")) == 1


@pytest.mark.release  # repeats the check of the headers
def test_clang_tidy_finds_no_bug_in_the_headers_by_other_names(tmp_path: Path) -> None:
    text = "".join(f"#include <{name}>\n" for name in PUBLIC) + "\n".join(USES.values())
    calm = "-*,bugprone-*,clang-analyzer-*,portability-*,-bugprone-easily-swappable-parameters"
    calm += ",-bugprone-macro-parentheses,-bugprone-narrowing-conversions"
    calm += ",-bugprone-reserved-identifier,-bugprone-sizeof-expression"
    calm += ",-bugprone-assignment-in-if-condition"
    source = write(tmp_path / "source.cc", text)
    assert tidy(source, "-std=c++17", checks=calm) == []
