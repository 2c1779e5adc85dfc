"""What of HTTP/1.1 is accepted at all, before h11 reads it.

h11 reads what other servers send, too; between two readers that differ, requests are smuggled. So
here is one way to write a request: lines end in CR LF, no folded lines, no other control
characters, one length at most, and a target that begins with `/`.
"""

from __future__ import annotations

import re

HEAD_MAX = 16 * 1024
"""The most bytes of a request line with its headers."""

_END = b"\r\n\r\n"
_REQUEST = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,32} /[\x21-\x7e]* HTTP/1\.([01])")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x20-\x7e\x80-\xff\t]*)")
_LENGTH = re.compile(rb"[0-9]{1,15}")
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,8}")


class Malformed(ValueError):  # noqa: N818 - what is read, not what fails
    """The bytes aren't a request as we accept it; `str(error)` says why."""


class TooLarge(ValueError):  # noqa: N818 - as above
    """The request line with the headers is longer than HEAD_MAX."""


def take_head(data: bytearray) -> bytes | None:
    """Remove the request line and the headers, and return them; None if they aren't complete."""
    if data.startswith(b"\r\n"):  # after a body, by some clients of old
        del data[:2]
    end = data.find(_END, 0, HEAD_MAX)
    part = data[: end + 4] if end >= 0 else data[:HEAD_MAX]
    if re.search(rb"(?<!\r)\n|\r(?!\n|\Z)", part):
        message = "a line doesn't end in CR LF"
        raise Malformed(message)
    if end < 0:
        if len(data) >= HEAD_MAX:
            raise TooLarge
        return None
    del data[: end + 4]
    return bytes(part)


def check_head(head: bytes) -> Length | Chunks:
    """Check the request line and the headers; return how the body is framed."""
    first, *lines = head[: -len(_END)].split(b"\r\n")
    request = _REQUEST.fullmatch(first)
    if not request:
        message = "expected a request line such as 'GET /v1/flags HTTP/1.1'"
        raise Malformed(message)
    found: dict[bytes, list[bytes]] = {}
    for line in lines:
        header = _HEADER.fullmatch(line)
        if not header:
            message = "a header line isn't 'Name: value'"
            raise Malformed(message)
        found.setdefault(header[1].lower(), []).append(header[2].rstrip(b" \t"))
    return _framing(found, old=request[1] == b"0")


def _framing(found: dict[bytes, list[bytes]], *, old: bool) -> Length | Chunks:
    lengths, codings = found.get(b"content-length", []), found.get(b"transfer-encoding", [])
    if lengths and codings:
        message = "both Content-Length and Transfer-Encoding"
        raise Malformed(message)
    if len(lengths) > 1 or len(codings) > 1:
        message = "more than one Content-Length or Transfer-Encoding"
        raise Malformed(message)
    if lengths and not _LENGTH.fullmatch(lengths[0]):
        message = "Content-Length isn't a number"
        raise Malformed(message)
    if codings and (old or codings[0].lower() != b"chunked"):
        message = "Transfer-Encoding isn't 'chunked', of HTTP/1.1"
        raise Malformed(message)
    return Chunks() if codings else Length(int(lengths[0]) if lengths else 0)


class Length:
    """A body of a known length."""

    def __init__(self, length: int) -> None:
        self.length = length
        self._left = length

    def take(self, data: bytearray) -> bytes:
        """Remove and return the bytes of this body."""
        part = bytes(data[: self._left])
        del data[: self._left]
        self._left -= len(part)
        return part

    @property
    def done(self) -> bool:
        """Whether the body is complete."""
        return self._left == 0


class Chunks:
    """A body in chunks, without extensions and without trailers."""

    length: int | None = None

    def __init__(self) -> None:
        self._left = 0  # of a chunk, with its CR LF
        self._last = False
        self.done = False

    def take(self, data: bytearray) -> bytes:
        """Remove and return the bytes of this body; raise Malformed if they are no chunks."""
        taken = b""
        while not self.done:
            part = self._take_data(data) if self._left else self._take_line(data)
            if not part:
                break
            taken += part
        return taken

    def _take_data(self, data: bytearray) -> bytes:
        part = bytes(data[: self._left])
        end = b"\r\n"[max(0, 2 - self._left) :]  # what is still to come of it
        here = part[max(0, self._left - 2) :]
        if here != end[: len(here)]:
            message = "a chunk doesn't end where its size says"
            raise Malformed(message)
        del data[: len(part)]
        self._left -= len(part)
        return part

    def _take_line(self, data: bytearray) -> bytes:
        line, end, _ = bytes(data[:16]).partition(b"\r\n")
        if not end:
            if len(data) >= 16:  # noqa: PLR2004 - more than any size needs
                message = "a chunk's size isn't a number alone"
                raise Malformed(message)
            return b""
        if self._last:
            if line:
                message = "trailers after the chunks"
                raise Malformed(message)
            self.done = True
        elif not _SIZE.fullmatch(line):
            message = "a chunk's size isn't a number alone"
            raise Malformed(message)
        else:
            size = int(line, 16)
            self._last = size == 0
            self._left = size + 2 if size else 0
        del data[: len(line) + 2]
        return line + b"\r\n"
