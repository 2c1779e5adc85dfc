"""Measurements from Python: an environment for each CPython, and its cases."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bench import programs
from bench.measure import Case, Rows, over
from bench.places import BUILD, PYTHON, ROOT, CommandError, fingerprint, output
from bench.rows import FORMS, PYTHONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.works import Sizes

PACKAGES = ("absl-py", "click", "pydantic-settings")
IMPORTS = {
    "empty Python": "pass",
    "ours": "import paddle_flags",
    "absl-py": "from absl import flags",
    "argparse": "import argparse",
    "click": "import click",
    "pydantic-settings": "from pydantic_settings import BaseSettings, CliApp",
}
MODULES = {  # in bench/python
    "plain": "plain_py",
    "ours": "ours",
    "absl-py": "absl_py",
    "argparse": "argparse_py",
    "click": "click_py",
    "pydantic-settings": "pydantic_py",
}
# Which works each has; the others have those that everybody has.
PARSERS = ("ours", "absl-py", "argparse", "click", "pydantic-settings")
WHO = {
    "get": ("ours", "absl-py", "pydantic-settings"),  # the others return values and keep none
    "value": ("ours", "absl-py"),
    "list": ("plain", "ours", "absl-py", "pydantic-settings"),
    "contains": ("ours", "absl-py"),
    "source": ("plain", "ours"),
    "assign": ("ours", "absl-py", "pydantic-settings"),
    "override": ("ours", "absl-py"),
    "define": PARSERS,
    "parse": PARSERS,
}


def found() -> dict[str, Path]:
    """Return the interpreters on this machine, by version, among the versions to measure."""
    versions = {}
    for version in PYTHONS:
        homes = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python3"))
        there = shutil.which(f"python{version}")
        candidates = [*homes, *([Path(there)] if there else [])]
        usable = [each for each in candidates if runs_as(each, version)]
        if usable:
            versions[version] = usable[-1]
    return versions


def runs_as(python: Path, version: str) -> bool:
    """Return whether an interpreter runs and has this version."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        return output(python, "-c", code).strip() == version
    except (CommandError, OSError):
        return False


def own_version() -> str:
    """Return the version of the running Python."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def environment(name: str, python: Path, packages: tuple[str, ...] = PACKAGES) -> Path:
    """Return the Python of an environment with this package, installed as users install it."""
    home = BUILD / f"python-{name}"
    stamp = home / "stamp"
    parts = [ROOT / name for name in ("csrc", "setup.py", "build_ffi.py", "pyproject.toml")]
    key = fingerprint(python, *parts, *sorted((ROOT / "paddle_flags").rglob("*.py")))
    if not stamp.exists() or stamp.read_text() != key:
        copy = BUILD / "source"
        output(sys.executable, ROOT / "tools" / "copy_tree.py", copy)
        output(python, "-m", "venv", "--clear", home)
        output(home / "bin" / "python", "-m", "pip", "install", "--quiet", copy, *packages)
        shutil.rmtree(copy)
        stamp.write_text(key)
    return home / "bin" / "python"


def work_groups(version: str, python: Path, sizes: Sizes) -> Iterator[list[Case]]:
    """Yield the cases of reading, setting, defining, parsing and describing."""
    reads, calls, flags = sizes.python_calls, sizes.python_calls // 10, sizes.python_flags
    works = [(work, reads, 1.0) for work in ("get", "value", "list", "contains")]
    works += [(work, calls, 1.0) for work in ("source", "assign", "override")]
    works += [("define", flags, 1e-3), ("parse", flags, flags * 1e-6)]
    works += [(f"describe-{form}", 2 * flags, 2 * flags * 1e-6) for form in FORMS]
    for work, count, scale in works:
        rows = {"ns": f"python-{version}/{work}"}
        yield [
            Case(who, [python, PYTHON / "run.py", module, work, count], rows, scale)
            for who, module in MODULES.items()
            if who in WHO.get(work, ("plain", "ours"))
        ]


def import_group(version: str, python: Path, sizes: Sizes) -> list[Case]:
    """Return the cases that start a Python, import one module and end."""
    spawn = programs.tool("spawn")
    rows = {"wall": f"python-{version}/start"}
    return [
        Case(who, [spawn, sizes.starts, python, "-I", "-c", code], rows)  # -I: not from this tree
        for who, code in IMPORTS.items()
    ]


def groups(pythons: dict[str, Path], sizes: Sizes) -> Iterator[list[Case]]:
    """Yield all cases."""
    for version, python in pythons.items():
        yield from work_groups(version, python, sizes)
        yield import_group(version, python, sizes)


def imports_over_empty(rows: Rows, pythons: dict[str, Path]) -> None:
    """Subtract the time of an empty Python."""
    base = {who: "empty Python" for who in IMPORTS if who != "empty Python"}
    for version in pythons:
        over(rows, f"python-{version}/start", base, f"python-{version}/import")


def packages(python: Path) -> dict[str, str]:
    """Return the Python peers with their versions; argparse comes with Python."""
    code = "import sys, importlib.metadata as m; print(m.version(sys.argv[1]))"
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = f"{name} {output(python, '-c', code, name).strip()}"
        except CommandError:
            versions[name] = f"not installed: pip install {name}"
    return versions


def environments(*, quick: bool) -> dict[str, Path]:
    """Return the Pythons to measure: all versions, or only the running one."""
    if quick:
        return {own_version(): Path(sys.executable)}
    return {version: environment(version, python) for version, python in found().items()}


def absent() -> list[str]:
    """Return the versions that aren't on this machine."""
    there = found()
    return [version for version in PYTHONS if version not in there]
