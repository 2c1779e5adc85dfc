"""A plugin that links nothing of ours is found, however it comes into the process.

Its own C code reads the values that the registry holds.
"""

from __future__ import annotations

import sysconfig
from typing import TYPE_CHECKING

import pytest
from joining import LEVEL, REGISTRY, Maker, environment, obey, python
from support import LIBDIR, SANITIZE, preload, run, tool

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = LEVEL.replace("join_", "host_").replace("level(", "host_level(").replace("mode(", "hm(")
EXTENSION = """
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pd_flags.h>
PD_DEFINE_int32(join_level, 6, "How hard to try", .min = 0, .max = 99);
static PyObject *level(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  return PyLong_FromLong(FLAGS_join_level);
}
static PyMethodDef methods[] = {{"level", level, METH_NOARGS, NULL}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "joinext", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_joinext(void);
PyMODINIT_FUNC PyInit_joinext(void) { return PyModule_Create(&definition); }
"""
LINKED = (f"-L{LIBDIR}", f"-Wl,-rpath,{LIBDIR}", "-Wl,--no-as-needed", "-lpd_flags")
MODES = [
    "local",
    "global",
    "local,lazy",
    pytest.param(
        "local,deepbind",
        marks=pytest.mark.skipif(bool(SANITIZE), reason="ASan refuses RTLD_DEEPBIND"),
    ),
]


@pytest.fixture(scope="module")
def host(maker: Maker) -> Path:
    """Build a program that links nothing of ours."""
    return maker.program("host")


@pytest.fixture(scope="module")
def plugin(maker: Maker) -> Path:
    return maker.plugin("level", LEVEL)


@pytest.fixture(scope="module")
def extension(maker: Maker) -> Path:
    headers = sysconfig.get_path("include")
    # Python.h of some versions isn't clean under the warnings that we ask for.
    flags = ("-isystem", headers, "-Wno-pedantic", "-Wno-conversion", "-Wno-error")
    library = maker.plugin("joinext", EXTENSION, flags=flags)
    return library.rename(library.with_name("joinext.so"))


def in_both_orders(plugin: Path, mode: str) -> list[tuple[str, str]]:
    first, second = f"registry {REGISTRY}", f"open {mode} {plugin}"
    return [(first, second), (second, first)]


# ---- Orders and modes of dlopen ----


@pytest.mark.parametrize("first", ["registry", "plugin"])
@pytest.mark.parametrize("mode", MODES)
def test_the_plugin_reads_what_the_registry_sets(
    host: Path, plugin: Path, mode: str, first: str
) -> None:
    orders = in_both_orders(plugin, mode)
    arrive = orders[0] if first == "registry" else orders[1]
    said = obey(
        host,
        *arrive,
        f"call {plugin} level",
        "set join_level 42",
        "set join_mode best",
        f"call {plugin} level",
        f"text {plugin} mode",
        "get join_level",
        "cells join_level",
    )
    assert said == ["ok", "ok", "6", "ok", "ok", "42", "best", "42", "1"]


@pytest.mark.parametrize("first", ["registry", "plugin"])
def test_a_value_from_the_environment_arrives(host: Path, plugin: Path, first: str) -> None:
    orders = in_both_orders(plugin, "local")
    arrive = orders[0] if first == "registry" else orders[1]
    env = environment(FLAGS_join_level="31", FLAGS_join_mode="best")
    said = obey(host, *arrive, "env FLAGS_", f"call {plugin} level", f"text {plugin} mode", env=env)
    assert said == ["ok", "ok", "ok", "31", "best"]


def test_the_environment_reaches_a_plugin_that_comes_after_it_was_read(
    host: Path, plugin: Path
) -> None:
    commands = (f"registry {REGISTRY}", "env FLAGS_", f"open local {plugin}")
    said = obey(host, *commands, f"call {plugin} level", env=environment(FLAGS_join_level="31"))
    assert said == ["ok", "ok", "ok", "31"]


