"""Files that appear at once with all their content, on a local file system or NFS; their age."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import secrets
import stat
import time
from typing import TYPE_CHECKING

from paddle_flags.fleet._store import MAX_RECORD

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

_LONGEST = MAX_RECORD + 4096  # bytes of a file that others may write
_NO_CLOCK = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP)  # file systems that can't sync a folder
_JUMP = 1.0  # seconds by which the clock of a file system may drift between two looks


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOFOLLOW, 0o600)


def create(path: Path, data: bytes) -> bool:
    """Create a durable file with its content; return False if there is one of this name."""
    temporary = write(path.parent, data, durable=True)
    try:
        if not _link(temporary, path):
            return False
    finally:
        remove(temporary)
    refresh(path.parent, durable=True)
    return True


def _link(temporary: Path, target: Path) -> bool:
    """Give a file its name. An NFS client may send the call twice: then the first one counts."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        with open(temporary, "rb") as file:  # stat() may have an old count
            return os.fstat(file.fileno()).st_nlink > 1
    return True


def replace(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Create or replace a file. After a power failure, one without a mode may be empty."""
    temporary = write(path.parent, data, durable=mode is not None, mode=mode)
    try:
        temporary.replace(path)
    except OSError:
        remove(temporary)
        raise


def write(folder: Path, data: bytes, *, durable: bool, mode: int | None = None) -> Path:
    """Write a temporary file, whose name begins with a dot."""
    path = folder / f".{secrets.token_hex(8)}"
    with open(path, "xb", opener=_open) as file:
        try:
            # Whoever may read the folder may read the file, whatever the umask; nobody else writes.
            os.fchmod(file.fileno(), mode or folder.stat().st_mode & 0o444 | 0o600)
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        except BaseException:
            remove(path)
            raise
    return path


def read(path: Path, longest: int = _LONGEST) -> tuple[bytes, os.stat_result]:
    """Return the content of a file and its status, which NFS clients ask for when they open it.

    Raises FileNotFoundError if somebody removes it meanwhile.
    """
    try:
        with open(path, "rb", opener=_open) as file:
            status = os.fstat(file.fileno())
            # A pipe has no content, which would be waited for.
            return file.read(longest) if stat.S_ISREG(status.st_mode) else b"", status
    except OSError as error:
        if error.errno == errno.ESTALE:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from error
        raise


def refresh(folder: Path, *, durable: bool = False) -> None:
    """Let an NFS client ask whether a folder has changed, as it does when one is opened.

    Otherwise it may go on for a minute to say that a file isn't there. Make names durable, too.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if durable:
            os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    finally:
        os.close(handle)


def remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def clock(folder: Path) -> float:
    """Return the time by which the file system stamps files; this machine's if it takes none."""
    try:
        path = write(folder, b".", durable=False)
        try:
            return path.stat().st_mtime
        finally:
            remove(path)
    except OSError as error:
        if error.errno not in _NO_CLOCK:
            raise  # the file server does not answer
        return time.time()


class Ages:
    """How old the files of members are, by the clock of their file system.

    Members may be on other machines, whose clocks differ, and any clock may jump. So the time of a
    file is compared only with the time that the file system gives to a new file. From then on the
    reader counts on its own monotonic clock.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        # By name: what changes with each renewal, and when that was, on the monotonic clock.
        self._renewals: dict[str, tuple[object, float]] = {}
        self._offset: float | None = None
        self._now: float | None = None

    def look(self) -> None:
        """Begin a look at some or all members; it asks for the time at most once."""
        self._now = None

    def age(self, name: str, file: os.stat_result) -> float:
        """Return how many seconds ago a member renewed its lease."""
        stamp, now = (file.st_mtime_ns, file.st_ino), time.monotonic()
        seen = self._renewals.get(name)
        if seen is None or seen[0] != stamp:
            if self._now is None:
                self._now = self._measure()
            seen = self._renewals[name] = stamp, now - max(0.0, self._now - file.st_mtime)
        return now - seen[1]

    def _measure(self) -> float:
        now = self._clock()
        before, self._offset = self._offset, now - time.monotonic()
        has_jumped = before is not None and abs(before - self._offset) > _JUMP
        return -math.inf if has_jumped else now  # no file is old by a clock that has jumped

    def renewed(self, name: str, file: os.stat_result) -> None:
        self._renewals[name] = (file.st_mtime_ns, file.st_ino), time.monotonic()

    def keep(self, names: Collection[str]) -> None:
        self._renewals = {name: seen for name, seen in self._renewals.items() if name in names}
