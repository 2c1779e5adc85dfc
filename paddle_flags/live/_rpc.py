"""The live protocol from the side of a client: messages, pages, and connections.

docs/reference/live-protocol.md describes it. An answer may come from any program that listens
there, so every message is checked, and has a bound.
"""

from __future__ import annotations

import json
import math
import os
import select
import socket
import struct
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

from paddle_flags.errors import FlagUnsupportedError
from paddle_flags.live._documents import ANSWERS, EVENTS, Event, check_document
from paddle_flags.live._errors import TITLES, LiveConnectionError, LiveError, make_problem_error

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import Self

    Params = dict[str, Any]

LONGEST = 64 << 20
"""The most bytes of one message."""

_LONGEST_REQUEST = 1 << 20  # bytes that a process reads
_MOST_PAGES = 4096  # of 256 KiB
_PART = 1 << 16
_LONGEST_PATH = 107  # bytes of a socket's path, in the kernel
_RETRY = 0.01  # seconds until the next attempt to connect
_PEER = struct.Struct("iII")  # the process, its user and its group
_MALFORMED = (-32700, -32600, -32601, -32602)
_LISTS = {"flags.list": ("flags", "name", "after"), "changes.list": ("changes", "change", "before")}


class Connection:
    """A connection to a process: for one answer, one stream, or the requests of one thread."""

    _socket: socket.socket | None = None
    _aborted = False

    def __init__(self, path: str, timeout: float, longest: int = LONGEST) -> None:
        """The timeout begins here, and the connection when it is used.

        `longest` is for the bytes of a message.
        """
        self._path = path
        self._longest = longest
        self._deadline = time.monotonic() + timeout
        self._data = bytearray()
        self._count = 0
        self._lock = threading.Lock()  # held while the descriptor ends

    def __enter__(self) -> Self:
        try:
            self._connect()
        except OSError as error:
            self.__exit__()
            raise connection_error(self._path, error) from error
        return self

    def _connect(self) -> None:
        if not hasattr(socket, "SO_PEERCRED"):
            message = f"{self._path}: only Linux tells whose a socket is; use a URL here"
            raise FlagUnsupportedError(message)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with _shorten_path(self._path) as path:
            while True:
                try:
                    self._get_timed_socket().connect(path)
                    break
                except BlockingIOError:  # too many clients are connecting
                    time.sleep(_RETRY)
        data = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
        _, owner, _ = _PEER.unpack(data)
        if os.geteuid() not in (0, owner) and owner != 0:
            why = f"the process behind it has uid {owner}, expected yours or root's"
            raise PermissionError(0, why)

    def __exit__(self, *_: object) -> None:
        if self._socket is not None:
            with self._lock:
                self._socket.close()

    def is_closed_by_peer(self) -> bool:
        """Return whether the process has closed it, as by its end; between two requests."""
        poll = select.poll()
        poll.register(self._socket or -1, select.POLLIN)
        return bool(poll.poll(0))

    def abort(self) -> None:
        """End what another thread does with the connection, now or later."""
        self._aborted = True
        if self._socket is not None:
            with self._lock, suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _ask(self, method: str, params: Params | bytes) -> Any:
        """Return the result of a request."""
        if isinstance(params, dict):
            params = json.dumps(params, allow_nan=False).encode("ascii")
        self._count += 1
        head = b'{"jsonrpc":"2.0","id":%d,"method":"%s","params":' % (self._count, method.encode())
        line = head + params + b"}\n"
        if len(line) > _LONGEST_REQUEST:
            raise LiveError(f"the request has more than {_LONGEST_REQUEST} bytes")
        try:
            self._get_timed_socket().sendall(line)
        except OSError as error:
            raise connection_error(self._path, error) from error
        result = _result_of(_decode(self._receive_line()), self._count)
        return check_document(result, ANSWERS.get(method, {}))

    def ask_once(self, method: str, params: Params | bytes) -> Any:
        """Return the whole result of a single request, in one piece where it comes in pages.

        Parameters as bytes are a JSON object without line breaks. Flags are as they are at one
        moment: what has changed while pages were read is read again.
        """
        with self:
            if method in _LISTS and isinstance(params, dict):
                return self._ask_pages(method, params)
            return self._ask(method, params)

    def ask(self, method: str, params: Params, timeout: float) -> Any:
        """Return the result of a request on a connection that stays open for others."""
        self._deadline = time.monotonic() + timeout
        if method in _LISTS:
            return self._ask_pages(method, params)
        return self._ask(method, params)

    def events(self, since: str | None, alive: float) -> Generator[Event, None, None]:
        """Yield what happens after `since`, or `hello` and what happens from now on.

        An event of the kind `alive` says only that, or that the others follow. After so many
        seconds of silence, the process counts as lost.
        """
        with self:
            first = Event("alive", "", {})
            if since is None:
                hello = self._ask("hello", {})
                first = Event("hello", revision_id_of(hello), hello)
            self._ask("events.subscribe", {"since": since or first.id})
            yield first
            while True:
                self._deadline = time.monotonic() + alive
                yield _event_of(_decode(self._receive_line()))

    def _ask_pages(self, method: str, params: Params) -> Any:
        items, key, after = _LISTS[method]
        found: dict[Any, Any] = {}
        removed: set[str] = set()
        whole = start = page = self._ask(method, params)
        for _ in range(_MOST_PAGES):
            found.update((each[key], each) for each in page[items])
            for name in page.get("removed", ()):
                found.pop(name, None)
                removed.add(name)
            if page.get("next") is not None:
                page = self._ask(method, {**params, after: page["next"]})
            elif start is page or items != "flags":
                whole.pop("next", None)
                more = {"revision": start["revision"], "removed": sorted(removed - found.keys())}
                return {**whole, **(more if items == "flags" else {}), items: list(found.values())}
            else:
                params = {"since": revision_id_of(start)}
                start = page = self._ask(method, params)
                if page["complete"]:
                    whole, found, removed = page, {}, set()
        return _raise_malformed("it has too many pages")

    def _receive_line(self) -> bytes:
        """Return the next line."""
        searched = 0
        while (end := self._data.find(b"\n", searched)) < 0:
            searched = len(self._data)
            if searched > self._longest:
                _raise_malformed(f"it is longer than {self._longest} bytes")
            try:
                part = self._get_timed_socket().recv(_PART)
                if not part:
                    raise ConnectionResetError
            except OSError as error:
                raise connection_error(self._path, error) from error
            self._data += part
        line = bytes(self._data[:end])
        del self._data[: end + 1]
        return line

    def _get_timed_socket(self) -> socket.socket:
        """Return the socket, for what may take the time that is left."""
        if self._socket is None or self._aborted:
            raise ConnectionResetError
        self._socket.settimeout(self._seconds_left())
        return self._socket

    def _seconds_left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


