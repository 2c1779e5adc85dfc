"""The clocks of this machine."""

from __future__ import annotations

import random
import time
from typing import Any

from paddle_flags.fleet._threads import allocate_reentrant_lock


class Clock:
    """What the rules of a fleet know of time. Tests have another one."""

    def now(self) -> float:
        """Return seconds that nobody sets, and that go on while the machine is suspended."""
        return time.clock_gettime(_BOOTTIME)

    def date(self) -> float:
        """Return the seconds since 1970, as this machine believes."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Let some seconds pass."""
        time.sleep(seconds)

    def spread(self, seconds: float) -> float:
        """Return a random time up to `seconds`, so that not all members do the same at once."""
        return random.uniform(0, seconds)  # noqa: S311

    def lock(self) -> Any:
        """Return a lock that a thread may take again which has it."""
        return allocate_reentrant_lock()


_BOOTTIME = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

SYSTEM = Clock()
