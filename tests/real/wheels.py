"""Paddle's and PyTorch's wheels: where they are, and how to build against them."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support import CXX, INCLUDE, LIBDIR, ROOT, run, write

COMPAT = f"{INCLUDE}/compat"
OURS = (f"-I{COMPAT}", f"-I{INCLUDE}")
LINK = (f"-L{LIBDIR}", f"-Wl,-rpath,{LIBDIR}", "-lpd_flags")
PACKAGES = "paddlepaddle==3.3.1 torch==2.13.0"


@dataclass(frozen=True)
class Real:
    """A virtual environment with the wheels."""

    root: Path
    site: Path  # its site-packages

    @property
    def paddle(self) -> Path:
        return self.site / "paddle" / "include"

    @property
    def torch(self) -> Path:
        return self.site / "torch" / "include"

    def libraries(self, *patterns: str) -> list[Path]:
        found = [path for pattern in patterns for path in sorted(self.site.glob(pattern))]
        assert found, patterns
        return found

    def link(self, *patterns: str) -> tuple[str, ...]:
        """Return options that link libraries of the wheels, by their whole path."""
        paths = self.libraries(*patterns)
        return (*map(str, paths), *(f"-Wl,-rpath,{path.parent}" for path in paths))

    def run(self, script: str, *arguments: object, **variables: str) -> str:
        """Run a program with our package; return its output. A crash fails the test."""
        ended = self.end(script, *arguments, **variables)
        assert ended.returncode == 0, f"{ended.returncode}\n{ended.stdout}{ended.stderr}"
        return ended.stdout

    def end(
        self, script: str, *arguments: object, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a program with our package, without FLAGS_ variables but those given."""
        kept = {name: text for name, text in os.environ.items() if not name.startswith("FLAGS_")}
        words = [self.root / "bin" / "python", "-W", "ignore", "-c", script, *arguments]
        environment = {**kept, "PYTHONPATH": str(ROOT), **variables}
        return run(*words, env=environment, check=False)

    def python(self, text: str, *arguments: object, **options: Any) -> str:
        """Run Python text in the environment, with our package; return what it prints."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "GLOG_minloglevel": "2"}
        python = self.root / "bin" / "python"
        return run(python, "-c", text, *arguments, env=environment, **options).stdout


def find() -> Real | None:
    """Return the environment of PD_REAL_VENV, or of one of the usual places."""
    given = os.environ.get("PD_REAL_VENV")
    for root in [Path(given)] if given else [ROOT / "build" / "real"]:
        for site in sorted(root.glob("lib/python3*/site-packages")):
            if (site / "paddle" / "include").is_dir() and (site / "torch" / "include").is_dir():
                return Real(root, site)
    return None


def compile_text(
    place: Path, text: str, *options: str, standard: str = "c++17", compiler: list[str] = CXX
) -> subprocess.CompletedProcess[str]:
    """Check a source, with warnings but without -Werror: the wheels' headers have some."""
    source = write(place / "source.cpp", text)
    words = [*compiler, f"-std={standard}", "-Wall", "-fsyntax-only", source]
    return run(*words, *options, check=False)


def build(out: Path, text: str, *options: str, check: bool = True) -> str:
    """Build a program or, with -shared, a library; return the linker's messages."""
    source = write(out.with_suffix(".cpp"), text)
    if "-shared" in options:
        options = ("-fPIC", *options)
    return run(*CXX, "-std=c++17", "-g", source, "-o", out, *options, check=check).stderr


def exported(library: Path) -> set[str]:
    """Return the symbols that a library defines for others."""
    lines = run("nm", "-D", "--defined-only", library).stdout.splitlines()
    return {line.split()[-1].split("@")[0] for line in lines}
