"""Copy the sources of this project, without build results, to a new directory.

copy_tree.py DIRECTORY
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILT_ANYWHERE = ("__pycache__", "*.py[cod]", "*.egg-info", ".*_cache", ".hypothesis")
BUILT_HERE = {
    ROOT: (".git", ".venv*", ".cache", "build", "dist"),
    ROOT / "paddle_flags": ("include", "lib", "_*.so"),
}


def built(directory: str, names: list[str]) -> set[str]:
    """Return the names that copytree leaves out of a directory."""
    patterns = (*BUILT_ANYWHERE, *BUILT_HERE.get(Path(directory), ()))
    return shutil.ignore_patterns(*patterns)(directory, names)


def copy_tree(target: Path) -> None:
    """Replace `target` with a copy of the sources."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(ROOT, target, ignore=built)


if __name__ == "__main__":
    copy_tree(Path(sys.argv[1]))
