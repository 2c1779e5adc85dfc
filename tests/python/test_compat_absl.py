"""compat/absl/flags: programs that are written for Abseil's flags join the registry unchanged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import CHECKED, CXX, INCLUDE, LIBDIR, WARNINGS, run, write

pytestmark = pytest.mark.extended  # each test compiles

OURS = [f"-I{Path(INCLUDE, 'compat')}", f"-I{INCLUDE}"]
LINK = [f"-L{LIBDIR}", f"-Wl,-rpath,{LIBDIR}", "-lpd_flags"]

PROGRAM = r"""
#include <absl/flags/flag.h>
#include <absl/flags/marshalling.h>
#include <absl/flags/parse.h>
#include <absl/flags/reflection.h>
#include <absl/flags/usage.h>
#include <absl/flags/usage_config.h>

#include <cstdio>
#include <cstring>

static int updates;
namespace shapes {
struct Point {
  int x, y;
};
bool AbslParseFlag(absl::string_view text, Point *out, std::string *error) {
  if (std::sscanf(std::string(text).c_str(), "%d:%d", &out->x, &out->y) == 2) return true;
  *error = "expected x:y";
  return false;
}
std::string AbslUnparseFlag(const Point &p) {
  return std::to_string(p.x) + ":" + std::to_string(p.y);
}
}  // namespace shapes

ABSL_FLAG(int, level, 3, "Level").OnUpdate([] { updates++; });
ABSL_FLAG(bool, loud, true, "Loud");
ABSL_FLAG(std::string, name, "x", "Name");
ABSL_FLAG(shapes::Point, at, {}, "Where");
ABSL_FLAG(std::vector<std::string>, items, {}, "Items");
ABSL_FLAG(std::optional<double>, rate, std::nullopt, "Rate");
ABSL_FLAG(int16_t, small, 7, "Small");
ABSL_RETIRED_FLAG(bool, quiet, false, "");
ABSL_RETIRED_FLAG(int, depth, 1, std::string("use --level"));
extern int early;

static void show() {
  std::printf("level=%d loud=%d name=%s at=%d:%d items=%zu rate=%g small=%d\n",
              absl::GetFlag(FLAGS_level), absl::GetFlag(FLAGS_loud),
              absl::GetFlag(FLAGS_name).c_str(), absl::GetFlag(FLAGS_at).x,
              absl::GetFlag(FLAGS_at).y, absl::GetFlag(FLAGS_items).size(),
              absl::GetFlag(FLAGS_rate).value_or(-1), absl::GetFlag(FLAGS_small));
}

static void set() {
  std::printf("%d ", updates);
  absl::SetFlag(&FLAGS_level, 5);
  absl::SetFlag(&FLAGS_name, "abc");
  absl::SetFlag(&FLAGS_at, shapes::Point{1, 2});
  absl::SetFlag(&FLAGS_items, std::vector<std::string>{"a", "b"});
  absl::SetFlag(&FLAGS_rate, 0.25);
  std::printf("%d\n", updates);
  show();
}

static void save() {
  absl::FlagSaver outer;
  absl::SetFlag(&FLAGS_level, 6);
  {
    absl::FlagSaver inner;
    absl::SetFlag(&FLAGS_level, 7);
    absl::SetFlag(&FLAGS_name, "gone");
  }
  show();
}

static void reflect() {
  std::string error;
  absl::CommandLineFlag *flag = absl::FindCommandLineFlag("at");
  std::printf("%s %s %d %d %d\n", flag->Help().c_str(), flag->DefaultValue().c_str(),
              flag->IsOfType<shapes::Point>(), flag->IsOfType<int>(),
              flag->TryGet<shapes::Point>()->x);
  bool set = flag->ParseFrom("8", &error);
  std::printf("%d %s\n", set, error.c_str());
  set = flag->ParseFrom("8:9", &error);
  std::printf("%d %s\n", set, flag->CurrentValue().c_str());
  std::printf("%d %d %d\n", absl::FindCommandLineFlag("none") == nullptr,
              absl::GetAllFlags().count("small") == 1, absl::FindCommandLineFlag("at") == flag);
  std::printf("%d %d\n", absl::FindCommandLineFlag("quiet")->IsRetired(),
              &absl::GetFlagReflectionHandle(FLAGS_at) == flag);
}

