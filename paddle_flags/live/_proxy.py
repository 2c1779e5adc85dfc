"""The page of a process in a browser: a server on 127.0.0.1 that passes requests on.

Whoever opens the URL first gets a cookie, and the URL is used up. Only programs of the same user
(or root) can connect; the page itself comes from this package, and of a process only JSON and
events are passed on, so that a hostile process can't run script in the browser. _proxy_rules.py
decides about each request.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import secrets
import ssl
import sys
import time
from typing import TYPE_CHECKING, Any

import h11

from paddle_flags.live import _proxy_rules as rules
from paddle_flags.live._errors import LiveConnectionError, LiveError
from paddle_flags.live._find import connect

if TYPE_CHECKING:
    from collections.abc import Callable

    from paddle_flags.live._find import Endpoint

    Answer = tuple[int, list[rules.Header], bytes]
    """Status, headers and body."""

    Assets = Callable[[str, str, list[rules.Header]], Answer]

_MOST = 64  # connections
_LARGEST_HEAD = 32 << 10  # bytes
_LARGEST_BODY = 1 << 20
_PART = 1 << 16
_PATIENCE = 10.0  # seconds for a whole request, and for the head of an answer
_LINGER = 2.0  # seconds that a browser has to read why it was refused
_KEPT = 75.0  # seconds that a connection may wait for its next request
_SILENCE = 60.0  # seconds without a sign of life in an answer; a stream gives one every 15


class Proxy:
    """Passes on the requests of one browser to one process, or to two."""

    def __init__(
        self,
        target: Endpoint,
        other: Endpoint | None,
        assets: Assets,
        *,
        token: str | None = None,
        idle: float = 3600.0,
    ) -> None:
        self._targets = (target, other)
        self._assets = assets
        self._token = token
        self._idle = idle
        self._entry: str | None = secrets.token_urlsafe(32)
        self._secret = secrets.token_urlsafe(32)
        self._session = rules.Session(0, self._secret, other is not None)
        self._connections: set[asyncio.Task[None]] = set()
        self._active = time.monotonic()

    async def run(self, ready: Callable[[str], object]) -> None:
        """Serve until nobody has asked for long; `ready` is called with the URL."""
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0, limit=_PART)
        port: int = server.sockets[0].getsockname()[1]
        self._session = self._session._replace(port=port)
        self._active = time.monotonic()
        ready(f"http://127.0.0.1:{port}/open/{self._entry}")
        try:
            await self._until_idle()
        finally:
            server.close()
            while self._connections:
                for task in self._connections:
                    task.cancel()  # again and again: wait_for may miss one at its end
                await asyncio.wait(set(self._connections), timeout=0.1)

    async def _until_idle(self) -> None:
        while True:
            left = self._active + self._idle - time.monotonic()
            if left <= 0 and not self._connections:
                return
            await asyncio.sleep(max(left, min(self._idle, 1.0)))

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task: Any = asyncio.current_task()
        if len(self._connections) >= _MOST or not self._is_ours(writer):
            writer.transport.abort()
            return
        self._connections.add(task)
        try:
            await _Connection(self, reader, writer).run()
            await asyncio.wait_for(_linger(reader, writer), _LINGER)
        except (OSError, TimeoutError, h11.ProtocolError):
            pass
        except asyncio.CancelledError:
            task.uncancel()  # the server has no use for it
        finally:
            self._connections.discard(task)
            self._active = time.monotonic()
            writer.close()

    def _is_ours(self, writer: asyncio.StreamWriter) -> bool:
        """Return whether the other end is a program of this user, or of root."""
        _, port = writer.get_extra_info("peername")[:2]
        if not sys.platform.startswith("linux"):
            return True
        try:
            with open("/proc/net/tcp", encoding="ascii") as table:
                owner = rules.owner_of(table, port, self._session.port)
        except OSError:
            return False
        return owner in _users()

    # ---- Answers ----

    def enter(self, request: rules.Entry) -> Answer:
        """Answer the request that brings the token of the URL, which is then used up."""
        entry = self._entry
        headers = [
            (b"location", b"/"),
            (b"cache-control", b"no-store"),
            (b"referrer-policy", b"no-referrer"),
        ]
        if request.is_known:  # gone back to, or loaded again
            return 303, headers, b""
        given = request.token.encode("latin-1")
        if entry is None or not hmac.compare_digest(given, entry.encode()):
            detail = "the link has been used, or is wrong; run 'paddle-flags open' again"
            return problem(rules.Refusal(401, "token", detail))
        self._entry = None
        return 303, [*headers, (b"set-cookie", self._session.header())], b""

    def judge(self, request: h11.Request) -> Any:
        """Decide about a request."""
        method = request.method.decode("ascii")
        return rules.judge(self._session, method, request.target, list(request.headers))

    def asset(self, method: str, target: str, headers: list[rules.Header]) -> Answer:
        """Return a file of the page."""
        return self._assets(method, target, headers)

    def upstream(self, *, is_peer: bool) -> Upstream:
        """Return a connection to a process, which isn't open yet."""
        target = self._targets[is_peer]
        assert target is not None  # noqa: S101 - judged above
        return Upstream(target, self._token)


