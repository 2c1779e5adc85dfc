"""Programs and plugins that are compiled with compat/gflags/gflags.h, and gflags' own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import CHECKED, CXX, INCLUDE, LIBDIR, preload, require, run, write

pytestmark = pytest.mark.release  # each test builds programs

OURS = [f"-I{Path(INCLUDE, 'compat')}", f"-I{INCLUDE}"]
LINK = [f"-L{LIBDIR}", f"-Wl,-rpath,{LIBDIR}", "-lpd_flags"]
COMPILE = [*CXX, "-std=c++11", "-O0", *CHECKED, "-Wall", "-Wextra", "-Werror"]


def compiled(out: Path, *sources: Path, flags: tuple[str, ...] = (), linked: bool = True) -> Path:
    run(*COMPILE, *OURS, *sources, "-o", out, *flags, *(LINK if linked else []))
    return out


def ending(program: Path, *words: object, **options: object) -> tuple[int, str]:
    ended = run(program, *words, check=False, **options)
    return ended.returncode, ended.stdout + ended.stderr


# ---- Beside gflags ----

BOTH = r"""
#include <gflags/gflags.h>
#include <iostream>
DEFINE_bool(check, false, "Stop at the first error");
DEFINE_bool(fast, true, "");
DEFINE_int32(level, 6, "Compression level, from 1 to 9, where 9 is the slowest of them all and 1 "
             "is nearly a copy");
DEFINE_uint32(depth, 4000000000u, "How deep");
DEFINE_int64(offset, -5000000000, "Where to\nbegin, on two lines");
DEFINE_uint64(limit, 18446744073709551615u, "Where to end");
DEFINE_double(ratio, 0.1, "A ratio & <more>");
DEFINE_string(mode, "fast", "How, true or false");
DEFINE_string(path, google::StringFromEnv("SOME_PATH", "/tmp"), "A_long_word_without_any_blank_that"
              "_has_no_place_to_be_broken_at_and_so_goes_on_and_on_to_the_end");
DEFINE_string(empty, "", "Nothing");
static bool in_range(const char *name, google::int32 value) {
  if (value >= 1 && value <= 9) return true;
  std::cout << "refused " << name << " " << value << std::endl;
  return false;
}
DEFINE_validator(level, in_range);
static bool is_mode(const char *, const std::string &value) { return value != "wrong"; }
DEFINE_validator(mode, is_mode);
static void show(const char *name) {
  google::CommandLineFlagInfo info = google::GetCommandLineFlagInfoOrDie(name);
  std::cout << info.name << " " << info.type << " " << info.description << " "
            << info.current_value << " " << info.default_value << " " << info.is_default
            << info.has_validator_fn << "\n" << google::DescribeOneFlag(info);
}
int main(int argc, char **argv) {
  google::SetUsageMessage("does & doesn't");
  google::SetVersionString("1.2");
  FLAGS_depth = 7;
  google::SetCommandLineOptionWithMode("fast", "false", google::SET_FLAGS_DEFAULT);
  google::uint32 first = google::ParseCommandLineFlags(&argc, &argv, FLAGS_fast);
  std::cout << first;
  for (int i = 0; i < argc; i++) std::cout << " " << (i ? argv[i] : "program");
  std::cout << "\n";
  const char *names[] = {"check", "fast", "level", "depth", "offset", "limit", "ratio", "mode",
                         "path", "empty"};
  for (const char *name : names) show(name);
  std::cout << google::SetCommandLineOption("level", "10");
  std::cout << google::SetCommandLineOption("level", "3");
  std::cout << google::SetCommandLineOptionWithMode("level", "4", google::SET_FLAG_IF_DEFAULT);
  std::cout << "|" << google::SetCommandLineOption("nobody", "1") << FLAGS_level;
  std::cout << google::SetCommandLineOptionWithMode("empty", "x", google::SET_FLAG_IF_DEFAULT);
  {
    google::FlagSaver saver;
    FLAGS_mode = "changed";
    FLAGS_ratio = 2;
    show("mode");
    google::ReadFlagsFromString("--mode=read\n--ratio=5e-1\n--nobody=1\n--check", "", false);
    std::cout << FLAGS_mode << FLAGS_ratio << FLAGS_check << "\n";
  }
  std::cout << FLAGS_mode << FLAGS_ratio << FLAGS_check << "\n";
  show("mode");
}
"""

LINES = [
    [],
    ["--level=3", "argument", "-check", "--nofast", "last", "--ratio", "1e300"],
    ["--level", "30"],
    ["--level=7", "--", "--level=8"],
    ["-", "--mode", "--level=5", "-nocheck"],
    ["--depth=-1", "--limit=99999999999999999999", "--ratio=x", "--check=perhaps", "--who=1"],
    ["--nolevel", "--nowho", "--who"],
    ["--mode=wrong", "--offset"],
    ["--path=/a b", "--empty=", "--undefok=who,what", "--who", "--nowhat", "--depth=0x10"],
    ["--flagfile=given", "--ratio=nan"],
    ["--flagfile=missing"],
    ["--flagfile="],
    ["--fromenv=level,mode", "--tryfromenv=check,path"],
    ["--fromenv=level,who,check"],
    ["--help"],
    ["--helpshort", "--level=2"],
    ["--helpon=both"],
    ["--helpmatch=bo"],
    ["--helpmatch=nothing"],
    ["--helppackage"],
    ["--helpxml"],
    ["--version"],
    ["--version", "--who"],
]

GIVEN = """# a comment
--level=2
  --mode=of the file
