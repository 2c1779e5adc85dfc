"""An operator that changes the pair all the time, and what became of each change."""

from __future__ import annotations

import itertools
import threading
import time
from typing import NamedTuple, Self

from crews import Crew

import paddle_flags as pf


class Change(NamedTuple):
    """One change that was tried."""

    value: int
    asked: float
    ended: float
    acknowledged: bool


class Writer:
    """A thread that sets both flags of the pair to 1, 2, 3, ..., until it is stopped."""

    def __init__(self, fleet: pf.fleet.Fleet, pause: float = 0.05) -> None:
        self.changes: list[Change] = []
        self.errors: list[str] = []
        self._fleet, self._pause = fleet, pause
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._pause):
            value, asked = len(self.changes) + 1, time.monotonic()
            try:
                self._fleet.set({"pair_a": value, "pair_b": value})
            except pf.fleet.FleetError as error:
                self.errors.append(str(error))
                acknowledged = False
            else:
                acknowledged = True
            self.changes.append(Change(value, asked, time.monotonic(), acknowledged))

    @property
    def acknowledged(self) -> list[int]:
        return [change.value for change in self.changes if change.acknowledged]

    def wait_acknowledged(self, count: int = 1, timeout: float = 60) -> None:
        """Wait until so many changes more have been acknowledged."""
        wanted, end = len(self.acknowledged) + count, time.monotonic() + timeout
        while len(self.acknowledged) < wanted:
            assert time.monotonic() < end, self.errors[-3:]
            time.sleep(0.02)

    def longest_pause(self) -> float:
        """Return the longest time in which no change was acknowledged."""
        ends = [change.ended for change in self.changes if change.acknowledged]
        return max(after - before for before, after in itertools.pairwise(ends))


def check_changes(fleet: pf.fleet.Fleet, writer: Writer, crew: Crew, names: list[str]) -> float:
    """Check that nothing that was acknowledged is lost, and that all members have all of it.

    Returns the seconds from the last acknowledged change until all members have it.
    """
    written = [
        int(change.value or 0)
        for step in fleet.log()
        if step.verdict == "committed"
        for change in step.record.changes
        if change.name == "pair_a"
    ]
    assert written == sorted(set(written)), "a change was written twice, or too late"
    lost = set(writer.acknowledged) - set(written)
    assert not lost, f"acknowledged changes are lost: {sorted(lost)}"
    tried = {change.value for change in writer.changes}
    assert set(written) <= tried, "a change is there that nobody made"
    taken = crew.wait_applied(written[-1], names)
    assert not crew.halves()
    for name in names:
        seen = [e["b"] for e in crew.events if e["m"] == name and e.keys() == {"m", "t", "a", "b"}]
        assert seen == sorted(seen), f"{name} went back: {seen}"
        assert crew.look(name)["b"] == written[-1]
    last = next(change for change in writer.changes if change.value == written[-1])
    return max(0.0, max(taken.values()) / 1e9 - last.ended)
