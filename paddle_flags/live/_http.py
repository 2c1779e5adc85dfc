"""HTTP/1.1 on one connection: requests are read and answered one after another."""

from __future__ import annotations

import time
from email.utils import formatdate
from typing import TYPE_CHECKING, NamedTuple

import h11

from paddle_flags._core.unraisable import report
from paddle_flags._native import lib
from paddle_flags.live._application import Request, Response, refuse
from paddle_flags.live._phrases import phrase_of
from paddle_flags.live._strict import Chunks, Length, Malformed, TooLarge, check_head, take_head
from paddle_flags.live._wire import Wire

if TYPE_CHECKING:
    import asyncio
    import socket

    from paddle_flags.live._application import Application
    from paddle_flags.live._sockets import Peer
    from paddle_flags.live._streams import Streams
    from paddle_flags.live._workers import Pool

COMPLETE = 10.0
"""Seconds in which a request must be complete."""

IDLE = 60.0
"""Seconds that a connection may stay open between requests."""

_AHEAD = 64 * 1024  # bytes of later requests that are read ahead
_FLEET = b"/v1/fleet"
_BUSY = "all threads of the server are busy"


class Site(NamedTuple):
    """What the connections of a server share."""

    loop: asyncio.AbstractEventLoop
    application: Application
    readers: Pool
    """For requests without a body."""

    writers: Pool
    """For requests with one, whose validators may run long."""

    waiters: Pool
    """For changes of the fleet, which wait for other processes."""

    streams: Streams
    connections: set[Connection]


class Connection:
    """A client, from its first request to its last; all on the thread of the loop."""

    def __init__(self, site: Site, made: socket.socket, who: Peer, may: int) -> None:
        self._site = site
        self._who = who
        self._may = may
        self._data = bytearray()  # what has come in and isn't read yet
        self._ended = False  # nothing more comes in
        self._timer: asyncio.TimerHandle | None = None
        self._left = COMPLETE  # seconds of this request
        self._began = 0.0
        self._exchange: _Exchange | None = None
        self._busy = False  # a request is being answered or sent
        self._streaming = False
        self.revision = 0  # up to which a stream has been sent
        self.spoke = 0.0  # when a stream last got something
        self.behind = False  # a stream that isn't read
        self.wire = Wire(site.loop, made, self)
        site.connections.add(self)
        self._expect(COMPLETE)

    # ---- the wire ----

    def received(self, data: bytes) -> None:
        """Read what has come in."""
        if self._streaming:
            self._data += data
            if not data or len(self._data) > _AHEAD:
                self.wire.close()
            return
        self._data += data
        self._ended = self._ended or not data
        if not self._busy:
            self._read()
        if self._ended or (self._busy and len(self._data) > _AHEAD):
            self.wire.pause()

    def drained(self) -> None:
        """Read the next request, when the response has gone out."""
        self.behind = False
        if self._busy and self._exchange is None and not self._streaming:
            self._next()

    def lost(self) -> None:
        """Forget the connection."""
        self._expect(None)
        self._site.streams.discard(self)
        self._site.connections.discard(self)

    def _expect(self, seconds: float | None) -> None:
        """Close the connection if nothing else happens within this time."""
        if self._timer:
            self._timer.cancel()
        self._timer = None
        if seconds is not None:
            self._timer = self._site.loop.call_later(seconds, self._late)

    def _late(self) -> None:
        if self._began and not self._busy:
            self._refuse(408, f"the request isn't complete after {COMPLETE:g} seconds")
        else:
            self.wire.close()

    # ---- requests ----

    def _read(self) -> None:
        """Go on with the request, as far as it has come in."""
        try:
            if self._exchange is None:
                self._read_head()
            else:
                self._read_body(self._exchange)
        except TooLarge:
            self._refuse(431, "the request line and the headers have more than 16 KiB")
        except (Malformed, h11.RemoteProtocolError) as error:
            self._refuse(400, f"not a request of HTTP/1.1: {error}")

    def _read_head(self) -> None:
        head = take_head(self._data)
        if head is None:
            if self._ended:
                self.wire.close()
            elif self._data and not self._began:
                self._began = time.monotonic()
                self._expect(COMPLETE)
            return
        self._began = self._began or time.monotonic()
        self._exchange = exchange = _Exchange(head)
        self._ask(exchange, None)

    def _read_body(self, exchange: _Exchange) -> None:
        if not exchange.read(self._data):
            self._refuse(413, f"the body has more than {lib.PD_LIVE_BODY_MAX} bytes")
        elif exchange.complete:
            self._ask(exchange, bytes(exchange.body))
        elif self._ended:
            self.wire.close()

    def _ask(self, exchange: _Exchange, body: bytes | None) -> None:
        """Let a thread answer the request."""
        self._busy = True
        self._left -= time.monotonic() - self._began
        self._expect(None)
        if len(self._data) > _AHEAD:
            self.wire.pause()
        site = self._site
        head = exchange.method, exchange.target, exchange.headers
        request = Request(*head, self._who, self._may)

        def work() -> Response:
            try:
                return site.application.answer(request, body)
            except Exception as error:  # noqa: BLE001 - the thread goes on
                report(error, "Exception ignored in the answer to a request", work)
                return refuse(500, "the server failed, and has reported why")

        pool = site.readers if body is None else site.writers
        if body is not None and exchange.target.startswith(_FLEET):
            pool = site.waiters
        pool.submit(work, self._answered)

    def _answered(self, response: Response | None) -> None:
        exchange = self._exchange
        if self.wire.closed or exchange is None:
            return
        if response is None:
            self._send(exchange, refuse(503, _BUSY))
        elif response.status:
            self._send(exchange, response)
        else:
            self._want_body(exchange)

    def _want_body(self, exchange: _Exchange) -> None:
        self._busy = False
        self._began = time.monotonic()
        self._expect(max(self._left, 0.0))
        if (exchange.framing.length or 0) <= lib.PD_LIVE_BODY_MAX and not self._data:
            self.wire.write(exchange.go_on())
        self._read()
        if not self._busy and not self._ended:
            self.wire.resume()

    # ---- responses ----

    def _refuse(self, status: int, detail: str) -> None:
        """Answer what isn't a request, and close: nobody knows where the next one begins."""
        exchange = self._exchange or _Exchange(None)
        exchange.closes = True
        self._busy = True
        self._expect(None)
        self._send(exchange, refuse(status, detail))

    def _send(self, exchange: _Exchange, response: Response) -> None:
        try:
            data = exchange.respond(response)
        except h11.LocalProtocolError:  # a header that would be two
            exchange.closes = True
            data = render(refuse(500, "the response has a header that HTTP can't carry"))
        self._exchange = None
        self.wire.write(data)
        if exchange.streams:
            self._stream(exchange, response.revision)
        elif exchange.closes:
            self.wire.finish()
        elif not self.wire.waiting:
            self._next()

    def _next(self) -> None:
        """Begin with the next request."""
        self._busy = False
        self._left, self._began = COMPLETE, 0.0
        self._expect(IDLE)
        if self._data or self._ended:
            self._read()
        if not self._busy and not self._ended:
            self.wire.resume()

    # ---- events ----

    def _stream(self, exchange: _Exchange, revision: int) -> None:
        self._exchange = exchange
        self._streaming = True
        self.revision = revision
        self.spoke = time.monotonic()
        if self._ended:
            self.wire.close()
        else:
            self.wire.resume()
            self._site.streams.add(self)

    def send_events(self, data: bytes, revision: int) -> None:
        """Send events, or a comment, on a stream."""
        exchange = self._exchange
        if exchange is not None and not self.wire.closed:
            self.revision = revision
            self.spoke = time.monotonic()
            self.wire.write(exchange.go_on_with(data))


