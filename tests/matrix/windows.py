"""The matrix on Windows: mingw-w64, clang and lld-link build, Wine runs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import mingw
import msvc
from versions import newer, older

if TYPE_CHECKING:
    from platforms import Case, Join, Platform

HERE = Path(__file__).resolve().parent
# How tests/msvc.py builds: the driver of clang, and whether there is a C library.
MICROSOFTS = {"clang-cl": ("clang-cl", True), "clang, msvc": ("clang", False)}
RESOLVED = "-Wl,-u,a_own_level,-u,b_own_level"  # else the program would import neither


class WindowsBuilder:
    """Builds libraries, plugins and hosts, each once.

    Each case gets a directory with links to its files: the loader looks beside the
    program, and a program that is linked with the plugins runs with any a.dll and b.dll.
    """

    def __init__(self, platform: Platform, directory: Path) -> None:
        self.platform = platform
        self.directory = directory
        self.made: set[Path] = set()
        self.libraries: dict[str, Path] = {}
        for name, changes in (("own", []), ("older", [older]), ("newer", [newer])):
            (directory / name).mkdir()
            self.libraries[name] = mingw.build_library(directory / name, changes)
        self.cases = 0
        self.environment = mingw.wine_environment()

    def link(self, copy: str) -> list[str]:
        """Give the linker's arguments for a library."""
        if not copy:
            return []
        if copy == "shared":
            return [str(self.libraries["own"] / "libpd_flags.dll.a")]
        return [str(self.libraries[copy] / "libpd_flags.a")]

    def compile(self, compiler: str, out: Path, copy: str, *arguments: object) -> Path:
        """Run a compiler unless it made the file before."""
        if out not in self.made:
            library = self.libraries.get(copy, self.libraries["own"])
            include = [f"-I{library / 'csrc' / 'include'}", f"-I{mingw.SHIM}"]
            out.parent.mkdir(exist_ok=True)
            words = [*mingw.compiler(compiler), *mingw.OPTIONS, *include, *map(str, arguments)]
            subprocess.run([*words, *self.link(copy), "-o", str(out)], check=True)
            self.made.add(out)
        return out

    def plugin(self, letter: str, join_name: str, *, doubled: bool) -> Path:
        """Build plugin a or b."""
        join = self.platform.joins[join_name]
        common = doubled or letter == "a"
        place = f"{join_name}, {'doubled' if doubled else 'single'}".replace(" ", "_")
        defines = [
            f"-DX={letter}",
            f"-DIS_A={int(letter == 'a')}",
            f"-DHAS_COMMON={int(common)}",
            f"-DCOPY={int(bool(join.copy))}",
            f"-DSCOPES={int(join.copy != 'older')}",
        ]
        sources = [HERE / "plugin.c", *([HERE / "common.c"] if common else [])]
        language = ["-static", "-x", "c++"] if join.compiler == "g++" else []
        out = self.directory / place.replace(",", "") / f"{letter}.dll"
        if join.compiler in MICROSOFTS:
            return self.microsofts(join, out, defines, sources)
        flags = ["-shared", *defines, *join.flags, *language, *sources]
        return self.compile(join.compiler, out, join.copy, *flags)

    def microsofts(self, join: Join, out: Path, defines: list[str], sources: list[Path]) -> Path:
        """Build a plugin of Microsoft's ABI unless it was built before."""
        if out not in self.made:
            driver, ucrt = MICROSOFTS[join.compiler]
            msvc.build(out, *sources, driver=driver, ucrt=ucrt, flags=[*join.flags, *defines])
            self.made.add(out)
        return out

    def driver(self, case: Case, a: Path, b: Path) -> Path:
        """Build the host; one that is linked with plugins knows their names alone."""
        copy = {"C, shared library": "shared", "C, nothing": ""}.get(case.host, "own")
        flags = [f"-DCOPY={int(bool(copy))}", HERE / "driver.c"]
        flags += ["-Wl,--export-all-symbols"] if "all exported" in case.host else []
        name = case.host.replace(" ", "_").replace(",", "")
        if case.mode == "linked":
            name += f"_{case.order}"
            flags += [RESOLVED, *([a, b] if case.order == "ab" else [b, a])]
        return self.compile("gcc", self.directory / "hosts" / f"{name}.exe", copy, *flags)

    def command(self, case: Case) -> tuple[list[str], dict[str, str]]:
        """Build what a case needs; give its command and environment."""
        a = self.plugin("a", case.a, doubled=case.doubled)
        b = self.plugin("b", case.b, doubled=case.doubled)
        program, library = self.driver(case, a, b), self.libraries["own"] / "pd_flags.dll"
        place = self.directory / "cases" / str(self.cases)
        place.mkdir(parents=True)
        self.cases += 1
        for file in (a, b, program, library):
            os.link(file, place / file.name)
        mode = "present" if case.mode == "linked" else case.mode
        words = [mode, case.order, case.when, str(int(case.unload))]
        paths = [mingw.windows_path(place / file.name) for file in (a, b)]
        return [mingw.wine(), str(place / program.name), *words, *paths], self.environment
