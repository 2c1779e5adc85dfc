"""A socket of one client, which never blocks: what comes in is handed on, what goes out waits."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from paddle_flags.live._threads import fork_lock

if TYPE_CHECKING:
    import asyncio
    from typing import Protocol

    class Owner(Protocol):
        """What uses a wire."""

        def received(self, data: bytes) -> None:
            """Take what has come in; nothing: the client sends no more."""

        def drained(self) -> None:
            """Note that all has gone out."""

        def lost(self) -> None:
            """Note that the wire is closed."""


_PIECE = 64 * 1024
PROGRESS = 30.0
"""Seconds after which a client that reads nothing of what waits is cut."""

_LINGER = 2.0
_LINGER_MOST = 2 * 1024 * 1024


class Wire:
    """One connection, on the thread of the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, made: socket.socket, owner: Owner) -> None:
        made.settimeout(0)
        if made.family != socket.AF_UNIX:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = made
        self._loop = loop
        self._owner = owner
        self._descriptor = made.fileno()
        self._out = bytearray()
        self._timer: asyncio.TimerHandle | None = None  # of what waits, or of lingering
        self._reading = False
        self._ending = False  # close when all has gone out
        self._lingers = 0  # bytes that came in after that; 0: not yet
        self.closed = False
        self.resume()

    @property
    def waiting(self) -> int:
        """How many bytes wait to go out."""
        return len(self._out)

    # ---- in ----

    def pause(self) -> None:
        """Hand on nothing for now."""
        if self._reading:
            self._loop.remove_reader(self._descriptor)
            self._reading = False

    def resume(self) -> None:
        """Hand on what comes in."""
        if not self._reading and not self.closed:
            self._loop.add_reader(self._descriptor, self._readable)
            self._reading = True

    def _readable(self) -> None:
        try:
            data = self.socket.recv(_PIECE)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.close()
            return
        if not self._lingers:
            self._owner.received(data)
            return
        self._lingers += len(data)
        if not data or self._lingers > _LINGER_MOST:
            self.close()

    # ---- out ----

    def write(self, data: bytes) -> None:
        """Send, now or as soon as the client reads."""
        if self.closed or not data:
            return
        idle = not self._out
        self._out += data
        if idle:
            self._send()
            if self._out and not self.closed:
                self._loop.add_writer(self._descriptor, self._writable)

    def _send(self) -> None:
        """Send what can be sent at once."""
        before = len(self._out)
        try:
            while self._out:
                with memoryview(self._out) as view, view[: 4 * _PIECE] as piece:
                    sent = self.socket.send(piece)
                del self._out[:sent]
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self.close()
            return
        if len(self._out) < before or not self._timer:
            self._wait(PROGRESS if self._out else None)

    def _writable(self) -> None:
        self._send()
        if self._out or self.closed:
            return
        self._loop.remove_writer(self._descriptor)
        if self._ending:
            self._linger()
        else:
            self._owner.drained()

    def _wait(self, seconds: float | None) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = None if seconds is None else self._loop.call_later(seconds, self.close)

    # ---- the end ----

    def finish(self) -> None:
        """Close when all has gone out, and the client has had time to read it."""
        self._ending = True
        if not self._out:
            self._linger()

    def _linger(self) -> None:
        """Take in what the client still sends: closed at once, it might not see our response."""
        if self.closed:
            return
        self._lingers = 1
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)
        self._wait(_LINGER)
        self.resume()

    def close(self) -> None:
        """Close at once."""
        if self.closed:
            return
        self.closed = True
        self.pause()
        self._loop.remove_writer(self._descriptor)
        self._wait(None)
        self._out = bytearray()
        with fork_lock:
            self.socket.close()
        self._owner.lost()
