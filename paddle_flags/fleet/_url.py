"""The address of a fleet: `scheme://[user[:password]@]host[:port][,host...]/path[?option=value]`."""

from __future__ import annotations

import difflib
import os
import re
from dataclasses import dataclass, field
from typing import NoReturn
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from paddle_flags.fleet._store import FleetError

FOLDERS = ("configmap", "dir")  # schemes of addresses that name a folder
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
        """Raise an error about this address."""
        raise FleetError(f"{self.text}: {what}") from None

    def option(self, known: dict[str, str]) -> dict[str, str]:
        """Return the options with defaults for those that are missing; refuse unknown ones."""
        for name in self.options:
            if name not in known:
                self.refuse(f"unknown option {name}{nearest(name, known)}")
        return {**known, **self.options}

    def poll(self, default: float) -> float:
        """Return the value of the only option that is known, a number of seconds."""
        text = self.option({"poll": str(default)})["poll"]
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 < value < float("inf"):
            self.refuse(f"poll={text}: expected a number of seconds, more than 0")
        return value


def split(text: str) -> Url:
    """Take an address apart. The password is in no message."""
    head, mark, rest = text.partition("://")
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    login, at, places = authority.rpartition("@")
    user, colon, password = login.partition(":")
    shown = f"{head}{mark}{user}{at}{places}{rest[len(authority) :]}"
    scheme, _, path = text.partition(":")
    if scheme.lower() in FOLDERS and not path.startswith("///"):
        path = re.split(r"[?#]", path.removeprefix("//"), maxsplit=1)[0]
        meant = quote(os.path.abspath(unquote(path))) if path else "/mnt/job42"
        what = f"{scheme}:///path, with three slashes and an absolute path, such as"
        raise FleetError(f"{shown}: expected {what} {scheme}://{meant}")
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
        hosts=tuple(_host(place, shown) for place in places.split(",") if place),
        path=unquote(parts.path) or "/",
        user=unquote(user) if user else None,
        password=unquote(password) if colon else None,
        options=dict(parse_qsl(parts.query, keep_blank_values=True)),
    )
    if found.scheme in FOLDERS and found.path == "/":
        found.refuse(f"expected {scheme}:///path, with a folder")
    return found


def _host(text: str, shown: str) -> tuple[str, int | None]:
    found = _HOST.fullmatch(text)
    port = int(found[2]) if found and found[2] else None
    if not found or not found[1] or (port is not None and not 0 < port < 1 << 16):
        what = "expected a host, or host:port with a port up to 65535"
        raise FleetError(f"{shown}: {text!r}: {what}")
    return found[1].strip("[]"), port


def nearest(name: str, known: object) -> str:
    """Return a suggestion for a name that is not known, to be appended to a message."""
    names = sorted(str(each) for each in known)  # type: ignore[attr-defined]
    near = difflib.get_close_matches(name, names, 1, cutoff=0.65)
    return f"; did you mean {near[0]}?" if near else f"; expected one of {', '.join(names)}"
