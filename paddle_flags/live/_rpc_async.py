"""Connections to processes for programs with an event loop, such as the gateway."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from paddle_flags.live._errors import LiveError
from paddle_flags.live._find import connect
from paddle_flags.live._rpc import (
    LONGEST,
    LONGEST_REQUEST,
    encode,
    event_of,
    fail_too_long,
    lost,
    request,
    result_of,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self

    from paddle_flags.live._documents import Event
    from paddle_flags.live._rpc import Steps

_RETRY = 0.02  # seconds until the next attempt, if too many clients are connecting


class AsyncConnection:
    """A connection to a process, which ends with the block that it is used in."""

    def __init__(self, path: str, timeout: float) -> None:
        self._path = path
        self._deadline = asyncio.get_running_loop().time() + timeout
        self._count = 0

    async def __aenter__(self) -> Self:
        try:
            async with asyncio.timeout_at(self._deadline):
                await self._connect()
        except OSError as error:
            raise lost(self._path, error) from error
        return self

    async def _connect(self) -> None:
        while True:
            try:
                made = connect(self._path, 0)  # at once, or not at all
            except TimeoutError:
                await asyncio.sleep(_RETRY)
            else:
                break
        self._reader, self._writer = await asyncio.open_unix_connection(sock=made, limit=LONGEST)

    async def __aexit__(self, *_: object) -> None:
        self._writer.transport.abort()

    async def run(self, steps: Steps) -> Any:
        """Make requests one after the other; return what they give together."""
        try:
            method, params = next(steps)
            while True:
                method, params = steps.send(await self.ask(method, encode(params)))
        except StopIteration as end:
            return end.value

    async def ask(self, method: str, params: bytes) -> Any:
        """Make one request, whose parameters are a JSON object without line breaks."""
        self._count += 1
        line = request(self._count, method, params)
        if len(line) > LONGEST_REQUEST:
            message = f"the request has more than {LONGEST_REQUEST} bytes"
            raise LiveError(message)
        try:
            async with asyncio.timeout_at(self._deadline):
                self._writer.write(line)
                await self._writer.drain()
        except OSError as error:
            raise lost(self._path, error) from error
        return result_of(await self._read(self._deadline), self._count)

    async def events(self, alive: float) -> AsyncIterator[Event | None]:
        """Yield the events that the process sends, and None for a sign of life.

        It is lost after so many seconds of silence.
        """
        while True:
            deadline = asyncio.get_running_loop().time() + alive
            yield event_of(await self._read(deadline))

    async def _read(self, deadline: float) -> bytes:
        """Return the next line."""
        try:
            async with asyncio.timeout_at(deadline):
                return await self._reader.readuntil(b"\n")
        except asyncio.LimitOverrunError:
            fail_too_long()
        except (asyncio.IncompleteReadError, OSError) as error:
            ended = isinstance(error, asyncio.IncompleteReadError)
            raise lost(self._path, ConnectionResetError() if ended else error) from error
