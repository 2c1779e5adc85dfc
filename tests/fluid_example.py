"""Building examples/fluid and running programs with it, for its tests."""

from __future__ import annotations

import json
import os
import shlex
import sys
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from support import CXX, INCLUDE, ROOT, SANITIZE, installed, run, tool, write

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLE = ROOT / "examples" / "fluid"
MARKS = [
    pytest.mark.release,
    pytest.mark.skipif(bool(SANITIZE), reason="the example is built as it is shipped"),
]
PACKAGES = {
    "google.protobuf": "protobuf",
    "grpc": "grpcio",
    "matplotlib": "matplotlib",
    "numpy": "numpy",
    "sklearn": "scikit-learn",
}

BEGIN = """
import json
import sys
import numpy as np
import paddle_flags as pf
from fluid import native
from fluid.executor import Executor, FluidError, NotFiniteError, Scope
from fluid.layers import Model
from fluid.program import BATCH, Program, Variable

def tell(**facts):
    print(json.dumps(facts))

def matrix(rows, columns, seed=0):
    return np.random.default_rng(seed).standard_normal((rows, columns))

native.runtime()
"""


def build_fluid(place: Path, *targets: str, **settings: object) -> Path:
    """Build the native modules of the example with all warnings as errors."""
    values = {"BUILD": place, "INCLUDE": INCLUDE, "CXX": shlex.join(CXX), **settings}
    words = [f"{name}={value}" for name, value in values.items()]
    run(tool("make"), "-C", EXAMPLE, "CXXFLAGS=-O2 -Werror", *words, *targets)
    return place


def need_packages() -> None:
    installed("google", "protobuf")
    for module, name in PACKAGES.items():
        installed(module, name)


def environment(built: Path) -> dict[str, str]:
    return {**os.environ, "FLUID_BUILD": str(built), "PYTHONPATH": os.pathsep.join(paths())}


def paths() -> list[str]:
    return [str(EXAMPLE), *(path for path in sys.path if path)]


def runner(built: Path, place: Path) -> Callable[..., dict[str, Any]]:
    """Return what runs a Python program and gives the facts that it tells."""

    def run_program(code: str, *arguments: object) -> dict[str, Any]:
        file = write(place / "program.py", BEGIN + textwrap.dedent(code))
        ended = run(sys.executable, file, *arguments, env=environment(built), cwd=place)
        facts: dict[str, Any] = {}
        for line in ended.stdout.splitlines():
            facts.update(json.loads(line))
        return facts

    return run_program
