"""The connections of one process to a cluster of etcd."""

from __future__ import annotations

import contextlib
import os
import ssl
import threading
from typing import TYPE_CHECKING

import h11

from paddle_flags.fleet._etcd_wire import Connection
from paddle_flags.fleet._store import FleetError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paddle_flags.fleet._etcd_wire import Node

_IDLE = 4  # connections to a node that are kept for later requests


class NotNowError(Exception):
    """A node can't answer now; another one may."""

    def __init__(self, reason: str, *, is_doubtful: bool) -> None:
        """Say why, and whether the request may have happened all the same."""
        super().__init__(reason)
        self.is_doubtful = is_doubtful


@contextlib.contextmanager
def trouble(*, is_doubtful: bool) -> Iterator[None]:
    """Turn the errors of a connection into one."""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        raise NotNowError(f"certificate: {error.verify_message}", is_doubtful=False) from error
    except ssl.SSLError as error:
        reason = getattr(error, "reason", None) or str(error.args[-1])
        is_refusal = "ALERT" in reason  # of the client, before any request
        told = f"TLS: {reason.replace('_', ' ').lower()}"
        raise NotNowError(told, is_doubtful=is_doubtful and not is_refusal) from error
    except (OSError, h11.ProtocolError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise NotNowError(reason, is_doubtful=is_doubtful) from error


class Pool:
    """All connections of a store. Any thread may use it, and a forked child begins anew."""

    def __init__(self, url: str, tls: ssl.SSLContext | None) -> None:
        """Connect when something is asked."""
        self._url = url
        self._tls = tls
        self._open: set[Connection] = set()
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self.closed = threading.Event()
        self._idle: dict[Node, list[Connection]] = {}
        self._open = set()

    def check(self) -> bool:
        """Refuse to work after `close`. Return True at the first call in a forked child."""
        is_child = self._pid != os.getpid()
        if is_child:
            inherited, was_closed = self._open, self.closed.is_set()
            self._begin()
            for each in inherited:
                each.close()  # of this process alone: the parent goes on
            if was_closed:
                self.closed.set()
        if self.closed.is_set():
            raise FleetError(f"{self._url}: the store is closed")
        return is_child

    def take(self, node: Node, end: float) -> Connection:
        """Return a connection for one request."""
        while True:
            with self._lock:
                idle = self._idle.get(node)
                connection = idle.pop() if idle else None
            if connection is None:
                return self.connect(node, end)
            if connection.is_reusable:
                return connection
            self.drop(connection)

    def connect(self, node: Node, end: float) -> Connection:
        """Return a new connection."""
        with trouble(is_doubtful=False):
            connection = Connection(node, self._tls, end)
        with self._lock:
            self._open.add(connection)
            is_late = self.closed.is_set()
        if is_late:
            self.drop(connection)
            self.check()
        return connection

    def give_back(self, connection: Connection) -> None:
        """Keep a connection for later requests, if it can be used again."""
        if connection.is_reusable and not self.closed.is_set():
            with self._lock:
                idle = self._idle.setdefault(connection.node, [])
                if len(idle) < _IDLE:
                    idle.append(connection)
                    return
        self.drop(connection)

    def drop(self, connection: Connection) -> None:
        """Close a connection."""
        with self._lock:
            self._open.discard(connection)
        connection.close()

    def close(self) -> None:
        """End all connections, and what waits for them."""
        self.closed.set()
        with self._lock:
            for each in self._open:
                each.shutdown()
            for each in [one for idle in self._idle.values() for one in idle]:
                self._open.discard(each)
                each.close()
            self._idle.clear()