static void convert() {
  int number = 0;
  bool truth = false;
  std::string error;
  bool read = absl::ParseFlag(" 12 ", &number, &error);
  std::printf("%d %d ", read, number);
  read = absl::ParseFlag("YES", &truth, &error);
  std::printf("%d %d ", read, truth);
  read = absl::ParseFlag("1x", &number, &error);
  std::printf("%d %d ", read, error.empty());
  double infinite = 0;
  read = absl::ParseFlag("+3", &number, &error) && absl::ParseFlag("-Inf", &infinite, &error);
  std::printf("%d %d %g ", read, number, infinite);
  std::printf("%s %s\n", absl::UnparseFlag(0.1f).c_str(),
              absl::UnparseFlag(std::vector<std::string>{"a", "b"}).c_str());
}

int main(int argc, char **argv) {
  std::vector<char *> rest;
  std::vector<absl::UnrecognizedFlag> unknown;
  const char *what = argc > 1 ? argv[1] : "";
  std::printf("%d\n", early);
  absl::SetProgramUsageMessage("Shows shapes.");
  absl::FlagsUsageConfig config;
  config.version_string = [] { return std::string("shapes 4.2"); };
  absl::SetFlagsUsageConfig(config);
  if (!std::strcmp(what, "set")) return set(), 0;
  if (!std::strcmp(what, "save")) return save(), show(), 0;
  if (!std::strcmp(what, "reflect")) return reflect(), 0;
  if (!std::strcmp(what, "convert")) return convert(), 0;
  if (!std::strcmp(what, "some")) {
    absl::ParseAbseilFlagsOnly(argc, argv, rest, unknown);
  } else {
    rest = absl::ParseCommandLine(argc, argv);
  }
  show();
  for (size_t i = 1; i < rest.size(); i++) std::printf("%s ", rest[i]);
  for (auto &each : unknown) std::printf("?%s ", each.flag_name.c_str());
}
"""

OTHER = r"""
#include <absl/flags/declare.h>
ABSL_DECLARE_FLAG(int, level);
#include <absl/flags/flag.h>
int early = absl::GetFlag(FLAGS_level); /* perhaps before the constructor of the flag */
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("absl")
    sources = write(place / "other.cc", OTHER), write(place / "shapes.cc", PROGRAM)
    built = place / "shapes"
    run(*CXX, "-std=c++17", *WARNINGS, *CHECKED, *OURS, *sources, "-o", built, *LINK)
    return built


def ask(program: Path, *words: str, status: int = 0, **options: Any) -> str:
    ended = run(program, *words, check=False, **options)
    assert ended.returncode == status, ended.stdout + ended.stderr
    early, told = (ended.stdout + ended.stderr).split("\n", 1)
    assert early == "3"
    return told.strip()


@pytest.mark.extended  # takes a second or more
def test_set_flag_changes_what_get_flag_returns_and_calls_on_update(program):
    assert ask(program, "set").splitlines() == [
        "1 2",
        "level=5 loud=1 name=abc at=1:2 items=2 rate=0.25 small=7",
    ]


def test_a_command_line_sets_flags_and_leaves_arguments(program):
    told = ask(program, "a", "--level=4", "--noloud", "--at", "3:4", "--items=x,y", "--", "--b")
    assert told.splitlines() == ["level=4 loud=0 name=x at=3:4 items=2 rate=-1 small=7", "a --b"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--level=many"], "--level=many"),
        (["--at=3"], "expected x:y"),
        (["--small=40000"], "--small=40000"),
        (["--leval=1"], "--level"),
        (["--fromenv=level"], "FLAGS_level"),
    ],
)
def test_a_line_that_is_wrong_ends_the_program_with_1_and_says_why(program, words, said):
    told = ask(program, *words, status=1)
    assert told.startswith("ERROR: ")
    assert said in told


def test_values_come_from_files_and_the_environment(program, tmp_path):
    file = write(tmp_path / "flags", "--level=8\n--noloud\n")
    told = ask(
        program,
        f"--flagfile={file}",
        "--fromenv=name",
        "--tryfromenv=rate",
        "--undefok=later",
        "--later=1",
        env={"FLAGS_name": "env"},
    )
    assert told == "level=8 loud=0 name=env at=0:0 items=0 rate=-1 small=7"


