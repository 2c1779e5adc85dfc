"""paddle/common/flags.h of compat/: Paddle's flags in C++, on our registry and on a real gflags.

What Paddle's flags_native_test.cc checks is checked here as well: its source can't be had from
a package.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from support import (
    CXX,
    INCLUDE,
    WARNINGS,
    build,
    build_plugin,
    build_program,
    build_with_library,
    require,
    run,
    write,
)

pytestmark = pytest.mark.extended  # each test compiles

COMPAT = f"-I{INCLUDE}/compat"

DEFINED = """
#include <paddle/common/flags.h>
namespace phi {  // Paddle's flags.cc has functions of its own; they aren't called
const ExportedFlagInfoMap &GetExportedFlagInfoMap() { return *GetMutableExportedFlagInfoMap(); }
ExportedFlagInfoMap *GetMutableExportedFlagInfoMap() {
  static ExportedFlagInfoMap map;
  return &map;
}
}  // namespace phi
static const double kShare = 0.92;
PHI_DEFINE_EXPORTED_bool(check_nan_inf, false, "Stop at the first NaN or Inf");
PHI_DEFINE_EXPORTED_int32(level, 6, "Level");
PHI_DEFINE_EXPORTED_int64(big, 1LL << 40, "Big");
PHI_DEFINE_EXPORTED_uint64(bytes, 1ULL << 63, "Bytes");
PHI_DEFINE_EXPORTED_double(share, kShare, "Share of memory");
PHI_DEFINE_EXPORTED_string(mode, "fast", "How to search");
PHI_DEFINE_EXPORTED_READONLY_bool(fixed, true, "Known at build time");
PD_DEFINE_uint32(count, 2, "Count");
PD_DEFINE_VARIABLE(std::string, place, "here", "Where");
PHI_DEFINE_VARIABLE(int32_t, I, other, 3, "Another");
PD_DEFINE_double(late, paddle::flags::DoubleFromEnv("LATE", 0.5), "Of the environment");
"""

USED = """
#include <paddle/utils/flags.h>
#include <cstdio>
PADDLE_FORCE_LINK_FLAG(level);
COMMON_DECLARE_bool(check_nan_inf);
PHI_DECLARE_int32(level);
COMMON_DECLARE_int64(big);
PD_DECLARE_uint64(bytes);
PD_DECLARE_double(share);
PD_DECLARE_bool(fixed);
PD_DECLARE_uint32(count);
PD_DECLARE_VARIABLE(std::string, mode);
COMMON_DECLARE_string(place);
PHI_DECLARE_VARIABLE(int32_t, I, other);
PD_DECLARE_double(late);

static void show() {
  std::printf("%d %d %lld %llu %g %s %d %u %s %d %g\\n", FLAGS_check_nan_inf, FLAGS_level,
              static_cast<long long>(FLAGS_big), static_cast<unsigned long long>(FLAGS_bytes),
              FLAGS_share, FLAGS_mode.c_str(), FLAGS_fixed, FLAGS_count, FLAGS_place.c_str(),
              FLAGS_other, FLAGS_late);
}

struct Show {
  void operator()(bool v) const { std::printf("bool %d\\n", v); }
  void operator()(int32_t v) const { std::printf("int32 %d\\n", v); }
  void operator()(int64_t v) const { std::printf("int64 %lld\\n", static_cast<long long>(v)); }
  void operator()(uint64_t v) const {
    std::printf("uint64 %llu\\n", static_cast<unsigned long long>(v));
  }
  void operator()(double v) const { std::printf("double %g\\n", v); }
  void operator()(const std::string &v) const { std::printf("string %s\\n", v.c_str()); }
};

static void show_exported() {
  for (const auto &named : phi::GetExportedFlagInfoMap()) {
    std::printf("%s %d %s ", named.first.c_str(), named.second.is_writable,
                named.second.doc.c_str());
    paddle::visit(Show(), named.second.default_value);
  }
  const phi::FlagInfo &mode = phi::GetMutableExportedFlagInfoMap()->at("mode");
  std::printf("%s %s\\n", static_cast<std::string *>(mode.value_ptr)->c_str(),
              paddle::get<std::string>(mode.default_value).c_str());
}

