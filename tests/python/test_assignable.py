"""The variables of the compat headers: pd_flags/assignable.hpp."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support import (
    CHECKED,
    CXX,
    INCLUDE,
    SANITIZE,
    WARNINGS,
    WINDOWS,
    build,
    build_plugin,
    build_program,
    run,
    tool,
    write,
)

from paddle_flags._core.paths import get_shared_library

DEFINED = """
#include <pd_flags/assignable.hpp>
#include <cstdlib>
namespace mine {
static const double kShare = 0.92;
static const char kName[] = "an array";
PD__ASSIGNABLE(int32, FLAGS_level, "level", , , 6, "Compression level")
PD__ASSIGNABLE(double, FLAGS_share, "share", , , kShare, "", .category = "memory")
PD__ASSIGNABLE(uint64, FLAGS_late, "late", , , std::strtoull("42", nullptr, 10), "")
PD__ASSIGNABLE(double, FLAGS_late_share, "late_share", , , std::atof("0.1"), "")
PD__ASSIGNABLE(bool, FLAGS_late_check, "late_check", , , std::atoi("1"), "")
PD__ASSIGNABLE_TEXT(FLAGS_mode, "mode", , , "a default that is too long to stand in a string", "")
PD__ASSIGNABLE_TEXT(FLAGS_name, "name", , , kName, "")
PD__ASSIGNABLE_TEXT(FLAGS_place, "place", , , std::getenv("PLACE"), "")
PD__ASSIGNABLE_TEXT(FLAGS_made, "made", , , std::string("made of ") + "two", "")
}
"""

USED = """
#include <pd_flags/assignable.hpp>
namespace mine {
PD__ASSIGNABLE_DECLARE(int32, FLAGS_level, , );
PD__ASSIGNABLE_TEXT_DECLARE(FLAGS_mode, , );
PD__ASSIGNABLE_TEXT_DECLARE(FLAGS_name, , );
}
static std::string seen = mine::FLAGS_mode + "!";
static bool assigned = (mine::FLAGS_name = "assigned by an initialiser").empty();
static struct Last {
  ~Last() { mine::FLAGS_mode = "assigned by the last of the destructors, so long"; }
} last;
extern "C" const char *seen_first() { return assigned ? "" : seen.c_str(); }
"""

PROGRAM = """
#include <cstdio>
#include <pd_flags/assignable.hpp>
namespace mine {
PD__ASSIGNABLE_DECLARE(int32, FLAGS_level, , );
PD__ASSIGNABLE_TEXT_DECLARE(FLAGS_mode, , );
}
extern "C" const char *seen_first();
int main() {
  pd_flag *flag = nullptr;
  std::puts(seen_first());
  mine::FLAGS_level = 7;
  mine::FLAGS_mode += ", changed";
  while ((flag = pd_flag_next(flag)) != nullptr) {
    char text[100];
    pd_flag_info info;
    info.size = sizeof info;
    if (pd_flag_get_text(flag, text, sizeof text, nullptr, nullptr) != PD_OK) return 1;
    if (pd_flag_get_info(flag, &info, nullptr) != PD_OK) return 1;
    std::printf("%s=%s (%s)\\n", info.name, text, pd_source_name(info.source));
  }
  if (pd_flag_set_by_name("mode", "best", nullptr) != PD_OK) return 1;
  std::puts(mine::FLAGS_mode.c_str());
  return 0;
}
"""


@pytest.mark.extended  # takes a second or more
def test_ordinary_variables_are_flags_that_initialisers_may_read_and_write(tmp_path: Path) -> None:
    sources = [
        write(tmp_path / f"{n}.cpp", t)
        for n, t in (("used", USED), ("defined", DEFINED), ("main", PROGRAM))
    ]
    program = build_program(tmp_path / "program", *sources, flags=("-std=c++11",))
    environment = {**os.environ, "LC_ALL": "C", "PLACE": "here"}
    assert run(program, env=environment).stdout.splitlines() == [
        "a default that is too long to stand in a string!",
        "level=7 (run time)",
        "share=0.92 (default)",
        "late=42 (default)",
        "late_share=0.1 (default)",
        "late_check=true (default)",
        "mode=a default that is too long to stand in a string, changed (run time)",
        "name=assigned by an initialiser (run time)",
        "place=here (default)",
        "made=made of two (default)",
        "best",
    ]


HOST = """
#include <dlfcn.h>
#include <pd_flags.h>
#include <stdio.h>
#include <string.h>
static void show(const char *path) {
  const char *(*seen)(void);
  void *library = dlopen(path, RTLD_NOW);
  void *symbol = dlsym(library, "seen_first");
  memcpy(&seen, &symbol, sizeof seen);
  puts(seen());
  dlclose(library);
}
int main(int argc, char **argv) {
  pd_module *module = NULL;
  pd_error err = {PD_OK, ""};
  const char *waiting = "given before the plugin came, and as long as it has to be";
  if (pd_pending_set("mode", waiting, NULL, &err) != PD_OK) return 1;
  if (pd_pending_set("late", "43", NULL, &err) != PD_OK) return 1;
  for (int i = 0; i < 2; i++) {
    if (pd_module_load(argv[argc - 1], NULL, &module, &err) != PD_OK) return puts(err.message), 1;
    show(argv[argc - 1]);
    pd_flag *flag;
    uint64_t late;
    if (pd_flag_find("late", &flag, &err) != PD_OK) return 1;
    if (pd_flag_get_uint64(flag, &late, &err) != PD_OK) return 1;
    printf("late=%d\\n", (int)late);
    if (pd_flag_reset(flag, &err) != PD_OK || pd_flag_get_uint64(flag, &late, &err)) return 1;
    printf("late=%d\\n", (int)late);
    if (pd_module_unload(module, &err) != PD_OK) return puts(err.message), 1;
  }
  return 0;
}
"""


@pytest.mark.extended  # takes a second or more
def test_a_plugin_takes_what_waits_for_it_and_gives_its_memory_back(tmp_path: Path) -> None:
    """Under AddressSanitizer a string that is lost fails the run.

    The program brings libstdc++: else gcc 15 and newer, without optimisation, give the plugin the
    code of std::string, to which libstdc++ is bound then, and which never leaves.
    """
    sources = [write(tmp_path / "used.cpp", USED), write(tmp_path / "defined.cpp", DEFINED)]
    plugin = build_plugin(tmp_path / "libplugin.so", *sources, flags=("-std=c++11",))
    host = write(tmp_path / "host.c", HOST)
    program = build_program(
        tmp_path / "host", host, flags=("-ldl", "-Wl,--no-as-needed", "-lstdc++")
    )
    assert run(program, plugin).stdout.splitlines() == [
        "given before the plugin came, and as long as it has to be!",
        "late=43",
        "late=42",
        "assigned by the last of the destructors, so long!",
        "late=42",
        "late=42",
    ]


EARLY = """
#include <dlfcn.h>
#include <pd_flags/assignable.hpp>
#include <cstdio>
PD__ASSIGNABLE(int32, FLAGS_level, "level", , , 6, "Compression level")
PD__ASSIGNABLE(int32, FLAGS_same, "same", , , 6, "Compression level")
PD__ASSIGNABLE_TEXT(FLAGS_mode, "mode", , , "fast", "How")
static void show(void *library, const char *name) {
  pd_flag *flag = nullptr;
  pd_flag_info info;
  char text[100];
  info.size = sizeof info;
  auto find = reinterpret_cast<decltype(&pd_flag_find)>(dlsym(library, "pd_flag_find"));
  auto get = reinterpret_cast<decltype(&pd_flag_get_text)>(dlsym(library, "pd_flag_get_text"));
  auto tell = reinterpret_cast<decltype(&pd_flag_get_info)>(dlsym(library, "pd_flag_get_info"));
  if (find(name, &flag, nullptr) || get(flag, text, sizeof text, nullptr, nullptr)) return;
  if (tell(flag, &info, nullptr) == PD_OK) std::printf("%s %d\\n", text, info.source);
}
int main(int argc, char **argv) {
  FLAGS_level = 9;
  FLAGS_mode = "assigned before there was a registry, at some length";
  void *library = dlopen(argv[argc - 1], RTLD_NOW);
  if (!library) return 1;
  std::printf("%d %s\\n", FLAGS_level, FLAGS_mode.c_str());
  show(library, "level");
  show(library, "mode");
  show(library, "same");
  return 0;
}
"""


def test_what_was_assigned_before_there_was_a_registry_stays(tmp_path: Path) -> None:
    source = write(tmp_path / "early.cpp", EARLY)
    program = build(tmp_path / "early", source, flags=("-std=c++11", "-ldl"))
    assert run(program, get_shared_library()).stdout.splitlines() == [
        "9 assigned before there was a registry, at some length",
        "9 4",
        "assigned before there was a registry, at some length 4",
        "6 0",
    ]


CONSTANT = """
#include <pd_flags/assignable.hpp>
PD__ASSIGNABLE(int32, FLAGS_level, "level", , , 6, "Compression level")
PD__ASSIGNABLE_TEXT(FLAGS_mode, "mode", , , "fast", "How")
"""


@pytest.mark.skipif(bool(SANITIZE), reason="the sanitizer's functions are undefined too")
@pytest.mark.skipif(WINDOWS, reason="the symbols of ELF are missing on Windows")
def test_a_module_with_constant_defaults_links_and_exports_nothing_of_ours(tmp_path: Path) -> None:
    source = write(tmp_path / "constant.cpp", CONSTANT)
    plugin = build_plugin(tmp_path / "libconstant.so", source, flags=("-std=c++11", "-Wl,-z,defs"))
    symbols = run("nm", "-DC", plugin).stdout
    assert "FLAGS_level" in symbols
    of_linker = {"__start_pd_flags", "__stop_pd_flags"}  # of GNU ld, as in every module
    ours = {line.split()[-1] for line in symbols.splitlines() if "pd_" in line}
    assert ours <= of_linker
    assert "text_" not in symbols


@pytest.mark.extended  # takes a second or more
def test_one_name_in_two_files_of_a_module_does_not_link(tmp_path: Path) -> None:
    sources = [
        write(tmp_path / f"{n}.cpp", f"namespace {n} {{ {CONSTANT.splitlines()[2]} }}")
        for n in ("first", "second")
    ]
    command = [*CXX, *WARNINGS, *CHECKED, f"-I{INCLUDE}", "-include", "pd_flags/assignable.hpp"]
    ended = run(*command, "-shared", "-fPIC", *sources, "-o", tmp_path / "out.so", check=False)
    assert ended.returncode != 0
    assert "pd_flag_definition_level" in ended.stderr


DEFAULTS = """
#include <pd_flags/assignable.hpp>
static const int64_t kLevel = 5;
PD__ASSIGNABLE(int32, FLAGS_whole, "whole", , , 1e6, "")
PD__ASSIGNABLE(int32, FLAGS_other, "other", , , kLevel, "")
PD__ASSIGNABLE(double, FLAGS_share, "share", , , 5, "")
PD__ASSIGNABLE(int32, FLAGS_level, "level", , , VALUE, "")
"""


@pytest.mark.extended  # takes a second or more
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_a_default_that_does_not_fit_is_told_by_the_compiler_once(
    tmp_path: Path, compiler: str
) -> None:
    code = write(tmp_path / "defaults.cpp", DEFAULTS)
    command = [tool(compiler, "clang" if compiler == "clang++" else None), "-std=c++11", "-Wextra"]
    command += ["-Wuseless-cast"] if compiler == "g++" else []
    command += [f"-I{INCLUDE}", "-fsyntax-only", code]
    assert run(*command, "-Werror", "-DVALUE=6").stderr == ""
    warned = run(*command, "-DVALUE=5000000000").stderr
    assert warned.count("warning:") == 1
    assert "705032704" in warned
    refused = run(*command, '-DVALUE="six"', check=False)
    assert refused.returncode != 0
    assert "static_cast" not in refused.stderr
