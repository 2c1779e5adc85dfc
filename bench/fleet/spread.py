"""How long a change takes to reach all members, each of which is a process."""

from __future__ import annotations

import os
import statistics
import time
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from crews import Crew

import paddle_flags as pf
from bench.fleet.engines import Running, cpu_seconds, resident
from paddle_flags.fleet import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from paddle_flags.fleet import Store

IDLE = 10.0  # seconds that members are watched while nothing changes


class Timed:
    """A store that notes when a record was created."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.asked = 0
        self.created = 0

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - all methods
        """Return a method of the store."""
        return getattr(self._store, name)

    def append(self, number: int, record: bytes) -> bool:
        """See Store."""
        self.asked = time.monotonic_ns()
        done = self._store.append(number, record)
        self.created = time.monotonic_ns()
        return done


class Change(NamedTuple):
    """One change, in ms after the engine had acknowledged it; a member may be faster than that."""

    asked: float  # from the call of `set` until all members had accepted it
    commit: float  # how long the engine took for it
    first: float
    median: float
    last: float


class Figures(NamedTuple):
    """What was measured."""

    members: int
    joined: float  # seconds in which all had joined
    changes: list[Change]
    waited: list[float]  # ms of `set(…, wait=30)`, until all answers were read
    forced: list[float]  # ms of `set(…, force=True, wait=30)`
    idle_member: float  # % of one core, each
    idle_engine: float  # % of one core, all nodes
    change_member: float  # ms of a core that a change takes in a member, with its answer
    change_engine: float  # ms of a core, all nodes
    document: int  # bytes that a member publishes
    memory: float  # MB of a member
    load: float  # of the machine before the measurement


def measure(
    running: Running,
    members: int,
    changes: int,
    pause: float,
    flags: int,
    tell: Callable[[str], None],
) -> Figures:
    """Let members join, change flags, and see when the members have taken that."""
    load = os.getloadavg()[0]
    store = Timed(open_store(running.urls[0]))
    with Crew() as crew, pf.fleet.Fleet(cast("Store", store)) as fleet:
        start = time.monotonic()
        names = crew.start_many(members, running.urls, flags=flags)
        joined = time.monotonic() - start
        tell(f"{members} members joined in {joined:.1f} s")
        pids = [process.pid for process in crew.processes.values()]
        before = cpu_seconds(pids), cpu_seconds(running.processes)
        time.sleep(IDLE)
        after = cpu_seconds(pids), cpu_seconds(running.processes)
        used = cpu_seconds(pids), cpu_seconds(running.processes)
        done = [_change(crew, fleet, store, names, value) for value in _paced(changes, pause)]
        used = cpu_seconds(pids) - used[0], cpu_seconds(running.processes) - used[1]
        tell(f"{changes} changes")
        document = len(store.members()[names[0]].document)
        waited = [
            _timed(fleet, value, wait=30)
            for value in range(changes + 1, changes + 1 + changes // 3)
        ]
        value = changes + 1 + changes // 3
        forced = [
            _timed(fleet, value + index, wait=30, force=True)
            for index in range(max(1, changes // 3))
        ]
        crew.wait_applied(value + len(forced) - 1, names)
        halves = crew.halves()
        if halves:
            raise SystemExit(f"members had half a batch: {halves[:3]}")
        return Figures(
            members,
            joined,
            done,
            waited,
            forced,
            (after[0] - before[0]) / IDLE * 100 / members,
            (after[1] - before[1]) / IDLE * 100,
            used[0] / changes / members * 1000,
            used[1] / changes * 1000,
            document,
            resident(pids),
            load,
        )


def _paced(count: int, pause: float) -> Iterator[int]:
    """Yield 1 .. count with pauses that don't beat with the members' polls."""
    for value in range(1, count + 1):
        time.sleep(pause * (1 + value % 7 / 10))
        yield value


def _change(
    crew: Crew, fleet: pf.fleet.Fleet, store: Timed, names: list[str], value: int
) -> Change:
    start = time.monotonic_ns()
    fleet.set({"pair_a": value, "pair_b": value})
    taken = crew.wait_applied(value, names)
    times = sorted((at - store.created) / 1e6 for at in taken.values())
    return Change(
        (store.asked - start) / 1e6,
        (store.created - store.asked) / 1e6,
        times[0],
        statistics.median(times),
        times[-1],
    )


def _timed(fleet: pf.fleet.Fleet, value: int, **options: Any) -> float:  # noqa: ANN401 - of set()
    start = time.monotonic()
    outcome = fleet.set({"pair_a": value, "pair_b": value}, **options)
    taken = (time.monotonic() - start) * 1000
    if not outcome.ok:
        raise SystemExit(f"a change did not reach all: {outcome}")
    return taken


def text(figures: Figures) -> str:
    """Return the figures as rows of Markdown."""

    def row(name: str, values: list[float]) -> str:
        ordered = sorted(values)
        nine = ordered[min(len(ordered) - 1, int(len(ordered) * 0.9))]
        return f"| {name} | {statistics.median(values):,.0f} | {nine:,.0f} | {ordered[-1]:,.0f} |"

    changes = figures.changes
    return "\n".join(
        [
            f"| {figures.members} members, {len(changes)} changes, ms | median | 9 of 10 | most |",
            "|---|---|---|---|",
            row("from `set` until all members have accepted", [each.asked for each in changes]),
            row("the engine takes the change", [each.commit for each in changes]),
            row("from then until the first member has it", [each.first for each in changes]),
            row("until half of the members have it", [each.median for each in changes]),
            row("until all members have it", [each.last for each in changes]),
            row("`set(…, wait=30)` returns the answers of all", figures.waited),
            row("`set(…, force=True, wait=30)` does", figures.forced),
            "",
            costs(figures),
        ]
    )


def costs(figures: Figures) -> str:
    """Return what members cost, as sentences."""
    return (
        f"Members joined within {figures.joined:.1f} s. While nothing changes, a member takes"
        f" {figures.idle_member:.2f}% of a core, and the engine {figures.idle_engine:.1f}%."
        f" A change takes {figures.change_member:.1f} ms of a core in each member, with its"
        f" answer of {figures.document:,} bytes, and {figures.change_engine:.0f} ms in the"
        f" engine. A member has {figures.memory:.0f} MB that it shares with no other process."
        f" The load of the machine was {figures.load:.1f} before."
    )
