"""Build the library for Windows: DLL, import library, static library and headers."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

TRIPLE = "x86_64-w64-mingw32"
COMPILE = ["-std=gnu11", "-O2", "-fexceptions", "-g0", "-Wall", "-Wextra", "-Werror"]
# Microsoft's printf lacks formats that the library uses.
COMPILE += ["-D__USE_MINGW_ANSI_STDIO=1", "-DPD_BUILDING_LIBRARY"]
# For reproducible builds: no timestamp, and no address derived from the path of the DLL.
LINK = ["-shared", "-static-libgcc", "-s", "-Wl,--no-insert-timestamp"]
LINK += ["-Wl,--disable-auto-image-base"]


def run(*command: object) -> None:
    """Run a command; show its output if it fails."""
    words = [str(word) for word in command]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    if ended.returncode:
        sys.exit(f"{' '.join(words)}\n{ended.stdout}{ended.stderr}")


def compile_all(tree: Path, place: Path) -> list[Path]:
    """Compile the sources; return the objects in order."""
    gcc = shutil.which(f"{TRIPLE}-gcc")
    if not gcc:
        sys.exit(f"{TRIPLE}-gcc is missing: apt-get install gcc-mingw-w64-x86-64")
    sources = sorted((tree / "csrc" / "src").rglob("*.c"))
    objects = [place / f"{source.parent.name}-{source.stem}.o" for source in sources]
    flags = [*COMPILE, f"-I{tree / 'csrc' / 'include'}", f"-ffile-prefix-map={tree}=."]

    def compile_one(pair: tuple[Path, Path]) -> None:
        run(gcc, *flags, "-c", pair[0], "-o", pair[1])

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(compile_one, zip(sources, objects)))
    return objects


def write_pcs(tree: Path, out: Path, version: str) -> None:
    """Write the pkg-config files. Windows has no run path and no libdl."""
    out.mkdir(parents=True)
    for template in sorted((tree / "csrc" / "cmake").glob("*.pc.in")):
        if "-live" in template.name:  # the server works on Linux
            continue
        text = template.read_text("utf-8").replace("@VERSION@", version)
        text = text.replace(" -Wl,-rpath,${libdir}", "").replace(" -pthread -ldl", "")
        text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
        (out / template.stem).write_text(text, "utf-8")


def build_windows(tree: Path, place: Path) -> Path:
    """Build from a source tree; return the directory to pack."""
    include = tree / "csrc" / "include"
    header = (include / "pd_flags.h").read_text("utf-8")
    version = re.findall(r'#define PD_VERSION "(.+)"', header)[0]
    package = place / f"paddle_flags-{version}-windows-x86_64"
    library = package / "lib"
    for directory in (package / "bin", library, place / "objects"):
        directory.mkdir(parents=True)
    objects = compile_all(tree, place / "objects")
    imports = f"-Wl,--out-implib,{library / 'libpd_flags.dll.a'}"
    run(f"{TRIPLE}-gcc", *LINK, *objects, imports, "-o", package / "bin" / "pd_flags.dll")
    # A single object, so that a program that links any part of it gets the copy's record.
    whole = place / "objects" / "pd_flags.obj"
    run(f"{TRIPLE}-gcc", "-r", "-nostdlib", *objects, "-o", whole)
    run(f"{TRIPLE}-ar", "rcsD", library / "libpd_flags.a", whole)
    shutil.copytree(include, package / "include", ignore=shutil.ignore_patterns(".*"))
    write_pcs(tree, library / "pkgconfig", version)
    for name in ("LICENSE", "CHANGELOG.md"):
        shutil.copy(tree / name, package)
    return package
