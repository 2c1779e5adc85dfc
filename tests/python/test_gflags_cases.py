"""gflags' own command-line cases, with an equivalent program on ours.

The cases are the add_gflags_test lines of the CMakeLists.txt in Debian's source package,
which is fetched when the tests run; one of them is commented out there, because it fails in
some builds. Each must end with the same status, and show or not show
the same; docs/reference/gflags-differences.md has a row for every difference.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from gflags_source import Case, fetch, read_cases, variables
from support import CC, CHECKED, INCLUDE, LIBDIR, ROOT, WARNINGS, build, run

pytestmark = pytest.mark.extended

PROGRAM = ROOT / "tests" / "c" / "gflags_unittest.c"
PAGE = ROOT / "docs" / "reference" / "gflags-differences.md"

# What gflags' text stands for, as ours shows it; where it is the file of a list of flags, a
# flag of that file.
SHOWN = {
    "This text should be stripped out": "This text should be stripped out",
    "PASS": "PASS",
    "gflags_unittest": "gflags_unittest",
    "version test_version": "version test_version",
    "tldflag1": "--tldflag1",
    "tldflag2": "--tldflag2",
    "/gflags_unittest.cc:": "--[no]test_bool ",
    "/gflags_unittest-main.cc:": "--[no]test_bool ",
    "/gflags_unittest_main.cc:": "--[no]test_bool ",
    "/gflags.cc:": "--[no]of_gflags ",
    "/gflags_reporting.cc:": "--[no]of_reporting ",
    "/google.cc:": "--[no]of_gflags ",
    "/gflags_unittest.cc</file>": "/gflags_unittest.cc</file>",
    "end of a long helpstring": "end of a long helpstring",
    "No modules matched": "defines flags; --help shows all.",
    "-changed_bool1 (changed) type: bool default: true": "changed [default: true]",
    "-changed_bool2 (changed) type: bool default: false currently: true": (
        "changed [default: false] [now: true set at run time]"
    ),
    "unknown command line flag": ": no such flag",
    "unknown command line flag 'foo'": "--foo: no such flag",
    "not found in environment": "the environment has no FLAGS_",
    "helpfull not found in environment": "the environment has no FLAGS_helpfull",
    "'--helpon' is missing its argument; flag description: show help on": (
        "--helpon: the value is missing"
    ),
    "ERROR: failed validation of new value 'true' for flag 'always_fail'": (
        "ERROR: --always_fail=true: expected false, always"
    ),
}


class Difference(NamedTuple):
    """What ours does instead, and the row that says so."""

    status: int
    shows: str
    row: str


UNKNOWN = Difference(1, "flagfile.2:1: --foo: no such flag", "An unknown name in a flagfile")
DIFFERENCES = {
    "flagfile.2": UNKNOWN,
    "flagfile.3": UNKNOWN,
    "changeable_string_var": Difference(
        1, "--changeable_string_var=STRING [default: 1]", "Help after a value"
    ),
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fetch(tmp_path_factory.mktemp("gflags"), "gflags")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the programs, with gflags' names of source files; their directory."""
    place = tmp_path_factory.mktemp("programs")
    others = [other(place, "gflags"), other(place, "gflags_reporting")]
    for name in ("gflags_unittest", "gflags_unittest-main", "gflags_unittest_main"):
        source = Path(shutil.copy(PROGRAM, place / f"{name}.cc"))
        link = (f"-L{LIBDIR}", f"-Wl,-rpath,{LIBDIR}", "-lpd_flags")
        build(place / name, c(source, place), *others, flags=link)
    shutil.copy(place / "gflags_unittest", place / "gflags_strip_flags_test")
    return place


def other(place: Path, name: str) -> Path:
    source = Path(shutil.copy(PROGRAM, place / f"{name}.cc"))
    return c(source, place, f"-DOTHER_SOURCE=of_{name.replace('gflags_', '')}")


def c(source: Path, place: Path, *flags: str) -> Path:
    """Compile C that is called .cc; the object."""
    out = place / f"{source.stem}.o"
    compiler = [*CC, *WARNINGS, *CHECKED, f"-I{INCLUDE}", "-x", "c", *flags]
    run(*compiler, "-c", source, "-o", out)
    return out


def check(case: Case, tree: Path, programs: Path) -> None:
    words = [f"--test_tmpdir={programs}", "--srcdir=.", *case.words]
    ended = run(
        programs / case.program, *words, check=False, cwd=tree / "test", env=variables(tree)
    )
    told = " ".join((ended.stdout + ended.stderr).split())
    status, shows, hides = case.status, SHOWN.get(case.shows, ""), SHOWN.get(case.hides, "")
    if case.name in DIFFERENCES:
        status, shows, _ = DIFFERENCES[case.name]
    else:
        assert bool(shows) == bool(case.shows), f"{case}: what does that stand for?"
    assert bool(hides) == bool(case.hides), f"{case}: what does that stand for?"
    assert ended.returncode == status, f"{case}\n{told}"
    assert shows in told, f"{case}\n{told}"
    assert not hides or hides not in told, f"{case}\n{told}"


def test_each_case_of_gflags_ends_and_tells_the_same(tree, programs):
    cases = read_cases(tree)
    assert len(cases) == 51
    assert DIFFERENCES.keys() <= {case.name for case in cases}
    for case in cases:
        check(case, tree, programs)


def rows() -> list[list[str]]:
    lines = PAGE.read_text("utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [row for row in cells if len(row) == 5 and row[0] not in ("", "---", "what")]


def test_each_difference_has_a_row():
    titles = [row[0] for row in rows()]
    assert len(titles) == len(set(titles)) > 30
    for difference in DIFFERENCES.values():
        assert difference.row in titles


def test_each_row_names_tests_that_there_are():
    for title, *_, shown in rows():
        tests = re.findall(r"`(\w+)`", shown)
        assert tests, title
        for test in tests:
            assert any(defines(path, test) for path in TEST_FILES), f"{title}: {test}"


TEST_FILES = [*ROOT.glob("tests/c/test_*.c"), *ROOT.glob("tests/python/test_*.py")]


def defines(path: Path, test: str) -> bool:
    start = "TEST(" if path.suffix == ".c" else "def "
    return f"\n{start}{test}(" in path.read_text("utf-8") or (
        f"\n{start}{test})" in path.read_text("utf-8")
    )
