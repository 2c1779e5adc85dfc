"""Copies of the library, also of other versions: one registry, whoever hosts it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from joining import Maker, obey
from support import CC, INCLUDE, LIBDIR, build, build_plugin, preload, run, write
from test_late import LATE
from test_unlinked import ASKS
from versions import build_library, newer, older, without_scopes

pytestmark = pytest.mark.release  # builds the library three times, as others do

PLUGIN = """
#include <pd_flags.h>
#include <stdio.h>
PD_DEFINE_int32(NAME_level, 6, "Level");
__attribute__((visibility("default"))) int NAME_say(const char *set);
int NAME_say(const char *set) {
  pd_error err = {PD_OK, ""};
  pd_flag *flag = NULL;
  pd_flag_info info = {.size = sizeof info};
  pd_status status = pd_flag_find(set, &flag, &err);
  if (status == PD_OK) status = pd_flag_set_from_string(flag, "9", &err);
  if (status == PD_OK) status = pd_flag_get_info(flag, &info, &err);
  printf("NAME: %s %s %d %s\\n", pd_version(), status == PD_OK ? info.name : err.message,
         FLAGS_NAME_level, MORE);
  return status;
}
"""
FUTURE = """
#include <pd_flags.h>
static const char *future(void) {
  static char text[1100];
  pd_error err;
  int32_t value = 0;
  pd_status status = pd_flag_future(&value, &err);
  snprintf(text, sizeof text, "%s %d", status == PD_OK ? "PD_OK" : err.message, (int)value);
  return text;
}
"""
HOST = """
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
  for (int i = 1; i + 2 < argc; i += 3) { /* a plugin, its function, a flag to set */
    void *handle = dlopen(argv[i], RTLD_NOW);
    if (!handle) return printf("%s\\n", dlerror());
    int (*say)(const char *);
    *(void **)&say = dlsym(handle, argv[i + 1]);
    say(argv[i + 2]);
    dlclose(handle);
  }
}
"""


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Directories of libpd_flags.a, by version."""
    made = {"0.1.0": Path(LIBDIR)}
    for version, change in (("0.0.9", older), ("0.0.10", without_scopes), ("9.0.0", newer)):
        made[version] = build_library(tmp_path_factory.mktemp("version"), [change])
    return made


@pytest.fixture
def talk(tmp_path: Path, versions: dict[str, Path]) -> Callable[..., list[str]]:
    """Load plugins with copies of versions, in this order; give what each says.

    Each sets the flag of the first.
    """
    host = build(
        tmp_path / "host",
        write(tmp_path / "host.c", HOST),
        flags=("-Wno-pedantic", "-ldl"),
    )

    def run_plugins(*wanted: str) -> list[str]:
        words: list[object] = []
        for index, version in enumerate(wanted):
            name = f"p{index}"
            text = PLUGIN.replace("NAME", name)
            headers = versions[version] / "csrc" / "include"
            more = "future()" if version == "9.0.0" else '""'
            if version == "9.0.0":
                text = text.replace("#include <stdio.h>", "#include <stdio.h>" + FUTURE)
            code = write(tmp_path / f"{name}.c", text.replace("MORE", more))
            library = versions[version] / "libpd_flags.a"
            path = tmp_path / f"lib{name}.so"
            include = (f"-I{headers}",) if headers.exists() else ()
            build_first(path, code, include, str(library))
            words += [path, f"{name}_say", "p0_level"]
        ended: subprocess.CompletedProcess[str] = run(host, *words)
        return [" ".join(line.split()) for line in ended.stdout.splitlines()]

    return run_plugins


def build_first(path: Path, code: Path, include: tuple[str, ...], library: str) -> None:
    """Build a plugin whose own headers are found before the installed ones."""
    run(*CC, "-shared", "-fPIC", *include, f"-I{INCLUDE}", code, library, "-ldl", "-o", path)


def test_the_first_copy_hosts_and_later_ones_forward(talk):
    assert talk("0.1.0", "0.1.0", "0.1.0") == [
        "p0: 0.1.0 p0_level 9",
        "p1: 0.1.0 p0_level 6",
        "p2: 0.1.0 p0_level 6",
    ]


def test_an_older_copy_works_under_a_newer_host(talk):
    assert talk("9.0.0", "0.0.9", "0.1.0") == [
        "p0: 9.0.0 p0_level 9 PD_OK 42",
        "p1: 9.0.0 p0_level 6",
        "p2: 9.0.0 p0_level 6",
    ]


