"""Tasks of Dask, which workers and the scheduler import."""

from __future__ import annotations

import contextlib

import paddle_flags as pf
from paddle_flags.fleet import open_store


def level() -> int:
    """Return the value of a flag that the task's module defines."""
    with contextlib.suppress(pf.FlagError):
        pf.define("level", 1, "Level", runtime=True)
    return int(pf.FLAGS.level)


def append_from_a_task(url: str) -> bool:
    store = open_store(url, timeout=30)
    try:
        return store.append(store.last() + 1, b"of a task")
    finally:
        store.close()
