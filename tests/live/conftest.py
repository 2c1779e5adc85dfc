"""A program that serves its flags, and clients of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from serving import Client, Program

if sys.platform != "linux":
    collect_ignore_glob = ["test_*"]  # flags are served on Linux


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Program]]:
    """Start programs, which end with the test."""
    started: list[Program] = []

    def run(*arguments: str, folder: Path = tmp_path) -> Program:
        folder.mkdir(exist_ok=True)
        started.append(Program(folder, *arguments))
        return started[-1]

    yield run
    for each in started:
        each.process.kill()
        each.process.communicate()


@pytest.fixture
def program(start: Callable[..., Program]) -> Program:
    return start()


@pytest.fixture
def client(program: Program) -> Iterator[Client]:
    with Client(program.socket) as made:
        yield made