--nobody=1
another_program
--check
both b*
--depth=9
--fast=true
"""


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Build one source with the real gflags and with ours."""
    place = tmp_path_factory.mktemp("both")
    source = write(place / "both.cc", BOTH)
    write(place / "given", GIVEN)
    require("libgflags-dev", "gflags/gflags.h")
    programs = place / "real" / "both", place / "ours" / "both"
    for program in programs:
        program.parent.mkdir()
    run(*CXX, "-std=c++11", "-O0", "-DNDEBUG", source, "-o", programs[0], "-lgflags")
    compiled(programs[1], source, flags=("-DNDEBUG",))
    return programs


def comparable(text: str) -> str:
    """Leave out gflags' own flags, whose files and texts are others."""
    text = re.sub(r"\n+  Flags from \S*gflags\S*:\n(    .*\n(      .*\n)*)*", "", text)
    text = re.sub(r"(Did you really mean .*\?)\n", r"\1", text)  # has no end in gflags
    text = re.sub(r"<flag><file>\S*gflags\w*.cc</file>.*\n", "", text)
    return re.sub(r"\n+", "\n", text).strip()


def test_a_program_does_and_tells_the_same_as_with_gflags(both):
    env = {"FLAGS_level": "5", "FLAGS_mode": "of the environment", "FLAGS_path": "p"}
    for line in LINES:
        ends = [ending(program, *line, env=env, cwd=both[0].parents[1]) for program in both]
        (status, real), (other, ours) = ends
        assert (other, comparable(ours)) == (status, comparable(real)), line


# ---- Bad input ----

CONFLICT = """
#include <gflags/gflags.h>
DEFINE_int32(port, 1, "A port");
DEFINE_int32(other, 1, "Another flag");
"""

MAIN = """
#include <gflags/gflags.h>
#include <cstdio>
DEFINE_bool(%s, false, "A port?");
DEFINE_int32(sound, 4, "Of the program");
int main(int argc, char **argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  std::printf("sound %%d\\n", FLAGS_sound);
}
"""


def test_a_second_flag_of_a_name_ends_the_parsing_program_with_both_places(tmp_path):
    plugin = write(tmp_path / "plugin.cc", CONFLICT)
    compiled(tmp_path / "libplugin.so", plugin, flags=("-shared", "-fPIC"), linked=False)
    env = preload(tmp_path / "libplugin.so")
    for name in ("port", "noport"):
        program = compiled(tmp_path / name, write(tmp_path / f"{name}.cc", MAIN % name))
        assert ending(program, "--sound=5") == (0, "sound 5\n")
        status, told = ending(program, "--sound=5", env=env)
        assert (status, told) == (0, "sound 5\n") or told.startswith("ERROR: ")
        if status:
            assert all(part in told for part in (f"'{name}'", f"{name}.cc:4", "plugin.cc:3"))
        assert status == (name == "port")
    one_file = write(tmp_path / "one.cc", MAIN % "port" + 'DEFINE_bool(noport, true, "");')
    status, told = ending(compiled(tmp_path / "one", one_file))
    assert status == 1
    assert "noport" in told


