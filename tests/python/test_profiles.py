"""Small builds of the library: how small they are, what they do, and what they say they lack."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from support import CC, INCLUDE, LIBDIR, ROOT, SANITIZE, build_plugin, run, write

VERSION = version("paddle_flags")
# Each profile leaves out whole layers: the rows of the table that they implement, which are
# lacking, and at least so many bytes of the stripped library.
REPORT = {"report_help", "report_flagfile", "report_json"}
INPUT = {
    "parse_argv",
    "environment_enable",
    "environment_hold",
    "environment_release",
    "program_set",
    "program_get",
}
CONFIG = ("new", "free", "add", "add_flagfile", "fail", "apply", "check", "set_environment")
INPUT |= {f"config_{verb}" for verb in CONFIG}
MISSING = {"no-report": REPORT, "no-input": REPORT | INPUT}
LEAST_SAVED = {"no-report": 16_384, "no-input": 40_960}
# The smallest build has what the other one tests, too.
PROFILES = [
    pytest.param("no-report", marks=pytest.mark.release),
    "no-input",
]
HOST = ROOT / "tests" / "c" / "profile_host.c"
ALPHA = """
PD_DEFINE_double(alpha_rate, 0.5, "Rate", .min = 0, .max = 4);
PD_DEFINE_bool(alpha_check, false, "Check", .aliases = "alpha_old");
PD_IMPORT_int32(host_level, 1);
"""
# Other compilers and settings, and other systems, make other sizes of the same source.
OTHERWISE = os.environ.get("CFLAGS") or platform.machine() != "x86_64"
OTHERWISE = OTHERWISE or "clang" in os.environ.get("CC", "")
as_shipped = pytest.mark.skipif(bool(OTHERWISE), reason="not built as it is shipped")
pytestmark = [
    pytest.mark.skipif(bool(SANITIZE), reason="small builds aren't for sanitizers"),
    pytest.mark.extended,
]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build a profile, once; give the directory with the library."""
    made: dict[tuple[str, bool], Path] = {}

    def build(profile: str, *, optimized: bool = False) -> Path:  # which takes twice as long
        if (profile, optimized) not in made:
            place = tmp_path_factory.mktemp(profile)
            made[profile, optimized] = place / "lib"
            command = [sys.executable, "setup.py", "-q", "build_library", "--build-lib", place]
            environment = {**os.environ, "PD_PROFILE": profile}
            if not optimized:
                environment["CFLAGS"] = os.environ.get("CFLAGS", "") + " -O0 -U_FORTIFY_SOURCE"
            run(*command, "--build-temp", place / "temp", cwd=ROOT, env=environment)
        return made[profile, optimized]

    return build


@pytest.fixture(scope="module")
def host(built, tmp_path_factory):
    """Build the host, linked with a static copy of a profile or with its shared library."""
    made: dict[tuple[str, bool], Path] = {}

    def build(profile: str, *, static: bool = False) -> Path:
        if (profile, static) not in made:
            library = Path(LIBDIR) if profile == "full" else built(profile)
            program = tmp_path_factory.mktemp("host") / "host"
            shared = [f"-L{library}", f"-Wl,-rpath,{library}", "-lpd_flags"]
            linked = [library / "libpd_flags.a", "-pthread"] if static else shared
            run(*CC, "-Wall", "-Werror", f"-I{INCLUDE}", HOST, "-o", program, *linked, "-ldl")
            made[profile, static] = program
        return made[profile, static]

    return build


PLUGIN = "#include <pd_flags.h>\n"


@pytest.fixture
def alpha(tmp_path):
    return build_plugin(tmp_path / "alpha.so", write(tmp_path / "alpha.c", PLUGIN + ALPHA))


def lines(program: Path, *words: object) -> list[str]:
    return run(program, *words).stdout.splitlines()


# -- size -------------------------------------------------------------------


@as_shipped
@pytest.mark.release
@pytest.mark.parametrize("profile", PROFILES)
def test_a_small_build_is_smaller_by_what_its_layers_take(built, profile, tmp_path):
    sizes = []
    for library in (Path(LIBDIR), built(profile, optimized=True)):
        run("strip", library / "libpd_flags.so", "-o", tmp_path / "stripped.so")
        sizes.append((tmp_path / "stripped.so").stat().st_size)
    assert sizes[0] - sizes[1] >= LEAST_SAVED[profile], sizes


