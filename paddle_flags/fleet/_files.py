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
        return temporary.stat().st_nlink > 1
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
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | _OPEN)
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return b""  # a folder, or a pipe that would be waited for
            with open(handle, "rb", closefd=False) as file:
                return file.read(MAX_RECORD + 4096)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno == errno.ESTALE:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from error
        raise


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
    """Return the time of the file system, by which it stamps files; else of this machine."""
    try:
        path = write(folder, b".", durable=False)
        try:
            return path.stat().st_mtime
        finally:
            remove(path)
    except OSError:
        return time.time()
