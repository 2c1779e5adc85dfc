"""How many bytes the library has, and the smallest plugin; docs/decisions/0025-size.md."""

from __future__ import annotations

import os
import platform
import re

import pytest
from support import INCLUDE, LIBDIR, SANITIZE, run, tool, write

# For each version of gcc that one of our systems has. Lower them with the library; libgflags has
# 163_000 by gcc 12.
LIBRARY_MOST = {12: 388_000, 14: 404_000, 16: 419_000}
PLUGIN_MOST = 16_000
PLUGIN = """
#include <pd_flags.h>
PD_DEFINE_int32(alpha_level, 6, "Compression level", .min = 1, .max = 9);
"""
# Other settings and other systems make other sizes of the same source.
OTHERWISE = SANITIZE or os.environ.get("CFLAGS") or platform.machine() != "x86_64"
as_shipped = pytest.mark.skipif(bool(OTHERWISE), reason="not built as it is shipped")


def check_size(stripped, most):
    """Fail with a table of the sections if a file is larger than it may be."""
    size = stripped.stat().st_size
    assert size <= most, f"{size} bytes\n{run('size', '-A', '-d', stripped).stdout}"


@as_shipped
def test_the_library_keeps_to_its_size(tmp_path):
    made_by = run("readelf", "-p", ".comment", f"{LIBDIR}/libpd_flags.so").stdout
    gcc = re.search(r"GCC: .* (\d+)\.", made_by)
    if not gcc or int(gcc[1]) not in LIBRARY_MOST:
        pytest.skip(f"no size is on record for this compiler: {made_by.split(']')[-1].strip()}")
    run("strip", f"{LIBDIR}/libpd_flags.so", "-o", tmp_path / "stripped.so")
    check_size(tmp_path / "stripped.so", LIBRARY_MOST[int(gcc[1])])


def test_the_library_ships_without_tables_for_debuggers():
    assert ".debug" not in run("size", "-A", "-d", f"{LIBDIR}/libpd_flags.so").stdout


@as_shipped
@pytest.mark.parametrize("level", ["-O0", "-O2", "-Os"])
@pytest.mark.parametrize(("compiler", "suffix"), [("gcc", "c"), ("g++", "cc")])
def test_a_plugin_of_one_flag_keeps_to_its_size(tmp_path, compiler, suffix, level):
    source = write(tmp_path / f"plugin.{suffix}", PLUGIN)
    built = tmp_path / "plugin.so"
    run(tool(compiler), "-shared", "-fPIC", level, f"-I{INCLUDE}", source, "-o", built)
    run("strip", built)
    check_size(built, PLUGIN_MOST)
