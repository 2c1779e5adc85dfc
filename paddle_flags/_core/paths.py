"""Where the headers and libraries are, for those who build plugins and hosts."""

from __future__ import annotations

import os

_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def get_include() -> str:
    """Give the directory of `pd_flags.h` and `pd_flags.hpp`: all that a plugin needs."""
    return os.path.join(_PACKAGE, "include")


def get_compat_include() -> str:
    """Give the directory of our `gflags/gflags.h`, `c10/util/Flags.h` and their like.

    It goes before `get_include()`, which they need too.
    """
    return os.path.join(_PACKAGE, "include", "compat")


def get_library_dir() -> str:
    """Give the directory of `libpd_flags.so`."""
    return os.path.join(_PACKAGE, "lib")


def get_static_library() -> str:
    """Give the path of `libpd_flags.a`, which is position independent."""
    return os.path.join(_PACKAGE, "lib", "libpd_flags.a")


def get_cmake_dir() -> str:
    """Give the directory for CMake's `paddle_flags_DIR`."""
    return os.path.join(_PACKAGE, "lib", "cmake", "paddle_flags")


def get_pkgconfig_dir() -> str:
    """Give the directory for `PKG_CONFIG_PATH`."""
    return os.path.join(_PACKAGE, "lib", "pkgconfig")


def get_makefile() -> str:
    """Give the path of a makefile to include, which generates flags from YAML."""
    return os.path.join(_PACKAGE, "gen", "paddle_flags.mk")


def cflags() -> str:
    """Give the compiler arguments of a plugin or host, quoted for a shell."""
    import shlex  # noqa: PLC0415 - seldom used

    return shlex.join(["-I" + get_include()])


def libs() -> str:
    """Give the linker arguments of a host, quoted for a shell.

    The run path is among them, since no loader looks into a Python package.
    """
    import shlex  # noqa: PLC0415 - seldom used

    directory = get_library_dir()
    return shlex.join(["-L" + directory, "-lpd_flags", "-Wl,-rpath," + directory])
