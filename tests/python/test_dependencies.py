"""The guard of dependencies: the library needs libc alone, and of that what is listed."""

from __future__ import annotations

import shutil
import sys

import pytest
from support import CC, CHECKED, ROOT, SANITIZE, WINDOWS, run, write

pytestmark = pytest.mark.skipif(WINDOWS, reason="the library for ELF is missing on Windows")
GUARD = ROOT / "tools" / "dependencies.py"
# A sanitizer adds libraries and symbols of its own.
plain_build = pytest.mark.skipif(bool(SANITIZE), reason="built for a sanitizer")


def guard(*options: object):
    return run(sys.executable, GUARD, *options, check=False)


@plain_build
def test_the_library_needs_what_is_listed_and_nothing_else():
    ended = guard()
    assert (ended.returncode, ended.stderr) == (0, "")


@plain_build
@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("src/value/read.c", "zlib.h"),
        ("src/value/read.c", "unistd.h"),
        ("include/pd_flags/define.h", "iconv.h"),
        ("include/pd_flags/define_cpp.h", "boost/any.hpp"),
        ("python/flag.c", "datetime.h"),
    ],
)
def test_an_include_outside_the_list_is_refused_with_its_place(tmp_path, name, header):
    shutil.copytree(ROOT / "csrc", tmp_path / "csrc")
    path = tmp_path / "csrc" / name
    write(path, f"#include <{header}>\n{path.read_text('utf-8')}")
    ended = guard("--sources", tmp_path / "csrc")
    assert ended.returncode == 1
    assert f"csrc/{name}:1: includes <{header}>" in ended.stderr


@plain_build
def test_a_library_or_a_function_outside_the_list_is_refused_by_name(tmp_path):
    source = write(tmp_path / "more.c", '#include <stdio.h>\nvoid f(void) { puts(""); }')
    library = tmp_path / "more.so"
    linked = ["-Wl,--no-as-needed", "-lm"]
    run(*CC, *CHECKED, "-shared", "-fPIC", source, "-o", library, *linked)
    ended = guard("--binary", library)
    assert ended.returncode == 1
    assert "more.so: needs libm.so.6" in ended.stderr
    assert "more.so: calls puts" in ended.stderr
