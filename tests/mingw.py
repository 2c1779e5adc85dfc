"""Windows on Linux: DLLs and programs that mingw-w64 builds and Wine runs."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support import ROOT, SHIM, WARNINGS, lock, run, tool

if TYPE_CHECKING:
    from collections.abc import Sequence

TRIPLE = "x86_64-w64-mingw32"
PACKAGES = {"gcc": "gcc-mingw-w64-x86-64", "g++": "g++-mingw-w64-x86-64", "clang": "clang"}
# Microsoft's printf lacks what the library and the tests ask for.
OPTIONS = ["-g", "-D__USE_MINGW_ANSI_STDIO=1", "-static-libgcc"]
# No questions about packages that no test needs, and no windows.
QUIET = {"WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree,mshtml=", "DISPLAY": ""}
KEPT: list[subprocess.Popen[bytes]] = []  # until this process ends


def compiler(name: str) -> list[str]:
    """Give the command of gcc, g++ or clang for Windows."""
    if name != "clang":
        return [tool(f"{TRIPLE}-{name}", PACKAGES[name])]
    libgcc = run(*compiler("gcc"), "-print-libgcc-file-name").stdout.strip()
    quiet = "-Wno-unused-command-line-argument"
    return [tool("clang"), f"--target={TRIPLE}", f"-L{Path(libgcc).parent}", quiet]


def build_library(directory: Path, changes: Sequence[object] = ()) -> Path:
    """Build pd_flags.dll, its import library and libpd_flags.a of changed sources."""
    tree = directory / "csrc"
    shutil.copytree(ROOT / "csrc", tree)
    for function in changes:
        assert callable(function)
        function(tree)
    gcc = [*compiler("gcc"), "-std=gnu11", "-O1", "-fexceptions", *OPTIONS, f"-I{tree / 'include'}"]
    gcc += ["-Wall", "-Wextra", "-Werror"]
    sources = sorted((tree / "src").rglob("*.c"))
    imports = f"-Wl,--out-implib,{directory / 'libpd_flags.dll.a'}"
    out = directory / "pd_flags.dll"
    run(*gcc, "-DPD_BUILDING_LIBRARY", "-shared", *sources, imports, "-o", out)
    for number, source in enumerate(sources):
        run(*gcc, "-c", source, "-o", directory / f"{number}.o")
    archiver = tool(f"{TRIPLE}-ar", "binutils-mingw-w64-x86-64")
    run(archiver, "rcs", directory / "libpd_flags.a", *directory.glob("*.o"))
    return directory


def build(out: Path, *sources: Path, flags: Sequence[str] = (), by: str = "") -> Path:
    """Compile and link in one go, with warnings as errors; C++ where a source is."""
    plain = all(s.suffix == ".c" for s in sources)
    command = compiler(by or ("gcc" if plain else "g++"))
    out.parent.mkdir(parents=True, exist_ok=True)
    include = [f"-I{ROOT / 'csrc' / 'include'}", f"-I{SHIM}"]
    static = [] if plain else ["-static"]  # without the DLLs of the compiler
    run(*command, *WARNINGS, *OPTIONS, *include, *static, *sources, "-o", out, *flags)
    return out


def windows_path(path: Path) -> str:
    """Give the name by which Windows programs know a file."""
    return "Z:" + str(path).replace("/", "\\")


def wine_environment(**variables: str) -> dict[str, str]:
    """Give the environment for Wine, without anybody's flags and with `variables`."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("FLAGS_")}
    return {**inherited, **QUIET, "WINEPREFIX": prefix(), **variables}


@functools.cache
def prefix() -> str:
    """Give the directory that holds Windows, one for all runs of a user; the first makes it."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    place = caches / "paddle_flags-wine"
    caches.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, **QUIET, "WINEPREFIX": str(place)}
    with lock(Path(f"{place}.lock")):
        if not (place / "ready").exists():
            run(wine(), "wineboot", "-i", env=environment)
            (place / "ready").touch()
    keep_alive(environment)
    return str(place)


def keep_alive(environment: dict[str, str]) -> None:
    """Start a shell that waits until this process ends, as Wine's services do with it.

    Without it they start for each program, hold its output, and take seconds.
    """
    pipe = subprocess.PIPE
    shell = subprocess.Popen(
        [wine(), "cmd"], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment
    )
    assert shell.stdin
    assert shell.stdout
    shell.stdin.write(b"echo ready\r\n")
    shell.stdin.flush()
    while shell.stdout.readline().strip() not in (b"ready", b""):
        pass
    KEPT.append(shell)


def wine() -> str:
    """Give the path of Wine."""
    return tool("wine", "wine wine64")


# Wine's own process ends badly now and then, in ld.so of Linux: how the program did is then unknown
_ENDED_BADLY = "Inconsistency detected by ld.so: dl-fini.c"


def run_wine(program: Path, *words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; a failure shows what it printed."""
    options.setdefault("env", wine_environment())
    for _ in range(2):
        ended = run(wine(), program, *words, **options, check=False)
        if _ENDED_BADLY not in ended.stderr:
            break
    else:
        return run(wine(), program, *words, **options)
    assert ended.returncode == 0, f"{program} {words}\n{ended.stdout}{ended.stderr}"
    return ended
