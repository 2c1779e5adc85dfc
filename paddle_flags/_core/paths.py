"""Paths of headers and libraries, for building plugins and hosts."""

from __future__ import annotations

import os
import sys

# realpath: build systems compare paths, and installs may be symbolic links. Where a distribution
# installs headers and libraries elsewhere, links in the package lead there.
_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
# Windows searches PATH instead, so programs need the directory of pd_flags.dll there, or a copy.
_HAS_RUN_PATHS = os.name != "nt"
_SHARED_LIBRARIES = {"win32": "pd_flags.dll", "darwin": "lib/libpd_flags.dylib"}


def get_include(*, compat: bool = False) -> str:
    """Return the directory of `pd_flags.h` and `pd_flags.hpp`; a plugin needs nothing else.

    With `compat=True`, return that of the headers that replace `gflags/gflags.h` and its like.
    Pass it to the compiler before the other directory, which these headers need too.
    """
    path = os.path.realpath(os.path.join(_PACKAGE, "include"))
    return os.path.join(path, "compat") if compat else path


def get_library_dir() -> str:
    """Return the directory of `libpd_flags.so`.

    On Windows, that of its import library; `pd_flags.dll` is in the parent directory, beside the
    extension modules.
    """
    return os.path.dirname(os.path.realpath(os.path.join(_PACKAGE, "lib", "libpd_flags.so")))


def get_shared_library() -> str:
    """Return the path of the library itself, which Windows finds beside the extension modules."""
    name = _SHARED_LIBRARIES.get(sys.platform, "lib/libpd_flags.so")
    return os.path.join(_PACKAGE, *name.split("/"))


def get_static_library() -> str:
    """Return the path of `libpd_flags.a`, which is position-independent code."""
    return os.path.join(get_library_dir(), "libpd_flags.a")


def get_cmake_dir() -> str:
    """Return the directory for CMake's `paddle_flags_DIR`."""
    return os.path.join(get_library_dir(), "cmake", "paddle_flags")


def get_pkgconfig_dir() -> str:
    """Return the directory for `PKG_CONFIG_PATH`."""
    return os.path.join(get_library_dir(), "pkgconfig")


def get_makefile() -> str:
    """Return the path of a makefile to include, which generates flags from YAML."""
    return os.path.join(_PACKAGE, "gen", "paddle_flags.mk")


def cflags() -> str:
    """Return the compiler arguments of a plugin or host, quoted for a shell."""
    import shlex

    return shlex.join(["-I" + _to_option(get_include())])


def libs() -> str:
    """Return the linker arguments of a host, quoted for a shell.

    They set the run path if the library is in the Python package, where no loader searches, and
    where there are run paths.
    """
    import shlex

    inside = get_library_dir() == os.path.join(_PACKAGE, "lib")
    directory = _to_option(get_library_dir())
    run_path = ["-Wl,-rpath," + directory] if _HAS_RUN_PATHS and inside else []
    return shlex.join(["-L" + directory, "-lpd_flags", *run_path])


def _to_option(path: str) -> str:
    """Return a path as shells and compilers of all systems take it."""
    return path.replace(os.sep, "/")