def test_another_parser_gets_the_tokens_that_name_no_flag(program):
    told = ask(program, "some", "--level=4", "--their=1", "file", "--", "--more")
    assert told.splitlines()[0].startswith("level=4 ")
    assert told.splitlines()[1] == "some file --more ?their"


def test_help_and_version_end_the_program(program):
    assert "Shows shapes." in ask(program, "--help", status=1)
    assert "shapes 4.2" in ask(program, "--version")


def test_flag_savers_restore_values_and_nest(program):
    assert ask(program, "save").splitlines() == [
        "level=6 loud=1 name=x at=0:0 items=0 rate=-1 small=7",
        "level=3 loud=1 name=x at=0:0 items=0 rate=-1 small=7",
    ]


def test_flags_are_found_by_name_with_their_types(program):
    assert ask(program, "reflect").splitlines() == [
        "Where 0:0 1 0 0",
        "0 at=8: expected x:y",
        "1 8:9",
        "1 1 1",
        "1 1",
    ]


def test_values_are_read_from_text_and_written(program):
    assert ask(program, "convert") == "1 12 1 1 0 0 1 3 -inf 0.1 a,b"


def test_a_retired_flag_may_be_given_without_effect(program):
    assert ask(program, "--noquiet", "--depth=deep", "--level=4").startswith("level=4 loud=1 ")


@pytest.mark.extended  # takes a second or more
def test_python_sees_and_sets_the_flags_of_a_plugin_loaded_late(tmp_path):
    source = write(
        tmp_path / "plugin.cc",
        "#include <absl/flags/flag.h>\n"
        'ABSL_FLAG(int, plugin_level, 2, "Level");\n'
        'ABSL_FLAG(std::vector<std::string>, plugin_items, {"a"}, "Items");\n'
        'extern "C" int level() { return absl::GetFlag(FLAGS_plugin_level); }\n',
    )
    plugin = tmp_path / "plugin.so"
    only = ["-DPD_HEADER_ONLY", "-shared", "-fPIC", "-std=c++17", *WARNINGS]
    run(*CXX, *only, *OURS, source, "-o", plugin)
    script = (
        "import ctypes, sys, paddle_flags as pf\n"
        "pf.load_plugin(sys.argv[1])\n"
        "pf.FLAGS.plugin_level = 9\n"
        "print(ctypes.CDLL(sys.argv[1]).level(), pf.FLAGS.plugin_items)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, plugin], capture_output=True, text=True, check=False
    )
    assert ended.stdout == "9 a\n", ended.stderr


def test_a_file_can_keep_the_flags_of_abseil_although_compat_is_in_its_path(tmp_path):
    headers = sorted(Path(INCLUDE, "compat/absl/flags").glob("*.h"))
    assert len(headers) >= 8
    for header in headers:
        write(tmp_path / "absl/flags" / header.name, f"// The real one: {header.name}\n")
    names = "".join(f"#include <absl/flags/{header.name}>\n" for header in headers)
    source = write(tmp_path / "both.cc", f"{names}int main() {{}}\n")
    flags = ["-DPD_WITH_ABSEIL_FLAGS", *OURS, f"-I{tmp_path}", "-C", "-E"]
    found = run(*CXX, *flags, source).stdout
    assert found.count("// The real one: ") == len(headers)
    assert "pd_absl" not in found


def test_a_program_with_a_copy_of_abseils_strings_does_not_meet_another_abseil(tmp_path):
    copied, other = tmp_path / "copied", tmp_path / "other"
    for folder in (copied / "absl/strings", other / "absl/types"):
        folder.mkdir(parents=True)
    view = "#include <string_view>\nnamespace absl { using std::string_view; }\n"
    write(copied / "absl/strings/string_view.h", view)
    write(other / "absl/types/optional.h", "#error of another Abseil\n")
    source = write(
        tmp_path / "small.cc",
        '#include <absl/flags/flag.h>\nABSL_FLAG(std::optional<int>, small, 7, "");\n'
        "int main() { return absl::GetFlag(FLAGS_small).value_or(0) - 7; }\n",
    )
    include = [*OURS, f"-I{copied}", f"-I{other}"]
    run(*CXX, *CHECKED, "-std=c++17", *include, source, "-o", tmp_path / "small", *LINK)
    run(tmp_path / "small")
