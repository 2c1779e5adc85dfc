"""Build the corpus: plugins and the library, with the headers and sources of this version.

    python tests/corpus/build.py [--into DIRECTORY]

tests/corpus/VERSION has the sources of the plugins, what each must do (expected.toml), what it
defines (flags.json), and a directory of binaries for each platform, all small. The tests of every
later version load them. A version that CHANGELOG.md gives a date isn't built again. A new version
begins with the sources of the one before.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

import corpora  # noqa: E402 - the path comes first
import mingw  # noqa: E402
import msvc  # noqa: E402
from support import tool, zig  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

INCLUDE = [f"-I{ROOT / 'csrc' / 'include' / 'compat'}", f"-I{ROOT / 'csrc' / 'include'}"]
SMALL = ["-Os", "-fvisibility=hidden"]
ALONE = ["-fno-exceptions", "-fno-rtti"]  # C++ that needs no C++ library
NO_STAMP = ["-Wl,--build-id=none"]
ELF = ["-Wl,-z,noseparate-code,-z,max-page-size=4096,--hash-style=gnu", *NO_STAMP]
LIBRARY = ["-std=gnu11", "-fPIC", "-fexceptions", "-pthread", "-Wl,-soname,libpd_flags.so"]
LIBRARY += ["-Wl,-z,nodelete", "-Wl,-Bsymbolic-functions"]
# These need a C++ library, and objects headers of one that clang for Microsoft's ABI hasn't here.
WITH_LIBRARY = frozenset({"gflags", "c10", "paddle", "absl"})


class Platform(NamedTuple):
    """How plugins are compiled and linked for a system."""

    suffix: str
    c: Sequence[str]  # the command that compiles C
    cxx: Sequence[str]
    link: Callable[[Path, list[Path]], object]
    without: frozenset[str] = WITH_LIBRARY  # plugins that it can't build
    memory: tuple[str, ...] = ("new.cc",)  # a source that C++ plugins need without a C++ library


def driver(*words: str) -> Callable[[Path, list[Path]], object]:
    """Give a function that links by a compiler's driver."""
    return lambda out, objects: run(*words, "-shared", "-s", *objects, "-o", out)


def native(compiler: str, cxx: str, *link: str) -> Platform:
    """Give the platform of the machine itself, which has a C++ library."""
    c, cxx = tool(compiler), tool(cxx, compiler)
    linked = driver(cxx, *link, *ELF)
    return Platform(".so", [c, "-fPIC"], [cxx, "-fPIC"], linked, frozenset(), ())


def elf(compiler: str, target: str) -> Platform:
    """Give a platform of Linux whose C compiler is a cross-compiler; Zig's compiles C++."""
    c = tool(compiler)
    cxx = [*zig(), "c++", "-target", target, "-fPIC", "-fno-sanitize=all", *ALONE]
    return Platform(".so", [c, "-fPIC"], cxx, driver(c, *ELF))


def macos(target: str) -> Platform:
    """Give a platform of macOS."""
    words = ["-target", target, "-fno-sanitize=all"]
    link = [*zig(), "cc", *words, "-Wl,-undefined,dynamic_lookup"]
    return Platform(
        ".dylib",
        [*zig(), "cc", *words],
        [*zig(), "c++", *words, *ALONE],
        lambda out, objects: driver(*link, f"-Wl,-install_name,@rpath/{out.name}")(out, objects),
    )


def windows() -> Platform:
    """Give the platform of mingw-w64."""
    gcc, cxx = mingw.compiler("gcc"), mingw.compiler("g++")
    same = "-Wl,--no-insert-timestamp,--disable-auto-image-base"  # which depends on the path
    link = driver(*gcc, "-static-libgcc", same, *NO_STAMP)
    return Platform(".dll", gcc, [*cxx, *ALONE], link)


def microsofts() -> Platform:
    """Give the platform of Microsoft's ABI."""
    cxx = [*msvc.compiler("clang", "clang-19"), *msvc.standard_library("clang")]
    return Platform(
        ".dll",
        msvc.compiler("clang"),
        cxx,
        lambda out, objects: msvc.link(out, *objects, ucrt=True),
        WITH_LIBRARY | {"objects"},
        memory=(),
    )


