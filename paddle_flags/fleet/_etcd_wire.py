"""One connection to a node of etcd: HTTP/1.1 by h11, with TLS, and a deadline for each step."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import ssl
import time
from typing import TYPE_CHECKING, Any, cast

import h11

if TYPE_CHECKING:
    from collections.abc import Iterator

Node = tuple[str, int]  # host and port

_CHUNK = 1 << 16
_CLOSED = "it closed the connection before an answer"


class Connection:
    """A connection that one thread uses at a time. Any thread may `shutdown` it."""

    def __init__(self, node: Node, tls: ssl.SSLContext | None, end: float) -> None:
        """Connect before the monotonic clock shows `end`."""
        host, port = node
        self.node = node
        seconds = max(0.001, end - time.monotonic())
        self._host = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._http = h11.Connection(h11.CLIENT)
        self._socket = socket.create_connection((host, port), timeout=seconds)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if tls is not None:
                self._socket.settimeout(max(0.001, end - time.monotonic()))
                self._socket = self._encrypted(tls, host)
            self._socket.settimeout(0)
        except BaseException:
            self._socket.close()
            raise

    def _encrypted(self, tls: ssl.SSLContext, host: str) -> ssl.SSLSocket:
        try:
            return tls.wrap_socket(self._socket, server_hostname=host)
        except ConnectionError as error:  # a server without TLS may close before it is read
            message = f"handshake: {error.strerror or type(error).__name__}"
            raise ssl.SSLError(message) from error

    def ask(self, path: str, body: bytes, headers: dict[str, str], end: float) -> tuple[int, bytes]:
        """Send a request; return status and body of the answer."""
        self.send(path, body, headers, end)
        status = self.status(end)
        content = self.rest(end)
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        return status, content

    @property
    def is_reusable(self) -> bool:
        """Whether another request may follow."""
        return self._http.our_state is h11.IDLE and not self._readable(0)

    def send(self, path: str, body: bytes, headers: dict[str, str], end: float) -> None:
        """Send a request."""
        fields = {
            "Host": self._host,
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **headers,
        }
        request = h11.Request(method="POST", target=path, headers=list(fields.items()))
        text = b""
        for event in (request, h11.Data(data=body), h11.EndOfMessage()):
            text += self._http.send(event) or b""
        left = memoryview(text)
        while left:
            try:
                left = left[self._socket.send(left) :]
            except (BlockingIOError, ssl.SSLWantWriteError):
                self._ready([], [self._socket], end)
            except ssl.SSLWantReadError:
                self._ready([self._socket], [], end)

    def status(self, end: float) -> int:
        """Return the status of an answer."""
        event = self._event(end)
        if not isinstance(event, h11.Response):
            raise ConnectionResetError(_CLOSED)
        return event.status_code

    def data(self, end: float) -> bytes:
        """Return some bytes of the body of an answer; b"" at its end."""
        event = self._event(end)
        return bytes(event.data) if isinstance(event, h11.Data) else b""

    def rest(self, end: float) -> bytes:
        """Return the rest of the body of an answer."""
        return b"".join(iter(lambda: self.data(end), b""))

    def _event(self, end: float) -> Any:
        is_over = False
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                if not is_over:
                    raise
                raise ConnectionResetError(_CLOSED) from error
            if isinstance(event, h11.ConnectionClosed):
                raise ConnectionResetError(_CLOSED)
            if event is not h11.NEED_DATA:
                return event
            data = self._receive(end)
            self._http.receive_data(data)
            is_over = not data

    def _receive(self, end: float) -> bytes:
        while True:
            try:
                return self._socket.recv(_CHUNK)
            except (BlockingIOError, ssl.SSLWantReadError):
                self._ready([self._socket], [], end)
            except ssl.SSLWantWriteError:
                self._ready([], [self._socket], end)

    def _ready(
        self, reading: list[socket.socket], writing: list[socket.socket], end: float
    ) -> None:
        poller = select.poll()  # select itself takes no descriptor above 1023
        for each in reading:
            poller.register(each, select.POLLIN)
        for each in writing:
            poller.register(each, select.POLLOUT)
        left = end - time.monotonic()
        if left <= 0 or not poller.poll(max(1, int(left * 1000))):
            message = "no answer in time"
            raise TimeoutError(message)

    def _readable(self, seconds: float) -> bool:
        poller = select.poll()
        poller.register(self._socket, select.POLLIN)
        return bool(poller.poll(int(seconds * 1000)))

    def shutdown(self) -> None:
        """End what waits for this connection, in any thread."""
        with contextlib.suppress(OSError):
            # Not that of SSLSocket, which takes away TLS under a thread that reads.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection in this process alone."""
        self._socket.close()


class Stream:
    """An answer that goes on: one JSON document a line."""

    def __init__(self, connection: Connection) -> None:
        """Read on after the status."""
        self.connection = connection
        self._left = b""

    def documents(self, end: float) -> Iterator[dict[str, Any]]:
        """Yield what comes. Raises TimeoutError at the end of the time; can be called again."""
        while True:
            line, newline, rest = self._left.partition(b"\n")
            if newline:
                self._left = rest
                yield cast("dict[str, Any]", json.loads(line))
                continue
            data = self.connection.data(end)
            if not data:
                message = "the stream has ended"
                raise ConnectionResetError(message)
            self._left += data
