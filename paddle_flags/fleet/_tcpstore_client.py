"""A client of torch.distributed.TCPStore that never waits for ever.

The calls of torch that need an answer have no time limit: if the process with the store hangs, or
a network drops all packets, they wait. So each runs in a thread that is given up when it is late.
"""

# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import socket
import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import torch
from torch.distributed import TCPStore

from paddle_flags.fleet._store import UnreachableError
from paddle_flags.fleet._threads import Line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paddle_flags.fleet._store import Store

# Connecting for the first time may take longer than a call: torch looks up the name of the address,
# and a name server that does not answer costs 5 seconds or more.
_CONNECT = 60.0  # seconds
_AT_ONCE = 64  # keys of one call
_LEAVE = 1.0  # seconds that a store waits for its threads when it is closed

# Connections of the parent, which a forked child must not shut down.
_inherited: list[object] = []


class _Line(Line):
    """A connection, and the thread that uses it."""

    store: TCPStore | None = None

    def end(self) -> None:
        self.call(setattr, self, "store", None)
        super().end()


def version() -> tuple[int, ...]:
    """Return the version of torch, without its last parts."""
    return tuple(map(int, torch.__version__.split(".")[:2]))


class Client:
    """The calls of a TCPStore. It connects anew after an error, and in a forked child."""

    def __init__(self, store: Store, host: str, port: int, timeout: float) -> None:
        self._owner = store
        self._host, self._port = host, port
        self._timeout = timeout
        self._patience = max(timeout, _CONNECT)  # of the first call that succeeds
        self._line: _Line | None = None
        self._lines: list[_Line] = []  # that one, and those that still end
        self._lock = threading.Lock()
        self.breaks = 0  # connections that were lost; another store may have answered since

    def forked(self) -> None:
        """Leave the connection to the parent, of which another thread may have the lock."""
        self._lock = threading.Lock()
        _inherited.append(self._line)
        self._line, self._lines = None, []

    def get(self, keys: Sequence[str]) -> list[bytes]:
        """Return the values of keys that exist: torch waits for others."""
        pages = [keys[first : first + _AT_ONCE] for first in range(0, len(keys), _AT_ONCE)]
        return [value for page in pages for value in self._call(TCPStore.multi_get, page)]

    def has(self, *keys: str) -> bool:
        """Return whether all of the keys exist."""
        return bool(self._call(TCPStore.check, keys))

    def set(self, key: str, value: bytes) -> None:
        """Store a value; return when the store has it."""
        self._call(_set, key, value)

    def replace(self, key: str, old: bytes, new: bytes) -> bytes:
        """Store a value if the key has the value `old`; return the one that it has then.

        A key that isn't there has the value b"".
        """
        return bytes(self._call(TCPStore.compare_set, key, old, new))

    def add(self, key: str, count: int) -> int:
        """Add to a counter, which begins with 0, and return it."""
        return int(self._call(TCPStore.add, key, count))

    def close(self) -> None:
        """Disconnect, now that the store is closed."""
        with self._lock:
            if self._line:
                self._line.end()
            lines = self._lines
        # A thread that comes back from torch while Python ends would abort the process.
        end = time.monotonic() + _LEAVE
        for line in lines:
            line.thread.join(max(0.0, end - time.monotonic()))

    def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        with self._lock:
            self._owner.check_open()
            if self._line is None:
                self._line = _Line("paddle_flags tcpstore")
                alive = [each for each in self._lines if each.thread.is_alive()]
                self._lines = [*alive, self._line]
            line = self._line
        future = line.call(lambda: function(self._connected(line), *args))
        try:
            result = future.result(self._patience)
        except (RuntimeError, OSError) as error:
            future.cancel()
            if line.store is not None:  # what is late is the store, not the connection
                line.end()
                with self._lock:
                    if line is self._line:
                        self._line = None
                        self.breaks += 1
            what = str(error).partition("\n")[0] or f"no answer in {self._patience:g} seconds"
            message = f"the TCPStore cannot be reached: {what}"
            raise self._owner.error(message, UnreachableError) from error
        self._patience = self._timeout
        return result

    def _connected(self, line: _Line) -> TCPStore:
        if line.store is None:
            # torch prints what it cannot reach, and tries again for all of its time.
            socket.create_connection((self._host, self._port), self._timeout).close()
            limit = timedelta(seconds=_CONNECT)
            line.store = TCPStore(self._host, self._port, is_master=False, timeout=limit)
        return line.store


def _set(store: TCPStore, key: str, value: bytes) -> None:
    store.set(key, value)
    store.check([key])  # set itself waits for no answer
