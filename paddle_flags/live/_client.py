"""A client of processes that serve their flags, over a Unix socket or TCP."""

from __future__ import annotations

import http.client
import json
import os
import socket
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from paddle_flags import errors
from paddle_flags._core.frames import public_class
from paddle_flags._core.status import shown
from paddle_flags._report.facts import argument_text
from paddle_flags.live import _documents, _sse
from paddle_flags.live._errors import LiveConnectionError, LiveError, refusal
from paddle_flags.live._find import Endpoint, Socket, connect, endpoint_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from paddle_flags.live._documents import (
        Change,
        ChangeResult,
        Event,
        FlagDetails,
        Flags,
        Process,
    )

    NewValue = bool | int | float | str | list[Any] | tuple[Any, ...] | None

_LARGEST = 256 << 20  # bytes of an answer
_PART = 1 << 16
_ALIVE = 45.0  # seconds without a sign of life from a stream; one comes every 15
_SLOWEST = 5.0  # seconds between attempts to reconnect


@public_class
class Client:
    """The flags of another process.

    `target` is a PID, the path of a Unix socket, or a URL, which needs a token. `timeout` is in
    seconds, for a whole request. All methods raise LiveConnectionError if the process can't be
    reached, and LiveError if it refuses. Any thread may call them.
    """

    def __init__(
        self, target: int | str, *, token: str | None = None, timeout: float = 10.0
    ) -> None:
        if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
            message = "token: expected printable ASCII without blanks"
            raise errors.FlagArgumentError(message)
        self._endpoint = endpoint_of(target)
        self._token = token
        self._timeout = timeout

    def __repr__(self) -> str:
        return f"Client({str(self._endpoint)!r})"

    @property
    def target(self) -> str:
        """The path of the socket, or the URL."""
        return str(self._endpoint)

    def process(self) -> Process:
        """Return what the process is."""
        return _documents.check_process(self._ask("GET", "/v1/process"))

    def flags(self, since: str | None = None) -> Flags:
        """Return all flags, or those that changed after `since`, which is `EPOCH-REVISION`."""
        return _documents.check_flags(self._ask("GET", "/v1/flags" + _since(since)))

    def flag(self, name: str) -> FlagDetails:
        """Return a flag with its history."""
        return _documents.check_details(self._ask("GET", f"/v1/flags/{quote(name, safe='')}"))

    def change(  # noqa: PLR0913 - a keyword for each field of the request
        self,
        values: Mapping[str, NewValue],
        *,
        expect: Mapping[str, NewValue] | None = None,
        reason: str | None = None,
        duration: float | str | None = None,
        dry_run: bool = False,
        confirm: Iterable[str] = (),
    ) -> ChangeResult:
        """Change flags: all of them, or none.

        None as a value takes back what clients have set. `expect` has values that the flags must
        have now. With a `duration`, in seconds or as `"10m"`, the change ends by itself. `confirm`
        names the unsafe flags that are meant.
        """
        body: dict[str, Any] = {"set": _texts(values)}
        if expect is not None:
            body["expect"] = _texts(expect)
        if reason is not None:
            body["reason"] = reason
        if duration is not None:
            body["for"] = duration
        if dry_run:
            body["dry_run"] = True
        if isinstance(confirm, str):
            message = f"confirm: {shown(confirm)}: expected a list of names, not a text"
            raise errors.FlagTypeError(message)
        confirmed = list(confirm)
        if confirmed:
            body["confirm"] = confirmed
        return _documents.check_result(self._ask("POST", "/v1/changes", body))

    def undo(self, change: int | None = None, *, reason: str | None = None) -> ChangeResult:
        """Take back a change of this user; without a number, the last one that isn't undone."""
        body: dict[str, Any] = {}
        if change is not None:
            body["change"] = change
        if reason is not None:
            body["reason"] = reason
        return _documents.check_result(self._ask("POST", "/v1/undo", body))

    def changes(self) -> list[Change]:
        """Return what clients have changed, the latest first."""
        return _documents.check_changes(self._ask("GET", "/v1/changes"))

    def events(
        self, since: str | None = None, *, reconnect: bool = False, timeout: float = _ALIVE
    ) -> Iterator[Event]:
        """Yield what happens from now on, or after `since`, which is `EPOCH-REVISION`.

        The iterator ends when the process ends the stream. With `reconnect`, it yields an event
        `lost` when the connection is lost, and connects again, for as long as it takes. After
        `timeout` seconds without a sign of life, the connection counts as lost.
        """
        wait = 0.0
        while True:
            parser = _sse.Parser()
            problem = "the stream has ended"
            try:
                for event in self._stream(since, parser, timeout):
                    since, wait = event.id or since, 0.0
                    yield event
            except LiveError as error:
                if not (reconnect and _may_pass(error)):
                    raise
                problem = str(error)
            if parser.retry is not None:  # the server can't keep a stream open
                time.sleep(parser.retry)
                continue
            if not reconnect:
                return
            yield _documents.Event("lost", since or "", {"detail": problem})
            wait = min(max(2 * wait, 0.1), _SLOWEST)
            time.sleep(wait)

    # ---- Requests ----

    def _stream(self, since: str | None, parser: _sse.Parser, timeout: float) -> Iterator[Event]:
        """Yield the events of one connection."""
        headers = {"Accept": "text/event-stream"}
        parser.last_id = since or ""
        if since:
            headers["Last-Event-ID"] = _header(since)
        connection = self._connect()
        with _Lost(self._endpoint), _Closing(connection):
            answer, made = self._send(connection, "GET", "/v1/events", headers, None)
            if answer.status != http.client.OK:
                raise refusal(answer.status, _read_json(answer))
            if answer.headers.get_content_type() != "text/event-stream":
                raise LiveError(_foreign(answer))
            _limit(made, None, timeout)
            while True:
                part = answer.read1(_PART)
                if not part:
                    return
                for message in parser.feed(part):
                    data = _documents.check_stream(message.kind, _parse(message.data))
                    yield _documents.Event(message.kind, message.id, data)

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """Send a request, and return the document of the answer."""
        headers = {"Accept": "application/json"}
        data = None
        if body is not None:
            data = json.dumps(body, allow_nan=False).encode("ascii")
            headers["Content-Type"] = "application/json"
        connection = self._connect()
        with _Lost(self._endpoint), _Closing(connection):
            answer, _ = self._send(connection, method, path, headers, data)
            document = _read_json(answer)
            if answer.status != http.client.OK:
                raise refusal(answer.status, document)
            return document

    def _connect(self) -> http.client.HTTPConnection:
        place = self._endpoint
        if place.path:
            return _UnixConnection(place.path, self._timeout)
        if place.secure:
            return http.client.HTTPSConnection(place.host, place.port, timeout=self._timeout)
        return _PlainConnection(place.host, place.port, timeout=self._timeout)

    def _send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        headers: dict[str, str],
        data: bytes | None,
    ) -> tuple[http.client.HTTPResponse, socket.socket]:
        """Send a request; return the answer, and the socket, which http.client may let go of."""
        if self._token is not None and not self._endpoint.path:
            headers["Authorization"] = f"Bearer {self._token}"
        connection.connect()
        made: socket.socket = connection.sock
        _limit(made, time.monotonic() + self._timeout, self._timeout)
        connection.request(method, self._endpoint.prefix + path, data, headers)
        return connection.getresponse(), made


