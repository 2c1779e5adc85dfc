"""compat/gflags/gflags.h, with gflags' own tests: their sources are compiled as they are.

They come from Debian's source package when the tests run. gflags' private headers (util.h
has the macros of its tests) are taken from there too; its public ones are ours.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from gflags_source import Case, fetch, read_cases, variables
from support import CHECKED, CXX, INCLUDE, LIBDIR, run, tool, write

# What cmake would have found out about this system, for gflags' private config.h.
CONFIGURED = ("STDINT_H", "INTTYPES_H", "SYS_STAT_H", "UNISTD_H", "FNMATCH_H", "STRTOLL")
OURS = [f"-I{Path(INCLUDE, 'compat')}", f"-I{INCLUDE}"]
LINK = [f"-L{LIBDIR}", f"-Wl,-rpath,{LIBDIR}", "-lpd_flags"]


def compiler() -> list[str]:
    return [*CXX, "-std=c++11", "-O0", *CHECKED]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fetch(tmp_path_factory.mktemp("gflags"), "gflags")


@pytest.fixture(scope="module")
def programs(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the programs of the cases; their directory."""
    place = tmp_path_factory.mktemp("programs")
    write(place / "defines.h", "".join(f"#define HAVE_{name} 1\n" for name in CONFIGURED))
    # gflags makes a folder for the files of its tests, forgets its name, and writes them to "/".
    util = (tree / "src" / "util.h").read_text("utf-8")
    forgets = 'mkdir("/tmp/gflags_unittest", 0755);'
    assert forgets in util
    write(place / "util.h", util.replace(forgets, f'*path = "{place}";'))
    private = [f"-I{place}", f"-I{tree / 'src'}"]
    # gflags compiles one source under three names. All that differs is __FILE__, so that one
    # run of the compiler will do; what sanitizers know of sizes stays true.
    longest = "gflags_unittest-main.cc"
    source = shutil.copy(tree / "test" / "gflags_unittest.cc", place / longest)
    assembly = place / "all.s"
    run(*compiler(), *OURS, *private, "-S", source, "-o", assembly)
    for name in ("gflags_unittest", "gflags_unittest-main", "gflags_unittest_main"):
        file = f"/{name}.cc" + "\\000" * (len(longest) - len(f"{name}.cc"))
        text = assembly.read_text("utf-8").replace(f"/{longest}", file)
        named = write(place / f"{name}.s", text)
        run(*CXX, *CHECKED, named, "-o", place / name, *LINK)
    strip = tree / "test" / "gflags_strip_flags_test.cc"
    run(*compiler(), *OURS, strip, "-o", place / "gflags_strip_flags_test", *LINK)
    return place


@pytest.mark.extended
def test_the_69_unit_tests_of_gflags_pass_unchanged(tree, programs):
    ended = run(programs / "gflags_unittest", cwd=tree / "test")
    assert ended.stderr.count("Running test ") == 69
    assert "Passed 69 tests\n\nPASS" in ended.stderr


def check(case: Case, tree: Path, programs: Path) -> None:
    words = [f"--test_tmpdir={programs}", f"--srcdir={tree / 'test'}", *case.words]
    ended = run(
        programs / case.program, *words, check=False, cwd=tree / "test", env=variables(tree)
    )
    told = ended.stdout + ended.stderr
    assert ended.returncode == case.status, f"{case}\n{told}"
    assert case.shows in told, f"{case}\n{told}"
    assert not case.hides or case.hides not in told, f"{case}\n{told}"


@pytest.mark.extended
def test_the_51_command_line_cases_of_gflags_pass_unchanged(tree, programs):
    cases = read_cases(tree)
    assert len(cases) == 51
    for case in cases:
        check(case, tree, programs)


@pytest.mark.extended
def test_stripped_help_is_not_in_the_program(programs):
    text = (programs / "gflags_strip_flags_test").read_bytes()
    assert b"This text should be stripped out" not in text