class _Exchange:
    """One request and its response."""

    def __init__(self, head: bytes | None) -> None:
        self._h11 = h11.Connection(h11.SERVER)
        self.framing: Length | Chunks = Length(0)
        self.closes = True
        self.streams = False
        self.body = bytearray()
        self.method = self.target = b""
        self.headers: list[tuple[bytes, bytes]] = []
        if head is None:
            return
        self.framing = check_head(head)
        self._h11.receive_data(head)
        request = self._h11.next_event()
        if not isinstance(request, h11.Request):
            message = "expected a request"
            raise Malformed(message)
        self.method, self.target = request.method, request.target
        self.headers = list(request.headers)
        self.closes = any(name == b"upgrade" for name, _ in self.headers)
        self.complete = self._receive()

    complete = False

    def _receive(self) -> bool:
        """Take what h11 has of the body; return whether it is complete."""
        while True:
            event = self._h11.next_event()
            if isinstance(event, h11.Data):
                self.body += event.data
            else:
                return event is not h11.NEED_DATA and event is not h11.PAUSED

    def read(self, data: bytearray) -> bool:
        """Remove what belongs to the body; return False if that is too large."""
        if (self.framing.length or 0) > lib.PD_LIVE_BODY_MAX:
            return False
        part = self.framing.take(data)
        if part:
            self._h11.receive_data(part)
            self.complete = self._receive()
        return len(self.body) <= int(lib.PD_LIVE_BODY_MAX)

    def go_on(self) -> bytes:
        """Return what tells the client to send the body, if it waits for that."""
        if not self._h11.they_are_waiting_for_100_continue:
            return b""
        return self._h11.send(h11.InformationalResponse(status_code=100, headers=[])) or b""

    def go_on_with(self, data: bytes) -> bytes:
        """Return a part of a stream."""
        return self._h11.send(h11.Data(data=data)) or b""

    def respond(self, response: Response) -> bytes:
        """Return the response, or the beginning of a stream."""
        if not self.method:
            return render(response)
        head = self.method == b"HEAD"
        self.streams = response.streams and not head
        self.closes = self.closes or not self.complete
        headers = [*response.headers, (b"Date", formatdate(usegmt=True).encode())]
        if not response.streams:
            headers.append((b"Content-Length", b"%d" % len(response.body)))
        if self.closes and not self.streams:
            headers.append((b"Connection", b"close"))
        send = self._h11.send
        data = send(_head_of(response.status, headers)) or b""
        if response.body and not head and response.status not in (204, 304):
            data += send(h11.Data(data=response.body)) or b""
        if not self.streams:
            data += send(h11.EndOfMessage()) or b""
            self.closes = self._h11.our_state is not h11.DONE
        return data


def _head_of(status: int, headers: list[tuple[bytes, bytes]]) -> h11.Response:
    return h11.Response(status_code=status, headers=headers, reason=phrase_of(status))


def render(response: Response) -> bytes:
    """Return a response after which the connection is closed."""
    machine = h11.Connection(h11.SERVER)
    headers = [
        *response.headers,
        (b"Date", formatdate(usegmt=True).encode()),
        (b"Content-Length", b"%d" % len(response.body)),
        (b"Connection", b"close"),
    ]
    parts = [
        machine.send(_head_of(response.status, headers)),
        machine.send(h11.Data(data=response.body)),
        machine.send(h11.EndOfMessage()),
    ]
    return b"".join(part or b"" for part in parts)