PLATFORMS: dict[str, Callable[[], Platform]] = {
    "linux-x86_64": lambda: native("gcc", "g++"),
    "linux-x86_64-clang": lambda: native("clang", "clang++", "-fuse-ld=lld"),
    "linux-aarch64": lambda: elf("aarch64-linux-gnu-gcc", "aarch64-linux-gnu.2.28"),
    "musl-x86_64": lambda: elf("musl-gcc", "x86_64-linux-musl"),
    "windows-x86_64": windows,
    "windows-x86_64-msvc": microsofts,
    "macos-arm64": lambda: macos("aarch64-macos"),
    "macos-x86_64": lambda: macos("x86_64-macos"),
}


def run(*words: object, **options: object) -> str:
    """Run a command, and return what it prints."""
    command = [str(word) for word in words]
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **options).stdout


def sources_of(place: Path, plugin: str, platform: Platform) -> list[Path]:
    """Give the sources of a plugin."""
    found = sorted(place.glob(f"{plugin}.c*")) + sorted(place.glob(f"{plugin}_second.c"))
    memory = platform.memory if found[0].suffix == ".cc" else ()
    return [*found, *(place / name for name in memory)]


def build_plugin(out: Path, sources: list[Path], platform: Platform) -> None:
    """Compile each source beside its name, which the definitions contain, and link."""
    with tempfile.TemporaryDirectory() as directory:
        objects = []
        for source in sources:
            objects.append(Path(directory) / f"{source.stem}.o")
            c = source.suffix == ".c"
            words = [*platform.c, "-std=gnu11"] if c else [*platform.cxx, "-std=c++17"]
            words += [*SMALL, *INCLUDE, "-c", source.name, "-o", objects[-1]]
            run(*words, cwd=source.parent)
        made = Path(directory) / out.name  # linkers write more files beside it
        platform.link(made, objects)
        shutil.copyfile(made, out)


def build_library(out: Path) -> None:
    """Build the whole library, as small as it gets."""
    sources = sorted((ROOT / "csrc" / "src").rglob("*.c"))
    options = [*LIBRARY, *SMALL, *INCLUDE, *ELF]
    run(tool("gcc"), *options, "-shared", "-s", *sources, "-ldl", "-o", out)


def record_flags(place: Path) -> dict[str, object]:
    """Let this version's library tell what each plugin defines."""
    library = place / corpora.LIBRARY
    found: dict[str, object] = {}
    for plugin in corpora.expected(place):
        words = ["registry", library, "load", library.with_name(f"{plugin}.so"), "json"]
        report = run(sys.executable, corpora.HOST, *words).split("\n", 2)[2]
        found[plugin] = corpora.properties(report)
    return found


def build_platform(place: Path, name: str) -> None:
    """Build all plugins for a platform, and for that of the machine the library."""
    platform, directory = PLATFORMS[name](), place / name
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    for plugin in corpora.expected(place):
        if plugin not in platform.without:
            sources = sources_of(place / "sources", plugin, platform)
            build_plugin(directory / f"{plugin}{platform.suffix}", sources, platform)
    if name == corpora.LIBRARY.parent.name:
        build_library(place / corpora.LIBRARY)
    print(name, flush=True)


def build_all(place: Path) -> None:
    """Build all binaries, and describe them."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda name: build_platform(place, name), PLATFORMS))
    flags = json.dumps(record_flags(place), indent=1, sort_keys=True)
    (place / "flags.json").write_text(f"{flags}\n", "utf-8")
    (place / "SHA256SUMS").write_text(corpora.sums(place), "utf-8")


def prepare() -> Path:
    """Give the directory of this version; a new one begins as the newest did."""
    header = (ROOT / "csrc" / "include" / "pd_flags.h").read_text("utf-8")
    version = re.findall(r'^#define PD_VERSION "([\d.]+)"', header, re.MULTILINE)[0]
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    dated = re.search(rf"^## {re.escape(version)}.*\d{{4}}-\d\d-\d\d", changes, re.MULTILINE)
    place = HERE / version
    if dated and (place / "SHA256SUMS").exists():
        sys.exit(f"CHANGELOG.md: {dated[0]}: the corpus of a released version stays as it is")
    if not place.exists():
        newest = corpora.versions()[-1]
        shutil.copytree(newest / "sources", place / "sources")
        shutil.copy(newest / "expected.toml", place)
    return place


def main() -> None:
    """Build this version's corpus, or a copy of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, metavar="DIRECTORY", help="of a copy of the sources")
    options = parser.parse_args()
    if options.into:
        shutil.copytree(corpora.versions()[-1] / "sources", options.into / "sources")
        shutil.copy(corpora.versions()[-1] / "expected.toml", options.into)
    build_all(options.into.resolve() if options.into else prepare())


if __name__ == "__main__":
    main()
