"""Clients that wait for events: what happens is told to all of them, every 50 ms."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from paddle_flags.live._application import get_events, get_revision

if TYPE_CHECKING:
    import asyncio

    from paddle_flags.live._http import Connection

TICK = 0.05
QUIET = 15.0
"""Seconds after which a client gets a comment if nothing else."""

BEHIND = 256 * 1024
"""Bytes that may wait for a client; one for which more wait gets nothing until it has read them."""

_COMMENT = b":\n\n"


class Streams:
    """The clients of one server that wait for events; all on the thread of the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._all: set[Connection] = set()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, client: Connection) -> None:
        """Send events to a client from now on."""
        self._all.add(client)
        if self._timer is None:
            self._timer = self._loop.call_later(TICK, self._tick)

    def discard(self, client: Connection) -> None:
        """Send nothing more to a client."""
        self._all.discard(client)

    def is_ticking(self) -> bool:
        """Return whether anybody waits for events, or did a moment ago."""
        return self._timer is not None

    def _tick(self) -> None:
        self._timer = None
        if not self._all:
            return
        self._timer = self._loop.call_later(TICK, self._tick)
        now, time_now = get_revision(), time.monotonic()
        texts: dict[int, tuple[bytes, int]] = {}
        for client in list(self._all):
            client.behind = client.behind or client.wire.waiting > BEHIND
            if client.behind:
                continue
            since = client.revision
            if since != now:
                found = texts.get(since)
                if found is None:
                    texts[since] = found = get_events(since)
                if found[0]:
                    client.send_events(*found)
            if time_now - client.spoke > QUIET:
                client.send_events(_COMMENT, client.revision)
