"""The systems that the matrix runs on: a row tells how one compiles and runs, and what it has."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Join(NamedTuple):
    """How a plugin joins: which library it has inside, and how it is built."""

    copy: str  # "" for none, else the version, or "shared"
    flags: tuple[str, ...] = ()
    compiler: str = "gcc"


LLVM = {"clang": "clang", "ld.lld": "lld"}

C_HOSTS = ("C, shared library", "C, static copy", "C, static, -rdynamic", "C, nothing")

HIDDEN = ["-fvisibility=hidden"]
SCRIPT = Path(__file__).resolve().with_name("exports.map")
JOINS = {
    "header": Join(""),
    "header, clang, lld": Join("", ("-fuse-ld=lld", *HIDDEN), "clang"),
    "shared library": Join("shared"),
    "static copy": Join("own"),
    "static, hidden": Join("own", (*HIDDEN, "-Wl,--exclude-libs,ALL")),
    "static, version script": Join("own", (f"-Wl,--version-script={SCRIPT}", "-fuse-ld=gold")),
    "static, stripped": Join("own", ("-s",)),
    "static, gc-sections": Join(
        "own", ("-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections")
    ),
    "static, LTO": Join("own", ("-O2", "-flto")),
    "older static copy": Join("older"),
    "newer static copy": Join("newer", ("-fuse-ld=lld",), "clang"),
}

COLLECTED = ("-O2", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections")
WINDOWS_JOINS = {
    "header": Join(""),
    "header, all exported": Join("", ("-Wl,--export-all-symbols",)),
    "header, gc-sections": Join("", COLLECTED),
    "header, C++": Join("", ("-std=gnu++20",), "g++"),
    "header, clang, lld": Join("", ("-O2", "-fuse-ld=lld"), "clang"),
    # Microsoft's ABI: tests/msvc.py builds.
    "header, clang-cl, ucrt": Join("", ("/O2",), "clang-cl"),
    "header, clang, no C library": Join("", ("-O2",), "clang, msvc"),
    "shared library": Join("shared"),
    "static copy": Join("own"),
    "static, all exported": Join("own", ("-Wl,--export-all-symbols",)),
    "static, stripped": Join("own", ("-s",)),
    "static, gc-sections": Join("own", COLLECTED),
    "static, LTO": Join("own", ("-O2", "-flto")),
    "older static copy": Join("older"),
    "newer static copy": Join("newer", ("-fuse-ld=lld",), "clang"),
}


class Platform(NamedTuple):
    """How to build for a system and run its programs."""

    compilers: dict[str, tuple[str, ...]]  # what "gcc" and "clang" of a join stand for
    archiver: str
    hosts: tuple[str, ...]
    modes: tuple[str, ...]
    tools: dict[str, str]  # the programs that it needs, and Debian's packages of them
    joins: dict[str, Join] = JOINS
    runner: tuple[str, ...] = ()  # words before a program
    preload: tuple[str, ...] = ()  # further ones that preload {}; none: LD_PRELOAD does
    installed: bool = False  # the library is the one that the package has


PLATFORMS = {
    "glibc": Platform(
        compilers={"gcc": ("gcc",), "clang": ("clang",)},
        archiver="ar",
        hosts=("python", *C_HOSTS),
        modes=("local", "global", "deepbind", "preload", "linked"),
        tools={"gcc": "gcc", **LLVM, "ld.gold": "binutils"},
        installed=True,
    ),
    # Its loader never unmaps a library, and knows no RTLD_DEEPBIND.
    "musl": Platform(
        compilers={
            "gcc": ("musl-gcc",),
            "clang": (
                "clang",
                "--target=x86_64-linux-musl",
                "-nostdlibinc",
                "-isystem/usr/include/x86_64-linux-musl",
                "-L/usr/lib/x86_64-linux-musl",
                "-nostartfiles",
            ),
        },
        archiver="ar",
        hosts=C_HOSTS,
        modes=("local", "global", "preload", "linked"),
        tools={"musl-gcc": "musl-tools", **LLVM, "ld.gold": "binutils"},
    ),
    "aarch64": Platform(
        compilers={
            "gcc": ("aarch64-linux-gnu-gcc",),
            "clang": ("clang", "--target=aarch64-linux-gnu"),
        },
        archiver="aarch64-linux-gnu-ar",
        hosts=C_HOSTS,
        modes=("local", "global", "deepbind", "preload", "linked"),
        tools={
            "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu",
            "qemu-aarch64": "qemu-user",
            **LLVM,
        },
        runner=("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"),
        preload=("-E", "LD_PRELOAD={}"),
    ),
    # Its loader knows neither scopes nor preloading; tests/matrix/windows.py builds.
    "windows": Platform(
        compilers={"gcc": ("gcc",), "g++": ("g++",), "clang": ("clang",)},
        archiver="ar",
        hosts=("C, shared library", "C, static copy", "C, static, all exported", "C, nothing"),
        modes=("local", "linked"),
        tools={
            "x86_64-w64-mingw32-gcc": "gcc-mingw-w64-x86-64",
            "x86_64-w64-mingw32-g++": "g++-mingw-w64-x86-64",
            "wine": "wine",
            "lld-link": "lld",
            **LLVM,
        },
        joins=WINDOWS_JOINS,
    ),
}


class Case(NamedTuple):
    """One process."""

    host: str
    a: str
    b: str
    mode: str
    order: str
    doubled: bool
    when: str
    unload: bool