int main(int argc, char **argv) {
  FLAGS_level = 1;  // the line holds: it comes later
  paddle::flags::ParseCommandLineFlags(&argc, &argv);
  show();
  FLAGS_level = 8;
  FLAGS_share = 0.125;
  FLAGS_mode += "er";
  std::printf("%d %d\\n", paddle::flags::FindFlag("level"), paddle::flags::FindFlag("levl"));
  bool set = paddle::flags::SetFlagValue("count", "12");
  bool unset = paddle::flags::SetFlagValue("levl", "3");
  std::printf("%d %d %u\\n", set, unset, FLAGS_count);
  show_exported();
  paddle::flags::SetFlagsFromEnv({"share", "level", "levl"}, false);
  std::printf("%g %s\\n", paddle::flags::GetFromEnv<double>("SHARE", 0.5),
              paddle::flags::StringFromEnv("PLACE", "nowhere").c_str());
  show();
}
"""

OTHER = """
#include <pd_flags.h>
PD_DEFINE_int32(depth, 5, "Of another");
"""

REFUSED = """
#include <paddle/common/flags.h>
PD_DEFINE_int32(depth, 6, "Depth");
int main(int argc, char **argv) { paddle::flags::ParseCommandLineFlags(&argc, &argv); }
"""

SHOWN = [
    "1 7 1099511627776 9223372036854775808 0.5 a b 1 2 there 3 0.25",
    "1 0",
    "1 0 12",
    "big 1 Big int64 1099511627776",
    "bytes 1 Bytes uint64 9223372036854775808",
    "check_nan_inf 1 Stop at the first NaN or Inf bool 0",
    "fixed 0 Known at build time bool 1",
    "level 1 Level int32 6",
    "mode 1 How to search string fast",
    "share 1 Share of memory double 0.92",
    "a ber fast",
    "0.5 nowhere",
    "1 8 1099511627776 9223372036854775808 0.5 a ber 1 12 there 3 0.25",
]

LINE = ["--level=7", "-mode", "a b", "--check_nan_inf=true", "--tryfromenv=share", "--place=there"]
ENVIRONMENT = {**os.environ, "LATE": "0.25", "FLAGS_share": "0.5"}


def sources(place: Path) -> list[Path]:
    return [write(place / "used.cpp", USED), write(place / "defined.cpp", DEFINED)]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("paddle")
    return build_program(place / "program", *sources(place), flags=("-std=c++11", COMPAT))


def show(program: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run(program, *words, env=ENVIRONMENT, check=False)


def test_paddles_macros_and_functions_have_their_meaning(program: Path) -> None:
    ended = show(program, *LINE)
    assert ended.stdout.splitlines() == SHOWN
    assert ended.returncode == 0
    assert ended.stderr == ("paddle flags error: no flag is named 'levl'; did you mean 'level'?\n")


@pytest.mark.release  # repeats tests with the other library
def test_the_same_sources_show_the_same_on_a_real_gflags(tmp_path: Path, program: Path) -> None:
    require("libgflags-dev", "gflags/gflags.h")
    flags = ("-std=c++17", COMPAT, "-DPADDLE_WITH_GFLAGS", "-lgflags")
    other = build(tmp_path / "other", *sources(tmp_path), flags=flags)
    assert "libgflags" in run("ldd", other).stdout
    for line in (LINE, ["--check_nan_inf=true", "--level=7", "--mode=a b", *LINE[-2:]]):
        assert show(other, *line).stdout.splitlines() == SHOWN
        assert show(program, *line).stdout.splitlines() == SHOWN


@pytest.mark.parametrize(
    ("words", "errors"),
    [
        (
            ["--levl=7", "--count=-1", "--level=7"],
            [
                "--levl: no such flag; did you mean '--level'?",
                "--count=-1: expected an unsigned 32-bit integer",
            ],
        ),
        (["--level=3x"], ["--level=3x: expected a 32-bit integer"]),
        (["argument"], ['"argument": expected --name=value or --name value']),
        (["--", "-"], 2 * ["expected"]),
        (["--level"], ["--level: the value is missing"]),
        (["--levl"], ["--levl: no flag is named 'levl'; did you mean 'level'?"]),
        (["--mode", '"a b', "c"], ["--mode: the quote has no end"]),
        (["--fromenv=level"], ["FLAGS_level"]),
        (["--helpshort=1"], ["helpshort"]),
        (["--check_nan_inf", "maybe"], ["--check_nan_inf=maybe: expected"]),
    ],
)
def test_a_bad_line_ends_the_program_with_all_its_errors(
    program: Path, words: list[str], errors: list[str]
) -> None:
    ended = show(program, *words)
    assert (ended.returncode, ended.stdout) == (255, "")
    lines = ended.stderr.splitlines()
    assert len(lines) == len(errors)
    for line, error in zip(lines, errors):
        assert line.startswith("paddle flags error: ")
        assert error in line


def test_values_in_quotes_may_have_blanks_and_empty_words_mean_nothing(program: Path) -> None:
    ended = show(program, "--mode", '"two', 'words"', "", '--place="here"', '--level="9"')
    first = ended.stdout.splitlines()[0].split()
    assert (first[1], first[5:7], first[9]) == ("9", ["two", "words"], "here")


def test_help_shows_the_flags_by_file_and_ends_with_1(program: Path) -> None:
    ended = show(program, "--help")
    assert ended.returncode == 1
    assert "defined.cpp:\n  --big: int64, Big (default: 1099511627776)\n" in ended.stdout
    assert "  --share: double, Share of memory (default: 0.92)\n" in ended.stdout
    assert show(program, "-h").stdout == ended.stdout


def test_definitions_that_were_refused_are_errors_of_the_line(tmp_path: Path) -> None:
    other = write(tmp_path / "other.c", OTHER)
    library = build_plugin(tmp_path / "libother.so", other)
    main = write(tmp_path / "main.cpp", REFUSED)
    options = ("-std=c++11", COMPAT, f"-L{tmp_path}", f"-Wl,-rpath,{tmp_path}")
    needed = ("-Wl,--no-as-needed", "-lother")
    ended = run(build_program(tmp_path / "main", main, flags=(*options, *needed)), check=False)
    assert library.exists()
    assert (ended.returncode, ended.stdout) == (255, "")
    told = r"paddle flags error: 'depth' is already defined, .*main\.cpp:3 .*other\.c:3 .*\n"
    assert re.fullmatch(told, ended.stderr)


def check_order(tmp_path: Path, *headers: str) -> subprocess.CompletedProcess[str]:
    text = "".join(f"#include <{header}>\n" for header in headers)
    source = write(
        tmp_path / "order.cpp", text + 'PD_DEFINE_int32(a, 1, "");\nint b = FLAGS_a = 2;'
    )
    options = ("-std=c++11", f"-I{INCLUDE}", COMPAT, "-DPADDLE_WITH_GFLAGS", "-fsyntax-only")
    return run(*CXX, *WARNINGS, *options, source, check=False)


def test_on_a_real_gflags_our_header_comes_first_or_an_error_says_so(tmp_path: Path) -> None:
    require("libgflags-dev", "gflags/gflags.h")
    assert check_order(tmp_path, "c10/util/Flags.h", "paddle/common/flags.h").returncode == 0
    ended = check_order(tmp_path, "paddle/common/flags.h", "pd_flags.h")
    assert "include pd_flags.h in front of paddle/common/flags.h" in ended.stderr


# ---- Beside Paddle's own library ----

OWN_HEADER = "_of_paddle_flags__for_a_flag_of_Paddle_include_its_own_header"

LIBRARY = """
#include <paddle/common/flags.h>
PHI_DEFINE_EXPORTED_int32(lib_level, 6, "Level");
PHI_DEFINE_EXPORTED_string(lib_mode, "fast", "Mode");
extern "C" const char *lib_mode() { return FLAGS_lib_mode.c_str(); }
"""

CALLER = """
#include <paddle/common/flags.h>
#include <cstdio>
PADDLE_FORCE_LINK_FLAG(lib_level);
COMMON_DECLARE_int32(lib_level);
PHI_DECLARE_string(lib_mode);
extern "C" const char *lib_mode();
int main(int argc, char **argv) {
  paddle::flags::ParseCommandLineFlags(&argc, &argv);
  FLAGS_lib_mode += "er";
  std::printf("%d %s\\n", FLAGS_lib_level, lib_mode());
}
"""


def test_a_program_and_its_library_share_flags(tmp_path: Path) -> None:
    program = build_with_library(tmp_path, LIBRARY, CALLER, (COMPAT,))
    assert run(program, "--lib_level=7", "--lib_mode=deep").stdout == "7 deeper\n"


def link_errors(tmp_path: Path, text: str) -> str:
    source = write(tmp_path / "declared.cpp", "#include <paddle/common/flags.h>\n" + text)
    options = ["-std=c++11", f"-I{INCLUDE}", COMPAT, "-shared", "-fPIC", "-Wl,-z,defs"]
    return run(*CXX, *options, source, "-o", tmp_path / "declared.so", check=False).stderr


def test_a_flag_that_is_only_declared_names_the_header_to_include(tmp_path: Path) -> None:
    told = link_errors(tmp_path, "PD_DECLARE_bool(theirs);\nbool b() { return FLAGS_theirs; }")
    assert f"FLAGS_theirs{OWN_HEADER}" in told
    told = link_errors(tmp_path, "PADDLE_FORCE_LINK_FLAG(theirs);")
    assert f"TouchPaddleFlagRegister_theirs{OWN_HEADER}" in told


def test_a_string_that_is_declared_as_a_number_does_not_link(tmp_path: Path) -> None:
    write(
        tmp_path / "mode.cpp", '#include <paddle/common/flags.h>\nPD_DEFINE_string(mode, "", "");'
    )
    text = f'#include "{tmp_path}/mode.cpp"\n'
    assert link_errors(tmp_path, text) == ""
    assert "string_FLAGS_mode_of_paddle_flags" in run("nm", tmp_path / "declared.so").stdout
    number = "PD_DECLARE_int32(mode);\nint number() { return FLAGS_mode; }"
    assert f"`FLAGS_mode{OWN_HEADER}'" in link_errors(tmp_path, number)


LINKED = """
#include <paddle/common/flags.h>
#include <cmath>
#include <cstdio>
PD_DEFINE_string(dump_api_and_gradnode_python_stack_dir, "", "As in Paddle");
PD_DEFINE_string(dump_api_python_stack_path, "", "As in Paddle");
PD_DEFINE_bool(enable_unique_name, false, "As in Paddle");
PD_DEFINE_int32(level, 6, "Of its own");
static int32_t late = 3;
static const int32_t otherwise = 2;
static paddle::flags::FlagRegisterer registerer("late", "Late", "here.cc", &otherwise, &late);
static std::string text = "text";
static paddle::flags::FlagRegisterer other("text", "Text", "here.cc", &text, &text);
static double loss = NAN;  // assigned before it is a flag
static const double zero = 0;
static paddle::flags::FlagRegisterer number("loss", "Loss", "here.cc", &zero, &loss);
int main(int argc, char **argv) {
  std::printf("%d %s %s\\n", late, text.c_str(), std::isnan(loss) ? "nan" : "lost");
  paddle::flags::ParseCommandLineFlags(&argc, &argv);
  std::printf("%d %s\\n", late, text.c_str());
  const char *stacks = "dump_api_and_gradnode_python_stack_dir";
  std::printf("%d", paddle::flags::UpdateLinkedFlags("level", "7"));
  std::printf(" %d", paddle::flags::UpdateLinkedFlags("levl", "7"));
  std::printf(" %d", paddle::flags::UpdateLinkedFlags(stacks, ""));
  std::printf(" %d %d", FLAGS_level, FLAGS_enable_unique_name);
  std::printf(" %d", paddle::flags::UpdateLinkedFlags(stacks, "/tmp"));
  std::printf(" %d %s\\n", FLAGS_enable_unique_name, FLAGS_dump_api_python_stack_path.c_str());
}
"""


def test_linked_flags_and_registerers_do_what_they_do_in_paddle(tmp_path: Path) -> None:
    source = write(tmp_path / "linked.cpp", LINKED)
    program = build_program(tmp_path / "linked", source, flags=("-std=c++11", COMPAT))
    ended = run(program, "--late=9", "--text=other")
    assert ended.stdout == "3 text nan\n9 other\n1 0 1 6 0 1 1 /tmp/api_call_stack\n"
    assert ended.stderr == "paddle flags error: no flag is named 'levl'; did you mean 'level'?\n"
