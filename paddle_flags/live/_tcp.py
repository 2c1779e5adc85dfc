"""Addresses of servers, and listening on TCP."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from typing import TYPE_CHECKING, NamedTuple

from paddle_flags._core.status import shown
from paddle_flags.errors import FlagArgumentError, FlagTypeError
from paddle_flags.live._sockets import BACKLOG

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_EXPECTED = "expected a path with '/', 'host:port', or (host, port)"
_LOOPBACK = "localhost,127.0.0.1,[::1]"
_NAME = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]")
_HIGHEST = 65535
_TOKEN = 'tokens={"ops": pf.live.Token(secrets.token_urlsafe(), may="change")}'


class Port(NamedTuple):
    """Where to listen on TCP."""

    host: str
    number: int


def parse_address(address: object) -> Port | str | None:
    """Return what an address means: a port, a path, or the default."""
    if address is None:
        return None
    if isinstance(address, tuple):
        return _from_pair(address)
    if isinstance(address, (str, os.PathLike)):
        text = os.fspath(address)
        if isinstance(text, str):
            return text if "/" in text else _from_text(text)
    message = f"address: {shown(address)}: {_EXPECTED}"
    raise FlagTypeError(message)


def _from_pair(address: tuple[object, ...]) -> Port:
    if len(address) == 2:  # noqa: PLR2004 - a pair
        host, number = address
        if isinstance(host, str) and host and isinstance(number, int):
            return _checked(Port(host.strip("[]"), number), address)
    message = f"address: {shown(address)}: {_EXPECTED}"
    raise FlagArgumentError(message)


def _from_text(text: str) -> Port:
    found = re.fullmatch(r"(?:\[([0-9A-Fa-f:.]+)\]|([^:\[\]]+)):([0-9]{1,5})", text)
    if not found:
        message = f"address: {shown(text)}: {_EXPECTED}"
        raise FlagArgumentError(message)
    return _checked(Port(found[1] or found[2], int(found[3])), text)


def _checked(port: Port, address: object) -> Port:
    if 0 <= port.number <= _HIGHEST:
        return port
    message = f"address: {shown(address)}: expected a port from 0 to {_HIGHEST}"
    raise FlagArgumentError(message)


def listen(
    port: Port, tokens: Mapping[str, object] | None, hosts: Iterable[str] | None
) -> socket.socket:
    """Listen on a port; raise FlagArgumentError if that wouldn't be safe."""
    if not tokens:
        message = f"TCP needs tokens, as every user of this machine can connect: {_TOKEN}"
        raise FlagArgumentError(message)
    names = check_names(hosts)
    found = socket.getaddrinfo(
        port.host, port.number, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    family, kind, _, _, where = min(found, key=lambda each: each[0] != socket.AF_INET)
    if not names and not _is_loopback(str(where[0])):
        message = (
            f"address: {port.host} can be reached from other machines, which needs the names by"
            ' which they call it, as in hosts=["node7.example.com"]'
        )
        raise FlagArgumentError(message)
    made = socket.socket(family, kind)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(where)
        made.listen(BACKLOG)
        made.settimeout(0)
    except BaseException:
        made.close()
        raise
    return made


def _is_loopback(host: str) -> bool:
    return ipaddress.ip_address(host.partition("%")[0]).is_loopback


def check_names(hosts: Iterable[str] | None) -> list[str]:
    """Return the names, each as `Host` has it without a port."""
    if isinstance(hosts, str):
        message = f"hosts: {shown(hosts)}: expected a list of names"
        raise FlagTypeError(message)
    names = list(hosts or ())
    for name in names:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            message = f"hosts: {shown(name)}: expected a name or an address, without a port"
            raise FlagArgumentError(message)
    return names


def hosts_text(hosts: Iterable[str] | None) -> str:
    """Return the allowed values of Host, as the library takes them."""
    return ",".join(check_names(hosts)) or _LOOPBACK


def address_text(made: socket.socket) -> str:
    """Return where a socket listens."""
    host, number = made.getsockname()[:2]
    return f"[{host}]:{number}" if made.family == socket.AF_INET6 else f"{host}:{number}"


def refuse_on_unix(tokens: Mapping[str, object] | None, hosts: Iterable[str] | None) -> None:
    """Raise FlagArgumentError for what only TCP has."""
    if tokens or hosts is not None:
        what = "tokens" if tokens else "hosts"
        message = f"{what}: only for TCP; a Unix socket knows who connects"
        raise FlagArgumentError(message)
