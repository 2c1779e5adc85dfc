"""Whether the leases of members run, judged by the times of their files.

Members may be on other machines, whose clocks differ, and any clock may jump. So the time of a file
is compared only with the time that the file system gives to a new file. From then on the reader
counts on its own monotonic clock.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

_JUMP = 1.0  # seconds by which the clock of a file system may drift between two looks
_REMOVE_AFTER = 60.0  # seconds after its end that a member's file is kept


@dataclass
class _Lease:
    stamp: tuple[int, int]
    seen: float  # when this reader saw the stamp first
    until: float


class Leases:
    """What one reader has seen of the members' files."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Judge by the clock of a file system."""
        self._clock = clock
        self._leases: dict[str, _Lease] = {}
        self._offset: float | None = None

    def look(self) -> Look:
        """Begin a look at some or all members."""
        return Look(self)

    def forget(self, name: str) -> None:
        """Forget a member whose file is gone."""
        self._leases.pop(name, None)

    def runs(self, name: str, file: os.stat_result, ttl: float, look: Look) -> bool:
        """Return whether the lease of a member runs."""
        stamp = (file.st_mtime_ns, file.st_ino)
        now = time.monotonic()
        lease = self._leases.get(name)
        if lease is None or lease.stamp != stamp:
            age = look.age(file.st_mtime)
            lease = _Lease(stamp, now, now + ttl - age)
            self._leases[name] = lease
        return now < lease.until

    def is_litter(self, name: str, ttl: float) -> bool:
        """Return whether this reader has seen that a member has long ended."""
        lease = self._leases.get(name)
        return lease is not None and time.monotonic() > lease.seen + 2 * ttl + _REMOVE_AFTER

    def measure(self) -> tuple[float, bool]:
        """Return the time of the file system, and whether its clock has jumped."""
        now = self._clock()
        before, self._offset = self._offset, now - time.monotonic()
        return now, before is not None and abs(before - self._offset) > _JUMP


class Look:
    """One look at members; asks for the time of the file system at most once."""

    def __init__(self, leases: Leases) -> None:
        """Ask later."""
        self._leases = leases
        self._measured: tuple[float, bool] | None = None

    def age(self, stamped: float) -> float:
        """Return the age of a file; 0 if the clock has jumped, so that no lease ends by it."""
        if self._measured is None:
            self._measured = self._leases.measure()
        now, jumped = self._measured
        return 0.0 if jumped else max(0.0, now - stamped)
