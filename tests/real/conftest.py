"""Tests beside the real Paddle and PyTorch, in an environment of their own: `make real`."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support import ROOT, missing

pytestmark = pytest.mark.extended


class Real(NamedTuple):
    """An environment with paddlepaddle and torch."""

    python: Path
    packages: Path

    def run(self, script: str, *arguments: object, **variables: str) -> str:
        """Run a program with this package; return its output. A crash fails the test."""
        ended = self.end(script, *arguments, **variables)
        assert ended.returncode == 0, f"{ended.returncode}\n{ended.stdout}{ended.stderr}"
        return ended.stdout

    def end(
        self, script: str, *arguments: object, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a program with this package and return how it ended."""
        kept = {name: text for name, text in os.environ.items() if not name.startswith("FLAGS_")}
        paths = os.pathsep.join(filter(None, sys.path))  # cffi, and this package
        words = [str(self.python), "-W", "ignore", "-c", script, *map(str, arguments)]
        environment: dict[str, Any] = {**kept, "PYTHONPATH": f"{ROOT}", **variables}
        environment["PD_TEST_PATHS"] = paths
        return subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=300, check=False
        )


@pytest.fixture(scope="session")
def real() -> Real:
    """Return the environment that `make real` builds."""
    place = Path(os.environ.get("PD_REAL_VENV") or ROOT / "build" / "real")
    found = sorted(place.glob("lib/python3*/site-packages/paddle"))
    if not found or not (place / "made").exists():
        missing(f"{shlex.quote(str(place))} with paddlepaddle and torch", "make real")
    return Real(place / "bin" / "python", found[0].parent)
