"""A client of torch.distributed.TCPStore that never waits for ever.

The calls of torch that need an answer have no time limit: if the process with the store hangs, or
a network drops all packets, they wait. So each runs in a thread that is given up when it is late.
"""

# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import os
import queue
import socket
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import torch
from torch.distributed import TCPStore

from paddle_flags.fleet._store import FleetError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    _Job = tuple["Future[Any]", Callable[..., Any], tuple[Any, ...]]

# Connecting for the first time may take longer than a call: torch looks up the name of the address,
# and a name server that does not answer costs 5 seconds or more.
_CONNECT = 60.0  # seconds
_LEAVE = 1.0  # seconds that a store waits for its threads when it is closed

# Connections of the parent, which a forked child must not shut down.
_inherited: list[_Line] = []


class _Line:
    """A connection, and the thread that uses it."""

    def __init__(self, connect: Callable[[], TCPStore]) -> None:
        self._connect = connect
        self._store: TCPStore | None = None
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._run, name="paddle_flags tcpstore", daemon=True)
        self.thread.start()

    @property
    def connected(self) -> bool:
        """Whether a call that is late waits for the store, and not for the connection."""
        return self._store is not None

    def call(self, function: Callable[..., Any], *args: Any) -> Future[Any]:
        """Let the thread call function(store, *args)."""
        future: Future[Any] = Future()
        self._jobs.put((future, function, args))
        return future

    def end(self) -> None:
        """Let the thread disconnect after what it is doing now."""
        self._jobs.put(None)

    def _run(self) -> None:
        while job := self._jobs.get():
            future, function, args = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                self._store = self._store or self._connect()
                future.set_result(function(self._store, *args))
            except BaseException as error:  # noqa: BLE001 - the caller gets it
                future.set_exception(error)
        self._store = None


def version() -> tuple[int, ...]:
    """Return the version of torch, without its last parts."""
    return tuple(map(int, torch.__version__.split(".")[:2]))


class Client:
    """The calls of a TCPStore. It connects anew after an error, and in a forked child."""

    def __init__(self, url: str, host: str, port: int, timeout: float) -> None:
        """Remember where the store is. The first call connects."""
        self._url = url
        self._host, self._port = host, port
        self._timeout = timeout
        self._patience = max(timeout, _CONNECT)  # of the first call that succeeds
        self._lock = threading.Lock()
        self._line: _Line | None = None
        self._ending: list[_Line] = []
        self._pid = os.getpid()
        self.closed = False
        self.breaks = 0  # connections that were lost; another store may have answered since

    def get(self, keys: Sequence[str]) -> list[bytes]:
        """Return the values of keys that exist: torch waits for others."""
        return list(self._call(TCPStore.multi_get, keys)) if keys else []

    def has(self, *keys: str) -> bool:
        """Return whether all of the keys exist."""
        return bool(self._call(TCPStore.check, keys))

    def set(self, key: str, value: bytes) -> None:
        """Store a value; return when the store has it."""
        self._call(_set, key, value)

    def create(self, key: str, value: bytes) -> bytes:
        """Store a value, which is not empty, unless there is one; return the one that holds."""
        return bytes(self._call(TCPStore.compare_set, key, "", value))

    def replace(self, key: str, old: bytes, new: bytes) -> bytes:
        """Store a value if the key has the value `old`; return the one that it has then."""
        return bytes(self._call(TCPStore.compare_set, key, old, new))

    def add(self, key: str, count: int) -> int:
        """Add to a counter, which begins with 0, and return it."""
        return int(self._call(TCPStore.add, key, count))

    def close(self) -> None:
        """Disconnect."""
        with self._lock:
            self.closed = True
            self._hang_up(self._line)
            ending = self._ending
        # A thread that comes back from torch while Python ends would abort the process.
        end = time.monotonic() + _LEAVE
        for line in ending:
            line.thread.join(max(0.0, end - time.monotonic()))

    def _call(self, function: Callable[..., Any], *args: Any) -> Any:
        line = self._current()
        future = line.call(function, *args)
        timeout = self._patience
        try:
            result = future.result(timeout)
        except (FutureTimeoutError, RuntimeError, OSError) as error:
            future.cancel()
            if line.connected:
                with self._lock:
                    self.breaks += line is self._line
                    self._hang_up(line)
            what = str(error).partition("\n")[0] or f"no answer in {timeout:g} seconds"
            raise UnreachableError(
                f"{self._url}: the TCPStore cannot be reached: {what}"
            ) from error
        self._patience = self._timeout
        return result

    def _current(self) -> _Line:
        if self._pid != os.getpid():  # a forked child, in which another thread had the lock
            self._lock = threading.Lock()
            self._pid = os.getpid()
            if self._line:
                _inherited.append(self._line)
                self._ending = []
                self._line = None
        with self._lock:
            if self.closed:
                raise FleetError(f"{self._url}: the store is closed")
            self._line = self._line or _Line(self._connect)
            return self._line

    def _hang_up(self, line: _Line | None) -> None:
        if line:
            line.end()
            alive = [each for each in self._ending if each.thread.is_alive()]
            self._ending = [*alive, line]
        if line is self._line:
            self._line = None

    def _connect(self) -> TCPStore:
        # torch prints what it cannot reach, and tries again for all of its time.
        socket.create_connection((self._host, self._port), self._timeout).close()
        limit = timedelta(seconds=_CONNECT)
        return TCPStore(self._host, self._port, is_master=False, timeout=limit)


def _set(store: TCPStore, key: str, value: bytes) -> None:
    store.set(key, value)
    store.check([key])  # set itself waits for no answer
