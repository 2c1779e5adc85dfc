"""Members that are only clients of the store: hundreds in a few processes.

Each does with the store what a member does: it announces a document, waits for records, reads them,
answers with a new document, and renews its lease.

    python -m bench.fleet.simulate URL FIRST COUNT    runs some of them, until its input ends
"""

from __future__ import annotations

import json
import os
import select
import statistics
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

from bench.fleet.engines import Running, cpu_seconds
from bench.places import ROOT
from paddle_flags.fleet import FleetError, open_store

if TYPE_CHECKING:
    from collections.abc import Callable

TTL = 10.0  # seconds, as of fleet.join
DOCUMENT = 3000  # bytes, as of a member with a hundred flags
RECORD = b'{"kind": "change", "changes": [["check_nan_inf", "true", "role:trainer"]]}' + b" " * 200
PROCESSES = 5
IDLE = 12.0  # seconds
MANY = 10_000


class Counts(NamedTuple):
    """What was measured, with N clients."""

    clients: int
    joined: float  # seconds
    read: list[float]  # ms after a record was acknowledged until all clients had read it
    answered: list[float]  # ms until all had written that they have
    listed: list[float]  # ms to read all documents
    idle_cpu: float  # % of one core that the engine takes while nothing changes
    change_cpu: float  # seconds of a core that the engine takes for one change and its answers
    idle_clients_cpu: float  # % of one core, each
    load: float


# -- the processes with clients ---------------------------------------------------------------


