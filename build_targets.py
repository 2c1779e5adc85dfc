"""What differs by the system for which the library and the extension modules are built."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# What the limited API wants to know of a system. CPython's own pyconfig.h speaks of the system
# that builds; this one asks the compiler, which knows the target.
PYCONFIG = """\
#pragma once
#define SIZEOF_INT __SIZEOF_INT__
#define SIZEOF_LONG __SIZEOF_LONG__
#define SIZEOF_LONG_LONG __SIZEOF_LONG_LONG__
#define SIZEOF_SIZE_T __SIZEOF_SIZE_T__
#define SIZEOF_TIME_T 8
#define SIZEOF_VOID_P __SIZEOF_POINTER__
#define SIZEOF_WCHAR_T __SIZEOF_WCHAR_T__
#define SIZEOF_PID_T __SIZEOF_INT__
#define HAVE_SSIZE_T 1
#define HAVE_STDINT_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_SYS_TYPES_H 1
#ifdef _WIN32
#define MS_WINDOWS 1
#define MS_WIN64 1
#define HAVE_DECLSPEC_DLL 1
#define Py_ENABLE_SHARED 1
#endif
"""


@dataclass(frozen=True)
class Target:
    """A system, and how to build for it.

    `{name}` in options is the file name of the library, `{lib}` the directory `lib` of the package.
    """

    shared_library: str  # the shared library, in the package
    suffix: str  # of an extension module for the limited API
    name_library: list[str]
    compile: list[str]
    fortify: list[str] = field(default_factory=list)  # unless a sanitizer is used
    link: list[str] = field(default_factory=list)  # the library and the extension modules
    link_library: list[str] = field(default_factory=list)
    link_defined: list[str] = field(default_factory=list)  # the library, unless a sanitizer is used
    link_module: list[str] = field(default_factory=list)
    name_module: str = ""
    link_run_path: list[str] = field(default_factory=list)  # modules that find the library by it
    import_library: str = ""  # what links the library, if it is another file
    bridges: bool = False  # the module _bridges, which reads ELF files
    server: bool = False
    run_path: str = " -Wl,-rpath,${libdir}"  # of a program, in pkg-config files
    static_libs: str = " -pthread"  # what a program with the static library links, too


LINUX = Target(
    shared_library="lib/libpd_flags.so",
    suffix=".abi3.so",
    name_library=["-Wl,-soname,{name}"],
    compile=["-fstack-protector-strong", "-fasynchronous-unwind-tables", "-pthread"],
    fortify=["-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"],
    link=["-Wl,-z,relro", "-Wl,-z,now", "-Wl,-z,noexecstack", "-Wl,-z,separate-code"],
    # nodelete: modules keep pointers into the registry, which may call functions of the extension
    # modules at any time. Bsymbolic-functions: the library calls its own functions, even if the
    # process defines the same names.
    link_library=["-pthread", "-Wl,-z,nodelete", "-Wl,-Bsymbolic-functions", "-ldl"],
    link_defined=["-Wl,-z,defs"],
    link_module=["-Wl,-z,nodelete"],
    link_run_path=["-Wl,--enable-new-dtags,-rpath,$ORIGIN/lib"],
    bridges=True,
    server=True,
    static_libs=" -pthread -ldl",
)
WINDOWS = Target(
    shared_library="pd_flags.dll",  # Windows looks for it beside the module that needs it
    import_library="lib/libpd_flags.dll.a",
    suffix=".pyd",
    name_library=["-Wl,--out-implib,{lib}/libpd_flags.dll.a"],
    # Microsoft's printf lacks formats that the library uses.
    compile=["-D__USE_MINGW_ANSI_STDIO=1"],
    # For reproducible builds: no timestamp, and no address derived from the path of the DLL.
    link=["-static-libgcc", "-s", "-Wl,--no-insert-timestamp", "-Wl,--disable-auto-image-base"],
    run_path="",
    static_libs="",
)
MACOS = Target(
    shared_library="lib/libpd_flags.dylib",
    suffix=".abi3.so",
    name_library=["-Wl,-install_name,@rpath/{name}"],
    compile=["-fstack-protector-strong", "-pthread"],
    link_module=["-Wl,-undefined,dynamic_lookup"],
    name_module="-Wl,-install_name,@rpath/{name}",  # else the path where it was built
    link_run_path=["-Wl,-rpath,@loader_path/lib"],
)

PLATFORM = sysconfig.get_platform()  # such as linux-x86_64, win-amd64, macosx-11.0-arm64
TARGET = {"win": WINDOWS, "mac": MACOS}.get(PLATFORM[:3], LINUX)
# sysconfig has the platform from this variable: the build may be for another system than this one.
CROSS = "_PYTHON_HOST_PLATFORM" in os.environ


def copy_python_headers(place: Path) -> Path:
    """Copy this Python's headers, for any target; return their directory."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(sysconfig.get_path("include"), place)
    (place / "pyconfig.h").write_text(PYCONFIG, "utf-8")
    return place


def write_import_library(cc: list[str], objects: list[str], place: Path) -> Path:
    """Write an import library of Python's DLL with the names that objects refer to."""

    def run(program: str, *words: object) -> str:
        found = subprocess.run(
            [*cc, f"-print-prog-name={program}"], check=True, stdout=subprocess.PIPE, text=True
        )
        command = [found.stdout.strip(), *map(str, words)]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    names = sorted(set(re.findall(r" U (?:__imp_)?(_?Py\w+)", run("nm", *objects))))
    definitions = place.with_suffix(".def")
    definitions.write_text("\n".join(["LIBRARY python3.dll", "EXPORTS", *names, ""]), "utf-8")
    run("dlltool", "--input-def", definitions, "--output-lib", place)
    return place