@pytest.mark.parametrize("first", ["registry", "plugin"])
def test_a_value_from_the_command_line_arrives(host: Path, plugin: Path, first: str) -> None:
    orders = in_both_orders(plugin, "local")
    arrive = orders[0] if first == "registry" else orders[1]
    said = obey(host, *arrive, "argv --join-level=17", f"call {plugin} level")
    assert said == ["ok", "ok", "ok", "17"]


def test_loading_by_the_registry_joins_the_plugin_once(host: Path, plugin: Path) -> None:
    said = obey(
        host,
        f"registry {REGISTRY}",
        f"load {plugin}",
        "set join_level 8",
        f"load {plugin}",
        f"call {plugin} level",
        "modules",
        f"unload {plugin}",
        "get join_level",
        f"unload {plugin}",
        "get join_level",
        "modules",
    )
    gone = "PD_ERR_UNDEFINED: no flag is named 'join_level'"
    assert said == ["ok", "ok", "ok", "ok", "8", "1", "ok", "8", "ok", gone, "0"]


def test_a_value_outlives_the_plugin_and_is_there_when_it_is_loaded_again(
    host: Path, plugin: Path
) -> None:
    said = obey(
        host,
        f"registry {REGISTRY}",
        f"open local {plugin}",
        "set join_level 44",
        "set join_mode best",
        f"close {plugin}",
        "set join_level 45",
        f"open local {plugin}",
        f"call {plugin} level",
        f"text {plugin} mode",
    )
    gone = "PD_ERR_UNDEFINED: no flag is named 'join_level'"
    assert said == ["ok", "ok", "ok", "ok", "ok", gone, "ok", "44", "best"]


# ---- Linked, depended upon, preloaded ----


@pytest.mark.parametrize("order", ["plugin_first", "registry_first"])
def test_a_plugin_that_the_program_links_joins(maker: Maker, plugin: Path, order: str) -> None:
    needed = [f"-L{plugin.parent}", "-Wl,--no-as-needed", "-llevel"]
    both = [*needed, *LINKED] if order == "plugin_first" else [*LINKED, *needed]
    program = maker.program(f"linked_{order}", flags=(*both, f"-Wl,-rpath,{plugin.parent}"))
    said = obey(program, f"registry {REGISTRY}", "set join_level 42", "call - level")
    assert said == ["ok", "ok", "42"]


def test_a_linked_plugin_joins_a_registry_that_comes_later(maker: Maker, plugin: Path) -> None:
    needed = (f"-L{plugin.parent}", "-Wl,--no-as-needed", "-llevel", f"-Wl,-rpath,{plugin.parent}")
    program = maker.program("linked_alone", flags=needed)
    said = obey(
        program, "call - level", f"registry {REGISTRY}", "set join_level 42", "call - level"
    )
    assert said == ["6", "ok", "ok", "42"]


@pytest.mark.parametrize("flags", [LINKED, ()], ids=["registry_linked", "registry_later"])
def test_the_program_itself_defines_flags(maker: Maker, flags: tuple[str, ...]) -> None:
    program = maker.program(f"definer_{len(flags)}", PROGRAM, flags=flags)
    said = obey(program, f"registry {REGISTRY}", "set host_level 42", "call - host_level")
    assert said == ["ok", "ok", "42"]


@pytest.mark.parametrize("option", ["-no-pie", "-pie"])
def test_a_program_at_a_fixed_address_joins_too(maker: Maker, option: str) -> None:
    compiled = "-fno-pie" if option == "-no-pie" else "-fPIE"
    program = maker.program(f"fixed{option}", PROGRAM, flags=(compiled, option))
    said = obey(program, f"registry {REGISTRY}", "set host_level 42", "call - host_level")
    assert said == ["ok", "ok", "42"]


