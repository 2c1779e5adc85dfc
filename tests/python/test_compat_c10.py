"""c10/util/Flags.h of compat/: c10's flags on our registry and on a real gflags."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support import (
    CXX,
    INCLUDE,
    build,
    build_program,
    build_with_library,
    require,
    run,
    write,
)

pytestmark = pytest.mark.extended  # each test compiles

COMPAT = f"-I{INCLUDE}/compat"

DEFINED = """
#include <c10/util/Flags.h>
C10_DEFINE_bool(c10_check, true, "Only used in test.");
C10_DEFINE_int(c10_level, 6, "Level")
C10_DEFINE_int64(c10_big, 1LL << 40, "Big")
C10_DEFINE_double(c10_share, 0.5, "Share of memory")
C10_DEFINE_string(c10_mode, "fast", "How to search")
"""

USED = """
#include <c10/util/Flags.h>
#include <cstdio>
C10_DECLARE_bool(c10_check);
C10_DECLARE_int(c10_level);
C10_DECLARE_int64(c10_big)
C10_DECLARE_double(c10_share);
C10_DECLARE_string(c10_mode);

namespace c10_test {
static void show() {
  std::printf("%d %d %lld %g %s\\n", FLAGS_c10_check, c10::FLAGS_c10_level,
              static_cast<long long>(c10::FLAGS_c10_big), ::FLAGS_c10_share,
              c10::FLAGS_c10_mode.c_str());
}
}  // namespace c10_test

