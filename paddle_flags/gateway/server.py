"""Running a gateway: uvicorn on TCP, or on loopback for one browser."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from paddle_flags.errors import FlagArgumentError, FlagUnsupportedError
from paddle_flags.extend import quote_value
from paddle_flags.gateway.security import (
    HEAD_MAX,
    BoundedProtocol,
    BrowserClient,
    Guard,
    TokenClients,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.types import ASGIApp

    from paddle_flags.gateway.users import User

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_NAME = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")
_LINGER = 1  # seconds for answers that are being sent, at the end


class ListenOptions(NamedTuple):
    """Where a gateway listens, and how it is reached."""

    host: str = "127.0.0.1"
    port: int = 8080
    names: tuple[str, ...] = ()
    """By which clients call it, as in `Host`."""
    certfile: str | None = None
    keyfile: str | None = None
    proxy: str | None = None
    """The addresses of the proxy before it, which brings TLS."""


def check_system() -> None:
    """Raise FlagUnsupportedError where no process serves its flags on a Unix socket."""
    if not hasattr(socket, "SO_PEERCRED"):
        raise FlagUnsupportedError("the gateway works on Linux only, as the live server does")


def serve(
    app: ASGIApp, listen: ListenOptions, users: Mapping[str, User], ready: Callable[[str], object]
) -> None:
    """Serve an application until Ctrl-C; `ready` is called with the URL."""
    made = _open_listener(listen)
    context = _tls_context(listen)
    guard = Guard(app, TokenClients(users), _check_host_names(listen.names) or _LOOPBACK)
    host, port = made.getsockname()[:2]
    shown_host = listen.names[0] if listen.names else f"[{host}]" if ":" in host else host
    ready(f"http{'s' * bool(context)}://{shown_host}:{port}/")
    _run_server(guard, made, {"tls": context}, proxy=listen.proxy)


def serve_browser(app: ASGIApp, home: str, idle: float, ready: Callable[[str], object]) -> None:
    """Serve one browser until Ctrl-C, or until it asked for nothing for `idle` seconds.

    `ready` is called with a link, which works once, and then leads to `home`.
    """
    check_system()
    made = _open_listener(ListenOptions(port=0))
    port: int = made.getsockname()[1]
    browser = BrowserClient(port, f"/{home}")
    ready(f"http://127.0.0.1:{port}{browser.path}")
    _run_server(Guard(app, browser, _LOOPBACK), made, {"port": port}, idle=idle)


def _run_server(
    app: Guard,
    made: socket.socket,
    limits: dict[str, Any],
    *,
    idle: float | None = None,
    proxy: str | None = None,
) -> None:
    fields = {**limits, "unknown": {}, "shutdown": _shut_down_connection}
    config = uvicorn.Config(
        app,
        http=type("_Protocol", (BoundedProtocol,), fields),
        ws="none",
        lifespan="off",
        loop="asyncio",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=proxy is not None,
        forwarded_allow_ips=proxy or "",
        h11_max_incomplete_event_size=HEAD_MAX,
        timeout_graceful_shutdown=_LINGER,
    )
    with suppress(KeyboardInterrupt):  # which uvicorn raises again when it has ended in order
        asyncio.run(_serve_until_idle(uvicorn.Server(config), made, idle))


async def _serve_until_idle(
    server: uvicorn.Server, made: socket.socket, idle: float | None
) -> None:
    watch = asyncio.create_task(_stop_when_idle(server, idle)) if idle is not None else None
    try:
        await server.serve([made])
    finally:
        if watch is not None:
            watch.cancel()


def _shut_down_connection(protocol: BoundedProtocol) -> None:
    """Let answers be sent at the end of the server, but not streams, which go on forever."""
    H11Protocol.shutdown(protocol)
    cycle = protocol.cycle
    if cycle is not None and cycle.response_started and not cycle.response_complete:
        protocol.transport.close()


async def _stop_when_idle(server: uvicorn.Server, idle: float) -> None:
    loop = asyncio.get_running_loop()
    active = loop.time()
    while loop.time() < active + idle:
        await asyncio.sleep(min(idle, 1.0))
        if server.server_state.tasks:
            active = loop.time()
    server.should_exit = True


def _open_listener(listen: ListenOptions) -> socket.socket:
    """Listen; raise FlagArgumentError if that wouldn't be safe."""
    found = socket.getaddrinfo(
        listen.host, listen.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    family, _, _, _, where = min(found, key=lambda each: each[0] != socket.AF_INET)
    if not ipaddress.ip_address(str(where[0]).partition("%")[0]).is_loopback:
        needed = ""
        if not listen.certfile and listen.proxy is None:
            needed = "TLS: --certfile and --keyfile, or --behind-proxy ADDRESS if a proxy brings it"
        elif not listen.names:
            needed = "the names by which they call it, as in --allow-host flags.example.com"
        if needed:
            message = f"{listen.host} can be reached from other machines, which needs {needed}"
            raise FlagArgumentError(message)
    return socket.create_server(where, family=family, backlog=512)


def _tls_context(listen: ListenOptions) -> ssl.SSLContext | None:
    if not listen.certfile:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(listen.certfile, listen.keyfile)
    except (OSError, ssl.SSLError) as error:
        raise FlagArgumentError(f"{listen.certfile}: {error.strerror or error}") from None
    return context


def _check_host_names(names: Sequence[str]) -> tuple[str, ...]:
    for name in names:
        if not _NAME.fullmatch(name):
            message = f"{quote_value(name)}: expected a name or an address, without a port"
            raise FlagArgumentError(message)
    return tuple(names)
