"""What is built once for a whole test run: packages, an environment with the wheel, objects."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from support import INCLUDE, LIBDIR, ROOT, WARNINGS, lock, run, tool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# A package is built for its users: without sanitizers and a test run's options.
BUILD_ENVIRONMENT = {
    name: value
    for name, value in os.environ.items()
    if name not in ("PD_SANITIZE", "CFLAGS", "LDFLAGS", "PIP_REQUIRE_VIRTUALENV")
}
BUILD_ENVIRONMENT["SOURCE_DATE_EPOCH"] = "1700000000"
# What could lead a build to another paddle_flags than the installed one.
ELSEWHERE = ("PYTHONPATH", "VIRTUAL_ENV", "CPATH", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH")
ELSEWHERE += ("CMAKE_PREFIX_PATH", "MAKEFLAGS", "MAKELEVEL", "PYTHON")


def build_package(source: Path, out: Path, *options: str) -> Path:
    """Build in `source` by the standard front end; give the one file that comes out."""
    command = [sys.executable, "-m", "build", *options, "--outdir", str(out), str(source)]
    ended = subprocess.run(command, env=BUILD_ENVIRONMENT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (built,) = out.iterdir()
    return built


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Let `make` fill a directory, once for all workers of a test run."""
    root = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    place = root / name
    with lock(root / f"{name}.lock"):
        if not (place / "done").exists():
            (place / "made").mkdir(parents=True)
            make(place / "made")
            (place / "done").touch()
    return place / "made"


def library_object(factory: pytest.TempPathFactory, compiler: Sequence[str], *flags: str) -> Path:
    """Compile the library into one object, once for all tests that have it inside.

    Without flags, that is what the static library holds.
    """
    if not flags:
        return Path(LIBDIR, "libpd_flags.a")
    command, options = [tool(compiler[0]), *compiler[1:]], [*WARNINGS, f"-I{INCLUDE}", *flags]
    options += ["-std=gnu11", "-g", "-O1", "-fPIC", "-pthread"]

    def make(out: Path) -> None:
        for number, source in enumerate(sorted((ROOT / "csrc" / "src").rglob("*.c"))):
            run(*command, *options, "-c", source, "-o", out / f"{number}.o")
        run("ld", "-r", *sorted(out.glob("*.o")), "-o", out / "pd_flags.o")

    named = [Path(command[0]).resolve().name, *command[1:], *flags]  # cc is gcc
    return once(factory, re.sub(r"[^\w=,-]", "_", "".join(named)), make) / "pd_flags.o"


def make_sdist(out: Path) -> None:
    tree = out.parent / "paddle_flags"
    run(sys.executable, ROOT / "tools" / "copy_tree.py", tree)
    build_package(tree, out, "--sdist")


def make_wheel(sdist: Path, out: Path) -> None:
    """Build the wheel that comes from the source distribution."""
    unpacked = out.parent / "unpacked"
    unpacked.mkdir()
    run("tar", "-xzf", sdist, "-C", unpacked)
    (tree,) = unpacked.iterdir()
    build_package(tree, out, "--wheel")


class Home(NamedTuple):
    """A Python environment that has the wheel, and the tools of the tests behind it."""

    path: Path
    environment: Mapping[str, str]

    @property
    def python(self) -> Path:
        return self.path / "bin" / "python"

    def run(
        self, *command: object, cwd: Path, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        return run(*command, cwd=cwd, env=self.environment, check=check)


def make_home(wheel: Path, out: Path) -> None:
    """Install the wheel; the tests' other packages are found, but not their paddle_flags.

    That one is installed editable, by a .pth file, which a path in a .pth file
    doesn't make Python read.
    """
    run(sys.executable, "-m", "venv", "--without-pip", "--symlinks", out)
    (site,) = (out / "lib").glob("python*/site-packages")
    paths = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    (site / "tools.pth").write_text("".join(f"{path}\n" for path in paths))
    pip = [sys.executable, "-m", "pip", "--python", out / "bin" / "python"]
    run(*pip, "install", "--quiet", "--no-index", "--no-deps", "--force-reinstall", wheel)


def home_at(path: Path) -> Home:
    kept = {
        name: value
        for name, value in BUILD_ENVIRONMENT.items()
        if name not in ELSEWHERE and not name.startswith(("FLAGS_", "PD_"))
    }
    kept["PATH"] = f"{path / 'bin'}:{os.environ['PATH']}"
    return Home(path, kept)
