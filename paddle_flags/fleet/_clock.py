"""The clocks and threads of this machine."""

from __future__ import annotations

import random
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from paddle_flags.fleet import _threads

if TYPE_CHECKING:
    from collections.abc import Callable


def _choose_clock() -> Callable[[], float]:
    """Return the clock that goes on while the machine is suspended, as the one of Windows does."""
    for name in ("CLOCK_BOOTTIME", "CLOCK_MONOTONIC"):
        if hasattr(time, name):
            return partial(time.clock_gettime, getattr(time, name))
    return time.monotonic


_read_clock = _choose_clock()


class Clock:
    """What the rules of a fleet know of time and of others. Tests have another one."""

    def monotonic(self) -> float:
        """Return seconds that nobody sets, and that go on while the machine is suspended."""
        return _read_clock()

    def wall_time(self) -> float:
        """Return the seconds since 1970, as this machine believes."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def random_delay(self, seconds: float) -> float:
        """Return a random time up to `seconds`, so that not all members do the same at once."""
        return random.uniform(0, seconds)  # noqa: S311

    def make_lock(self) -> Any:
        return _threads.allocate_reentrant_lock()

    def spawn(self, function: Callable[[], object], name: str) -> None:
        _threads.start_thread(function, name)


SYSTEM = Clock()