def be_member(url: str, name: str) -> None:
    """Do what a member does."""
    store = open_store(url, timeout=30)
    document = os.urandom(DOCUMENT // 2).hex().encode()
    revision = store.last()
    store.announce(name, document, TTL)
    _say(name, "joined", revision)
    beat = time.monotonic()
    while True:
        try:
            last = store.wait(revision, max(0.0, beat + TTL / 3 - time.monotonic()))
            if last > revision:
                revision += len(store.read(revision + 1))
                _say(name, "read", revision)
                store.announce(name, b"%d %s" % (revision, document), TTL)
                _say(name, "answered", revision)
                beat = time.monotonic()
            elif time.monotonic() >= beat + TTL / 3:
                store.keep_alive(name)
                beat = time.monotonic()
        except FleetError as error:
            _say(name, f"error: {error}", revision)
            time.sleep(1)


def _say(name: str, what: str, revision: int) -> None:
    line = json.dumps([name, what, revision, time.monotonic_ns()]) + "\n"
    os.write(1, line.encode())


def be_members(url: str, first: int, count: int) -> None:
    """Run some clients until the input ends."""
    for index in range(first, first + count):
        threading.Thread(target=be_member, args=(url, f"s{index:05}"), daemon=True).start()
        time.sleep(0.01)
    sys.stdin.read()
    os._exit(0)  # threads wait in the store


# -- the process that measures ----------------------------------------------------------------


class Clients:
    """The processes, and what their clients have said."""

    def __init__(self, urls: list[str], count: int) -> None:
        self.count = count
        self._read, write = os.pipe()
        self._rest = b""
        self._seen: dict[tuple[str, int], dict[str, int]] = {}
        self.errors: list[str] = []
        share = -(-count // PROCESSES)
        self.processes = [
            subprocess.Popen(
                [
                    *(sys.executable, "-m", "bench.fleet.simulate"),
                    *(urls[index % len(urls)], str(first), str(min(share, count - first))),
                ],
                stdin=subprocess.PIPE,
                stdout=write,
                cwd=ROOT,
            )
            for index, first in enumerate(range(0, count, share))
        ]
        os.close(write)

    def close(self) -> None:
        """End the processes."""
        for process in self.processes:
            process.kill()
            process.communicate()
        os.close(self._read)

    def until_all(self, what: str, revision: int, timeout: float = 120) -> list[int]:
        """Return when each client had said something, when all have."""
        end = time.monotonic() + timeout
        while len(self._times(what, revision)) < self.count:
            if time.monotonic() > end:
                missing = self.count - len(self._times(what, revision))
                raise SystemExit(
                    f"{missing} clients have not {what} {revision}: {self.errors[-3:]}"
                )
            self._take()
        return list(self._times(what, revision).values())

    def _times(self, what: str, revision: int) -> dict[str, int]:
        return self._seen.get((what, revision), {})

    def _take(self) -> None:
        if not select.select([self._read], [], [], 0.5)[0]:
            return
        *lines, self._rest = (self._rest + os.read(self._read, 1 << 20)).split(b"\n")
        for line in lines:
            name, what, revision, at = json.loads(line)
            if what.startswith("error"):
                self.errors.append(f"{name}: {what}")
            self._seen.setdefault((what, revision), {})[name] = at


def measure(running: Running, count: int, changes: int, tell: Callable[[str], None]) -> Counts:
    """Let clients follow a log, write to it, and see when all have read and answered."""
    load = os.getloadavg()[0]
    store = open_store(running.urls[0], timeout=60)
    start = time.monotonic()
    clients = Clients(running.urls, count)
    try:
        clients.until_all("joined", 0, 300)
        joined = time.monotonic() - start
        tell(f"{count} clients joined in {joined:.1f} s")
        pids = [process.pid for process in clients.processes]
        time.sleep(TTL / 3)
        before = cpu_seconds(running.processes), cpu_seconds(pids)
        time.sleep(IDLE)
        idle = cpu_seconds(running.processes) - before[0], cpu_seconds(pids) - before[1]
        read, answered, listed = [], [], []
        used = cpu_seconds(running.processes)
        for number in range(1, changes + 1):
            store.append(number, RECORD)
            created = time.monotonic_ns()
            read.append((max(clients.until_all("read", number)) - created) / 1e6)
            answered.append((max(clients.until_all("answered", number)) - created) / 1e6)
        used = cpu_seconds(running.processes) - used
        for _ in range(5):
            begin = time.monotonic()
            found = len(store.members())
            listed.append((time.monotonic() - begin) * 1000)
            if found != count:
                raise SystemExit(f"{count} members were there, and {found} are")
        for error in clients.errors[:3]:
            tell(error)
    finally:
        clients.close()
    return Counts(
        count,
        joined,
        read,
        answered,
        listed,
        idle[0] / IDLE * 100,
        used / changes,
        idle[1] / IDLE * 100 / count,
        load,
    )


def text(all_counts: list[Counts]) -> str:
    """Return the figures; with two counts of clients, also what they say of 10,000."""
    heads = "".join(f" {counts.clients} clients |" for counts in all_counts)

    def row(name: str, *cells: str) -> str:
        return f"| {name} |" + "".join(f" {cell} |" for cell in cells)

    def times(name: str, kind: str) -> str:
        found = [getattr(counts, kind) for counts in all_counts]
        return row(name, *(f"{statistics.median(v):,.0f} ms, at most {max(v):,.0f}" for v in found))

    lines = [
        f"| {len(all_counts[0].read)} changes |{heads}",
        "|---|" + "---|" * len(all_counts),
        row("all have joined after", *(f"{counts.joined:.1f} s" for counts in all_counts)),
        times("from the acknowledged record until all have read it", "read"),
        times("until all have answered", "answered"),
        times("reading the documents of all", "listed"),
        row("engine, while nothing changes", *(f"{c.idle_cpu:.0f}% of a core" for c in all_counts)),
        row("engine, for a change", *(f"{c.change_cpu:.2f} s of a core" for c in all_counts)),
        row("load of the machine before", *(f"{counts.load:.0f}" for counts in all_counts)),
    ]
    if len(all_counts) > 1:
        lines += ["", projection(all_counts[0], all_counts[-1])]
    return "\n".join(lines)


def projection(few: Counts, many: Counts) -> str:
    """Return what two measurements say of 10,000 members, on a straight line."""

    def at(first: float, second: float) -> float:
        slope = (second - first) / (many.clients - few.clients)
        return second + slope * (MANY - many.clients)

    listed = at(statistics.median(few.listed), statistics.median(many.listed)) / 1000
    idle = at(few.idle_cpu, many.idle_cpu) / 100
    change = at(few.change_cpu, many.change_cpu)
    return (
        f"Projected to {MANY:,} members, the engine alone: {MANY * 3 / TTL:,.0f} leases to renew"
        f" in a second, and {idle:.1f} cores while nothing changes; {change:.0f} s of a core for a"
        f" change that all answer, with {MANY * DOCUMENT / 1e6:,.0f} MB of documents;"
        f" {listed:.1f} s to read the documents of all."
    )


if __name__ == "__main__":
    be_members(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
