"""Helpers for all tests: the compilers, and how to build plugins and programs."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from paddle_flags._core import paths

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROOT = Path(__file__).resolve().parents[1]
INCLUDE = paths.get_include()
LIBDIR = paths.get_library_dir()
CC = shlex.split(os.environ.get("CC", "cc"))
CXX = shlex.split(os.environ.get("CXX", "c++"))
WINDOWS = os.name == "nt"
# <dlfcn.h> and a few other things that tests use and Windows hasn't.
SHIM = ROOT / "tests" / "windows" / "include"
ONLY_ELF = re.compile("-ldl|-rdynamic|-Wl,-z,.*|-Wl,-Bsymbolic.*")  # options
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork is missing")
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]

# "address,undefined" when the library was built for the sanitizers.
SANITIZE = os.environ.get("PD_SANITIZE", "")
# Debugging information is for the reports of sanitizers; it makes a third of a plugin's build.
CHECKED = [f"-fsanitize={SANITIZE}", "-fno-sanitize-recover=all", "-g"] if SANITIZE else []


def run(*command: object, check: bool = True, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command and capture its output; a failure shows all of it."""
    words = [os.fspath(w) if isinstance(w, Path) else str(w) for w in command]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=300, **options)
    if check:
        output = f"{ended.stdout}{ended.stderr}"
        assert ended.returncode == 0, f"{shlex.join(words)}: {ended.returncode}\n{output}"
    return ended


def compiler_for(source: Path) -> list[str]:
    return CXX if source.suffix in (".cc", ".cpp") else CC


def write(path: Path, text: str) -> Path:
    """Write a file; a C or C++ source gets a final newline, which clang requires."""
    end = "\n" if path.suffix in (".c", ".cc", ".cpp") else ""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + end, "utf-8")
    return path


def build_plugin(out: Path, *sources: Path, flags: tuple[str, ...] = ()) -> Path:
    """Build a shared library with the header alone, without linking the library."""
    return build(out, *sources, flags=("-shared", "-fPIC", *flags))


def build_program(out: Path, *sources: Path, flags: tuple[str, ...] = ()) -> Path:
    """Build a program that links libpd_flags."""
    linked = (f"-L{LIBDIR}", f"-Wl,-rpath,{LIBDIR}", "-lpd_flags")
    return build(out, *sources, flags=(*flags, *linked))


def build(out: Path, *sources: Path, flags: tuple[str, ...] = ()) -> Path:
    """Compile and link, with the library's sanitizers; as C++ if a source is C++."""
    compiler = CXX if any(compiler_for(s) is CXX for s in sources) else CC
    out.parent.mkdir(parents=True, exist_ok=True)
    options = [*CHECKED, f"-I{INCLUDE}"]
    if WINDOWS:
        is_shared = "-shared" in flags
        out = out if is_shared else out.with_name(f"{out.name}.exe")
        options += ["-D__USE_MINGW_ANSI_STDIO=1", "-static-libgcc", f"-I{SHIM}"]
        # Without the DLLs of the compiler, which Python doesn't look for.
        options += ["-static"] if is_shared or compiler is CXX else []
        # As everywhere else, also beside functions that a header exports.
        options += ["-Wl,--export-all-symbols"] if is_shared else []
        flags = (*(flag for flag in flags if not ONLY_ELF.fullmatch(flag)), "-lpthread")
    run(*compiler, *WARNINGS, *options, *sources, "-o", out, *flags)
    return out


def build_with_library(
    place: Path, library: str, program: str, flags: tuple[str, ...] = ()
) -> Path:
    """Build a library from a C++ source, and a program that links it and libpd_flags."""
    made = build_plugin(
        place / "library.so", write(place / "library.cpp", library), flags=("-std=c++11", *flags)
    )
    linked = ("-std=c++11", *flags, str(made), f"-Wl,-rpath,{place}")
    return build_program(place / "main", write(place / "main.cpp", program), flags=linked)


def link_python() -> list[str]:
    """Return what an extension module links besides: on Windows, Python's import library."""
    if not WINDOWS:
        return []
    for name in ("libs/python3.lib", "lib/libpython3.dll.a"):  # the latter is of mingw's Python
        if (library := Path(sys.base_prefix, name)).exists():
            return [str(library)]
    pytest.skip("python3.lib is missing")


