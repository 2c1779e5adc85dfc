"""Serve fleets of `_memory.py` on a TCP port, to those who know a token.

A message is its length in 8 bytes and a MessagePack of a list. The first message of a connection is
the token, each other one a call, and the reply to it. A connection does one call at a time.
"""

# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import asyncio
import contextlib
import hmac
import os
import socket
import struct
import threading
import time
from typing import TYPE_CHECKING, Any

import msgpack

from paddle_flags.fleet._memory import Server
from paddle_flags.fleet._remote import RemoteStore
from paddle_flags.fleet._store import MAX_RECORD, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LENGTH = struct.Struct(">Q")
_LONGEST = 2 * MAX_RECORD  # bytes of a call; a reply may be longer
_GREETING = 5.0  # seconds within which a new connection must show the token


def serve(host: str, token: bytes) -> int:
    """Serve fleets from a thread, until the process ends. Return the port."""
    started: list[int] = []
    ready = threading.Event()

    def tell(port: int) -> None:
        started.append(port)
        ready.set()

    def run() -> None:
        asyncio.run(_serve(host, token, tell))

    threading.Thread(target=run, name="paddle_flags fleet", daemon=True).start()
    ready.wait()
    return started[0]


async def _serve(host: str, token: bytes, tell: Callable[[int], None]) -> None:
    fleets = Server()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, EOFError, ValueError, asyncio.TimeoutError):
            shown = await asyncio.wait_for(_receive(reader), _GREETING)
            while hmac.compare_digest(shown[0], token):
                writer.write(_pack(await fleets.call(*await _receive(reader))))
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, host, 0)
    tell(server.sockets[0].getsockname()[1])
    async with server:
        await server.serve_forever()


async def _receive(reader: asyncio.StreamReader) -> Any:
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    if length > _LONGEST:
        raise ValueError(length)
    return msgpack.unpackb(await reader.readexactly(length))


def _pack(message: object) -> bytes:
    data: bytes = msgpack.packb(message)
    return _LENGTH.pack(len(data)) + data


class SocketStore(RemoteStore):
    """A store that such a server has. Calls at once use a connection each."""

    def __init__(self, url: str, job: str, timeout: float) -> None:
        """Make a store that connects when it is used."""
        super().__init__(url, timeout)
        self._job = job
        self._lock = threading.Lock()
        self._idle: list[socket.socket] = []
        self._busy: set[socket.socket] = set()
        self._pid = os.getpid()

    def _reply(self, method: str, args: tuple[Any, ...], timeout: float) -> tuple[str, Any]:
        end = time.monotonic() + timeout
        try:
            with self._connection(end) as connection:
                connection.sendall(_pack([self._job, method, args]))
                kind, result = _read(connection, end)
        except OSError as error:
            self._drop_idle()
            if self._closed:
                raise self._is_closed() from error
            what = f"{self.url}: the engine cannot be reached: {error}"
            raise UnreachableError(what) from error
        return kind, result

    @contextlib.contextmanager
    def _connection(self, end: float) -> Iterator[socket.socket]:
        """Lend a connection, which is closed if it fails."""
        self._check_process()
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        connection = connection or self._connect(end)
        with self._lock:
            self._busy.add(connection)
        try:
            connection.settimeout(_left(end))
            yield connection
        except BaseException:
            with self._lock:
                self._busy.discard(connection)
            connection.close()
            raise
        with self._lock:
            self._busy.discard(connection)
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

    def _connect(self, end: float) -> socket.socket:
        """Connect to the server, wherever it is."""
        raise NotImplementedError

    def _connect_to(self, host: str, port: int, token: bytes, end: float) -> socket.socket:
        connection = socket.create_connection((host, port), _left(end))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(_pack([token]))
        return connection

    def _check_process(self) -> None:
        """Make anew in a forked child what it must not share with its parent."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._lock = threading.Lock()
            for connection in (*self._idle, *self._busy):
                connection.close()  # which its parent doesn't notice
            self._idle, self._busy = [], set()

    def close(self) -> None:
        """See Store."""
        super().close()
        self._check_process()
        with self._lock:
            for connection in self._busy:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)  # and its thread closes it
        self._drop_idle()

    def _drop_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


def _left(end: float) -> float:
    left = end - time.monotonic()
    if left <= 0:
        message = "timed out"
        raise TimeoutError(message)
    return left


def _read(connection: socket.socket, end: float) -> Any:
    (length,) = _LENGTH.unpack(_read_bytes(connection, _LENGTH.size, end))
    return msgpack.unpackb(_read_bytes(connection, length, end))


def _read_bytes(connection: socket.socket, count: int, end: float) -> bytearray:
    found = bytearray()
    while len(found) < count:
        connection.settimeout(_left(end))
        more = connection.recv(min(count - len(found), 1 << 20))
        if not more:
            message = "the engine closed the connection"
            raise ConnectionResetError(message)
        found += more
    return found
