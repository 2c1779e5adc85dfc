"""The systems that the matrix runs on: a row tells how one compiles and runs, and what it has."""

from __future__ import annotations

from typing import NamedTuple

C_HOSTS = ("C, shared library", "C, static copy", "C, static, -rdynamic", "C, nothing")


class Platform(NamedTuple):
    """How to build for a system and run its programs."""

    compilers: dict[str, tuple[str, ...]]  # what "gcc" and "clang" of a join stand for
    archiver: str
    hosts: tuple[str, ...]
    modes: tuple[str, ...]
    runner: tuple[str, ...] = ()  # words before a program
    preload: tuple[str, ...] = ()  # further ones that preload {}; none: LD_PRELOAD does
    installed: bool = False  # the library is the one that the package has


PLATFORMS = {
    "glibc": Platform(
        compilers={"gcc": ("gcc",), "clang": ("clang",)},
        archiver="ar",
        hosts=("python", *C_HOSTS),
        modes=("local", "global", "deepbind", "preload", "linked"),
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
    ),
    "aarch64": Platform(
        compilers={
            "gcc": ("aarch64-linux-gnu-gcc",),
            "clang": ("clang", "--target=aarch64-linux-gnu"),
        },
        archiver="aarch64-linux-gnu-ar",
        hosts=C_HOSTS,
        modes=("local", "global", "deepbind", "preload", "linked"),
        runner=("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"),
        preload=("-E", "LD_PRELOAD={}"),
    ),
}
