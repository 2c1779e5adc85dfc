"""A library built for a distribution, with a version in its soname, beside a wheel's."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from packages import BUILD_ENVIRONMENT, once
from support import CC, ROOT, SANITIZE, build, preload, run, write

import paddle_flags as pf

pytestmark = [
    pytest.mark.release,  # builds the library
    pytest.mark.skipif(bool(SANITIZE), reason="a package is built without sanitizers"),
]

HOST = """
#include <pd_flags.h>
#include <stdio.h>
PD_DEFINE_int32(system_level, 6, "Level");
int main(int argc, char **argv) {
  pd_error err;
  if (pd_parse_argv(&argc, argv, NULL, &err) != PD_OK) return puts(err.message), 1;
  printf("%d\\n", (int)FLAGS_system_level);
}
"""
PLUGIN = """
#include <pd_flags.h>
PD_DEFINE_int32(system_level, 6, "Level");
int get_level(void);
int get_level(void) { return FLAGS_system_level; }
const char *set_level(const char *name, const char *text);
const char *set_level(const char *name, const char *text) {
  static pd_error err;
  pd_flag *flag;
  if (pd_flag_find(name, &flag, &err) == PD_OK) pd_flag_set_from_string(flag, text, &err);
  return err.message;
}
"""
# The process has the flag of a module that is linked against the system's library, and one of
# Python, whose modules are linked against the library beside them.
BOTH = """
import ctypes, re, sys
def load():
    library = ctypes.CDLL(sys.argv[2])
    library.set_level.restype = ctypes.c_char_p
    return library
if sys.argv[1] == "system":
    system = load()
import paddle_flags as pf
wheel_level = pf.define("wheel_level", 1)
if sys.argv[1] == "wheel":
    system = load()
pf.FLAGS.system_level = 7
print(system.get_level())
print(system.set_level(b"wheel_level", b"9").decode(), wheel_level.value)
print(system.set_level(b"system_level", b"x").decode())
maps = open("/proc/self/maps").read()
print(*sorted(set(re.findall(r"/(libpd_flags\\.so\\S*)", maps))))
"""


@pytest.fixture
def system(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library as distributions build it: lib, include/paddle_flags."""

    def make(out: Path) -> None:
        tree = out.parent / "tree"
        run(sys.executable, ROOT / "tools" / "copy_tree.py", tree)
        settings = {"PD_SOVERSION": "0", "PD_INCLUDEDIR": "../include/paddle_flags"}
        command = (sys.executable, "setup.py", "-q", "build_library", "--build-lib", "built")
        run(*command, cwd=tree, env={**BUILD_ENVIRONMENT, **settings})
        (out / "include").mkdir()
        (tree / "built" / "include").rename(out / "include" / "paddle_flags")
        (tree / "built" / "lib").rename(out / "lib")
        for name in ("libpd_flags.so", "libpd_flags_live.so"):
            (out / "lib" / name).symlink_to(f"{name}.0")

    return once(tmp_path_factory, "system", make)


def pkg_config(system: Path, option: str) -> list[str]:
    where = {**os.environ, "PKG_CONFIG_PATH": str(system / "lib" / "pkgconfig")}
    return run("pkg-config", option, "paddle_flags", env=where).stdout.split()


def dynamic(path: Path) -> str:
    return run("readelf", "-d", "-W", path).stdout


def test_names_have_the_version_and_nothing_has_a_run_path(system, tmp_path):
    for name in ("libpd_flags.so.0", "libpd_flags_live.so.0"):
        text = dynamic(system / "lib" / name)
        assert f"soname: [{name}]" in text
        assert "RUNPATH" not in text
    options = [*pkg_config(system, "--cflags"), *pkg_config(system, "--libs")]
    source = write(tmp_path / "host.c", HOST)
    run(*CC, source, *options, "-o", tmp_path / "host")
    text = dynamic(tmp_path / "host")
    assert "[libpd_flags.so.0]" in text
    assert "RUNPATH" not in text
    found = {**os.environ, "LD_LIBRARY_PATH": str(system / "lib")}
    assert run(tmp_path / "host", "--system_level=8", env=found).stdout == "8\n"


@pytest.mark.parametrize("first", ["system", "wheel"])
def test_it_shares_one_registry_with_the_library_of_a_wheel(system, tmp_path, first):
    library = f"{system / 'lib' / 'libpd_flags.so.0'}"
    linked = ("-shared", "-fPIC", library, f"-Wl,-rpath,{system / 'lib'}")
    module = build(tmp_path / "module.so", write(tmp_path / "module.c", PLUGIN), flags=linked)
    program = write(tmp_path / "program.py", BOTH)
    shown = run(sys.executable, program, first, module).stdout.splitlines()
    assert shown == [
        "7",
        " 9",
        "system_level=x: expected a 32-bit integer",
        "libpd_flags.so libpd_flags.so.0",
    ]


def test_a_host_of_the_system_runs_with_a_preloaded_library_of_a_wheel(system, tmp_path):
    options = [*pkg_config(system, "--cflags"), *pkg_config(system, "--libs")]
    run(*CC, write(tmp_path / "host.c", HOST), *options, "-o", tmp_path / "host")
    wheel = Path(pf.__file__).parent / "lib" / "libpd_flags.so"
    found = {**os.environ, "LD_LIBRARY_PATH": str(system / "lib"), **preload(wheel)}
    assert run(tmp_path / "host", "--system_level=8", env=found).stdout == "8\n"