async def _linger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Let the browser read the last answer: what it still sends would break the connection."""
    writer.write_eof()
    while await reader.read(_PART):
        pass


def _users() -> set[int]:
    """Return the users whose browsers may connect: also the one who has used sudo."""
    users = {os.geteuid(), 0}
    before = os.environ.get("SUDO_UID", "")
    if os.geteuid() == 0 and before.isdigit():
        users.add(int(before))
    return users


def problem(refusal: rules.Refusal) -> Answer:
    """Return the answer that refuses a request."""
    document = {
        "type": f"urn:paddle-flags:problem:{refusal.type}",
        "title": refusal.detail,
        "status": refusal.status,
        "detail": refusal.detail,
    }
    headers = [
        (b"content-type", b"application/problem+json"),
        (b"cache-control", b"no-store"),
        (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
        (b"x-content-type-options", b"nosniff"),
    ]
    return refusal.status, headers, json.dumps(document).encode("ascii") + b"\n"


class _Connection:
    """One connection of the browser."""

    def __init__(
        self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._proxy = proxy
        self._reader = reader
        self._writer = writer
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=_LARGEST_HEAD)
        self._is_head = False

    async def run(self) -> None:
        """Answer requests until one of both ends closes the connection."""
        while True:
            try:
                if not await self._answer_next():
                    return
            except h11.RemoteProtocolError as error:
                if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                    detail = "the request isn't HTTP/1.1"
                    status = error.error_status_hint or 400
                    await self._refuse(rules.Refusal(status, "malformed", detail))
                return
            if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
                return
            self._http.start_next_cycle()

    async def _answer_next(self) -> bool:
        """Answer one request; return False if there is none."""
        if not self._http.trailing_data[0]:
            first = await asyncio.wait_for(self._reader.read(_PART), _KEPT)
            self._http.receive_data(first)
        request, body = await asyncio.wait_for(self._read(), _PATIENCE)
        if request is None:
            return False
        self._is_head = request.method == b"HEAD"
        verdict = self._proxy.judge(request)
        if body is None and not isinstance(verdict, rules.Refusal):
            verdict = rules.Refusal(413, "too-large", "the body has more than 1 MiB")
        if isinstance(verdict, rules.Refusal):
            await self._refuse(verdict)
        elif isinstance(verdict, rules.Entry):
            await self._send(*self._proxy.enter(verdict))
        elif isinstance(verdict, rules.Asset):
            method = request.method.decode("ascii")
            found = self._proxy.asset(method, verdict.target, list(request.headers))
            await self._send(*found)
        else:
            await self._pass_on(request, verdict, body or b"")
        return True

    async def _read(self) -> tuple[h11.Request | None, bytes | None]:
        """Return a request and its body, which is None if it is too large."""
        request: h11.Request | None = None
        parts: list[bytes] = []
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                if self._http.they_are_waiting_for_100_continue:
                    return request, None
                self._http.receive_data(await self._reader.read(_PART))
            elif isinstance(event, h11.Request):
                request = event
                size = sum(len(name) + len(value) for name, value in event.headers)
                if size + len(event.target) > _LARGEST_HEAD:
                    message = "the headers are too large"
                    raise h11.RemoteProtocolError(message, error_status_hint=431)
            elif isinstance(event, h11.Data):
                parts.append(bytes(event.data))
                if sum(map(len, parts)) > _LARGEST_BODY:
                    return request, None
            elif isinstance(event, h11.EndOfMessage):
                return request, b"".join(parts)
            else:  # closed or paused
                return None, None

    async def _refuse(self, refusal: rules.Refusal) -> None:
        status, headers, body = problem(refusal)
        if refusal.type in ("malformed", "host", "too-large"):  # what follows may be anything
            headers.append((b"connection", b"close"))
        await self._send(status, headers, body)

    async def _send(self, status: int, headers: list[rules.Header], body: bytes) -> None:
        length = (b"content-length", str(len(body)).encode())
        await self._write(h11.Response(status_code=status, headers=[*headers, length]))
        await self._write(*([h11.Data(data=body)] * (not self._is_head)), h11.EndOfMessage())

    async def _write(self, *events: Any) -> None:
        for event in events:
            data = self._http.send(event)
            if data:
                self._writer.write(data)
        await asyncio.wait_for(self._writer.drain(), _SILENCE)

    async def _pass_on(self, request: h11.Request, api: rules.Api, body: bytes) -> None:
        """Ask the process, and send what it answers."""
        upstream = self._proxy.upstream(is_peer=api.is_peer)
        try:
            try:
                status, headers = await upstream.ask(request, api.target, body)
            except (TimeoutError, LiveError, OSError, h11.ProtocolError) as error:
                detail = f"the process can't be reached: {_reason(error)}"
                await self._send(*problem(rules.Refusal(502, "unreachable", detail)))
                return
            await self._write(h11.Response(status_code=status, headers=headers))
            await self._stream(upstream)
        finally:
            upstream.close()

    async def _stream(self, upstream: Upstream) -> None:
        """Send the body of an answer as it comes, while the browser listens."""
        more = asyncio.ensure_future(self._reader.read(1))
        try:
            while True:
                part = asyncio.ensure_future(upstream.part())
                part.add_done_callback(_forget)
                try:
                    await asyncio.wait({part, more}, return_when=asyncio.FIRST_COMPLETED)
                    if more.done() and not more.result():  # the browser has left
                        raise ConnectionResetError
                    await asyncio.wait({part})
                finally:
                    part.cancel()
                data = part.result()
                await self._write(h11.Data(data=data) if data else h11.EndOfMessage())
                if not data:
                    return
        finally:
            if more.done() and not more.cancelled() and not more.exception():
                self._http.receive_data(more.result())  # of its next request
            more.cancel()


def _forget(task: asyncio.Future[Any]) -> None:
    """Take notice of what a task has raised: nobody else may be there to do it."""
    if not task.cancelled():
        task.exception()


def _reason(error: BaseException) -> str:
    if isinstance(error, LiveError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return "no answer in time" if isinstance(error, asyncio.TimeoutError) else "not HTTP"


class Upstream:
    """One request to a process."""

    def __init__(self, target: Endpoint, token: str | None) -> None:
        self._target = target
        self._token = token
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LARGEST_HEAD)
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(
        self, request: h11.Request, target: str, body: bytes
    ) -> tuple[int, list[rules.Header]]:
        """Send a request; return status and headers of the answer."""
        return await asyncio.wait_for(self._ask(request, target, body), _PATIENCE)

    async def _ask(
        self, request: h11.Request, target: str, body: bytes
    ) -> tuple[int, list[rules.Header]]:
        reader, writer = await self._open()
        self._reader, self._writer = reader, writer
        headers = rules.passed(request.headers, rules.REQUEST_HEADERS)
        headers += [(b"host", self._host()), (b"connection", b"close")]
        if request.method == b"POST":
            headers.append((b"content-length", str(len(body)).encode()))
        if self._token is not None and not self._target.path:
            headers.append((b"authorization", f"Bearer {self._token}".encode("ascii")))
        where = self._target.prefix + target
        sent = h11.Request(method=request.method, target=where.encode("ascii"), headers=headers)
        data = [self._http.send(sent)]
        data += [self._http.send(h11.Data(data=body))] if request.method == b"POST" else []
        data.append(self._http.send(h11.EndOfMessage()))
        writer.write(b"".join(filter(None, data)))
        await writer.drain()
        return self._judge(await self._next())

    def _judge(self, event: Any) -> tuple[int, list[rules.Header]]:
        """Return status and headers if an answer may be passed on."""
        if not isinstance(event, h11.Response):
            message = "the connection was closed"
            raise LiveConnectionError(message)
        kind = dict(event.headers).get(b"content-type", b"").decode("latin-1")
        if event.status_code != 304 and kind.partition(";")[0].strip() not in rules.API_TYPES:  # noqa: PLR2004
            message = "its answer isn't one of the live API"
            raise LiveError(message)
        headers = rules.passed(event.headers, rules.RESPONSE_HEADERS)
        headers = [each for each in headers if each[0] != b"x-content-type-options"]
        return event.status_code, [*headers, (b"x-content-type-options", b"nosniff")]

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        place = self._target
        if place.path:
            made = await asyncio.to_thread(connect, place.path, _PATIENCE)
            return await asyncio.open_unix_connection(sock=made)
        context = ssl.create_default_context() if place.secure else None
        return await asyncio.open_connection(place.host, place.port, ssl=context)

    def _host(self) -> bytes:
        place = self._target
        if place.path:
            return b"localhost"
        host = f"[{place.host}]" if ":" in place.host else place.host
        return f"{host}:{place.port}".encode("ascii")

    async def _next(self) -> Any:
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                assert self._reader is not None  # noqa: S101 - open
                self._http.receive_data(await self._reader.read(_PART))
            elif not isinstance(event, h11.InformationalResponse):
                return event

    async def part(self) -> bytes:
        """Return the next part of the body; none at the end."""
        while True:
            event = await asyncio.wait_for(self._next(), _SILENCE)
            if not isinstance(event, h11.Data):
                return b""
            if event.data:
                return bytes(event.data)

    def close(self) -> None:
        """Close the connection."""
        if self._writer is not None:
            self._writer.transport.abort()
