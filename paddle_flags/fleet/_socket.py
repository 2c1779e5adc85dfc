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
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import msgpack

from paddle_flags.fleet._deadline import DeadlineSocket, seconds_until
from paddle_flags.fleet._memory import Server
from paddle_flags.fleet._store import MAX_RECORD
from paddle_flags.fleet._threads import Line

if TYPE_CHECKING:
    from io import BufferedReader
    from threading import Event

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
        with contextlib.suppress(OSError, EOFError, ValueError):
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


def connect(place: tuple[str, int], token: bytes, end: float, closed: Event) -> DeadlineSocket:
    """Connect to a server, until a time, for a store whose closing ends it."""
    made = DeadlineSocket(fileno=socket.create_connection(place, seconds_until(end)).detach())
    made.end, made.closed = end, closed
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    made.sendall(_pack([token]))
    return made


def exchange(connection: DeadlineSocket, call: list[Any], end: float) -> Any:
    """Return the reply to a call."""
    connection.end = end
    connection.sendall(_pack(call))
    with connection.makefile("rb") as file:
        (length,) = _LENGTH.unpack(_read(file, _LENGTH.size))
        return msgpack.unpackb(_read(file, length))


def _read(file: BufferedReader, size: int) -> bytes:
    found = file.read(size)
    if len(found) < size:
        message = "the engine closed the connection"
        raise ConnectionResetError(message)
    return found
