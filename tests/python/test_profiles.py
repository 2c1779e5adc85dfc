"""Small builds of the library: how small they are, what they do, and what they say they lack."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from support import CC, INCLUDE, LIBDIR, ROOT, SANITIZE, build_plugin, run, write

VERSION = version("paddle_flags")
PROFILES = ["no-report", "no-argv", "core"]
MOST = {"no-report": 106_496, "no-argv": 90_112, "core": 49_152}
CORE_ADDS_MOST = 32_768
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
pytestmark = pytest.mark.skipif(bool(SANITIZE), reason="small builds aren't for sanitizers")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build a profile, once; give the directory with the library."""
    made: dict[str, Path] = {}

    def build(profile: str) -> Path:
        if profile not in made:
            place = tmp_path_factory.mktemp(profile)
            made[profile] = place / "lib"
            command = [sys.executable, "setup.py", "-q", "build_library", "--build-lib", place]
            environment = {**os.environ, "PD_PROFILE": profile}
            run(*command, "--build-temp", place / "temp", cwd=ROOT, env=environment)
        return made[profile]

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


def missing(profile: str) -> set[str]:
    """Name the functions that profile.h says the profile lacks."""
    text = (ROOT / "csrc" / "src" / "profile.h").read_text("utf-8")
    parts = re.split(r"#if PD_PROFILE >= PD__\w+\n", text)[1:]
    assert len(parts) == len(PROFILES)
    return set(re.findall(r"PD__WITHOUT_(\w+) ,", "".join(parts[: PROFILES.index(profile) + 1])))


# -- size -------------------------------------------------------------------


@as_shipped
@pytest.mark.parametrize("profile", PROFILES)
def test_a_small_build_keeps_to_its_size(built, profile, tmp_path):
    stripped = tmp_path / "stripped.so"
    run("strip", built(profile) / "libpd_flags.so", "-o", stripped)
    table = run("size", "-A", "-d", stripped).stdout
    assert stripped.stat().st_size <= MOST[profile], table


def loaded(program: Path) -> int:
    """Give the bytes of a program's text and data."""
    text, data = run("size", program).stdout.splitlines()[1].split()[:2]
    return int(text) + int(data)


@as_shipped
def test_the_core_adds_no_more_than_32_kib_to_a_program_that_links_it_statically(built, tmp_path):
    define = PLUGIN + 'PD_DEFINE_int32(level, 6, "");\n'
    use = (
        define
        + """
    int main(int argc, char **argv) {
      pd_flag *flag;
      pd_error error;
      return argc < 2 || pd_flag_find("level", &flag, &error) ||
             pd_flag_set_from_string(flag, argv[1], &error);
    }
    """
    )
    sizes = []
    for name, text in (
        ("without", define + "int main(void) { return FLAGS_level; }"),
        ("with", use),
    ):
        source = write(tmp_path / f"{name}.c", text)
        linked = [built("core") / "libpd_flags.a", "-pthread", "-ldl"] if name == "with" else []
        flags = ["-Os", "-Wl,--gc-sections", "-s", f"-I{INCLUDE}"]
        run(*CC, *flags, source, "-o", tmp_path / name, *linked)
        sizes.append(loaded(tmp_path / name))
    assert 0 < sizes[1] - sizes[0] <= CORE_ADDS_MOST, sizes


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


# -- what is missing --------------------------------------------------------


@pytest.mark.parametrize("profile", PROFILES)
def test_the_table_lacks_what_the_profile_says_and_nothing_else(host, profile):
    assert set(lines(host(profile), "holes")[0].split()) == missing(profile)


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


@pytest.mark.parametrize("profile", ["no-argv", "core"])
def test_a_missing_function_says_its_name_and_the_profile(host, profile):
    status, settings, cells = lines(host(profile), "parse", "settings", "cells")
    expected = f"pd_parse_argv: {LACKED} {VERSION}+{profile}, which lacks it"
    assert status == f"PD_ERR_UNSUPPORTED: {expected}"
    assert (settings, cells) == ("0", "6 fast 1.5")


@pytest.mark.parametrize(
    ("attribute", "what"),
    [
        (".validate = no", "a validator"),
        (".watch = told", "a watcher"),
        ('.unit = "bytes"', "a unit"),
        (".list = PD_TYPE_int32", "a list"),
    ],
)
def test_the_core_refuses_a_definition_that_asks_for_what_it_lacks(host, tmp_path, attribute, what):
    functions = """
    static bool no(const pd_flag_entry *const *e, void *c, char *w, size_t s) {
      (void)e; (void)c; (void)w; (void)s; return false;
    }
    static void told(pd_flag *flag, void *context) { (void)flag; (void)context; }
    const void *const use[] = {(const void *)&no, (const void *)&told};
    """
    kind, default = ("string", '"1,2"') if "list" in attribute else ("int32", "1")
    text = f'{PLUGIN}{functions}PD_DEFINE_{kind}(more, {default}, "", {attribute});'
    source = write(tmp_path / "more.c", text)
    plugin = build_plugin(tmp_path / "more.so", source, flags=("-Wno-pedantic",))
    opened, error = lines(host("core"), "open", plugin)
    assert opened == "opened"
    assert error.startswith("PD_ERR_UNSUPPORTED: ")
    assert f"more.c:8: definition of 'more': has {what}" in error
    assert f"{VERSION}+core" in error


def test_an_unknown_profile_is_refused_with_the_known_ones(tmp_path):
    command = [sys.executable, "setup.py", "-q", "build_library", "--build-lib", tmp_path]
    environment = {**os.environ, "PD_PROFILE": "tiny"}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ended.returncode != 0
    assert "PD_PROFILE=tiny: expected one of full, no-report, no-argv, core" in ended.stderr


# -- copies -----------------------------------------------------------------


@pytest.mark.parametrize("static", [False, True], ids=["shared", "static"])
def test_a_full_copy_finds_out_what_a_core_that_hosts_lacks(host, static):
    words = ["copy", f"{LIBDIR}/libpd_flags.so", "cells"]
    parsed, set_by_name, cells = lines(host("core", static=static), *words)
    expected = f"pd_parse_argv: {LACKED} {VERSION}+core, which lacks it"
    assert parsed == f"PD_ERR_UNSUPPORTED: {expected}"
    assert (set_by_name, cells) == ("PD_OK", "6 best 1.5")


def test_a_core_copy_does_all_that_a_full_one_that_hosts_can(host, built):
    words = ["copy", built("core") / "libpd_flags.so", "cells"]
    assert lines(host("full"), *words) == ["PD_OK", "PD_OK", "3 best 1.5"]


def test_a_module_that_links_nothing_is_told_what_the_core_lacks(host, tmp_path):
    text = """
    #define PD_HEADER_ONLY
    #include <pd_flags.h>
    #include <stdio.h>
    PD_DEFINE_int32(alone_level, 6, "Level");
    __attribute__((constructor(200))) static void ask(void) {
      pd_error error;
      pd_flag *flag;
      int argc = 0;
      if (pd_parse_argv(&argc, NULL, NULL, &error)) printf("%s\\n", error.message);
      printf("%d\\n", pd_flag_find("alone_level", &flag, &error));
    }
    """
    plugin = tmp_path / "alone.so"
    run(*CC, "-shared", "-fPIC", f"-I{INCLUDE}", write(tmp_path / "alone.c", text), "-o", plugin)
    message, found, opened = lines(host("core"), "open", plugin)
    assert message == f"pd_parse_argv: {LACKED} {VERSION}+core, which lacks it"
    assert (found, opened) == ("0", "opened")
