"""Which requests of a browser the proxy of `paddle-flags open` answers. Pure functions."""

from __future__ import annotations

import hmac
import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote_to_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Header = tuple[bytes, bytes]

_API = re.compile(
    r"/v1/(?:process|flags|flags/[A-Za-z0-9_.~%-]{1,1000}|changes|undo|events|openapi\.json"
    r"|schemas/[A-Za-z0-9_-]{1,100}\.json)"
)
_ASSET = re.compile(r"/(?:[a-z][a-z-]{0,40}\.(?:js|css))?")
_QUERY = re.compile(r"[A-Za-z0-9_.~%=&-]{0,2000}")
_METHODS = {"/v1/changes": ("GET", "HEAD", "POST"), "/v1/undo": ("POST",)}
_ENTRY = "/open/"
_ONCE = (b"host", b"origin", b"sec-fetch-site", b"content-length", b"content-type")
_NEVER = (b"transfer-encoding", b"upgrade")

# All that is passed on. What a connection is about, cookies and tokens stay here.
REQUEST_HEADERS = (b"accept", b"content-type", b"if-none-match", b"last-event-id")
RESPONSE_HEADERS = (
    b"allow",
    b"cache-control",
    b"content-security-policy",
    b"content-type",
    b"cross-origin-opener-policy",
    b"cross-origin-resource-policy",
    b"etag",
    b"permissions-policy",
    b"referrer-policy",
    b"retry-after",
    b"vary",
    b"x-content-type-options",
    b"x-frame-options",
)
API_TYPES = ("application/json", "application/problem+json", "text/event-stream")


class Refusal(NamedTuple):
    """The request is refused."""

    status: int
    type: str
    """What the type of the problem ends in."""
    detail: str


class Entry(NamedTuple):
    """The request brings the token of the URL."""

    token: str
    is_known: bool
    """Whether it also has the cookie."""


class Asset(NamedTuple):
    """A file of the page is asked for."""

    target: str


class Api(NamedTuple):
    """The API of a process is asked."""

    target: str
    """As that process sees it."""
    is_peer: bool
    """Whether it is the second process."""


class Session(NamedTuple):
    """What this proxy knows of itself and of its browser."""

    port: int
    secret: str
    has_peer: bool

    @property
    def cookie(self) -> str:
        """The name of the cookie: those of all ports of a host are in one jar."""
        return f"paddle_flags_{self.port}"

    def header(self) -> bytes:
        """Return the value of Set-Cookie."""
        return f"{self.cookie}={self.secret}; Path=/; HttpOnly; SameSite=Strict".encode()

    def is_known(self, headers: Sequence[Header]) -> bool:
        """Return whether a request has the cookie."""
        begin = f"{self.cookie}=".encode()
        given = (part.strip() for value in _all(headers, b"cookie") for part in value.split(b";"))
        secrets = [part[len(begin) :] for part in given if part.startswith(begin)]
        same = [hmac.compare_digest(each, self.secret.encode()) for each in secrets]
        return any(same)


def judge(
    session: Session, method: str, target: bytes, headers: Sequence[Header]
) -> Refusal | Entry | Asset | Api:
    """Decide about a request."""
    refusal = _check_origin(session, method, headers)
    if refusal:
        return refusal
    text = target.decode("latin-1")
    is_known = session.is_known(headers)
    if text.startswith(_ENTRY):
        return Entry(text[len(_ENTRY) :], is_known) if method == "GET" else _wrong(method)
    if not is_known:
        detail = "open the URL that 'paddle-flags open' has printed; it works once"
        return Refusal(401, "token", detail)
    return _route(session, method, text)


def _check_origin(session: Session, method: str, headers: Sequence[Header]) -> Refusal | None:
    """Refuse requests for other hosts, and those that another site makes a browser send."""
    wrong = [name for name in _ONCE if len(list(_all(headers, name))) > 1]
    wrong += [name for name in _NEVER if _first(headers, name) is not None]
    if wrong:
        return Refusal(400, "malformed", f"{wrong[0].decode()}: unexpected header")
    host = _first(headers, b"host")
    if host not in (f"127.0.0.1:{session.port}", f"localhost:{session.port}"):
        return Refusal(421, "host", "the Host isn't that of this server")
    origin, site = _first(headers, b"origin"), _first(headers, b"sec-fetch-site")
    if origin not in (None, f"http://{host}") or site not in (None, "same-origin", "none"):
        return Refusal(403, "forbidden", "the request comes from another site")
    if method not in ("GET", "HEAD") and origin is None and site != "same-origin":
        return Refusal(403, "forbidden", "only the page itself may change flags")
    return None


def _route(session: Session, method: str, text: str) -> Refusal | Asset | Api:
    path, mark, query = text.partition("?")
    is_peer = path.startswith("/peer/v1/")
    inner = path[len("/peer") :] if is_peer else path
    plain = _QUERY.fullmatch(query) and not _is_crooked(inner)
    if _API.fullmatch(inner) and plain:
        if is_peer and not session.has_peer:
            return Refusal(404, "unknown", "there is no second process")
        is_right = method in (_METHODS.get(inner) or ("GET", "HEAD"))
        return Api(inner + mark + query, is_peer) if is_right else _wrong(method)
    if _ASSET.fullmatch(text):
        return Asset(text) if method in ("GET", "HEAD") else _wrong(method)
    return Refusal(404, "unknown", "no such resource")


def _wrong(method: str) -> Refusal:
    return Refusal(405, "method", f"{method} isn't for this resource")


def _is_crooked(path: str) -> bool:
    """Return whether a decoded path has more parts than it seems, or leads upwards."""
    raw = unquote_to_bytes(path)
    parts = raw.split(b"/")
    odd = any(sign in raw for sign in (b"%", b"\\", b"\0"))
    return odd or len(parts) != path.count("/") + 1 or b".." in parts or b"." in parts


def passed(headers: Iterable[Header], names: Sequence[bytes]) -> list[Header]:
    """Return the headers that are passed on."""
    return [(name, value) for name, value in headers if name.lower() in names]


def _all(headers: Iterable[Header], wanted: bytes) -> Iterable[bytes]:
    return (value for name, value in headers if name == wanted)


def _first(headers: Iterable[Header], wanted: bytes) -> str | None:
    value = next(iter(_all(headers, wanted)), None)
    return None if value is None else value.decode("latin-1")


# ---- Whose connection it is ----


_UID, _INODE = 7, 9  # columns


def owner_of(table: Iterable[str], client: int, server: int) -> int | None:
    """Return the uid of whoever has connected to a port of 127.0.0.1 from another.

    `table` has the lines of /proc/net/tcp. A connection that its process has left doesn't count:
    it has no inode, and Linux says uid 0.
    """
    here, there = f"0100007F:{client:04X}", f"0100007F:{server:04X}"
    for line in table:
        fields = line.split()
        if fields[1:3] == [here, there] and len(fields) > _INODE and fields[_INODE] != "0":
            return int(fields[_UID])
    return None