# -- what is there ----------------------------------------------------------


@pytest.mark.parametrize("static", [False, True], ids=["shared", "static"])
@pytest.mark.parametrize("profile", PROFILES)
def test_a_host_defines_sets_and_joins_plugins(host, alpha, profile, static):
    words = [
        "version",
        "cells",
        "set",
        "host_level=7",
        "set",
        "host-level=0",
        "set",
        "host_mode=slow",
    ]
    words += ["pending", "alpha_rate=2", "pending", "alpha_old=true", "get", "alpha_rate"]
    words += [
        "open",
        alpha,
        "get",
        "alpha_rate",
        "get",
        "alpha_check",
        "set",
        "alpha_rate=5",
        "cells",
    ]
    words += ["close", "get", "alpha_rate", "open", alpha, "get", "alpha_rate"]
    shown = lines(host(profile, static=static), *words)
    assert shown[:3] == [f"{VERSION}+{profile}", "6 fast 1.5", "PD_OK"]
    assert "host_level=0: expected an integer in [1, 9]" in shown[3]
    assert "host_mode=slow: expected one of fast, best" in shown[4]
    assert shown[5:7] == ["PD_OK", "PD_OK"]
    assert shown[7].startswith("PD_ERR_UNDEFINED: ")
    assert shown[8:11] == ["opened", "2", "true"]
    assert shown[11] == "PD_ERR_RANGE: alpha_rate=5: expected a number in [0, 4]"
    assert shown[12:14] == ["7 fast 2", "0"]
    assert shown[14].startswith("PD_ERR_UNDEFINED: ")
    assert shown[15:] == ["opened", "2"]


@pytest.mark.parametrize("profile", PROFILES)
def test_plugins_that_contradict_each_other_are_refused_with_both_places(host, tmp_path, profile):
    texts = {
        "type": 'PD_DEFINE_int64(host_level, 6, "Level");',
        "import": "PD_IMPORT_bool(host_level, true);",
        "range": 'PD_DEFINE_int32(more_range, 6, "", .min = 9, .max = 1);',
        "default": 'PD_DEFINE_int32(more_default, 6, "", .min = 7, .max = 9);',
        "choice": 'PD_DEFINE_int32(more_choice, 6, "", .choices = "a|b");',
        "alias": 'PD_DEFINE_int32(more_alias, 6, "", .aliases = "a b");',
    }
    words: list[object] = []
    for name, text in texts.items():
        source = write(tmp_path / f"{name}.c", PLUGIN + text)
        words += ["open", build_plugin(tmp_path / f"{name}.so", source)]
    seen: list[str] = []
    for line in lines(host(profile), *words):
        if line != "opened" and line not in seen:
            seen.append(line)
    expected = ["CONFLICT", "TYPE", "RANGE", "RANGE", "CHOICE", "NAME"]
    assert [line.partition(":")[0] for line in seen] == [f"PD_ERR_{word}" for word in expected]
    assert "profile_host.c:11" in seen[0]
    assert "type.c:2" in seen[0]


def test_a_build_without_input_reads_units_and_lists_and_asks_validators(host, tmp_path):
    text = """
    static bool even(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
      (void)context;
      if (entries[0]->value.i64 % 2 == 0) return true;
      snprintf(why, size, "must be even");
      return false;
    }
    static void print(pd_flag *flag, void *context) {
      (void)flag, (void)context;
      puts("watched");
      fflush(stdout);
    }
    PD_DEFINE_int64(more_size, 2, "Size", .unit = "bytes", .validate = even, .watch = print);
    PD_DEFINE_string(more_list, "1,2", "List", .list = PD_TYPE_int32);
    """
    source = write(tmp_path / "more.c", f"#include <stdio.h>\n{PLUGIN}{text}")
    words = ["open", build_plugin(tmp_path / "more.so", source), "set", "more_size=4KiB"]
    words += ["get", "more_size", "set", "more_size=5", "set", "more_list=1,x"]
    shown = lines(host("no-input"), *words)
    assert shown[:4] == ["opened", "watched", "PD_OK", "4096"]
    assert shown[4].startswith("PD_ERR_REFUSED: ")
    assert "must be even" in shown[4]
    assert shown[5].startswith("PD_ERR_VALUE: ")