# ---- Messages ----


def revision_id_of(document: Any) -> str:
    """Return EPOCH-REVISION of a document."""
    epoch, revision = document.get("epoch"), document.get("revision")
    is_word = isinstance(epoch, str) and epoch.isascii() and epoch.isalnum()
    if not is_word or not isinstance(revision, int):
        _raise_malformed("it has no epoch and revision")
    return f"{epoch}-{revision}"


def _decode(line: bytes) -> dict[str, Any]:
    """Return the object in a line."""
    try:
        message = json.loads(
            line.decode("utf-8"), parse_constant=_refuse_constant, parse_float=_parse_finite
        )
    except (ValueError, RecursionError):
        _raise_malformed("it isn't JSON")
    return message if isinstance(message, dict) else _raise_malformed("it isn't an object")


def _refuse_constant(_: str) -> NoReturn:
    raise ValueError


def _parse_finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse_constant(text)


def _result_of(message: dict[str, Any], number: int) -> Any:
    """Return the result in the answer to a request; raise LiveError for an error."""
    if "method" in message or message.get("id", number) not in (number, None):
        _raise_malformed("it answers another request")
    if isinstance(message.get("error"), dict):
        raise _refusal_of(message["error"])
    if "result" not in message or message.get("id") != number:
        _raise_malformed("it has no result")
    return message["result"]


def _refusal_of(error: dict[str, Any]) -> LiveError:
    code, data = error.get("code"), error.get("data")
    fields = data if isinstance(data, dict) else {}
    fields = {**fields, "detail": str(error.get("message") or "")}
    if code in _MALFORMED:
        return make_problem_error(400, "malformed", fields)
    kind = fields.get("kind")
    if isinstance(code, int) and 400 <= code <= 599 and kind in list(TITLES):
        return make_problem_error(code, kind, fields)
    return make_problem_error(500, "internal", fields)


def _event_of(message: dict[str, Any]) -> Event:
    """Return the event in a notification; of kind `alive`, it says only that."""
    kind = str(message.get("method")).removeprefix("events.")
    params = check_document(message.get("params"), EVENTS.get(kind, {}))
    if not kind.isidentifier():  # it becomes a line of a stream
        _raise_malformed("it isn't an event")
    return Event(kind, "" if kind == "alive" else revision_id_of(params), params)


def _raise_malformed(why: str) -> NoReturn:
    raise LiveError(f"the answer isn't one of the live protocol: {why}")


_WHY = (
    (TimeoutError, "no answer in time"),
    (ConnectionRefusedError, "nobody listens there"),
    (FileNotFoundError, "no such socket"),
    ((ConnectionResetError, BrokenPipeError), "the connection was closed"),
)


def connection_error(where: str, error: BaseException) -> LiveConnectionError:
    """Return the error for a connection that was not made, or has ended."""
    known = next((why for kind, why in _WHY if isinstance(error, kind)), None)
    why = known or getattr(error, "strerror", None) or str(error) or type(error).__name__
    return LiveConnectionError(f"{where}: {why}")


@contextmanager
def _shorten_path(path: str) -> Iterator[str]:
    """Give a path that the kernel takes, however long it is."""
    if len(os.fsencode(path)) <= _LONGEST_PATH:
        yield path
        return
    folder, name = os.path.split(path)
    place = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{place}/{name}"
    finally:
        os.close(place)
