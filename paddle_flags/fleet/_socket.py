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

from paddle_flags.fleet._deadline import DeadlineSocket, may_be_kept, seconds_until
from paddle_flags.fleet._memory import Server
from paddle_flags.fleet._remote import RemoteStore
from paddle_flags.fleet._store import MAX_RECORD, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable

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
        self._idle: list[DeadlineSocket] = []
        self._pid = os.getpid()

    def _reply(self, method: str, args: tuple[Any, ...], timeout: float) -> tuple[str, Any]:
        end = time.monotonic() + timeout
        connection = None
        try:
            connection = self._kept() or self._connect(end)
            connection.end = end
            connection.sendall(_pack([self._job, method, args]))
            kind, result = _read(connection)
        except BaseException as error:
            if connection is not None:
                connection.close()
            self._drop_idle()
            if not isinstance(error, OSError):
                raise
            if self._closed.is_set():
                raise self._is_closed() from error
            what = f"{self.url}: the engine cannot be reached: {error}"
            raise UnreachableError(what) from error
        if may_be_kept():
            self._idle.append(connection)
        else:
            connection.close()
        if self._closed.is_set():
            self._drop_idle()  # again: `close` came in between
        return kind, result

    def _kept(self) -> DeadlineSocket | None:
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._drop_idle()  # which the parent doesn't notice
        with contextlib.suppress(IndexError):
            return self._idle.pop()
        return None

    def _connect(self, end: float) -> DeadlineSocket:
        """Connect to the server, wherever it is."""
        raise NotImplementedError

    def _connect_to(self, host: str, port: int, token: bytes, end: float) -> DeadlineSocket:
        plain = socket.create_connection((host, port), seconds_until(end))
        made = DeadlineSocket(fileno=plain.detach())
        made.end, made.closed = end, self._closed
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.sendall(_pack([token]))
        return made

    def close(self) -> None:
        """See Store."""
        super().close()
        self._drop_idle()

    def _drop_idle(self) -> None:
        with contextlib.suppress(IndexError):
            while True:
                self._idle.pop().close()


def _read(connection: DeadlineSocket) -> Any:
    (length,) = _LENGTH.unpack(_read_bytes(connection, _LENGTH.size))
    return msgpack.unpackb(_read_bytes(connection, length))


def _read_bytes(connection: DeadlineSocket, count: int) -> bytearray:
    found = bytearray(count)
    left = memoryview(found)
    while left:
        size = connection.recv_into(left)
        if not size:
            message = "the engine closed the connection"
            raise ConnectionResetError(message)
        left = left[size:]
    return found
