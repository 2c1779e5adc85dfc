"""Gateways of each kind, in front of a program that serves its flags."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import package
from ways import KINDS, Program, Way, start

if sys.platform != "linux":
    collect_ignore_glob = ["test_*"]  # processes serve their flags on Linux
for name in ("starlette", "uvicorn"):
    package(name)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    made = Program(tmp_path)
    yield made
    made.close()


@pytest.fixture(params=KINDS)
def way(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Way]:
    """A fresh gateway of each kind."""
    with start(request.param, tmp_path) as made:
        yield made


@pytest.fixture(scope="module", params=KINDS)
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Way]:
    """A gateway of each kind for all tests of a module, none of which changes a flag."""
    with start(request.param, tmp_path_factory.mktemp("shared")) as made:
        assert made.process()[0] == 200  # a program that mounts it serves itself from now on
        yield made
        assert made.program.client().changes() == []