def test_a_dependency_of_a_loaded_plugin_joins(maker: Maker, host: Path, plugin: Path) -> None:
    user = """
    int level(void);
    int twice(void);
    int twice(void) { return 2 * level(); }
    """
    flags = (f"-L{plugin.parent}", "-llevel", f"-Wl,-rpath,{plugin.parent}")
    outer = maker.plugin("outer", user, flags=flags)
    said = obey(
        host, f"registry {REGISTRY}", f"load {outer}", "set join_level 21", f"call {outer} twice"
    )
    assert said == ["ok", "ok", "ok", "42"]


@pytest.mark.skipif(SANITIZE == "thread", reason="bash, which starts Python then, ends under it")
def test_a_preloaded_plugin_joins_the_registry_of_a_program_that_knows_nothing(
    plugin: Path,
) -> None:
    script = """
import ctypes
from paddle_flags._native import ffi, lib
flag = ffi.new("pd_flag **")
assert lib.pd_flag_find(b"join_level", flag, ffi.NULL) == lib.PD_OK
assert lib.pd_flag_set_int32(flag[0], 42, ffi.NULL) == lib.PD_OK
print(ctypes.CDLL(None).level())
"""
    assert python(script, env=environment(**preload(plugin))) == ["42"]


# ---- Python ----

SET_LEVEL = """
def set_level(number):
    from paddle_flags._native import ffi, lib
    flag, err = ffi.new("pd_flag **"), ffi.new("pd_error *")
    status = lib.pd_flag_find(b"join_level", flag, err)
    if status == lib.PD_OK:
        status = lib.pd_flag_set_int32(flag[0], number, err)
    assert status == lib.PD_OK, ffi.string(err.message)
"""


@pytest.mark.parametrize("first", ["registry", "plugin"])
@pytest.mark.parametrize("mode", ["RTLD_LOCAL", "RTLD_GLOBAL"])
def test_a_plugin_that_ctypes_opens_joins(plugin: Path, first: str, mode: str) -> None:
    script = f"""
import ctypes, sys
{SET_LEVEL}
if {first!r} == "registry":
    import paddle_flags._native
library = ctypes.CDLL(sys.argv[1], ctypes.{mode})
set_level(42)
print(library.level())
"""
    assert python(script, plugin) == ["42"]


@pytest.mark.parametrize("first", ["registry", "extension"])
def test_an_extension_module_that_is_imported_joins(extension: Path, first: str) -> None:
    script = f"""
import sys
sys.path.insert(0, sys.argv[1])
{SET_LEVEL}
if {first!r} == "registry":
    import paddle_flags._native
import joinext
before = joinext.level()
set_level(42)
print(before, joinext.level())
"""
    assert python(script, extension.parent) == ["6 42"]


def test_python_sets_the_flag_of_an_extension_module_by_attribute(extension: Path) -> None:
    script = """
import sys
sys.path.insert(0, sys.argv[1])
import paddle_flags as pf
import joinext
pf.FLAGS.join_level = 42
print(joinext.level(), pf.FLAGS.join_level)
with pf.override(join_level=1):
    print(joinext.level())
print(joinext.level())
"""
    assert python(script, extension.parent) == ["42 42", "1", "42"]


def test_an_extension_module_has_its_value_from_the_environment(extension: Path) -> None:
    script = """
import sys
sys.path.insert(0, sys.argv[1])
from paddle_flags._native import ffi, lib
assert lib.pd_environment_enable(b"FLAGS_", ffi.NULL, ffi.NULL) == lib.PD_OK
import joinext
print(joinext.level())
"""
    env = environment(FLAGS_join_level="23")
    assert python(script, extension.parent, env=env) == ["23"]


def test_a_plugin_needs_no_library_of_ours(plugin: Path, extension: Path) -> None:
    for library in (plugin, extension):
        needed = run(tool("readelf", "binutils"), "-dW", library).stdout
        assert "pd_flags" not in needed
