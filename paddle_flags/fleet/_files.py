"""Files that appear at once with all their content, on a local file system or NFS."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import time
from typing import TYPE_CHECKING

from paddle_flags.fleet._store import MAX_RECORD

if TYPE_CHECKING:
    from pathlib import Path

_OPEN = os.O_CLOEXEC | os.O_NOFOLLOW
_NO_CLOCK = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP)  # file systems that can't sync a folder


def create(folder: Path, name: str, data: bytes) -> bool:
    """Create a durable file with its content; return False if there is one of this name."""
    temporary = write(folder, data, durable=True)
    try:
        if not _link(temporary, folder / name):
            return False
    finally:
        remove(temporary)
    sync(folder)
    return True


def _link(temporary: Path, target: Path) -> bool:
    """Give a file its name. An NFS client may send the call twice: then the first one counts."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        handle = os.open(temporary, os.O_RDONLY | _OPEN)  # stat() may have the count of before
        try:
            return os.fstat(handle).st_nlink > 1
        finally:
            os.close(handle)
    return True


def replace(folder: Path, name: str, data: bytes) -> None:
    """Create or replace a file. After a power failure, the file may be empty."""
    temporary = write(folder, data, durable=False)
    try:
        temporary.replace(folder / name)
    except OSError:
        remove(temporary)
        raise


def write(folder: Path, data: bytes, *, durable: bool) -> Path:
    """Write a temporary file, whose name begins with a dot."""
    path = folder / f".{secrets.token_hex(8)}"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OPEN, 0o600)
    try:
        # Whoever may read the folder may read the file, whatever the umask; nobody else writes it.
        os.fchmod(handle, folder.stat().st_mode & 0o444 | 0o600)
        left = memoryview(data)
        while left:
            left = left[os.write(handle, left) :]
        if durable:
            os.fsync(handle)
    except BaseException:
        os.close(handle)
        remove(path)
        raise
    os.close(handle)
    return path


def read(path: Path) -> bytes:
    """Return the content of a file. Raises FileNotFoundError if somebody removes it meanwhile."""
    return read_with_status(path)[0]


def read_with_status(path: Path) -> tuple[bytes, os.stat_result]:
    """Return the content and the status, which an NFS client asks for when it opens a file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | _OPEN)
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                return b"", status  # a folder, or a pipe that would be waited for
            with open(handle, "rb", closefd=False) as file:
                return file.read(MAX_RECORD + 4096), status
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno == errno.ESTALE:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from error
        raise


def refresh(folder: Path) -> None:
    """Let an NFS client ask whether a folder has changed, as it does when one is opened.

    Otherwise it may go on for a minute to say that a file isn't there.
    """
    os.close(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))


def sync(folder: Path) -> None:
    """Make new names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    finally:
        os.close(handle)


def remove(path: Path) -> None:
    """Remove a file, if it is there and this user may."""
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
