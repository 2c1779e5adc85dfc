"""Files as the doctor reads them: parts of bounded size, of regular files alone.

Nothing is mapped into memory, since a mapped file that another process shortens ends this
one; reading gives fewer bytes instead.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from paddle_flags.errors import FlagArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

_CHUNK = 3 << 22  # bytes; a multiple of all sizes of entries: 4, 8, 12, 16 and 24


class Source:
    """A regular file that is open for reading. Use it in a `with` statement."""

    def __init__(self, path: str) -> None:
        """Open a file; FlagArgumentError says why it can't be read."""
        if not path:
            message = "expected the path of a library or program, not an empty argument"
            raise FlagArgumentError(message)
        try:
            # A FIFO without a writer would keep an ordinary open waiting.
            flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
            self._descriptor = os.open(path, flags)
            about = os.fstat(self._descriptor)
        except (OSError, ValueError) as error:
            message = f"{path}: {_why_not(path, error)}"
            raise FlagArgumentError(message) from None
        if not stat.S_ISREG(about.st_mode):
            os.close(self._descriptor)
            kind = "a directory" if stat.S_ISDIR(about.st_mode) else "not a regular file"
            message = f"{path}: is {kind}, expected a library or program"
            raise FlagArgumentError(message)
        self.path = path
        self.size = about.st_size

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def read(self, offset: int, count: int) -> bytes:
        """Read bytes; fewer of them, or none, where the file ends earlier or can't be read."""
        count = min(count, self.size - offset)
        if offset < 0 or count <= 0:
            return b""
        try:
            os.lseek(self._descriptor, offset, os.SEEK_SET)
            return os.read(self._descriptor, count)
        except OSError:
            return b""

    def chunks(self, offset: int, size: int, overlap: int = 0) -> Iterator[tuple[int, bytes]]:
        """Read a large part piece by piece; yield where in the part each piece is.

        Each piece but the first begins with the last bytes of the one before, `overlap` of them.
        """
        at = 0
        size = min(size, self.size - offset)
        while at < size:
            piece = self.read(offset + at, min(_CHUNK + overlap, size - at))
            if not piece:
                return
            yield at, piece
            at += _CHUNK


def _why_not(path: str, error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if os.path.isdir(path):  # which Windows refuses to open
        return "is a directory, expected a library or program"
    if isinstance(error, OSError):
        return f"can't be read: {error.strerror}"
    return "no such file"  # a NUL in the path
