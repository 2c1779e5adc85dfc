"""TCP proxies on the loopback device, through which nodes and clients reach each other.

A link is cut in one direction: what goes that way is held, and goes on when the link is mended, as
TCP sends packets again that were lost. New connections over it hang.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from collections.abc import Coroutine
from typing import Any

_FROM = re.compile(rb"\r\nX-Server-From: (\w+)\r\n", re.IGNORECASE)
_CHUNK = 1 << 16
_LOOK = 0.01  # seconds between two looks at a link that is cut


class Network:
    """Proxies before named places, and the links between these that are cut."""

    def __init__(self) -> None:
        self._cut: set[tuple[str, str]] = set()
        self.names: dict[str, str] = {}  # what a node calls itself in a request: its name here
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[Any]] = set()

    def place(self, name: str, port: int, proxy: int, dialer: str = "") -> None:
        """Accept connections to a place; without a dialer, HTTP requests say who makes them."""

        async def serve() -> None:
            async def accept(reader: Any, writer: Any) -> None:
                task = asyncio.current_task()
                assert task is not None
                self._tasks.add(task)
                with contextlib.suppress(OSError, asyncio.CancelledError):
                    await self._connect(reader, writer, name, port, dialer)
                writer.close()
                self._tasks.discard(task)

            self._servers.append(await asyncio.start_server(accept, "127.0.0.1", proxy))

        self._run(serve())

    def cut(self, source: str, target: str) -> None:
        """Hold what goes from one place to another."""
        self._cut.add((source, target))

    def mend(self, source: str, target: str) -> None:
        """Let it go on."""
        self._cut.discard((source, target))

    def mend_all(self) -> None:
        self._cut.clear()

    def close(self) -> None:
        """End all connections, and the thread."""

        async def end() -> None:
            for server in self._servers:
                server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

        self._run(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, doing: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(doing, self._loop).result(30)

    async def _connect(self, reader: Any, writer: Any, name: str, port: int, dialer: str) -> None:
        first = b""
        if not dialer:  # the headers of the first request
            while b"\r\n\r\n" not in first and (more := await reader.read(_CHUNK)):
                first += more
            found = _FROM.search(first)
            dialer = found[1].decode() if found else ""
        await self._passable(dialer, name)
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.transport.abort()  # as the node, which is down, would
            return
        try:
            far_writer.write(first)
            await asyncio.gather(
                self._pump(reader, far_writer, dialer, name),
                self._pump(far_reader, writer, name, dialer),
            )
        finally:
            far_writer.close()

    async def _pump(self, reader: Any, writer: Any, source: str, target: str) -> None:
        """Carry bytes in one direction."""
        try:
            while data := await reader.read(_CHUNK):
                await self._passable(source, target)
                writer.write(data)
                await writer.drain()
            await self._passable(source, target)
            writer.write_eof()
        except OSError:  # reset: the other side learns of it the same way
            await self._passable(source, target)
            writer.transport.abort()

    async def _passable(self, source: str, target: str) -> None:
        """Wait until what goes from one place to another isn't held."""
        while self._holds(source, target):  # noqa: ASYNC110 - another thread mends
            await asyncio.sleep(_LOOK)

    def _holds(self, source: str, target: str) -> bool:
        if not self._cut:
            return False
        source, target = self.names.get(source, source), self.names.get(target, target)
        if source and target:
            return (source, target) in self._cut
        # A request between nodes that doesn't say who makes it: it is held if everybody's are.
        others = set(self.names.values()) - {source, target}
        return all((source or other, target or other) in self._cut for other in others)