class _UnixConnection(http.client.HTTPConnection):
    """A connection to a Unix socket."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path
        self._seconds = timeout

    def connect(self) -> None:
        """Connect, as the class above does."""
        self.sock = connect(self._path, self._seconds)


class _PlainConnection(http.client.HTTPConnection):
    """A connection whose reads end at a deadline."""

    def connect(self) -> None:
        """Connect, as the class above does."""
        super().connect()
        made: socket.socket = self.sock
        limit = made.gettimeout()
        self.sock = Socket(fileno=made.detach())
        self.sock.settimeout(limit)


class _Closing:
    """Closes a connection at the end of a block."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._connection.close()


class _Lost:
    """Turns what goes wrong with a connection in a block into a LiveConnectionError."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, LiveError):
            return
        if isinstance(error, (socket.timeout, TimeoutError)):
            why = "no answer in time"
        elif isinstance(error, ConnectionRefusedError):
            why = "nobody listens there"
        elif isinstance(error, FileNotFoundError):
            why = "no such socket"
        elif isinstance(error, (http.client.IncompleteRead, ConnectionResetError)):
            why = "the process has closed the connection"
        elif isinstance(error, http.client.HTTPException):
            why = "the answer isn't HTTP"
        elif isinstance(error, OSError):
            why = error.strerror or str(error)
        else:
            return
        message = f"{self._endpoint}: {why}"
        raise LiveConnectionError(message) from error


def _limit(made: socket.socket, deadline: float | None, timeout: float) -> None:
    """Set when reads end: at a moment, or after so many seconds each."""
    made.settimeout(timeout)
    if isinstance(made, Socket):
        made.deadline = deadline


def _read_json(answer: http.client.HTTPResponse) -> Any:
    """Return the document in an answer."""
    if answer.headers.get_content_type() not in ("application/json", "application/problem+json"):
        raise LiveError(_foreign(answer))
    parts: list[bytes] = []
    size = 0
    while part := answer.read(_PART):
        parts.append(part)
        size += len(part)
        if size > _LARGEST:
            message = f"the answer is larger than {_LARGEST} bytes"
            raise LiveError(message)
    body = b"".join(parts)
    if answer.length:
        raise http.client.IncompleteRead(body, answer.length)
    return _parse(body)


def _parse(text: str | bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        message = "the answer isn't one of the live API: it isn't JSON"
        raise LiveError(message) from None


def _foreign(answer: http.client.HTTPResponse) -> str:
    return f"the answer isn't one of the live API: {answer.status} {answer.reason[:80]!r}"


def _may_pass(error: LiveError) -> bool:
    """Return whether trying again makes sense."""
    busy = error.problem is not None and error.problem.status == http.client.SERVICE_UNAVAILABLE
    return busy or isinstance(error, LiveConnectionError)


def _since(since: str | None) -> str:
    return "" if since is None else f"?since={quote(since, safe='')}"


def _header(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    message = f"since: {shown(text)}: expected EPOCH-REVISION"
    raise errors.FlagArgumentError(message)


def _texts(values: Mapping[str, NewValue]) -> dict[str, str | None]:
    """Return the values as a command line has them."""
    return {name: _text(name, value) for name, value in values.items()}


def _text(name: str, value: NewValue) -> str | None:
    if value is None:
        return None
    if isinstance(value, (bool, int, float, str)):
        return argument_text(value)
    if isinstance(value, (list, tuple)):
        return argument_text(tuple(value))
    message = f"{name}: {shown(value)}: expected a bool, a number, a text, a list or None"
    raise errors.FlagTypeError(message)


def token_from(file: str | None) -> str | None:
    """Return the token in a file, or in the environment; None if there is none."""
    if file is None:
        return os.environ.get("PADDLE_FLAGS_LIVE_TOKEN") or None
    try:
        with open(file, encoding="ascii") as source:
            return source.readline(_PART).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "expected ASCII"
        message = f"{file}: {why}"
        raise errors.FlagArgumentError(message) from None
