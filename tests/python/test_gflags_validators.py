"""Whether a flag has a validator, asked by modules that didn't register it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import CHECKED, CXX, INCLUDE, LIBDIR, run, write

pytestmark = pytest.mark.extended  # each test builds programs

LINK = [f"-L{LIBDIR}", f"-Wl,-rpath,{LIBDIR}", "-lpd_flags"]
COMPILE = [*CXX, "-std=c++11", "-O0", *CHECKED, "-Wall", "-Wextra", "-Werror"]


def compiled(out: Path, text: str, *flags: object) -> Path:
    source = write(out.with_suffix(".cc"), text)
    include = (f"-I{Path(INCLUDE, 'compat')}", f"-I{INCLUDE}")
    run(*COMPILE, *include, source, "-o", out, *flags, *LINK)
    return out


def with_library(folder: Path, library: str, program: str) -> Path:
    built = compiled(folder / "liblib.so", library, "-shared", "-fPIC")
    return compiled(folder / "user", program, "-rdynamic", built, f"-Wl,-rpath,{folder}")


CHECKED_LIBRARY = """
#include <gflags/gflags.h>
#include <cstdio>
DEFINE_int32(lib_checked, 5, "Checked by the library");
DEFINE_int32(lib_free, 5, "Checked by nobody");
DEFINE_int32(lib_other, 5, "Checked by the program");
static bool positive(const char *, gflags::int32 value) { return value > 0; }
DEFINE_validator(lib_checked, positive);
extern "C" void list() {
  for (const char *name : {"lib_checked", "lib_free", "lib_other", "app_level", "app_mode"}) {
    gflags::CommandLineFlagInfo info;
    std::printf("%d", gflags::GetCommandLineFlagInfo(name, &info) ? info.has_validator_fn : 9);
  }
  std::printf(" %s", gflags::SetCommandLineOption("app_level", "-1").c_str());
  std::puts(gflags::SetCommandLineOption("app_mode", "wrong").empty() ? "refused" : "set");
}
"""

CHECKED_PROGRAM = """
#include <gflags/gflags.h>
DECLARE_int32(lib_other);
DEFINE_int32(app_level, 5, "How much");
DEFINE_string(app_mode, "fast", "How");
static bool positive(const char *, gflags::int32 value) { return value > 0; }
static bool is_mode(const char *, const std::string &value) { return value != "wrong"; }
DEFINE_validator(app_mode, is_mode);
extern "C" void list();
int main(int argc, char **argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  list();
  {
    gflags::FlagSaver saver;
    gflags::RegisterFlagValidator(&FLAGS_app_level, positive);
    gflags::RegisterFlagValidator(&FLAGS_lib_other, positive);
    gflags::RegisterFlagValidator(&FLAGS_app_mode, nullptr);
    list();
  }
  list();
  gflags::RegisterFlagValidator(&FLAGS_app_level, positive);
  list();
}
"""


def test_a_library_sees_whether_flags_of_the_program_have_a_validator(tmp_path):
    lines = run(with_library(tmp_path, CHECKED_LIBRARY, CHECKED_PROGRAM)).stdout.splitlines()
    is_set = "app_level set to -1"
    assert lines == [
        f"10001 {is_set}",
        "refused",
        "10110 set",
        f"10001 {is_set}",
        "refused",
        "10011 refused",
    ]


SHARED = """
#include <gflags/gflags.h>
#include <cstdio>
template <class T>
bool register_checked(const T *flag, bool (*check)(const char *, T)) {
  return gflags::RegisterFlagValidator(flag, check);
}
template <class T>
bool accept(const char *, T value) { return value != 13; }
"""

SHARED_LIBRARY = """
DEFINE_int32(lib_limit, 5, "Checked by the library");
bool lib_checks = register_checked(&FLAGS_lib_limit, accept<gflags::int32>);
extern "C" void list() {
  for (const char *name : {"lib_limit", "app_limit"}) {
    std::printf("%d", gflags::GetCommandLineFlagInfoOrDie(name).has_validator_fn);
    std::printf("%s", gflags::SetCommandLineOption(name, "13").c_str());
  }
}
"""

SHARED_PROGRAM = """
DEFINE_int32(app_limit, 5, "Checked by the program");
bool app_checks = register_checked(&FLAGS_app_limit, accept<gflags::int32>);
extern "C" void list();
int main() { list(); }
"""


def test_a_library_whose_template_the_program_replaces_keeps_its_validators(tmp_path):
    program = with_library(tmp_path, SHARED + SHARED_LIBRARY, SHARED + SHARED_PROGRAM)
    assert run(program).stdout == "11"