@pytest.mark.release  # builds the other profile
def test_a_build_without_reports_reads_command_lines_variables_and_files(host, tmp_path):
    flagfile = write(tmp_path / "host.flags", "--host_mode=best\n")
    words = ["parse", f"--flagfile={flagfile}", "environment", "config", "cells"]
    program = host("no-report")
    environment = {**os.environ, "FLAGS_host_level": "8"}
    shown = run(program, *words, env=environment).stdout.splitlines()
    assert shown == ["PD_OK", "PD_OK", "1", "8 best 1.5"]


# -- what is missing --------------------------------------------------------


@pytest.mark.parametrize("profile", PROFILES)
def test_the_table_lacks_the_functions_of_the_layers_and_nothing_else(host, profile):
    assert set(lines(host(profile), "holes")[0].split()) == MISSING[profile]


def test_the_full_library_lacks_nothing(host):
    assert lines(host("full"), "version", "holes") == [VERSION, ""]


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_exports_the_same_functions(built, profile):
    names = []
    for library in (Path(LIBDIR), built(profile)):
        shown = run("nm", "-D", "--defined-only", library / "libpd_flags.so").stdout.splitlines()
        names.append(sorted(line.split()[-1] for line in shown))
    assert names[0] == names[1]


LACKED = "the registry of this process is hosted by version"


def lacks(function: str, profile: str) -> str:
    return f"PD_ERR_UNSUPPORTED: {function}: {LACKED} {VERSION}+{profile}, which lacks it"


@pytest.mark.parametrize("profile", PROFILES)
def test_a_missing_function_says_its_name_and_the_profile(host, profile):
    assert lines(host(profile), "help") == [lacks("pd_report_help", profile)]


def test_what_reads_outside_text_is_missing_where_input_is(host):
    shown = lines(host("no-input"), "parse", "--host_level=2", "environment", "config", "cells")
    assert shown == [
        lacks("pd_parse_argv", "no-input"),
        lacks("pd_environment_enable", "no-input"),
        "0",
        "6 fast 1.5",
    ]


def test_an_unknown_profile_is_refused_with_the_known_ones(tmp_path):
    command = [sys.executable, "setup.py", "-q", "build_library", "--build-lib", tmp_path]
    environment = {**os.environ, "PD_PROFILE": "tiny"}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ended.returncode != 0
    assert "PD_PROFILE=tiny: expected one of full, no-report, no-input" in ended.stderr


# -- copies -----------------------------------------------------------------


@pytest.mark.parametrize("static", [False, True], ids=["shared", "static"])
def test_a_full_copy_finds_out_what_a_small_one_that_hosts_lacks(host, static):
    words = ["copy", f"{LIBDIR}/libpd_flags.so", "cells"]
    parsed, set_by_name, cells = lines(host("no-input", static=static), *words)
    assert parsed == lacks("pd_parse_argv", "no-input")
    assert (set_by_name, cells) == ("PD_OK", "6 best 1.5")


def test_a_small_copy_does_all_that_a_full_one_that_hosts_can(host, built):
    words = ["copy", built("no-input") / "libpd_flags.so", "cells"]
    assert lines(host("full"), *words) == ["PD_OK", "PD_OK", "3 best 1.5"]


def test_a_module_that_links_nothing_is_told_what_a_small_host_lacks(host, tmp_path):
    text = """
    #define PD_HEADER_ONLY
    #include <pd_flags.h>
    #include <stdio.h>
    PD_DEFINE_int32(alone_level, 6, "Level");
    __attribute__((constructor(200))) static void ask(void) {
      pd_error error;
      pd_flag *flag;
      int argc = 0;
      printf("%s: ", pd_status_name(pd_parse_argv(&argc, NULL, NULL, &error)));
      printf("%s\\n", error.message);
      printf("%d\\n", pd_flag_find("alone_level", &flag, &error));
    }
    """
    plugin = tmp_path / "alone.so"
    run(*CC, "-shared", "-fPIC", f"-I{INCLUDE}", write(tmp_path / "alone.c", text), "-o", plugin)
    message, found, opened = lines(host("no-input"), "open", plugin)
    assert message == lacks("pd_parse_argv", "no-input")
    assert (found, opened) == ("0", "opened")
