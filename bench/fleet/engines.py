"""The engines that are measured, started for one run."""

from __future__ import annotations

import contextlib
import importlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

NODES = 3  # of etcd


class Running(NamedTuple):
    """An engine that runs."""

    urls: list[str]  # of one fleet; members take them in turns
    processes: list[int]  # of the engine, if it has any that can be found


@contextlib.contextmanager
def start(name: str, url: str | None = None) -> Iterator[Running]:
    """Start an engine; with a URL, use one that runs already."""
    if url is not None:
        yield Running([url], [])
        return
    with tempfile.TemporaryDirectory(prefix="fleet-") as place:
        if name == "dir":
            yield Running([f"dir://{place}/fleet"], [])
        elif name == "etcd":
            from etcds import Cluster

            with Cluster(Path(place), NODES) as cluster:
                urls = [cluster.url("fleet", index, proxies=False) for index in range(NODES)]
                found = [node.process for node in cluster.nodes.values()]
                yield Running(urls, [process.pid for process in found if process])
        else:
            with _of_the_tests(name) as running:
                yield running


@contextlib.contextmanager
def _of_the_tests(name: str) -> Iterator[Running]:
    """Start an engine as the conformance suite does."""
    known = importlib.import_module("engines").ENGINES  # of the tests, and without types
    if name not in known:
        raise SystemExit(f"--engine {name}: expected one of {', '.join(sorted(known))}")
    engine = known[name]()
    engine.start()
    try:
        yield Running([engine.new()], [])
    finally:
        engine.end()


def cpu_seconds(processes: list[int]) -> float:
    """Return the seconds of a processor that processes have used."""
    ticks = 0
    for pid in processes:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def resident(processes: list[int]) -> float:
    """Return the memory that processes have, in MB each, without what they share."""
    total = 0.0
    for pid in processes:
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii")
            total += sum(int(line.split()[1]) for line in text.splitlines() if "Private_" in line)
    return total / 1000 / max(1, len(processes))
