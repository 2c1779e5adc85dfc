"""Addresses of fleets, and the stores that they name. Engines are imported when they are used.

An address is `scheme://[user[:password]@]host[:port][,host...]/path[?option=value]`.
"""

from __future__ import annotations

import importlib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import parse_qsl, unquote, urlsplit

from paddle_flags.errors import FlagTypeError
from paddle_flags.extend import format_install_command, quote_value, suggest_name
from paddle_flags.fleet._store import FleetError, Store

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import TypeIs

TIMEOUT = 5.0  # seconds for an engine to answer
FOLDERS = ("configmap", "dir")  # schemes of addresses that name a folder
_HERE = "paddle_flags.fleet"
# By scheme: the module and the class, and the extra of paddle_flags if that needs other packages.
ENGINES = {
    "configmap": ("_configmap", "ConfigMapStore", ""),
    "dask": ("dask", "DaskStore", "dask"),
    "dasks": ("dask", "DaskStore", "dask"),
    "dir": ("_directory", "DirectoryStore", ""),
    "etcd": ("_etcd", "EtcdStore", "etcd"),
    "etcds": ("_etcd", "EtcdStore", "etcd"),
    "ray": ("ray", "RayStore", "ray"),
    "tcpstore": ("_tcpstore", "TcpStore", "torch"),
}
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]]*)(?::([0-9]*))?")


@dataclass(frozen=True)
class Url:
    """The parts of an address."""

    text: str  # as users wrote it, without a password
    scheme: str
    hosts: tuple[tuple[str, int | None], ...]
    path: str  # "/" and what follows; unquoted
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    options: dict[str, str] = field(default_factory=dict)

    def refuse(self, what: str) -> NoReturn:
        raise FleetError(f"{self.text}: {what}") from None

    def resolve_options(self, known: dict[str, str]) -> dict[str, str]:
        """Return the options with defaults for those that are missing; refuse unknown ones."""
        for name in self.options:
            if name not in known:
                self.refuse(f"unknown option {name}{_suggest_choices(name, known)}")
        return {**known, **self.options}

    def poll_seconds(self, default: float) -> float:
        """Return the value of the only option that is known, a number of seconds."""
        text = self.resolve_options({"poll": str(default)})["poll"]
        if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text) or not float(text):
            self.refuse(f"poll={text}: expected a number of seconds, more than 0")
        return float(text)


def parse_url(text: str) -> Url:
    """Take an address apart. The password is in no message."""
    head, mark, rest = text.partition("://")
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    login, at, places = authority.rpartition("@")
    user, colon, password = login.partition(":")
    shown = f"{head}{mark}{user}{at}{places}{rest[len(authority) :]}"
    scheme, _, path = text.partition(":")
    if scheme.lower() in FOLDERS and not path.startswith("///"):
        path = re.split(r"[?#]", path.removeprefix("//"), maxsplit=1)[0]
        meant = Path(os.path.abspath(unquote(path))).as_uri() if path else "file:///mnt/job42"
        what = f"{scheme}:///path, with three slashes and an absolute path, such as"
        raise FleetError(f"{shown}: expected {what} {meant.replace('file', scheme, 1)}")
    if not mark:
        raise FleetError(f"{shown}: expected scheme://..., such as dir:///mnt/job42")
    if "\0" in unquote(rest):
        raise FleetError(f"{head}://: expected an address without NUL")
    is_place = all(_HOST.fullmatch(each) for each in authority.split(","))
    if not at and "@" in rest and not is_place:
        raise FleetError(f"{head}://: write '/', '?' and '#' in a password as %2F, %3F and %23")
    if "#" in rest:
        raise FleetError(f"{head}://: the address has '#': write %23")
    parts = urlsplit(f"{head}://host{rest[len(authority) :]}")
    found = Url(
        text=shown,
        scheme=head.lower(),
        hosts=tuple(_parse_host(place, shown) for place in places.split(",") if place),
        path=unquote(parts.path) or "/",
        user=unquote(user) if user else None,
        password=unquote(password) if colon else None,
        options=dict(parse_qsl(parts.query, keep_blank_values=True)),
    )
    if found.scheme in FOLDERS and found.path == "/":
        found.refuse(f"expected {scheme}:///path, with a folder")
    return found


def _parse_host(text: str, shown: str) -> tuple[str, int | None]:
    found = _HOST.fullmatch(text)
    port = int(found[2]) if found and found[2] else None
    if not found or not found[1] or (port is not None and not 0 < port < 1 << 16):
        what = "expected a host, or host:port with a port up to 65535"
        raise FleetError(f"{shown}: {text!r}: {what}")
    return found[1].strip("[]"), port


def _suggest_choices(name: str, known: Iterable[str]) -> str:
    return f"{suggest_name(name, known) or ';'} expected one of {', '.join(sorted(known))}"


def is_address(url: str | Store) -> TypeIs[str]:
    return not hasattr(url, "keep_alive")


def open_store(url: str, *, timeout: float = TIMEOUT, create: bool = True) -> Store:
    """Connect to the fleet that `url` names, such as `dir:///mnt/job42`.

    Calls of the store raise `UnreachableError` if the engine has not answered after `timeout`
    seconds. With `create=False`, a folder without a fleet raises FleetError.
    """
    if not isinstance(url, str):
        raise FlagTypeError(
            f"url: {quote_value(url)}: expected the address of a fleet, such as dir:///mnt/job42"
        )
    place = parse_url(url)
    if place.scheme not in ENGINES:
        place.refuse(f"unknown scheme {place.scheme}{_suggest_choices(place.scheme, ENGINES)}")
    module, name, extra = ENGINES[place.scheme]
    try:
        engine = getattr(importlib.import_module(f"{_HERE}.{module}"), name)
    except ImportError as error:
        if not extra or (error.name or "").startswith(_HERE):
            raise
        what = f"the engine {place.scheme} needs the package {error.name}: "
        raise FleetError(f"{place.text}: {what}{format_install_command(extra)}") from error
    store: Store = engine(place, timeout)
    if not create:
        store.check_exists()
    return store
