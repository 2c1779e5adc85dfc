"""Serve fleets of `_memory.py` on a TCP port, to those who know a token.

A message is its length in 8 bytes and a MessagePack of a list. The first message of a connection is
the token, each other one a call, and the reply to it. A connection does one call at a time.
"""

# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import asyncio
import contextlib
import hmac
import socket
import struct
import time
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import msgpack

from paddle_flags.fleet._deadline import DeadlineSocket, Idle, seconds_until
from paddle_flags.fleet._memory import RemoteStore, Server
from paddle_flags.fleet._store import MAX_RECORD
from paddle_flags.fleet._threads import Line

if TYPE_CHECKING:
    from collections.abc import Sequence
    from io import BufferedReader

    from paddle_flags.fleet._url import Url

_LENGTH = struct.Struct(">Q")
_LONGEST = 2 * MAX_RECORD  # bytes of a call; a reply may be longer
_GREETING = 5.0  # seconds within which a new connection must show the token


def serve(host: str, token: bytes) -> int:
    """Serve fleets from a thread, until the process ends. Return the port."""
    port: Future[int] = Future()
    Line("paddle_flags fleet").call(lambda: asyncio.run(_serve(host, token, port)))
    return port.result()


async def _serve(host: str, token: bytes, port: Future[int]) -> None:
    fleets = Server()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, EOFError, ValueError, asyncio.TimeoutError):
            shown = await asyncio.wait_for(_receive(reader), _GREETING)
            while hmac.compare_digest(shown[0], token):
                writer.write(_pack(await fleets.call(*await _receive(reader))))
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, host, 0)
    port.set_result(server.sockets[0].getsockname()[1])
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

    def __init__(self, url: Url, timeout: float) -> None:
        super().__init__(url, timeout)
        self._idle = Idle[DeadlineSocket]()

    def _forked(self) -> None:
        self._idle.close()

    _disconnect = _forked

    def _reply(self, method: str, args: Sequence[Any], timeout: float) -> tuple[str, Any]:
        end = time.monotonic() + timeout
        connection = self._idle.take() or self._connect(end)
        try:
            connection.end = end
            connection.sendall(_pack([self._job, method, args]))
            with connection.makefile("rb") as file:
                (length,) = _LENGTH.unpack(_read(file, _LENGTH.size))
                kind, result = msgpack.unpackb(_read(file, length))
        except BaseException:
            connection.close()
            self._idle.close()
            raise
        self._idle.keep(connection)
        if self.closed.is_set():
            self._idle.close()  # again: `close` came in between
        return kind, result

    def _connect(self, end: float) -> DeadlineSocket:
        """Connect to the server, wherever it is."""
        raise NotImplementedError

    def _connect_to(self, host: str, port: int, token: bytes, end: float) -> DeadlineSocket:
        plain = socket.create_connection((host, port), seconds_until(end))
        made = DeadlineSocket(fileno=plain.detach())
        made.end, made.closed = end, self.closed
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.sendall(_pack([token]))
        return made


def _read(file: BufferedReader, size: int) -> bytes:
    found = file.read(size)
    if len(found) < size:
        message = "the engine closed the connection"
        raise ConnectionResetError(message)
    return found