@pytest.mark.extended
def test_a_flag_is_declared_by_the_small_header_alone(tree, tmp_path):
    sources = [tree / "test" / f"gflags_declare_{name}.cc" for name in ("test", "flags")]
    run(*compiler(), *OURS, *sources, "-o", tmp_path / "declare", *LINK)
    assert run(tmp_path / "declare", "--message", "Hello gflags!").stdout == "Hello gflags!\n"


WRONG = ("SWAPPED_ARGS", "INT_INSTEAD_OF_BOOL", "BOOL_IN_QUOTES", "DEFINE_STRING_WITH_0")


@pytest.mark.extended
def test_what_does_not_compile_with_gflags_does_not_here(tree):
    source = tree / "test" / "nc" / "gflags_nc.cc"
    check = [*compiler(), *OURS, "-fsyntax-only", source]
    run(*check, "-DTEST_NC_SANITY")
    for wrong in WRONG:
        ended = run(*check, f"-DTEST_NC_{wrong}", check=False)
        assert ended.returncode != 0, wrong
        assert re.search("is no bool|deleted function", ended.stderr), ended.stderr


EVERYTHING = """
#include <gflags/gflags.h>
#include <gflags/gflags_completions.h>
DEFINE_bool(a_bool, true, "A bool");
DEFINE_int32(an_int32, -5, "An int32");
DEFINE_uint32(a_uint32, 5, "A uint32");
DEFINE_int64(an_int64, -5000000000, "An int64");
DEFINE_uint64(a_uint64, 18446744073709551615u, "A uint64");
DEFINE_double(a_double, 0.5, "A double");
DEFINE_string(a_string, "fast", "A string");
DEFINE_string(late, gflags::StringFromEnv("LATE", "none"), "A string of the environment");
DEFINE_double(late_double, gflags::DoubleFromEnv("LATE", 0.1), "A double of it");
DEFINE_VARIABLE(google::int32, I, by_hand, 3, "As gflags' macros do it");
DECLARE_string(flagfile);
static bool positive(const char *, gflags::int32 value) { return value > 0; }
DEFINE_validator(by_hand, positive);
namespace inner { DEFINE_int32(inside, 1, "In a namespace"); }
int main(int argc, char **argv) {
  gflags::FlagSaver saver;
  google::SetUsageMessage("usage");
  gflags::SetVersionString("1");
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  FLAGS_a_string = FLAGS_flagfile;
  std::string all = gflags::CommandlineFlagsIntoString();
  gflags::HandleCommandLineCompletions();
  return inner::FLAGS_inside + static_cast<int>(all.size());
}
"""

STRICT = [
    *["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wcast-qual", "-Wundef"],
    *["-Wsign-conversion", "-Wfloat-equal", "-Wold-style-cast", "-Wformat=2", "-Werror"],
    *["-Wmissing-declarations", "-Wzero-as-null-pointer-constant", "-Wnon-virtual-dtor"],
]


@pytest.mark.parametrize(("driver", "standard"), [("g++", "c++11"), ("clang++", "c++20")])
def test_the_header_compiles_without_warnings(driver, standard, tmp_path):
    tool(driver, "clang" if driver == "clang++" else "g++")
    source = write(tmp_path / "everything.cc", EVERYTHING)
    run(driver, f"-std={standard}", *STRICT, *OURS, "-fsyntax-only", source)


@pytest.mark.extended  # takes a second or more
def test_a_module_exports_its_flags_and_nothing_of_the_headers(tmp_path):
    source = write(tmp_path / "everything.cc", EVERYTHING.replace("int main", "int run"))
    out = tmp_path / "libeverything.so"
    run(*compiler(), *OURS, "-shared", "-fPIC", source, "-o", out, *LINK)
    names = run("nm", "-DC", "--defined-only", out).stdout.splitlines()
    kept = [name.split(" ", 2)[2] for name in names]
    exported = r"gflags::(gflags_exitfunc$|CommandLineFlagInfo::)"
    allowed = rf"FLAGS_|^pd_gflags_|\b(std::|__gnu|operator |{exported})|^(run|_)"
    assert not [name for name in kept if not re.search(allowed, name)]
    assert "fLI::FLAGS_an_int32" in kept