def close_library(library: ctypes.CDLL) -> None:
    """Close a library once, as ctypes never does."""
    import _ctypes

    close = _ctypes.FreeLibrary if WINDOWS else _ctypes.dlclose
    close(library._handle)


def make_fifo(path: Path) -> None:
    """Make a named pipe; skip the test where folders can't have one."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("os.mkfifo is missing: folders of this system have no pipes")
    os.mkfifo(path)


def in_url(path: Path | str) -> str:
    """Return a path as the addresses of fleets have it."""
    return Path(path).as_uri().removeprefix("file://")


def preload(path: Path) -> dict[str, str]:
    """Return the variable that preloads a library, after the runtime of a sanitizer."""
    return {"LD_PRELOAD": f"{os.environ.get('PD_PRELOAD', '')} {path}".strip()}


# Debian's packages of tools, if they have another name than the tool.
PACKAGES = {
    "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu",
    "clang++": "clang",
    "ld.gold": "binutils",
    "ld.lld": "lld",
    "man": "man-db",
    "musl-gcc": "musl-tools",
    "ninja": "ninja-build",
    "qemu-aarch64": "qemu-user",
    "setarch": "util-linux",
    "wine": "wine wine64",
    "x86_64-w64-mingw32-ar": "binutils-mingw-w64-x86-64",
    "x86_64-w64-mingw32-g++": "g++-mingw-w64-x86-64",
    "x86_64-w64-mingw32-gcc": "gcc-mingw-w64-x86-64",
    "x86_64-w64-mingw32-objdump": "binutils-mingw-w64-x86-64",
    "xmllint": "libxml2-utils",
    "xz": "xz-utils",
    **dict.fromkeys(("ar", "ld", "nm", "objcopy", "objdump", "readelf", "strip"), "binutils"),
    **dict.fromkeys(("abidiff", "abidw"), "abigail-tools"),
}


def tool(name: str, package: str | None = None) -> str:
    """Return the path of a tool that the test needs. Skips the test if it is missing."""
    path = shutil.which(name)
    if not path and WINDOWS:
        pytest.skip(f"{name} is missing: it isn't on this PATH of Windows")
    return path or missing(name, install(package or PACKAGES.get(name, name)))


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold the lock in a file, for which other workers of a test run wait."""
    with path.open("a+b") as file:
        if WINDOWS:
            import msvcrt

            file.seek(0)
            while not _try_lock(lambda: msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)):
                time.sleep(0.1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _try_lock(call: Callable[[], object]) -> bool:
    try:
        call()
    except OSError:
        return False
    return True


def install(packages: str) -> str:
    """Return how to install Debian packages."""
    return f"apt-get install {packages}" if shutil.which("apt-get") else f"Debian's {packages}"


def require(package: str, header: str | None = None, *, program: str | None = None) -> None:
    """Skip the test, as `tool` does, if a C++ header or a program of the package is missing."""
    if program:
        tool(program, package)
    probe = [*CXX, "-std=c++17", "-x", "c++", "-fsyntax-only", "-"]
    text = f"#include <{header}>\n"
    if header and run(*probe, input=text, check=False).returncode != 0:
        missing(header, install(package))


def package(module: str, name: str | None = None) -> ModuleType:
    """Import a Python module that the test needs. Skips the test if it is missing."""
    installed(module, name)
    return importlib.import_module(module)


def installed(module: str, name: str | None = None) -> None:
    """Skip the test if a Python module that its programs import is missing.

    The module isn't imported: where gevent is, other tests of the process could open no scope.
    """
    parent = module.partition(".")[0]
    if importlib.util.find_spec(parent) is None or importlib.util.find_spec(module) is None:
        missing(module, f"pip install {name or module}")


def zig() -> list[str]:
    """Return the command of the Zig compiler, which is on PyPI."""
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang"]
    return [shutil.which("zig") or missing("zig", "pip install ziglang")]


with_subinterpreters = pytest.mark.skipif(
    bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="cffi refuses them without a GIL"
)


def missing(name: str, remedy: str) -> NoReturn:
    """Skip the test with a reason; fail it if PD_REQUIRE_TOOLS is set, as in CI."""
    reason = f"{name} is missing: {remedy}"
    if os.environ.get("PD_REQUIRE_TOOLS"):
        pytest.fail(reason)
    pytest.skip(reason)
