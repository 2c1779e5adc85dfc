"""The contestants: this library and its native peers, with the options to build with each."""

from __future__ import annotations

import functools
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench import large
from bench.places import HERE, INCLUDE, LIBRARY, NATIVE, CommandError, output
from bench.programs import compiler

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Contestant:
    """A flag library, or another way to use one."""

    name: str
    source: Path  # what work.c is linked with
    compile: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    ours: bool = False
    version: str = ""
    missing: str = ""  # why it can't be measured, and how to change that
    # For a source file with many definitions: its head, one definition, and the call that parses.
    head: str = ""
    definition: str = ""
    parse: str = ""

    @property
    def another_way(self) -> bool:
        """True for another way to use a library, of which only the flags are measured."""
        return "," in self.name

    @property
    def threads(self) -> Path | None:
        """The program that reads in threads, or None."""
        stem = "threads" if self.ours else f"threads_{self.name.lower()}"
        path = HERE / f"{stem}{self.source.suffix}"
        return path if path.exists() and not self.another_way else None

    @property
    def cxx(self) -> bool:
        """True if it is used from C++."""
        return self.source.suffix == ".cc"


def words(*command: str) -> tuple[str, ...]:
    """Return the words that a command such as pkg-config prints."""
    return tuple(output(*command).split())


def package_version(package: str) -> str:
    """Return the version of Debian's package, without its epoch."""
    if not shutil.which("dpkg-query"):
        return "of unknown version"
    return words("dpkg-query", "-W", "-f", "${Version}", package)[0]


def compiles(*options: str) -> bool:
    """Return whether the C++ compiler exists and accepts an empty file with these options."""
    command = [*compiler(cxx=True), "-std=c++17", *options, "-x", "c++", "-fsyntax-only"]
    try:
        output(*command, "/dev/null")
    except (CommandError, OSError):
        return False
    return True


def lacking(packages: str, header: str, *tools: str) -> str:
    """Return how to install what a C++ library, its header and tools need; "" if all exist."""
    if compiles("-include", header) and all(map(shutil.which, tools)):
        return ""
    compiler = "" if compiles() else "g++ "
    return f"not installed: apt-get install {compiler}{packages}"


def ours() -> list[Contestant]:
    """Return this library twice: flags defined at run time, and the record of a module."""
    compiled = (f"-I{INCLUDE}",)
    linked = (str(LIBRARY), f"-Wl,-rpath,{LIBRARY.parent}")
    source = NATIVE / "ours.c"
    version = "paddle_flags of this tree"
    run_time = Contestant(
        "ours",
        source,
        compiled,
        linked,
        ours=True,
        version=version,
        head="#include <pd_flags.h>",
        definition='PD_DEFINE_int32({name}, 0, "What {name} is for");',
        parse="pd_parse_argv(&argc, argv, 0, 0)",
    )
    record = (*compiled, "-DBENCH_STATIC")
    return [run_time, Contestant("ours, record", source, record, linked, ours=True)]


def gflags() -> Contestant:
    """Return Debian's gflags, the shared library."""
    source, missing = NATIVE / "gflags.cc", lacking("libgflags-dev", "gflags/gflags.h")
    if missing:
        return Contestant("gflags", source, missing=missing)
    return Contestant(
        "gflags",
        source,
        ("-std=c++17",),
        ("-lgflags",),
        version=f"gflags {package_version('libgflags-dev')}, shared",
        head="#include <gflags/gflags.h>",
        definition='DEFINE_int32({name}, 0, "What {name} is for");',
        parse="gflags::ParseCommandLineFlags(&argc, &argv, true) != 0",
    )


def abseil() -> Contestant:
    """Return Debian's abseil, shared libraries."""
    source = NATIVE / "abseil.cc"
    missing = lacking("libabsl-dev pkg-config", "absl/flags/flag.h", "pkg-config")
    if missing:
        return Contestant("abseil", source, missing=missing)
    return Contestant(
        "abseil",
        source,
        ("-std=c++17",),
        words("pkg-config", "--libs", "absl_flags", "absl_flags_parse"),
        version=f"abseil {package_version('libabsl-dev')}, shared",
        head="#include <absl/flags/flag.h>\n#include <absl/flags/parse.h>",
        definition='ABSL_FLAG(int, {name}, 0, "What {name} is for");',
        parse="absl::ParseCommandLine(argc, argv).empty()",
    )


def llvm() -> list[Contestant]:
    """Return LLVM's command line library, alone and with a lock around each call.

    It isn't thread-safe, while ours locks in each call. The shared library is all of LLVM, so the
    static one is used.
    """
    source = NATIVE / "llvm.cc"
    missing = lacking("llvm-dev", "string", "llvm-config")
    if missing:
        return [Contestant("LLVM", source, missing=missing)]
    options = ("--ldflags", "--link-static", "--libs", "support", "--system-libs")
    compiled = (*words("llvm-config", "--cxxflags"), "-Wno-unused-parameter")
    linked = words("llvm-config", *options)
    plain = Contestant(
        "LLVM",
        source,
        compiled,
        linked,
        version=f"LLVM {words('llvm-config', '--version')[0]}, static",
        head="#include <llvm/Support/CommandLine.h>",
        definition="static llvm::cl::opt<int> {name}("
        '"{name}", llvm::cl::init(0), llvm::cl::desc("What {name} is for"));',
        parse="!llvm::cl::ParseCommandLineOptions(argc, argv)",
    )
    return [plain, Contestant("LLVM, locked", source, (*compiled, "-DBENCH_LOCKED"), linked)]


def from_wheel(name: str, package: str, standard: str, *parts: str) -> Contestant:
    """Return a peer that is part of a large package on PyPI. `parts`: its headers, its library."""
    source = NATIVE / f"{name.lower()}.cc"
    if not large.wanted():
        return Contestant(
            name, source, missing=f"not measured: {large.SWITCH}=1 downloads {package}"
        )
    try:
        home = large.unpacked(package)
    except CommandError:
        return Contestant(name, source, missing=f"not installed: pip download {package} failed")
    include, library = (home / part for part in parts)
    return Contestant(
        name,
        source,
        (f"-std={standard}", "-isystem", str(include)),
        (str(library), f"-Wl,-rpath,{library.parent}"),
        version=f"{package} {large.version(package)}, shared",
    )


def c10() -> Contestant:
    """Return PyTorch's flags."""
    return from_wheel("c10", "torch", "c++20", "torch/include", "torch/lib/libc10.so")


def paddle() -> Contestant:
    """Return Paddle's flags."""
    parts = ("paddle/include", "paddle/libs/libcommon.so")
    return from_wheel("Paddle", "paddlepaddle", "c++17", *parts)


@functools.cache
def native() -> list[Contestant]:
    """Return all contestants, including the missing ones."""
    return [*ours(), gflags(), abseil(), *llvm(), c10(), paddle()]


def present() -> list[Contestant]:
    """Return the contestants that can be measured."""
    return [each for each in native() if not each.missing]


PLAIN = Contestant("plain", NATIVE / "plain.c")
