"""Sockets whose reads share a deadline, and end when their store is closed.

A timeout of Python is for each read: it begins anew with each byte of a peer that trickles.
"""

from __future__ import annotations

import contextlib
import math
import socket
import sys
import threading
import time
from typing import Any

_LOOK = 0.25  # seconds until a read looks whether the store is closed


class DeadlineSocket(socket.socket):
    """Such a socket. All its operations raise TimeoutError behind the end."""

    end = math.inf  # on the monotonic clock
    closed = threading.Event()  # of the store

    def recv_into(self, buffer: Any, nbytes: Any = 0, flags: int = 0) -> int:
        """Read something."""
        while True:
            self._limit(_LOOK)
            with contextlib.suppress(TimeoutError):
                return super().recv_into(buffer, nbytes or memoryview(buffer).nbytes, flags)

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Write everything; Python counts down."""
        self._limit(threading.TIMEOUT_MAX)
        super().sendall(data, flags)

    def _limit(self, longest: float) -> None:
        if self.closed.is_set():
            message = "the store is closed"
            raise TimeoutError(message)
        self.settimeout(min(longest, seconds_until(self.end)))


def may_be_kept() -> bool:
    """Return whether any thread may use a socket later: one of gevent belongs to its thread."""
    monkey: Any = sys.modules.get("gevent.monkey")
    return monkey is None or not monkey.is_module_patched("socket")


def seconds_until(end: float) -> float:
    """Return how long it is until the monotonic clock shows `end`. Raises TimeoutError then."""
    left = end - time.monotonic()
    if left <= 0:
        message = "no answer in time"
        raise TimeoutError(message)
    return left
