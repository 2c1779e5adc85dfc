"""Microsoft's ABI on Linux: DLLs that clang and lld-link build, without Microsoft's files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import mingw
from support import INCLUDE, ROOT, install, missing, run, tool

if TYPE_CHECKING:
    from collections.abc import Sequence

TARGET = "--target=x86_64-pc-windows-msvc"
# Both drivers of clang, with their warnings.
DRIVERS = {
    "clang": ("--driver-mode=gcc", "-Wall", "-Wextra", "-Wpedantic", "-Werror"),
    "clang-cl": ("--driver-mode=cl", "/W4", "/WX"),
}
STARTUP = ROOT / "tests" / "windows" / "startup.c"


def compiler(driver: str, name: str = "clang") -> list[str]:
    """Give the command of a driver, with all warnings as errors."""
    return [tool(name), TARGET, *DRIVERS[driver]]


def standard_library(driver: str) -> list[str]:
    """Give the options for <type_traits> of libc++, since Microsoft's can't be had on Linux.

    Without exceptions, as clang-cl has it, C++ needs no runtime.
    """
    found = sorted(Path("/usr/lib").glob("llvm-*/include/c++/v1"))
    if not found:
        missing("libc++", install("libc++-19-dev"))
    place = found[-1]
    if driver == "clang":
        return ["-fno-exceptions", "-nostdinc++", f"-isystem{place}"]
    return [f"-I{place}"]


def compile_object(out: Path, source: Path, driver: str, flags: Sequence[str] = ()) -> Path:
    """Compile a C or C++ source; C++ with the newest clang that libc++ wants."""
    cxx = source.suffix != ".c"
    command = compiler(driver, "clang-19" if cxx else "clang")
    library = standard_library(driver) if cxx else []
    out.parent.mkdir(parents=True, exist_ok=True)
    run(*command, *library, f"-I{INCLUDE}", *flags, "-c", source, "-o", out)
    return out


def link(out: Path, *objects: Path, ucrt: bool) -> Path:
    """Link a DLL with ucrtbase.dll, as /MD does, or without any C library."""
    gcc = mingw.compiler("gcc")
    names = ["kernel32", *(["ucrtbase"] if ucrt else [])]
    libraries = [run(*gcc, f"-print-file-name=lib{n}.a").stdout.strip() for n in names]
    start = compile_object(
        out.with_suffix(".start.obj"), STARTUP, "clang", ["-O1", *(["-DUCRT"] if ucrt else [])]
    )
    options = ["/dll", "/nodefaultlib", "/WX", "/Brepro", f"/implib:{out.with_suffix('.lib')}"]
    run(tool("lld-link", "lld"), *options, f"/out:{out}", *objects, start, *libraries)
    return out


def build(
    out: Path,
    *sources: Path,
    driver: str = "clang-cl",
    ucrt: bool = True,
    flags: Sequence[str] = (),
) -> Path:
    """Build a DLL of sources, each compiled alone."""
    objects = [
        compile_object(out.with_suffix(f".{number}.obj"), source, driver, flags)
        for number, source in enumerate(sources)
    ]
    return link(out, *objects, ucrt=ucrt)
