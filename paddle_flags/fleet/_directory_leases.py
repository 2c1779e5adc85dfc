"""How old the files of members are, by the clock of their file system.

Members may be on other machines, whose clocks differ, and any clock may jump. So the time of a file
is compared only with the time that the file system gives to a new file. From then on the reader
counts on its own monotonic clock.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection

_JUMP = 1.0  # seconds by which the clock of a file system may drift between two looks


class Ages:
    """What one reader has seen of the members' files."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Judge by the clock of a file system."""
        self._clock = clock
        # By name: what changes with each renewal, and when that was, on the monotonic clock.
        self._renewals: dict[str, tuple[object, float]] = {}
        self._offset: float | None = None

    def look(self) -> Look:
        """Begin a look at some or all members."""
        return Look(self)

    def age(self, name: str, file: os.stat_result, look: Look) -> float:
        """Return how many seconds ago a member renewed its lease."""
        stamp, seen = _stamp(file), self._renewals.get(name)
        if seen is None or seen[0] != stamp:
            seen = self._renewals[name] = (stamp, time.monotonic() - look.age(file.st_mtime))
        return time.monotonic() - seen[1]

    def renewed(self, name: str, file: os.stat_result) -> None:
        """Note that this process has just renewed a lease."""
        self._renewals[name] = (_stamp(file), time.monotonic())

    def keep(self, names: Collection[str]) -> None:
        """Forget all other members."""
        self._renewals = {name: seen for name, seen in self._renewals.items() if name in names}

    def measure(self) -> tuple[float, bool]:
        """Return the time of the file system, and whether its clock has jumped."""
        now = self._clock()
        before, self._offset = self._offset, now - time.monotonic()
        return now, before is not None and abs(before - self._offset) > _JUMP


class Look:
    """One look at members; asks for the time of the file system at most once."""

    def __init__(self, ages: Ages) -> None:
        """Ask later."""
        self._ages = ages
        self._measured: tuple[float, bool] | None = None

    def age(self, stamped: float) -> float:
        """Return the age of a file; 0 if the clock has jumped, so that no lease ends by it."""
        if self._measured is None:
            self._measured = self._ages.measure()
        now, jumped = self._measured
        return 0.0 if jumped else max(0.0, now - stamped)


def _stamp(file: os.stat_result) -> object:
    return file.st_mtime_ns, file.st_ino
