"""The live protocol from the side of a client: messages, pages, and connections that block.

docs/reference/live-protocol.md describes it. An answer may come from any program that listens
there, so every message is checked, and has a bound.
"""

from __future__ import annotations

import json
import math
import time
from typing import TYPE_CHECKING, Any, NoReturn

from paddle_flags.live._documents import Event
from paddle_flags.live._errors import LiveConnectionError, LiveError, refusal
from paddle_flags.live._find import connect

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from typing import Self

    from paddle_flags.live._find import Socket

    Params = dict[str, Any]
    Steps = Generator[tuple[str, Params], Any, Any]
    """Requests that together give one answer: yields each one, and is sent its result."""

LONGEST = 64 << 20
"""The most bytes of one message."""

LONGEST_REQUEST = 1 << 20
"""The most bytes of a request that a process reads."""

_MOST_PAGES = 4096  # of 256 KiB
_MOST_ROUNDS = 16
_PART = 1 << 16
_MALFORMED = (-32700, -32600, -32601, -32602)
_TITLES = {
    "unknown": "no such flag or change",
    "forbidden": "this may not be changed",
    "confirm": "an unsafe flag must be confirmed",
    "conflict": "something has changed meanwhile",
    "rejected": "a value was rejected",
    "busy": "the process is busy",
    "timeout": "the change was given up",
    "internal": "the process could not do it",
    "malformed": "the request isn't one of the live protocol",
}
_KINDS = {
    "events.changes": "changes",
    "events.gap": "gap",
    "events.alive": "alive",
}


# ---- Messages ----


def request(number: int, method: str, params: bytes) -> bytes:
    """Return the line of a request whose parameters are a JSON object without line breaks."""
    return b'{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}\n' % (
        number,
        method.encode("ascii"),
        params,
    )


def encode(params: Any) -> bytes:
    """Return parameters as JSON."""
    return json.dumps(params, allow_nan=False).encode("ascii")


def result_of(line: bytes, number: int) -> Any:
    """Return the result in the answer to a request; raise LiveError for an error."""
    message = _decode(line)
    if "method" in message or message.get("id", number) not in (number, None):
        _fail("it answers another request")
    error = message.get("error")
    if isinstance(error, dict):
        raise refusal(*problem_of(error))
    if "result" not in message or message.get("id") != number:
        _fail("it has no result")
    return message["result"]


def event_of(line: bytes) -> Event | None:
    """Return the event in a notification; None if it says only that the process is alive."""
    message = _decode(line)
    kind, params = _KINDS.get(str(message.get("method"))), message.get("params")
    if kind == "alive":
        return None
    if kind is None or not isinstance(params, dict):
        _fail("it isn't an event")
    return Event(kind, mark_of(params), params)


def mark_of(document: Any) -> str:
    """Return EPOCH-REVISION of a document."""
    epoch, revision = document.get("epoch"), document.get("revision")
    if not isinstance(epoch, str) or not isinstance(revision, int) or not epoch.isalnum():
        _fail("it has no epoch and revision")
    return f"{epoch}-{revision}"