SHARED = """
#include <gflags/gflags.h>
DEFINE_int32(shared_level, 6, "Compression level");
DEFINE_string(shared_mode, "fast", "How");
extern "C" int PLACE() { return FLAGS_shared_level; }
extern "C" const char *PLACE_mode() { return FLAGS_shared_mode.c_str(); }
"""

HOST = """
#include <gflags/gflags.h>
#include <cstdio>
#include <dlfcn.h>
DECLARE_int32(shared_level);
extern "C" int in_program();
int main(int argc, char **argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  int (*level)() = reinterpret_cast<int (*)()>(dlsym(plugin, "in_plugin"));
  const char *(*mode)() = reinterpret_cast<const char *(*)()>(dlsym(plugin, "in_plugin_mode"));
  std::printf("%d %d %s\\n", in_program(), level(), mode());
  FLAGS_shared_level = 3;
  gflags::SetCommandLineOption("shared_mode", "best");
  std::string text;
  gflags::GetCommandLineOption("shared_level", &text);
  std::printf("%d %d %s %s\\n", in_program(), level(), mode(), text.c_str());
}
"""


def test_one_source_in_a_program_and_its_plugin_is_one_flag(tmp_path):
    shared = write(tmp_path / "shared.cc", SHARED)
    host = write(tmp_path / "host.cc", HOST)
    for place in ("program", "plugin"):
        flags = ("-fPIC", f"-DPLACE=in_{place}", f"-DPLACE_mode=in_{place}_mode", "-c")
        compiled(tmp_path / f"{place}.o", shared, flags=flags, linked=False)
    plugin, program = tmp_path / "libplugin.so", tmp_path / "program"
    run(*CXX, *CHECKED, "-shared", "-Wl,-Bsymbolic", tmp_path / "plugin.o", "-o", plugin)
    compiled(program, host, tmp_path / "program.o", flags=("-ldl",))
    ended = run(program, "--shared_level=9", "--shared_mode=a text too long for the string", plugin)
    assert ended.stdout == "9 9 a text too long for the string\n3 3 best 3\n"


EARLY = """
#include <gflags/gflags.h>
#include <cstdlib>
DECLARE_string(text);
DECLARE_string(null);
DECLARE_string(computed);
DECLARE_int32(number);
static std::string seen = FLAGS_text + "," + FLAGS_null + "," + FLAGS_computed + ",";
static int at_first = FLAGS_number;
static bool assigned = (FLAGS_text = "assigned", FLAGS_number = 8, true);
const char *seen_early() { return assigned ? (seen += std::to_string(at_first)).c_str() : ""; }
"""

LATE = """
#include <gflags/gflags.h>
#include <cstdio>
#include <cstdlib>
static std::string greeting = "hello";
DEFINE_string(text, "a default that is too long to stand in a string", "");
DEFINE_string(null, std::getenv("NOBODY_HAS_SET_THIS"), "");
DEFINE_string(computed, greeting + " world", "");
DEFINE_int32(number, 7, "");
DEFINE_int32(computed_number, std::atoi("12"), "");
const char *seen_early();
int main(int argc, char **argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  std::printf("%s\\n%s,%s,%s,%d,%d\\n", seen_early(), FLAGS_text.c_str(), FLAGS_null.c_str(),
              FLAGS_computed.c_str(), FLAGS_number, FLAGS_computed_number);
  gflags::CommandLineFlagInfo info = gflags::GetCommandLineFlagInfoOrDie("computed");
  std::printf("%s %d\\n", info.default_value.c_str(), info.is_default);
}
"""


def test_flags_hold_their_defaults_before_any_initialiser(tmp_path):
    early, late = write(tmp_path / "early.cc", EARLY), write(tmp_path / "late.cc", LATE)
    program = compiled(tmp_path / "program", early, late)
    first = "a default that is too long to stand in a string,,,7\n"
    assert run(program).stdout == f"{first}assigned,,hello world,8,12\nhello world 1\n"
    ended = run(program, "--text=t", "--number=1", "--computed=c", "--computed_number=2")
    assert ended.stdout == f"{first}t,,c,1,2\nhello world 0\n"


