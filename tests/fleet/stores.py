"""What the tests of every engine share. engines.py says how each is started."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import pytest
from engines import ENGINES

from paddle_flags.fleet._store import Store

BINARY = bytes(range(256)) * 3 + b"\0\n\r\n"

_T = TypeVar("_T")


def _parameter(name: str) -> Any:
    tier = ENGINES[name].tier
    return pytest.param(name, marks=[getattr(pytest.mark, tier)] if tier else [])


EVERY_ENGINE = pytest.mark.parametrize(
    "engine", [_parameter(name) for name in ENGINES], indirect=True, scope="module"
)


def fill(store: Store, count: int) -> None:
    for number in range(store.last() + 1, store.last() + count + 1):
        assert store.append(number, b"record %d" % number)


def records(store: Store, first: int = 1) -> list[bytes]:
    """All records from one on, however many a call returns."""
    found: list[bytes] = []
    while more := store.read(first + len(found)):
        found += more
    return found


def living(store: Store) -> dict[str, bytes]:
    """The documents of the members whose lease runs."""
    return {name: each.document for name, each in store.members().items() if each.alive}


def in_threads(count: int, function: Callable[[int], _T]) -> list[_T]:
    """What function(0), function(1), ... return, run at once."""
    gate = threading.Barrier(count)

    def run(index: int) -> _T:
        gate.wait()
        return function(index)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))
