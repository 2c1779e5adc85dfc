"""Who may ask a gateway for what: all rules of security that Starlette and uvicorn don't have.

`Guard` stands before the application and checks each request; `BoundedProtocol` stands before
uvicorn's protocol and checks each connection. tests/gateway/test_attack_*.py attacks each rule.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import re
import secrets
from typing import TYPE_CHECKING, Any, ClassVar

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from uvicorn.protocols.http.h11_impl import H11Protocol

from paddle_flags.gateway.problems import Refusal, problem_response
from paddle_flags.gateway.users import User

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEAD_MAX = 16 << 10  # bytes of a request line with its headers
BODY_MAX = (1 << 20) - (8 << 10)  # bytes: with what a gateway adds, a line that processes read
PATIENCE = 10.0  # seconds for a TLS handshake, for the head of a request, and for its body
MOST_UNKNOWN = 128  # connections from which nothing allowed has come; then the oldest is closed
MOST_REQUESTS = 256  # that are answered at a time, streams of events among them

_ONCE = ("host", "origin", "sec-fetch-site", "authorization", "content-type", "content-length")
_PRIVATE = re.compile(r"/v1/(?!openapi\.json$)")
_OWNER, _INODE = 7, 9  # columns of /proc/net/tcp
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:[0-9]{1,5})?")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": _POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class Clients:
    """Those who ask, of one kind."""

    unknown: tuple[int, str, str]  # the refusal of somebody else

    async def authenticate_request(self, request: Request) -> User | None:
        """Return who sends a request."""
        raise NotImplementedError


class TokenClients(Clients):
    """Clients that send a token with each request; the page itself is for everybody."""

    unknown = (401, "token", "expected 'Authorization: Bearer TOKEN' with a known token")

    def __init__(self, users: Mapping[str, User]) -> None:
        self._users = users

    async def authenticate_request(self, request: Request) -> User | None:
        """Return who sends a request."""
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        sent = given.strip().encode()
        found = None
        for token, user in self._users.items():  # all, so that the time says nothing
            if hmac.compare_digest(sent, token.encode()) and scheme.lower() == "bearer":
                found = user
        return found


class BrowserClient(Clients):
    """The one browser that has opened a link, which works once; then it has a cookie."""

    unknown = (401, "token", "open the link that 'paddle-flags open' has printed; it works once")

    def __init__(self, port: int, home: str) -> None:
        self._name = f"paddle_flags_{port}"  # a host has one jar of cookies for all its ports
        self._secret = secrets.token_urlsafe(32)
        self._link: str | None = secrets.token_urlsafe(32)
        self.path = f"/open/{self._link}"
        self._home = home

    async def authenticate_request(self, request: Request) -> User | None:
        """Return who sends a request."""
        sent = request.cookies.get(self._name, "").encode()
        return User("", "change") if hmac.compare_digest(sent, self._secret.encode()) else None

    async def sign_in(self, request: Request) -> Response:
        """Answer the request for the link."""
        answer = RedirectResponse(self._home, 303)
        if await self.authenticate_request(request):  # gone back to, or loaded again
            return answer
        sent = request.scope["path"].removeprefix("/open/").encode()
        if self._link is None or not hmac.compare_digest(sent, self._link.encode()):
            detail = "the link has been used, or is wrong; run 'paddle-flags open' again"
            raise Refusal(401, "token", detail)
        self._link = None
        answer.set_cookie(self._name, self._secret, httponly=True, samesite="strict")
        return answer


class Guard:
    """An ASGI application that lets only allowed requests through to another one.

    `hosts` has the names in `Host`; None: whoever mounts the application checks them.
    """

    def __init__(self, app: ASGIApp, clients: Clients, hosts: Iterable[str] | None) -> None:
        self._app = app
        self._clients = clients
        self._hosts = None if hosts is None else frozenset(each.lower() for each in hosts)
        self._requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        self._requests += 1
        try:
            answer = await self._sign_in_or_authorize(request) or self._app
            await answer(scope, _wrap_receive_with_limits(receive), send_with_headers)
        except Refusal as refusal:
            await problem_response(refusal)(scope, receive, send_with_headers)
        finally:
            self._requests -= 1

    async def _sign_in_or_authorize(self, request: Request) -> Response | None:
        """Return what answers a request here; None: the application may do it."""
        self._check_headers(request)
        path = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
        if isinstance(self._clients, BrowserClient) and path.startswith("/open/"):
            return await self._clients.sign_in(request)
        user = await self._clients.authenticate_request(request)
        if user is None and (_PRIVATE.match(path) or not isinstance(self._clients, TokenClients)):
            raise Refusal(*self._clients.unknown)
        if user is not None and "protocol" in request.scope.get("state", {}):
            request.scope["state"]["protocol"].mark_client_known()
        if self._requests > MOST_REQUESTS:
            raise Refusal(503, "busy", f"{MOST_REQUESTS} requests are being answered")
        request.scope["user"] = user
        if request.method not in ("GET", "HEAD") and (user is None or user.may != "change"):
            raise Refusal(403, "forbidden", "you may only read")
        return None

    def _check_headers(self, request: Request) -> None:
        headers, scope = request.headers, request.scope
        size = sum(len(name) + len(value) + 4 for name, value in headers.raw)
        if size + len(scope["path"]) + len(scope["query_string"]) > HEAD_MAX:
            raise Refusal(431, "headers", f"the headers have more than {HEAD_MAX} bytes")
        for name in _ONCE:
            if len(headers.getlist(name)) > 1:
                raise Refusal(400, "malformed", f"{name}: is there twice")
        host = _HOST.fullmatch(headers.get("host", "").lower())
        if not host or (self._hosts is not None and host[1] not in self._hosts):
            raise Refusal(421, "host", "the Host isn't one of this server's names")
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        schemes = ("https", scope["scheme"])  # a proxy before this server may add TLS
        is_own = origin is None or origin.lower() in [f"{each}://{host[0]}" for each in schemes]
        if not is_own or site not in (None, "same-origin", "none"):
            raise Refusal(403, "forbidden", "the request comes from another site")
        by_cookie = isinstance(self._clients, BrowserClient) and request.method not in (
            "GET",
            "HEAD",
        )
        if by_cookie and origin is None and site != "same-origin":
            raise Refusal(403, "forbidden", "only the page itself may change flags")
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if request.method == "POST" and kind != "application/json":  # no form of a site sends it
            raise Refusal(415, "media-type", "expected Content-Type: application/json")


def _wrap_receive_with_limits(receive: Receive) -> Receive:
    """Return what gives a body that is neither too large nor too slow, and then whatever comes."""
    left, end = BODY_MAX, asyncio.get_running_loop().time() + PATIENCE
    more = True

    async def receive_next() -> Message:
        nonlocal left, more
        try:
            async with asyncio.timeout_at(end if more else None):
                message = await receive()
        except TimeoutError:
            detail = f"the body took longer than {PATIENCE:g} seconds"
            raise Refusal(408, "timeout", detail) from None
        left -= len(message.get("body", b""))
        if left < 0:
            raise Refusal(413, "too-large", f"the body has more than {BODY_MAX} bytes")
        more = message.get("more_body", False)
        return message

    return receive_next


class BoundedProtocol(H11Protocol):
    """A connection of uvicorn that can't keep others out while nothing allowed comes from it.

    uvicorn itself waits for the head of a request for as long as it takes, and asyncio a minute for
    a TLS handshake. Subclasses for a server have an `unknown` of their own.
    """

    tls: ClassVar[ssl.SSLContext | None] = None
    port: ClassVar[int] = 0  # of 127.0.0.1, to which only programs of this user may connect
    unknown: ClassVar[dict[asyncio.Transport, None]] = {}  # the oldest first
    _raw: Any = None
    _early = b""
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Let the client in, for whom the oldest unknown one may have to leave."""
        if self.port and not _is_peer_user_trusted(transport, self.port):
            transport.abort()
            return
        if len(self.unknown) >= MOST_UNKNOWN:
            oldest = next(iter(self.unknown))
            del self.unknown[oldest]
            oldest.abort()
        self._raw, self.unknown[transport] = transport, None
        self.app_state = {**self.app_state, "protocol": self}
        self._set_head_deadline(head=True)
        if self.tls is None:
            super().connection_made(transport)
        else:
            transport.pause_reading()
            self._handshake = self.loop.create_task(self._start_tls(transport, self.tls))

    async def _start_tls(self, transport: asyncio.Transport, context: ssl.SSLContext) -> None:
        try:
            made: Any = await self.loop.start_tls(transport, self, context, server_side=True)
            super().connection_made(made)
        except OSError:
            transport.abort()
        if self._early:
            self.data_received(self._early)

    def mark_client_known(self) -> None:
        """Something allowed has come."""
        self.unknown.pop(self._raw, None)

    def _set_head_deadline(self, *, head: bool) -> None:
        """Close the connection unless the head of a request comes soon, or wait for none."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.loop.call_later(PATIENCE, self._raw.abort) if head else None

    def data_received(self, data: bytes) -> None:
        """Read, as uvicorn does."""
        if self.transport is None:  # a request may come together with the end of the handshake
            self._early += data
            return
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._set_head_deadline(head=False)

    def on_response_complete(self) -> None:
        """Wait for the next request, as uvicorn does."""
        super().on_response_complete()
        if self.cycle.response_complete:
            self._set_head_deadline(head=True)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._set_head_deadline(head=False)
        self.mark_client_known()
        if self.transport is not None:
            super().connection_lost(exc)


def _is_peer_user_trusted(transport: asyncio.Transport, port: int) -> bool:
    """Return whether a program of this user, or of root, has connected to a port of 127.0.0.1.

    A connection that its process has left has no inode, and Linux says uid 0 of it.
    """
    users, before = {os.geteuid(), 0}, os.environ.get("SUDO_UID", "")
    if os.geteuid() == 0 and before.isdigit():
        users.add(int(before))
    here = f"0100007F:{transport.get_extra_info('peername')[1]:04X}"
    with open("/proc/net/tcp", encoding="ascii") as table:
        found = (line.split() for line in table)
        known = [each for each in found if each[1:3] == [here, f"0100007F:{port:04X}"]]
    return any(each[_INODE] != "0" and int(each[_OWNER]) in users for each in known)
