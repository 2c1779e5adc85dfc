"""Fixtures of the tests of the live API: a program for each server."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import live_subjects
import pytest
from live_client import Client
from live_subjects import KINDS, Subject, kinds, running

if sys.platform != "linux":
    collect_ignore_glob = ["test_*"]  # live serves on Linux


@pytest.fixture(autouse=True, scope="session")
def factory(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Give subjects in C a place to be built in."""
    live_subjects.factories.append(tmp_path_factory)


@pytest.fixture(params=kinds(*KINDS))
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    """A fresh program, served by each server on each transport."""
    with running(request.param, tmp_path) as made:
        yield made


@pytest.fixture(scope="module", params=kinds(*KINDS))
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Subject]:
    """A program for all tests of a module that leave its flags as they are."""
    with running(request.param, tmp_path_factory.mktemp("shared")) as made:
        yield made


@pytest.fixture
def reader(shared: Subject) -> Client:
    """A client for tests that change nothing, though it may."""
    return shared.client


@pytest.fixture
def client(subject: Subject) -> Client:
    """A client that may do everything."""
    return subject.client
