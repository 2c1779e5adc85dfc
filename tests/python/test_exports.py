"""What libpd_flags shows to the linker: the names of its header, and libc."""

from __future__ import annotations

import re

import pytest
from support import CC, INCLUDE, LIBDIR, ROOT, SANITIZE, run

from paddle_flags._core import paths

LIBRARY = f"{LIBDIR}/libpd_flags.so"
# A sanitizer adds libraries and symbols of its own.
plain_build = pytest.mark.skipif(bool(SANITIZE), reason="built for a sanitizer")


def dynamic(tag: str, path: str = LIBRARY) -> list[str]:
    """Give the values of one kind of entry in the dynamic section."""
    text = run("readelf", "-d", "-W", path).stdout
    return re.findall(rf"\({tag}\).*\[(.*)\]", text)


def declared() -> set[str]:
    """The functions that the public header declares."""
    command = [*CC, "-E", "-P", "-DPD_CDEF", f"{INCLUDE}/pd_flags.h"]
    return set(re.findall(r"\b(pd_\w+)\s*\(", run(*command).stdout))


def test_the_header_declares_functions():
    names = declared()
    assert {"pd_flag_register", "pd_flag_set_from_string", "pd_parse_argv"} <= names
    assert len(names) > 40


@plain_build
def test_the_library_exports_exactly_the_functions_of_the_header():
    lines = run("nm", "-D", "--defined-only", LIBRARY).stdout.splitlines()
    kinds = {name: kind for _, kind, name in map(str.split, lines)}
    assert set(kinds) == declared()
    assert set(kinds.values()) == {"T"}


@plain_build
def test_the_library_needs_libc_and_the_unwinder_alone():
    needed = dynamic("NEEDED")
    assert "libc.so.6" in needed
    assert [
        name for name in needed if not name.startswith(("libc.so", "ld-linux", "libgcc_s"))
    ] == []


def test_the_library_has_an_unversioned_soname_and_no_run_path():
    assert dynamic("SONAME") == ["libpd_flags.so"]
    assert dynamic("RUNPATH") == dynamic("RPATH") == []


def test_the_library_stays_in_the_process_and_calls_its_own_functions():
    assert "NODELETE" in run("readelf", "-d", "-W", LIBRARY).stdout
    assert " pd_" not in run("nm", "-D", "--undefined-only", LIBRARY).stdout


@plain_build
def test_every_global_symbol_of_the_static_library_has_our_prefix():
    text = run("nm", "-g", "--defined-only", paths.get_static_library()).stdout
    names = [line.split()[2] for line in text.splitlines() if len(line.split()) == 3]
    assert declared() <= set(names)
    assert [name for name in names if not name.startswith(("pd_", "pd__", "DW.ref."))] == []


def test_the_static_library_is_position_independent(tmp_path):
    whole = ["-Wl,--whole-archive", paths.get_static_library(), "-Wl,--no-whole-archive"]
    sanitizer = [f"-fsanitize={SANITIZE}"] if SANITIZE else ["-Wl,-z,defs"]
    target = tmp_path / "copy.so"
    run(*CC, "-shared", *sanitizer, "-Wl,-z,text", *whole, "-pthread", "-ldl", "-o", target)
    assert dynamic("TEXTREL", str(target)) == []


def test_header_package_and_running_library_have_one_version():
    from importlib.metadata import version

    from paddle_flags import _native

    text = (ROOT / "csrc" / "include" / "pd_flags.h").read_text("utf-8")
    in_header = re.findall(r'^#define PD_VERSION "(.+)"$', text, re.MULTILINE)
    running = _native.ffi.string(_native.lib.pd_version()).decode()
    assert in_header == [running] == [version("paddle_flags")]