def test_a_newer_copy_under_an_older_host_is_told_what_the_host_lacks(talk):
    lacks = (
        "pd_flag_future: the registry of this process is hosted by version 0.0.9, which lacks it"
    )
    assert talk("0.0.9", "9.0.0", "0.1.0") == [
        "p0: 0.0.9 p0_level 9",
        f"p1: 0.0.9 p0_level 6 {lacks} 0",
        "p2: 0.0.9 p0_level 6",
    ]


def host_of(folder: Path, version: Path) -> Path:
    """Build a library with a copy of a version inside, which hosts the registry if it is first."""
    code = write(folder / "old.c", "#include <pd_flags.h>\nconst char *(*k)(void) = pd_version;\n")
    flags = (str(version / "libpd_flags.a"), "-ldl")
    return build_plugin(folder / "libold.so", code, flags=flags)


def test_python_works_under_an_older_host_and_says_what_that_lacks(versions, tmp_path, python):
    path = host_of(tmp_path, versions["0.0.9"])
    text = """
flag = pf.define("x", 1)
pf.FLAGS.x = 5
print(flag.value, flag.defined, repr(flag))
try:
    pf.check("pending")
except pf.FlagUnsupportedError as error:
    from paddle_flags._native import ffi, lib
    host = ffi.string(lib.pd_version()).decode()
    print(pf.__version__, host, error.status, isinstance(error, NotImplementedError))
"""
    ended = python(text, env={**os.environ, **preload(path)})
    assert (
        ended.stdout
        == "5 True <Flag x: int64 = 5 (run time)>\n0.1.0 0.0.9 PD_ERR_UNSUPPORTED True\n"
    )


SCOPED = """
#include <pd_flags.h>
PD_DEFINE_SCOPED_int32(level, 6, "Level");
int read_level(void);
int read_level(void) { return PD_SCOPED(level); }
static double same(double x) { return x; }
PD_DEFINE_OP(same, double, (double), same, "x");
"""


def test_scopes_and_operations_under_an_older_host_are_refused_and_named(
    versions, tmp_path, python
):
    """Scoped flags have the value of the process; the doctor says why."""
    plugin = build_plugin(tmp_path / "libscoped.so", write(tmp_path / "scoped.c", SCOPED))
    text = f"""
import ctypes
plugin = ctypes.CDLL({str(plugin)!r})
print(pf.FLAGS.level, plugin.read_level())
pf.FLAGS.level = 8
print(pf.FLAGS.level, plugin.read_level(), list(pf.ops()))
for what in (pf.scoped(level=9).__enter__, pf.capture, lambda: pf.op("same")):
    try:
        what()
    except pf.FlagUnsupportedError as error:
        print(error)
"""
    env = {**os.environ, **preload(host_of(tmp_path, versions["0.0.10"]))}
    lacks = "the registry of this process is hosted by version 0.0.10, which lacks it"
    assert python(text, env=env).stdout.splitlines() == [
        "6 6",
        "8 8 []",
        *(f"pd_{name}: {lacks}" for name in ("scope_push", "scope_capture", "op_find")),
    ]
    command = (sys.executable, "-m", "paddle_flags", "doctor", "-p", str(plugin))
    ended = run(*command, env=env, check=False)
    hosted = f"  the registry is hosted by version 0.0.10 in {tmp_path / 'libold.so'}, which lacks"
    assert ended.stdout.endswith(
        f"problems:\n{hosted} scoped values: all threads have the values of the process;"
        f" load the newest copy of the library first\n{hosted} operations: each module calls its"
        " own implementations; load the newest copy of the library first\n"
    )
    assert ended.returncode == 1


def test_modules_that_link_nothing_are_told_what_an_older_host_lacks(versions, tmp_path):
    """Functions that it has work; late definitions stay undefined and say why."""
    maker = Maker(tmp_path)
    host, registry = maker.program("host"), versions["0.0.9"] / "libpd_flags.so"
    asks = maker.plugin("asks", ASKS.replace("NAME", "c"))
    late = maker.plugin("late", LATE.replace("NAME", "n").replace("OTHER", "n"))
    lines = obey(host, "registry", registry, "open local", asks, "open local", late,
                 "call", asks, "c_raise", "call", asks, "c_warn", "text", asks, "c_said",
                 "get early_n", "call", late, "n_sum", "call", late, "n_add",
                 "text", late, "n_said")  # fmt: skip
    lacks = "the registry of this process is hosted by version 0.0.9, which lacks it"
    assert lines[3:6] == ["0", "16", f"pd_warning_handle: {lacks}"]
    assert lines[6:9] == ["1", "550", "16"]
    assert lines[9] == (
        "late_two_n: the registry of this process is hosted by a version that knows nothing of "
        "definitions made while the program runs: 0.0.9"
    )