def test_a_flagfile_in_a_circle_is_an_error(both, tmp_path):
    write(tmp_path / "circle", "--level=3\r--flagfile=circle\n--check\r\n")
    status, told = ending(both[1], "--flagfile=circle", cwd=tmp_path)
    assert status == 1
    assert told == "ERROR: circle: flagfiles are nested too deeply\n"


def test_completions_are_the_flags_that_a_word_may_become(both):
    def completions(word: str) -> list[str]:
        status, told = ending(both[1], f"--tab_completion_word={word}")
        assert status == 0
        return told.splitlines()

    assert completions("--le") == ["--level"]
    assert completions("--tab_completion_w") == ["--tab_completion_word"]
    found = completions("--level")
    assert found[0].startswith("--level [6] Compression level, from 1 to 9,")
    assert [len(line) for line in found] == [80, 1]
    assert found[1] == "~"
    assert any(line.startswith("--mode ['fast']") for line in completions("e?"))
    assert any("--ratio" in line for line in completions("more???"))
    assert completions("nobody") == []


# ---- Several modules ----

LIBRARY = """
#include <gflags/gflags.h>
DEFINE_int32(lib_level, 1, "Of the library");
DEFINE_string(lib_mode, "fast", "Of the library");
static bool positive(const char *name, gflags::int32 value) { return name && value > 0; }
DEFINE_validator(lib_level, positive);
extern "C" int lib_level() { return FLAGS_lib_level; }
extern "C" const char *lib_mode() { return FLAGS_lib_mode.c_str(); }
"""

USER = """
#include <gflags/gflags.h>
#include <cstdio>
DECLARE_int32(lib_level);
DECLARE_string(lib_mode);
extern "C" int lib_level();
extern "C" const char *lib_mode();
static bool short_enough(const char *, const std::string &value) { return value.size() < 9; }
DEFINE_validator(lib_mode, short_enough);
static bool never(const char *, const std::string &) { return false; }
static bool negative(const char *, gflags::int32 value) { return value < 0; }
int main(int argc, char **argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  std::printf("%d %s\\n", lib_level(), lib_mode());
  FLAGS_lib_level = -4;
  FLAGS_lib_mode += " and long, for it is assigned";
  std::printf("%d %s\\n", lib_level(), lib_mode());
  std::printf("%d %d\\n", gflags::RegisterFlagValidator(&FLAGS_lib_mode, never),
              gflags::RegisterFlagValidator(&FLAGS_lib_mode, short_enough));
  if (argc == 1) return 0;
  gflags::FlagSaver saver;
  FLAGS_lib_level = 5;
  gflags::RegisterFlagValidator(&FLAGS_lib_level, negative);
  gflags::ParseCommandLineFlags(&argc, &argv, true);
}
"""


LIVE = """
#include <gflags/gflags.h>
#include <pd_flags.h>
#include <cstdio>
DEFINE_int32(level, 6, "Level");
DEFINE_int32(depth, 6, "Depth");
static void set_live(const char *name, const char *text) {
  pd_assignment item = pd_assignment();
  item.text = text;
  pd_origin origin = {PD_SOURCE_LIVE, 0, "pid 4312", 0};
  if (pd_flag_find(name, &item.flag, nullptr)) std::puts("?");
  if (pd_batch_set(&item, 1, &origin, nullptr, nullptr)) std::puts("?");
}
int main(int argc, char **argv) {
  set_live("level", "1");
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  std::printf("%d\\n", FLAGS_level);
  set_live("depth", "2");
  {
    gflags::FlagSaver saver;
    set_live("level", "3");
    FLAGS_depth = 5;
    FLAGS_depth = 6;
    set_live("depth", "7");
    std::printf("%d %d\\n", FLAGS_level, FLAGS_depth);
  }
  std::printf("%d %d\\n", FLAGS_level, FLAGS_depth);
}
"""


