"""The live protocol from the side of a client: messages, pages, and connections.

docs/reference/live-protocol.md describes it. An answer may come from any program that listens
there, so every message is checked, and has a bound.
"""

from __future__ import annotations

import json
import math
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from paddle_flags.live._documents import Event
from paddle_flags.live._errors import TITLES, LiveConnectionError, LiveError, refusal
from paddle_flags.live._find import connect

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    Params = dict[str, Any]

LONGEST = 64 << 20
"""The most bytes of one message."""

_LONGEST_REQUEST = 1 << 20  # bytes that a process reads
_MOST_PAGES = 4096  # of 256 KiB
_MOST_ROUNDS = 64
_PART = 1 << 16
_MALFORMED = (-32700, -32600, -32601, -32602)
_LISTS = {"flags.list": ("flags", "name", "after"), "changes.list": ("changes", "change", "before")}


class Connection:
    """A connection to a process, which ends with the block that it is used in."""

    def __init__(self, path: str, timeout: float) -> None:
        self._path = path
        self._deadline = time.monotonic() + timeout
        self._data = bytearray()
        self._count = 0
        self._lock = threading.Lock()  # held while the descriptor ends
        try:
            self._socket = connect(path, timeout)
        except OSError as error:
            raise lost(path, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._socket.close()

    def abort(self) -> None:
        """End the connection, which another thread may be using."""
        with self._lock, suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def ask(self, method: str, params: Params | bytes) -> Any:
        """Return the result of a request; bytes are a JSON object without line breaks."""
        if isinstance(params, dict):
            params = json.dumps(params, allow_nan=False).encode("ascii")
        self._count += 1
        head = b'{"jsonrpc":"2.0","id":%d,"method":"%s","params":' % (self._count, method.encode())
        line = head + params + b"}\n"
        if len(line) > _LONGEST_REQUEST:
            message = f"the request has more than {_LONGEST_REQUEST} bytes"
            raise LiveError(message)
        try:
            self._socket.settimeout(self._left())
            self._socket.sendall(line)
        except OSError as error:
            raise lost(self._path, error) from error
        return _result_of(_decode(self._read()), self._count)

    def events(self, since: str | None, alive: float) -> Iterator[Event]:
        """Yield what happens after `since`, or `hello` and what happens from now on.

        An event of the kind `alive` says only that, or that the others follow. After so many
        seconds of silence, the process counts as lost.
        """
        with self:
            first = Event("alive", "", {})
            if since is None:
                hello = self.ask("hello", {})
                first = Event("hello", mark_of(hello), hello)
            self.ask("events.subscribe", {"since": since or first.id})
            yield first
            while True:
                self._deadline = time.monotonic() + alive
                yield _event_of(_decode(self._read()))

    def _read(self) -> bytes:
        """Return the next line."""
        searched = 0
        while (end := self._data.find(b"\n", searched)) < 0:
            searched = len(self._data)
            if searched > LONGEST:
                _fail(f"it is longer than {LONGEST} bytes")
            try:
                self._socket.settimeout(self._left())
                part = self._socket.recv(_PART)
                if not part:
                    raise ConnectionResetError
            except OSError as error:
                raise lost(self._path, error) from error
            self._data += part
        line = bytes(self._data[:end])
        del self._data[: end + 1]
        return line

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    # ---- Answers of several pages ----

    def ask_all(self, method: str, params: Params | bytes) -> Any:
        """Return the whole result of a request; all flags are as they are at one moment."""
        if method not in _LISTS or not isinstance(params, dict):
            return self.ask(method, params)
        whole, is_one = self._ask_pages(method, params)
        for _ in range(_MOST_ROUNDS):
            if is_one or method != "flags.list":
                return whole
            # Flags may have changed while the pages were read.
            news, is_one = self._ask_pages(method, {"since": mark_of(whole)})
            whole = news if news["complete"] else _merged(whole, news)
        return _fail("its flags change faster than they can be read")

    def _ask_pages(self, method: str, params: Params) -> tuple[dict[str, Any], bool]:
        """Return all pages as one, and whether it was one."""
        whole = _page(method, self.ask(method, params))
        items, _, mark = _LISTS[method]
        following = whole.pop("next", None)
        is_one = following is None
        for _ in range(_MOST_PAGES):
            if following is None:
                return whole, is_one
            page = _page(method, self.ask(method, {**params, mark: following}))
            whole[items] += page[items]
            following = page.get("next")
        return _fail("it has too many pages")


def _page(method: str, page: Any) -> dict[str, Any]:
    """Return a page that has its items, each with its name; raise LiveError for another one."""
    items, key, _ = _LISTS[method]
    mark_of(page)
    if items == "flags":
        page = {"complete": False, "removed": [], **page}
    listed, removed = page.get(items), page.get("removed", [])
    if not isinstance(listed, list) or not isinstance(removed, list):
        _fail(f"it has no {items}")
    if not all(isinstance(each, dict) and key in each for each in listed):
        _fail(f"it has {items} without a {key}")
    return page  # type: ignore[no-any-return] # an object, as it has a mark


def _merged(whole: dict[str, Any], news: dict[str, Any]) -> dict[str, Any]:
    """Return a list of flags with what has changed since."""
    flags = {flag["name"]: flag for flag in [*whole["flags"], *news["flags"]]}
    for name in news["removed"]:
        flags.pop(name, None)
    removed = {*whole["removed"], *news["removed"]} - flags.keys()
    listed = {"flags": list(flags.values()), "removed": sorted(removed)}
    return {**news, "complete": whole["complete"], **listed}


# ---- Messages ----


def mark_of(document: Any) -> str:
    """Return EPOCH-REVISION of a document."""
    fields = document if isinstance(document, dict) else {}
    epoch, revision = fields.get("epoch"), fields.get("revision")
    if not isinstance(epoch, str) or not isinstance(revision, int) or not epoch.isalnum():
        _fail("it has no epoch and revision")
    return f"{epoch}-{revision}"


def _decode(line: bytes) -> dict[str, Any]:
    """Return the object in a line."""
    try:
        message = json.loads(line.decode("utf-8"), parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        _fail("it isn't JSON")
    return message if isinstance(message, dict) else _fail("it isn't an object")


def _refuse(_: str) -> NoReturn:
    raise ValueError


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _result_of(message: dict[str, Any], number: int) -> Any:
    """Return the result in the answer to a request; raise LiveError for an error."""
    if "method" in message or message.get("id", number) not in (number, None):
        _fail("it answers another request")
    if isinstance(message.get("error"), dict):
        raise _refusal_of(message["error"])
    if "result" not in message or message.get("id") != number:
        _fail("it has no result")
    return message["result"]


def _refusal_of(error: dict[str, Any]) -> LiveError:
    code, data = error.get("code"), error.get("data")
    fields = data if isinstance(data, dict) else {}
    fields = {**fields, "detail": str(error.get("message") or "")}
    if code in _MALFORMED:
        return refusal(400, "malformed", fields)
    kind = fields.get("kind")
    if isinstance(code, int) and 400 <= code <= 599 and kind in list(TITLES):  # noqa: PLR2004
        return refusal(code, kind, fields)
    return refusal(500, "internal", fields)


def _event_of(message: dict[str, Any]) -> Event:
    """Return the event in a notification; of kind `alive`, it says only that."""
    method, params = str(message.get("method")), message.get("params")
    kind = method.removeprefix("events.")
    if kind == method or not isinstance(params, dict):
        _fail("it isn't an event")
    return Event(kind, "" if kind == "alive" else mark_of(params), params)


def _fail(why: str) -> NoReturn:
    message = f"the answer isn't one of the live protocol: {why}"
    raise LiveError(message)


def lost(where: str, error: BaseException) -> LiveConnectionError:
    """Return the error for a connection that was not made, or has ended."""
    if isinstance(error, LiveConnectionError):
        return error
    if isinstance(error, TimeoutError):
        why = "no answer in time"
    elif isinstance(error, ConnectionRefusedError):
        why = "nobody listens there"
    elif isinstance(error, FileNotFoundError):
        why = "no such socket"
    elif isinstance(error, (ConnectionResetError, BrokenPipeError)):
        why = "the connection was closed"
    else:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return LiveConnectionError(f"{where}: {why}")
