"""What the tests share: the compilers, and how plugins and programs are built."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import pytest

from paddle_flags._core import paths

ROOT = Path(__file__).resolve().parents[1]
INCLUDE = paths.get_include()
LIBDIR = paths.get_library_dir()
CC = shlex.split(os.environ.get("CC", "cc"))
CXX = shlex.split(os.environ.get("CXX", "c++"))
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]

# "address,undefined" when the library was built for the sanitizers.
SANITIZE = os.environ.get("PD_SANITIZE", "")
CHECKED = [f"-fsanitize={SANITIZE}", "-fno-sanitize-recover=all"] if SANITIZE else []


def run(*command: object, check: bool = True, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command to its end with its output captured; a failure shows all of it."""
    words = [os.fspath(w) if isinstance(w, Path) else str(w) for w in command]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=300, **options)
    if check:
        assert ended.returncode == 0, f"{shlex.join(words)}\n{ended.stdout}{ended.stderr}"
    return ended


def compiler_for(source: Path) -> list[str]:
    return CXX if source.suffix in (".cc", ".cpp") else CC


def write(path: Path, text: str) -> Path:
    """Write a file; a source gets the newline at its end that clang insists on."""
    end = "\n" if path.suffix in (".c", ".cc", ".cpp") else ""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + end, "utf-8")
    return path


def build_plugin(out: Path, *sources: Path, flags: tuple[str, ...] = ()) -> Path:
    """Build a shared library with the header alone: nothing of ours is linked."""
    return build(out, *sources, flags=("-shared", "-fPIC", *flags))


def build_program(out: Path, *sources: Path, flags: tuple[str, ...] = ()) -> Path:
    """Build a program that links libpd_flags."""
    linked = (f"-L{LIBDIR}", f"-Wl,-rpath,{LIBDIR}", "-lpd_flags")
    return build(out, *sources, flags=(*flags, *linked))


def build(out: Path, *sources: Path, flags: tuple[str, ...] = ()) -> Path:
    """Compile and link in one go, sanitized as the library is; C++ where a source is."""
    compiler = CXX if any(compiler_for(s) is CXX for s in sources) else CC
    out.parent.mkdir(parents=True, exist_ok=True)
    run(*compiler, *WARNINGS, *CHECKED, "-g", f"-I{INCLUDE}", *sources, "-o", out, *flags)
    return out


def preload(path: Path) -> dict[str, str]:
    """Give the variable that loads a library first, behind the runtime of a sanitizer."""
    return {"LD_PRELOAD": f"{os.environ.get('PD_PRELOAD', '')} {path}".strip()}


# Debian's packages of tools that have another name.
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
    """Give the path of a tool that a test needs and the package doesn't."""
    path = shutil.which(name)
    return path or missing(name, install(package or PACKAGES.get(name, name)))


def install(packages: str) -> str:
    """Say how to get packages of Debian."""
    return f"apt-get install {packages}" if shutil.which("apt-get") else f"Debian's {packages}"


def require(package: str, header: str | None = None, *, program: str | None = None) -> None:
    """See to it that a package is there, as `tool` does, by a C++ header or a program of it."""
    if program:
        tool(program, package)
    probe = [*CXX, "-std=c++17", "-x", "c++", "-fsyntax-only", "-"]
    text = f"#include <{header}>\n"
    if header and run(*probe, input=text, check=False).returncode != 0:
        missing(header, install(package))


def package(module: str, name: str | None = None) -> ModuleType:
    """Give a Python module that a test needs and the package doesn't."""
    if importlib.util.find_spec(module) is None:
        missing(module, f"pip install {name or module}")
    return importlib.import_module(module)


def zig() -> list[str]:
    """Give the command of the Zig compiler, which PyPI has."""
    if importlib.util.find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang"]
    return [shutil.which("zig") or missing("zig", "pip install ziglang")]


def missing(name: str, remedy: str) -> NoReturn:
    """Skip the test, with a reason; with PD_REQUIRE_TOOLS in the environment, as in CI, fail."""
    reason = f"{name} is missing: {remedy}"
    if os.environ.get("PD_REQUIRE_TOOLS"):
        pytest.fail(reason)
    pytest.skip(reason)