def test_a_line_and_a_saver_hold_over_earlier_live_values(tmp_path):
    program = compiled(tmp_path / "live", write(tmp_path / "live.cc", LIVE))
    assert run(program, "--level=4").stdout == "4\n3 7\n4 2\n"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a library that defines flags and links nothing."""
    out = tmp_path_factory.mktemp("library") / "liblevels.so"
    source = write(out.with_suffix(".cc"), LIBRARY)
    return compiled(out, source, flags=("-shared", "-fPIC"), linked=False)


def test_a_program_and_its_library_share_flags_and_validators(library, tmp_path):
    user = write(tmp_path / "user.cc", USER)
    flags = (str(library), f"-Wl,-rpath,{library.parent}")
    program = compiled(tmp_path / "user", user, flags=flags)
    ended = run(program, "--lib_level=3", "--lib_mode=best")
    assert ended.stdout == "3 best\n-4 best and long, for it is assigned\n0 1\n"
    for wrong in ("--lib_level=0", "--lib_mode=much too long"):
        status, told = ending(program, wrong)
        name, value = wrong[2:].split("=")
        assert status == 1
        assert told == f"ERROR: failed validation of new value '{value}' for flag '{name}'\n"


NEEDED = """
#include <gflags/gflags.h>
DEFINE_int32(needed, 0, "To be given");
static bool positive(const char *, gflags::int32 value) { return value > 0; }
DEFINE_validator(needed, positive);
"""


def test_a_default_that_a_validator_of_a_library_rejects_ends_the_program(library, tmp_path):
    needed = compiled(
        tmp_path / "libneeded.so",
        write(tmp_path / "needed.cc", NEEDED),
        flags=("-shared", "-fPIC"),
        linked=False,
    )
    flags = (str(library), str(needed), f"-Wl,-rpath,{library.parent}:{tmp_path}")
    flags = ("-Wl,--no-as-needed", *flags)
    program = compiled(tmp_path / "user", write(tmp_path / "user.cc", USER), flags=flags)
    told = "ERROR: --needed must be set on the commandline (default value fails validation)\n"
    assert ending(program) == (1, told)
    assert ending(program, "--needed=0")[1] == (
        "ERROR: failed validation of new value '0' for flag 'needed'\n"
    )
    assert ending(program, "--needed=3")[0] == 0


def start(text: str, *words: object) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, "-c", f"import sys, paddle_flags as pf\n{text}", *words)


def test_python_and_a_plugin_of_gflags_see_the_same_values(library):
    text = """
import ctypes
pf.parse(["program", "--lib_level=7"], allow_pending=True)
plugin = pf.load_plugin(sys.argv[1])
lib = ctypes.CDLL(sys.argv[1])
lib.lib_mode.restype = ctypes.c_char_p
print(lib.lib_level(), pf.FLAGS.lib_level, pf.FLAGS["lib_level"].source)
pf.FLAGS.lib_mode = "a text that is too long to stand in a string"
print(lib.lib_mode())
try:
    pf.FLAGS.lib_level = -1
except pf.FlagError as error:
    print(error)
variable = ctypes.c_int32.in_dll(lib, "_ZN3fLI15FLAGS_lib_levelE")
variable.value = -3
print(lib.lib_level(), pf.FLAGS.lib_level, pf.FLAGS["lib_level"].help)
del lib
plugin.unload()
"""
    told = start(text, library).stdout.splitlines()
    assert told[0] == "7 7 argv"
    assert told[1] == "b'a text that is too long to stand in a string'"
    assert "--lib_level=-1" in told[2] or "lib_level=-1" in told[2]
    assert told[3] == "-3 -3 Of the library"


REPARSE = """
#include <gflags/gflags.h>
#include <cstdio>
#include <dlfcn.h>
int main(int argc, char **argv) {
  gflags::AllowCommandLineReparsing();
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  void *plugin = dlopen(argv[1], RTLD_NOW);
  int (*level)() = reinterpret_cast<int (*)()>(dlsym(plugin, "lib_level"));
  std::printf("%d", level());
  gflags::ReparseCommandLineNonHelpFlags();
  std::printf(" %d %s\\n", level(), gflags::ProgramInvocationShortName());
}
"""


def test_a_line_is_read_again_for_a_library_that_comes_later(library, tmp_path):
    """This one links nothing either: the registry comes with the process."""
    source = write(tmp_path / "reparse.cc", REPARSE)
    flags = ("-DPD_HEADER_ONLY", "-ldl")
    program = compiled(tmp_path / "reparse", source, flags=flags, linked=False)
    env = preload(Path(LIBDIR, "libpd_flags.so"))
    assert run(program, "--lib_level=5", library, env=env).stdout == "1 5 reparse\n"
    status, told = ending(program, "--lib_level=5", library)
    assert (status, told.split(":")[0]) == (1, "ERROR")
    assert "no registry of flags" in told
