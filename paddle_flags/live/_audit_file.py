"""A file to which each change of flags from outside is appended, as a line of JSON."""

from __future__ import annotations

import datetime as dt
import errno
import json
import logging
import os
import weakref
from contextlib import suppress
from typing import Any

from paddle_flags._core.frames import public_class
from paddle_flags.errors import FlagFileError
from paddle_flags.live._threads import allocate_lock

_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT
for _name in ("O_NOFOLLOW", "O_NOCTTY", "O_NONBLOCK"):  # Linux has all of them
    _FLAGS |= getattr(os, _name, 0)

_logger = logging.getLogger("paddle_flags.live")


@public_class
class AuditFile:
    """Appends events to a file, one JSON object a line, for `serve(audit=...)`.

    The file is made with the mode 0600 if it isn't there; a symbolic link is refused. Each event is
    one write, so several processes may append to one file. With `fsync=True` each event is on the
    disk before the client gets its answer.

    logrotate needs no signal: before each event the file is opened again if it was renamed or
    removed. `reopen` does so in any case; a handler of a signal may call it.

    What can't be written is lost, and the change still happens: a first failure is logged, `lost`
    counts them, and the next line that can be written says how many are missing.

    Raises FlagFileError if the file can't be opened.
    """

    def __init__(self, path: str | os.PathLike[str], *, fsync: bool = False) -> None:
        self._path = os.path.abspath(path)
        self._fsync = fsync
        self._file: int | None = None
        self._is: tuple[int, int] | None = None
        self._stale = False
        self._torn = False
        self._lost = 0
        self._unsaid = 0  # of the lost ones, since the last line
        self._trouble: str | None = None
        self._lock = allocate_lock()
        try:
            self._open()
        except OSError as error:
            link = error.errno == errno.ELOOP
            why = "it is a symbolic link" if link else error.strerror
            message = f"{self._path}: the audit file can't be opened: {why}"
            raise FlagFileError(message) from error
        _files.add(self)

    def __repr__(self) -> str:
        return f"<AuditFile {self._path}>"

    @property
    def path(self) -> str:
        """The absolute path of the file."""
        return self._path

    @property
    def lost(self) -> int:
        """How many events could not be written."""
        return self._lost

    def write(self, event: bytes) -> None:
        """Append an event, JSON in one line. Raises nothing."""
        with self._lock:
            former, self._trouble = self._trouble, self._try(event.replace(b"\n", b" ") + b"\n")
            trouble = self._trouble
        if trouble and not former:
            text = f"{self._path}: events of the audit may be lost: {trouble}"
            _logger.error(text, extra={"paddle_flags": {"event": "lost", "path": self._path}})

    def reopen(self) -> None:
        """Open the file again before the next event. A handler of a signal may call this."""
        self._stale = True

    def close(self) -> None:
        """Close the file. A later event opens it again."""
        with self._lock:
            self._close()

    def _try(self, line: bytes) -> str | None:
        """Append a line; return what is wrong, or None."""
        try:
            trouble = self._follow()
            self._append(line)
        except OSError as error:
            self._lost += 1
            self._unsaid += 1
            return error.strerror
        return trouble

    def _append(self, line: bytes) -> None:
        assert self._file is not None  # noqa: S101 - _follow has opened it
        head = b"\n" if self._torn else b""
        if self._unsaid:
            head += _gap(self._unsaid)
        data = head + line
        written = os.write(self._file, data)
        if written < len(data):
            self._torn = True
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._torn = False
        self._unsaid = 0
        if self._fsync:
            _sync(self._file)

    def _follow(self) -> str | None:
        """Open the file unless it is open and still has its name; return what is wrong."""
        if self._file is not None and not self._stale:
            with suppress(OSError):
                found = os.stat(self._path, follow_symlinks=False)
                if (found.st_dev, found.st_ino) == self._is:
                    return None
        try:
            self._open()
        except OSError as error:
            if self._file is None or not os.fstat(self._file).st_nlink:
                raise
            return f"they go to the former file: {error.strerror}"
        return None

    def _open(self) -> None:
        """Open the file, and then close the former one."""
        file = os.open(self._path, _FLAGS, 0o600)
        self._close()
        found = os.fstat(file)
        self._file, former, self._is = file, self._is, (found.st_dev, found.st_ino)
        self._stale = False
        self._torn = self._torn and former == self._is
        if self._fsync:  # its name, too
            folder = os.open(os.path.dirname(self._path), os.O_RDONLY)
            _sync(folder)
            os.close(folder)

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def _after_fork(self) -> None:
        """Leave the file of the parent, whose lock another thread may have held."""
        self._lock = allocate_lock()
        self._lost = self._unsaid = 0
        self._close()


def _gap(count: int) -> bytes:
    """Return the line that stands in place of lost events."""
    at = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
    found: dict[str, Any] = {"at": at.replace("+00:00", "Z"), "event": "lost", "lost": count}
    return json.dumps(found).encode() + b"\n"


def _sync(file: int) -> None:
    try:
        os.fsync(file)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a pipe or a device has no disk
            raise


_files: weakref.WeakSet[AuditFile] = weakref.WeakSet()


def _after_fork() -> None:
    for each in list(_files):
        each._after_fork()  # noqa: SLF001 - of this file


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
