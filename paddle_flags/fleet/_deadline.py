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
from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paddle_flags.fleet._store import Store

_LOOK = 0.25  # seconds until a read looks whether the store is closed


class DeadlineSocket(socket.socket):
    """Such a socket. All its operations raise TimeoutError behind the end."""

    end = math.inf  # on the monotonic clock
    closed = threading.Event()  # of the store

    def recv_into(self, buffer: Any, nbytes: Any = 0, flags: int = 0) -> int:
        while True:
            self._limit(_LOOK)
            with contextlib.suppress(TimeoutError):
                return super().recv_into(buffer, nbytes or memoryview(buffer).nbytes, flags)

    def sendall(self, data: Any, flags: int = 0) -> None:
        self._limit(threading.TIMEOUT_MAX)  # Python counts down
        super().sendall(data, flags)

    def _limit(self, longest: float) -> None:
        if self.closed.is_set():
            message = "the store is closed"
            raise TimeoutError(message)
        self.settimeout(min(longest, seconds_until(self.end)))


class Idle:
    """Connections of a store that any thread may use again, by what they lead to."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._by_place: dict[object, list[Any]] = defaultdict(list)

    def take(self, place: object = None) -> Any:
        """Return one that nobody else has, or None."""
        with contextlib.suppress(IndexError):
            return self._by_place[place].pop()
        return None

    def keep(self, connection: Any, place: object = None) -> None:
        """Keep one for the next use; that of gevent belongs to its thread, and is closed."""
        monkey: Any = sys.modules.get("gevent.monkey")
        if monkey is None or not monkey.is_module_patched("socket"):
            self._by_place[place].append(connection)
            if self._store.closed.is_set():
                self.close()  # again: that of the store came in between
        else:
            connection.close()

    def close(self) -> None:
        """Close all; a parent doesn't notice that its child does."""
        for place in list(self._by_place):
            while connection := self.take(place):
                connection.close()


def seconds_until(end: float) -> float:
    """Return how long it is until the monotonic clock shows `end`. Raises TimeoutError then."""
    left = end - time.monotonic()
    if left <= 0:
        message = "no answer in time"
        raise TimeoutError(message)
    return left