def problem_of(error: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return an error of the protocol as problem details (RFC 9457), with their status."""
    code, data = error.get("code"), error.get("data")
    fields: dict[str, Any] = data if isinstance(data, dict) else {}
    kind = fields.get("kind")
    if code in _MALFORMED:
        status, kind = 400, "malformed"
    elif isinstance(code, int) and 400 <= code <= 599 and kind in _TITLES:  # noqa: PLR2004
        status = code
    else:
        status, kind = 500, "internal"
    document = {
        "type": f"urn:paddle-flags:problem:{kind}",
        "title": _TITLES[str(kind)],
        "status": status,
        "detail": str(error.get("message") or _TITLES[str(kind)]),
    }
    for name, form in (("errors", list), ("current", dict)):
        if fields.get(name) and isinstance(fields[name], form):
            document[name] = fields[name]
    return status, document


def _decode(line: bytes) -> dict[str, Any]:
    """Return the object in a line."""
    try:
        message = json.loads(line.decode("utf-8"), parse_constant=_refuse, parse_float=_finite)
    except (ValueError, RecursionError):
        _fail("it isn't JSON")
    if not isinstance(message, dict):
        _fail("it isn't an object")
    return message


def _refuse(_: str) -> NoReturn:
    raise ValueError


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


def _fail(why: str) -> NoReturn:
    raise LiveError(f"the answer isn't one of the live protocol: {why}")


def fail_too_long() -> NoReturn:
    """Raise LiveError for a message without an end."""
    _fail(f"it is longer than {LONGEST} bytes")


# ---- Answers of several pages ----


def steps_of(method: str, params: Params) -> Steps:
    """Return the requests that give the whole answer to a method."""
    if method == "flags.list":
        return list_flags(params.get("since"))
    return list_changes(params) if method == "changes.list" else one(method, params)


def one(method: str, params: Params | None = None) -> Steps:
    """Ask once."""
    return (yield method, params or {})


def list_flags(since: str | None = None) -> Steps:
    """Ask for all flags, or those that changed after `since`, as they are at one moment."""
    for _ in range(_MOST_ROUNDS):
        whole = yield from _read_pages("flags.list", "flags", "after", _given(since=since))
        if whole.pop("pages") == 1:
            return whole
        # Flags may have changed while the pages were read.
        while True:
            mark = mark_of(whole)
            news = yield from _read_pages("flags.list", "flags", "after", {"since": mark})
            if news["complete"]:
                break
            _merge(whole, news)
            if news["pages"] == 1:
                return whole
    _fail("its flags change faster than they can be read")


def _merge(whole: dict[str, Any], news: dict[str, Any]) -> None:
    """Add what has changed since to a list of flags."""
    flags = {flag["name"]: flag for flag in whole["flags"]}
    flags.update((flag["name"], flag) for flag in news["flags"])
    for name in news["removed"]:
        flags.pop(name, None)
    removed = {*whole["removed"], *news["removed"]} - flags.keys()
    whole.update(flags=list(flags.values()), removed=sorted(removed), revision=news["revision"])


def list_changes(params: Params) -> Steps:
    """Ask for all changes that the process keeps."""
    whole = yield from _read_pages("changes.list", "changes", "before", params)
    del whole["pages"]
    return whole


def _read_pages(method: str, items: str, mark: str, params: Params) -> Steps:
    """Ask for all pages; `pages` of the result is how many there were."""
    whole = yield method, params
    for count in range(1, _MOST_PAGES):
        _check_page(whole, items)
        following = whole.pop("next", None)
        if following is None:
            whole["pages"] = count
            return whole
        page = yield method, {**params, mark: following}
        _check_page(page, items)
        whole[items] += page[items]
        whole["next"] = page.get("next")
    _fail("it has too many pages")


def _check_page(page: Any, items: str) -> None:
    """Raise LiveError unless a page has its items, each with its name."""
    listed = page.get(items) if isinstance(page, dict) else None
    key = {"flags": "name", "changes": "change"}[items]
    if not isinstance(listed, list) or not all(
        isinstance(each, dict) and key in each for each in listed
    ):
        _fail(f"it has no {items}")
    if items == "flags":
        page.setdefault("complete", False)
        if not isinstance(page.setdefault("removed", []), list):
            _fail("'removed' isn't a list")
    mark_of(page)


def _given(**params: Any) -> Params:
    return {name: value for name, value in params.items() if value is not None}


# ---- Connections ----


class Connection:
    """A connection to a process, which ends with the block that it is used in."""

    def __init__(self, path: str, timeout: float) -> None:
        self._path = path
        self._deadline = time.monotonic() + timeout
        self._data = bytearray()
        self._count = 0
        try:
            self._socket: Socket = connect(path, timeout)
        except OSError as error:
            raise lost(path, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def run(self, steps: Steps) -> Any:
        """Make requests one after the other; return what they give together."""
        try:
            asked = next(steps)
            while True:
                asked = steps.send(self._ask(*asked))
        except StopIteration as end:
            return end.value

    def events(self, alive: float) -> Iterator[Event]:
        """Yield the events that the process sends; it is lost after so many seconds of silence."""
        while True:
            self._deadline = time.monotonic() + alive
            event = event_of(self._read())
            if event is not None:
                yield event

    def _ask(self, method: str, params: Params) -> Any:
        self._count += 1
        line = request(self._count, method, encode(params))
        if len(line) > LONGEST_REQUEST:
            message = f"the request has more than {LONGEST_REQUEST} bytes"
            raise LiveError(message)
        try:
            self._socket.settimeout(self._left())
            self._socket.sendall(line)
        except OSError as error:
            raise lost(self._path, error) from error
        return result_of(self._read(), self._count)

    def _read(self) -> bytes:
        """Return the next line."""
        searched = 0
        while (end := self._data.find(b"\n", searched)) < 0:
            searched = len(self._data)
            if searched > LONGEST:
                fail_too_long()
            try:
                self._socket.settimeout(self._left())
                part = self._socket.recv(_PART)
            except OSError as error:
                raise lost(self._path, error) from error
            if not part:
                raise lost(self._path, ConnectionResetError())
            self._data += part
        line = bytes(self._data[:end])
        del self._data[: end + 1]
        return line

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


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
        why = "the process has closed the connection"
    else:
        why = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return LiveConnectionError(f"{where}: {why}")