int main(int argc, char **argv) {
  c10::SetUsageMessage("What it does");
  FLAGS_c10_level = 1;  // the line holds: it comes later
  bool before = c10::CommandLineFlagsHasBeenParsed();
  bool read = c10::ParseCommandLineFlags(&argc, &argv);
  std::printf("%d %d %s\\n", read, c10::CommandLineFlagsHasBeenParsed() && !before,
              c10::UsageMessage());
  c10_test::show();
  FLAGS_c10_check = !FLAGS_c10_check;
  c10::FLAGS_c10_level++;
  c10::FLAGS_c10_mode += "er";
  c10_test::show();
  for (int i = 1; i < argc; i++) std::puts(argv[i]);
  return 0;
}
"""

LIVE = """
#include <c10/util/Flags.h>
#include <pd_flags.h>
#include <cstdio>
C10_DEFINE_int(c10_level, 6, "Level");
int main(int argc, char **argv) {
  pd_flag *flag;
  pd_flag_find("c10_level", &flag, nullptr);
  pd_assignment item = pd_assignment();
  item.flag = flag;
  item.text = "2";
  pd_origin origin = {PD_SOURCE_LIVE, 0, "pid 4312", 0};
  FLAGS_c10_level = 1;
  if (argc == 3) pd_batch_set(&item, 1, &origin, nullptr, nullptr);
  FLAGS_c10_level = 3;
  if (argc == 2) pd_batch_set(&item, 1, &origin, nullptr, nullptr);
  bool read = c10::ParseCommandLineFlags(&argc, &argv);
  std::printf("%d %d\\n", read, FLAGS_c10_level);
}
"""

REGISTRY = """
#include <c10/util/Flags.h>
#include <algorithm>
#include <cstdio>
C10_DEFINE_typed_var(int, c10_level, 6, "Level");
C10_DEFINE_typed_var(std::string, c10_mode, "fast", "How to search");
C10_DEFINE_typed_var(uint64_t, c10_bytes, 1, "Bytes");
C10_DECLARE_typed_var(std::string, c10_mode);
int main() {
  for (const std::string &name : c10::C10FlagsRegistry()->Keys()) std::puts(name.c_str());
  std::puts(c10::C10FlagsRegistry()->HelpMessage()["c10_mode"].c_str());
  std::printf("%d %d\\n", c10::C10FlagsRegistry()->Has("c10_level"),
              c10::C10FlagsRegistry()->Has("c10_levl"));
  std::printf("%d %d\\n", c10::C10FlagsRegistry()->Create("c10_level", "7")->success(),
              c10::C10FlagsRegistry()->Create("c10_level", "x")->success());
  std::printf("%d %d\\n", c10::C10FlagsRegistry()->Create("c10_levl", "7") == nullptr,
              c10::FLAGS_c10_level);
  std::puts(c10::UsageMessage());
  c10::SetUsageMessage("first");
  c10::SetUsageMessage("second");
  std::puts(c10::UsageMessage());
}
"""

SHOWN = ["0 7 1099511627776 0.25 best", "1 8 1099511627776 0.25 bester", "word"]


def sources(place: Path) -> list[Path]:
    return [write(place / "used.cpp", USED), write(place / "defined.cpp", DEFINED)]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("c10")
    return build_program(place / "program", *sources(place), flags=("-std=c++11", COMPAT))


def show(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run(program, *words, check=False)


def test_c10s_macros_and_functions_have_their_meaning(program: Path) -> None:
    line = ["--c10_level", "7", "word", "--c10_mode=best", "-x", "--c10_share=.25"]
    ended = show(program, *line, "--c10_check", "False")
    assert ended.stdout.splitlines() == ["1 1 What it does", *SHOWN, "-x"]
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_same_sources_show_the_same_on_a_real_gflags(tmp_path: Path, program: Path) -> None:
    require("libgflags-dev", "gflags/gflags.h")
    line = ["--c10_level", "7", "word", "--c10_mode=best", "--c10_share=.25", "--c10_check=False"]
    flags = ("-std=c++17", "-DC10_USE_GFLAGS", COMPAT, "-lgflags")
    other = build(tmp_path / "other", *sources(tmp_path), flags=flags)
    assert show(other, *line).stdout.splitlines()[1:] == SHOWN
    assert show(program, *line).stdout.splitlines()[1:] == SHOWN


@pytest.mark.parametrize(
    ("words", "errors"),
    [
        (
            ["--c10_levl=7", "--c10_big=3x", "--c10_level=7"],
            ["--c10_levl: no such flag; did you mean '--c10_level'?", "--c10_big=3x: expected a"],
        ),
        (["--c10_level"], ["--c10_level: expected =value"]),
        (["--", "--c10_level=7"], ["--: expected =value"]),
        (["--c10_check", "--c10_level=7"], ["--c10_check=--c10_level=7: expected"]),
    ],
)
def test_a_bad_line_changes_nothing_and_tells_all_its_errors(
    program: Path, words: list[str], errors: list[str]
) -> None:
    ended = show(program, "word", *words)
    expected = ["0 1 What it does", "1 1 1099511627776 0.5 fast", "0 2 1099511627776 0.5 faster"]
    assert ended.stdout.splitlines() == [*expected, "word", *words]
    told = ended.stderr.splitlines()
    assert len(told) == len(errors)
    for line, error in zip(told, errors):
        assert line.startswith(f"C10 flag error: {error}")


def test_help_shows_the_usage_and_the_flags_and_ends_with_0(program: Path) -> None:
    ended = show(program, "--c10_level=7", "--help")
    assert ended.returncode == 0
    assert ended.stdout.startswith("What it does\nArguments: \n")
    assert "    c10_big: (int64, default 1099511627776) Big\n" in ended.stdout
    assert '    c10_mode: (string, default "fast") How to search\n' in ended.stdout


def test_c10s_registry_shows_the_flags_of_the_process(tmp_path: Path) -> None:
    source = write(tmp_path / "registry.cpp", REGISTRY)
    program = build_program(tmp_path / "registry", source, flags=("-std=c++11", COMPAT))
    ended = show(program)
    assert ended.stdout.splitlines() == [
        "c10_level",
        "c10_mode",
        "c10_bytes",
        '(string, default "fast") How to search',
        "1 0",
        "1 0",
        "1 7",
        "(Usage message not set.)",
        "first",
    ]
    assert ended.stderr.startswith("C10 flag error: c10_level=x: expected a 32-bit integer")


@pytest.mark.parametrize("words", [["--c10_level=4"], ["--c10_level=4", "later"]])
def test_a_line_that_comes_later_holds_over_live_values_too(words, tmp_path: Path) -> None:
    program = build_program(tmp_path / "live", write(tmp_path / "live.cpp", LIVE), flags=(COMPAT,))
    assert run(program, *words).stdout == "1 4\n"


# ---- Beside PyTorch's own libraries ----

LIBRARY = """
#include <c10/util/Flags.h>
C10_DEFINE_int(lib_level, 6, "Level");
C10_DEFINE_string(lib_mode, "fast", "Mode");
extern "C" const char *lib_mode() { return FLAGS_lib_mode.c_str(); }
"""

CALLER = """
#include <c10/util/Flags.h>
#include <cstdio>
C10_DECLARE_int(lib_level);
TORCH_DECLARE_string(lib_mode);
extern "C" const char *lib_mode();
int main(int argc, char **argv) {
  bool read = c10::ParseCommandLineFlags(&argc, &argv);
  FLAGS_lib_mode += "er";
  std::printf("%d %d %s\\n", read, FLAGS_lib_level, lib_mode());
}
"""


def test_a_program_and_its_library_share_flags(tmp_path: Path) -> None:
    program = build_with_library(tmp_path, LIBRARY, CALLER, (COMPAT,))
    assert run(program, "--lib_level=7", "--lib_mode=deep").stdout == "1 7 deeper\n"


def test_a_flag_that_is_only_declared_names_the_header_to_include(tmp_path: Path) -> None:
    text = "#include <c10/util/Flags.h>\nC10_DECLARE_string(theirs);\n"
    text += "const char *mode() { return FLAGS_theirs.c_str(); }"
    source = write(tmp_path / "declared.cpp", text)
    options = ["-std=c++11", f"-I{INCLUDE}", COMPAT, "-shared", "-fPIC", "-Wl,-z,defs"]
    ended = run(*CXX, *options, source, "-o", tmp_path / "declared.so", check=False)
    symbol = "string_FLAGS_theirs_of_paddle_flags__for_a_flag_of_c10_include_its_own_header"
    assert f"undefined reference to `{symbol}'" in ended.stderr
