"""c10's flag test on our header, and its parser beside ours.

Both are of Debian's source package of PyTorch, which is fetched when the tests run.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support import CXX, INCLUDE, ROOT, build_program, require, run, write

sys.path.insert(0, str(ROOT / "tests" / "matrix" / "peers"))

import sources

pytestmark = pytest.mark.extended

COMPAT = f"-I{INCLUDE}/compat"

PROGRAM = """
#include <c10/util/Flags.h>
#include <cstdint>
#include <cstdio>
C10_DEFINE_bool(c10_check, true, "Only used in test.");
C10_DEFINE_int(c10_level, 6, "Level");
C10_DEFINE_int64(c10_big, 1LL << 40, "Big");
C10_DEFINE_double(c10_share, 0.5, "Share of memory");
C10_DEFINE_string(c10_mode, "fast", "How to search");
int main(int argc, char **argv) {
  c10::SetUsageMessage("What it does");
  FLAGS_c10_level = 1;
  bool read = c10::ParseCommandLineFlags(&argc, &argv);
  std::printf("%d %d %s: %d %d %lld %g %s", read, c10::CommandLineFlagsHasBeenParsed(),
              c10::UsageMessage(), FLAGS_c10_check, FLAGS_c10_level,
              static_cast<long long>(FLAGS_c10_big), FLAGS_c10_share, FLAGS_c10_mode.c_str());
  for (int i = 1; i < argc; i++) std::printf(" [%s]", argv[i]);
  std::puts("");
}
"""

VALID = [
    "",
    "word -x --c10_level 7 other --c10_mode=best",
    "--c10_check False --c10_big=-3 --c10_share=1e3",
    "--c10_check=FALSE --c10_check true --c10_share .25",
    "--c10_mode= a --c10_mode b=c --c10_level=8 --c10_level=-9",
    "--c10_check=1 --c10_mode --word",
    "--c10_check 0 --c10_big 9223372036854775807 --c10_level -2147483648  =x",
]
INVALID = ["--c10_nope 1", "--c10_level", "--c10_check maybe", "--c10_check", "--"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    parts = ("c10/macros", "c10/util", "c10/test/util")
    return sources.fetch_part(tmp_path_factory.mktemp("pytorch"), "pytorch", *parts)


def test_c10s_flag_test_passes_unchanged_with_and_without_its_checks(
    tree: Path, tmp_path: Path
) -> None:
    """It checks something with C10_USE_GFLAGS alone, which is defined behind our header here."""
    require("libgtest-dev", "gtest/gtest.h")
    test = tree / "c10" / "test" / "util" / "flags_test.cpp"
    checks = write(tmp_path / "ours.h", "#include <c10/util/Flags.h>\n#define C10_USE_GFLAGS\n")
    options = ("-std=c++17", COMPAT, "-lgtest", "-lgtest_main")
    for name, flags in (("plain", ()), ("checked", ("-include", str(checks)))):
        program = build_program(tmp_path / name, test, flags=(*flags, *options))
        assert "[  PASSED  ] 1 test." in run(program).stdout


@pytest.fixture(scope="module")
def programs(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Build one program with c10's own header and parser, and with ours."""
    place = tmp_path_factory.mktemp("c10")
    program = write(place / "program.cpp", PROGRAM)
    ours = build_program(place / "ours", program, flags=("-std=c++14", COMPAT))
    parser = tree / "c10" / "util" / "flags_use_no_gflags.cpp"
    options = ("-std=c++14", "-w", "-DC10_USING_CUSTOM_GENERATED_MACROS", f"-I{tree}")
    run(*CXX, *options, program, parser, "-o", place / "theirs")
    return ours, place / "theirs"


@pytest.mark.parametrize("line", VALID)
def test_a_valid_line_means_what_it_means_to_c10(programs: tuple[Path, Path], line: str) -> None:
    ours, theirs = (run(program, *line.split()).stdout for program in programs)
    assert ours.startswith("1 1 What it does: ")
    assert ours == theirs


@pytest.mark.parametrize("line", INVALID)
def test_what_c10_refuses_is_refused(programs: tuple[Path, Path], line: str) -> None:
    for program in programs:
        ended = run(program, *line.split())
        assert ended.stdout.startswith("0 1 What it does: 1 1 1099511627776 0.5 fast")
        assert ended.stderr
