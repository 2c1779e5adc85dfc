"""Reading of server-sent events, as HTML's specification describes them, with bounds."""

from __future__ import annotations

from typing import NamedTuple

from paddle_flags.live._errors import LiveError

_LONGEST = 64 << 20  # bytes of one event
_LONGEST_RETRY = 6  # digits: a quarter of an hour


class Message(NamedTuple):
    """One event."""

    kind: str
    id: str
    """Of this event, or of the last one that had an id."""
    data: str


class Parser:
    """Turns the bytes of a stream into events."""

    retry: float | None = None
    """Seconds after which the server wants a client to come back; None if it hasn't said."""

    last_id = ""

    def __init__(self) -> None:
        self._rest = b""
        self._after_return = False
        self._kind = ""
        self._data: list[str] = []
        self._size = 0

    def feed(self, part: bytes) -> list[Message]:
        """Take the next bytes; return the events that they complete."""
        if self._after_return and part.startswith(b"\n"):  # of a CRLF that was cut in two
            part = part[1:]
        self._after_return = part.endswith(b"\r") or (self._after_return and not part)
        # Only the new bytes are searched for ends of lines: a long line may come in many parts.
        lines = part.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._bound(len(part))
        lines[0] = self._rest + lines[0] if self._rest else lines[0]
        self._rest = lines.pop()
        return [each for each in map(self._take, lines) if each]

    def _bound(self, more: int) -> None:
        self._size += more
        if self._size > _LONGEST:
            message = f"an event is longer than {_LONGEST} bytes"
            raise LiveError(message)

    def _take(self, raw: bytes) -> Message | None:
        """Take a line; an empty one completes an event."""
        if not raw:
            return self._complete()
        name, _, value = raw.decode("utf-8", "replace").removeprefix("\ufeff").partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._kind = value
        elif name == "data":
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self.last_id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self.retry = int(value[:_LONGEST_RETRY]) / 1000
        if not name:  # a comment: the stream is alive
            self._size = len(self._rest) + sum(map(len, self._data))
        return None

    def _complete(self) -> Message | None:
        kind, data = self._kind or "message", self._data
        self._kind, self._data, self._size = "", [], len(self._rest)
        return Message(kind, self.last_id, "\n".join(data)) if data else None
