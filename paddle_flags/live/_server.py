"""A server: one thread with a loop, which accepts connections and lets others answer."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from contextlib import suppress
from typing import TYPE_CHECKING

from paddle_flags._native import lib
from paddle_flags.live._application import refuse
from paddle_flags.live._http import Connection, Site, render
from paddle_flags.live._sockets import peer_of
from paddle_flags.live._streams import Streams
from paddle_flags.live._threads import allocate_lock, fork_lock, make_selector, start_thread
from paddle_flags.live._workers import Pool

if TYPE_CHECKING:
    import selectors

    from paddle_flags.live._application import Application
    from paddle_flags.live._sockets import Peer

CONNECTIONS = 256
"""How many clients a server has at most."""

_READERS, _WRITERS, _WAITERS = 2, 4, 4  # threads
_SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGALRM}
_SIGNALS |= {
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGWINCH,
}  # for other threads, whose calls they end

_ACCEPTS = 64  # at once, before others get their turn
_RETRY = 0.5  # seconds until the next attempt, if there are no descriptors
_END = 5.0  # seconds that close() waits for the thread


class _Loop(asyncio.SelectorEventLoop):
    """A loop that a forked child can leave to its parent."""

    def __init__(self, selector: selectors.BaseSelector) -> None:
        super().__init__(selector)
        self._own = selector

    def abandon(self) -> None:
        """Close the descriptors in a forked child.

        close() would first remove them from the epoll, which is the parent's too.
        """
        self._own.close()
        for name in ("_ssock", "_csock"):  # what wakes the loop
            pair: socket.socket | None = getattr(self, name, None)
            if pair is not None:
                pair.close()
        self._closed = True  # nothing is left that __del__ might want to close


class Listener:
    """The thread of a server. It begins at once, and ends with `stop`."""

    def __init__(self, made: socket.socket, application: Application) -> None:
        self._application = application
        self._socket = made
        self._loop = loop = _Loop(make_selector())
        readers, writers, waiters = (Pool(loop, n) for n in (_READERS, _WRITERS, _WAITERS))
        self._site = Site(loop, application, readers, writers, waiters, Streams(loop), set())
        self._running = allocate_lock()
        self._running.acquire()
        self._full = render(refuse(503, f"the server has {CONNECTIONS} connections already"))
        self._stranger = render(refuse(403, "this socket is for processes of its own user"))
        loop.add_reader(self._socket.fileno(), self._accept)
        start_thread(self._run, "paddle_flags.live")

    def _run(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            self._loop.run_forever()
        finally:
            with fork_lock:
                self._loop.close()
            self._running.release()

    # ---- connections ----

    def _accept(self) -> None:
        for _ in range(_ACCEPTS):
            with fork_lock:
                try:
                    made, _ = self._socket.accept()
                except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                    return
                except OSError:  # no descriptors are left: don't ask again at once
                    self._loop.remove_reader(self._socket.fileno())
                    self._loop.call_later(_RETRY, self._accept_again)
                    return
                self._welcome(made)

    def _accept_again(self) -> None:
        self._loop.add_reader(self._socket.fileno(), self._accept)

    def _welcome(self, made: socket.socket) -> None:
        try:
            self._let_in(made, peer_of(made))
        except OSError:  # gone already
            made.close()

    def _let_in(self, made: socket.socket, who: Peer) -> None:
        local = made.family == socket.AF_UNIX
        if local and who.uid not in (0, os.geteuid()):
            _turn_away(made, self._stranger)
        elif len(self._site.connections) >= CONNECTIONS:
            _turn_away(made, self._full)
        else:
            may = lib.PD_LIVE_READ | lib.PD_LIVE_CHANGE if local else 0
            Connection(self._site, made, who, may)

    # ---- the end ----

    def stop(self) -> None:
        """Close all connections, and end the thread."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._stop)
        self._running.acquire(timeout=_END)
        self._application.close()

    def _stop(self) -> None:
        self._loop.remove_reader(self._socket.fileno())
        with fork_lock:
            self._socket.close()
        for connection in list(self._site.connections):
            connection.wire.close()
        self._site.readers.close()
        self._site.writers.close()
        self._site.waiters.close()
        self._loop.stop()

    def abandon(self) -> None:
        """Close the descriptors in a forked child, which has no thread of this."""
        for pool in (self._site.readers, self._site.writers, self._site.waiters):
            pool.closed = True
        self._loop.abandon()
        self._socket.close()
        for connection in self._site.connections:
            connection.wire.socket.close()


def _turn_away(made: socket.socket, response: bytes) -> None:
    """Send a response as far as that works at once, and close."""
    with made, suppress(OSError):
        made.settimeout(0)
        made.send(response)
        made.shutdown(socket.SHUT_WR)
        made.recv(64 * 1024)  # what is unread would take back the response on TCP
