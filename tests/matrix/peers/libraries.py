"""The libraries of the peers' matrix: how one compiles and links with each."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from sources import build_archives, words  # noqa: E402 - the path comes first
from support import CHECKED, LIBDIR, require  # noqa: E402

import paddle_flags  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable


class Library:
    """A flag library: its sources in the matrix, and the arguments that it needs."""

    name: str
    peer = True

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.compile = [f'-DPEER_HEADER="{self.name}.h"', f"-I{HERE}"]

    def source(self, stem: str) -> Path:
        """Give a source of the plugins."""
        return HERE / f"{stem}.cc"

    def link(self, copy: str, *, pic: bool) -> list[str]:
        """Give the linker's arguments; `pic` for a copy inside a plugin."""
        raise NotImplementedError


class Gflags(Library):
    """Debian's libgflags-dev; its archive is not position independent."""

    name = "gflags"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        require("libgflags-dev", "gflags/gflags.h")

    def link(self, copy: str, *, pic: bool) -> list[str]:
        if copy == "shared":
            return ["-lgflags"]
        if not pic:
            return ["-l:libgflags.a", "-pthread"]
        options = ["-DBUILD_STATIC_LIBS=ON", "-DBUILD_SHARED_LIBS=OFF"]
        return [*build_archives(self.directory, "gflags", ["gflags_static"], options), "-pthread"]


class Abseil(Library):
    """Debian's libabsl-dev; its archives are not position independent."""

    name = "abseil"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        require("libabsl-dev", "absl/flags/flag.h")
        require("pkg-config", program="pkg-config")
        self.compile.append("-std=c++17")
        self.libraries = words("pkg-config", "--libs", "absl_flags_parse")

    def link(self, copy: str, *, pic: bool) -> list[str]:
        if copy == "shared":
            return self.libraries
        if pic:
            options = ["-DCMAKE_CXX_STANDARD=17", "-DABSL_ENABLE_INSTALL=ON"]
            archives = build_archives(self.directory, "abseil", ["flags_parse"], options)
        else:
            archives = [f"-l:lib{word[2:]}.a" for word in self.libraries if "absl" in word]
        return ["-Wl,--start-group", *archives, "-Wl,--end-group", "-pthread"]


class Llvm(Library):
    """Debian's llvm-dev; its archives are position independent."""

    name = "llvm"

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        require("llvm-dev", program="llvm-config")
        self.compile += words("llvm-config", "--cxxflags")

    def link(self, copy: str, *, pic: bool) -> list[str]:
        what = ["--ldflags", "--libs", "support"]
        if copy == "shared":
            return words("llvm-config", "--link-shared", *what)
        return words("llvm-config", "--link-static", *what, "--system-libs")


class Ours(Library):
    """The library of this project, in the same cases."""

    name = "paddle_flags"
    peer = False

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.compile = [f"-I{Path(LIBDIR).parent / 'include'}", *CHECKED]

    def source(self, stem: str) -> Path:
        return HERE.parent / f"{stem}.c"

    def link(self, copy: str, *, pic: bool) -> list[str]:
        if copy == "shared":
            return [f"-L{LIBDIR}", f"-Wl,-rpath,{LIBDIR}", "-l:libpd_flags.so", *CHECKED]
        return [f"{LIBDIR}/libpd_flags.a", "-ldl", "-pthread", *CHECKED]


LIBRARIES: dict[str, Callable[[Path], Library]] = {
    library.name: library for library in (Gflags, Abseil, Llvm, Ours)
}

PACKAGES = {"gflags": "libgflags-dev", "abseil": "libabsl-dev"}


def version(name: str) -> str:
    """Give a library with the version that is measured."""
    if name == "paddle_flags":
        return f"{name} {paddle_flags.__version__}"
    if name == "llvm":
        return f"LLVM {words('llvm-config', '--version')[0]}"
    return f"{name} {words('dpkg-query', '-W', '-f', '${Version}', PACKAGES[name])[0]}"
