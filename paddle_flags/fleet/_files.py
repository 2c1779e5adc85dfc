"""Files that other processes read meanwhile, on file systems that may be those of a server.

What differs between systems is here. Windows has no handles of folders and no modes: a file may be
read by whoever may read its folder. It neither replaces a file that somebody has open, nor opens
one that is being replaced, which takes a moment.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from paddle_flags.fleet._store import MAX_RECORD

if TYPE_CHECKING:
    from collections.abc import Callable

    Result = TypeVar("Result")

FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
FULL = (errno.ENOSPC, errno.EDQUOT)

_IS_WINDOWS = os.name == "nt"
_PAUSES = [0.001 * 2**n for n in range(9)] if _IS_WINDOWS else []  # seconds, half of one together
_NEVER_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
_LONGEST = MAX_RECORD + 4096  # bytes of a file that others may write
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP)  # file systems that can't sync a folder


def path_in_url(path: str) -> Path:
    """Return the path that an address has; `/C:/folder` is one on Windows."""
    return Path(path[1:] if _IS_WINDOWS and re.match("/[A-Za-z]:", path) else path)


def is_own_or_root(status: os.stat_result) -> bool:
    """Return whether this user or root has made a file; Windows says root of each."""
    return status.st_uid in (0, os.geteuid() if hasattr(os, "geteuid") else 0)


def _retry_while_open(call: Callable[[], Result]) -> Result:
    """Call a function again if another process may have its file open."""
    for pause in _PAUSES:
        with contextlib.suppress(PermissionError):
            return call()
        time.sleep(pause)
    return call()


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | _NEVER_WAIT, 0o600)


def create_durable_file(path: Path, data: bytes) -> bool:
    """Create a durable file with its content; return False if there is one of this name."""
    temporary = write_temporary(path.parent, data, durable=True)
    try:
        if not _link_if_absent(temporary, path):
            return False
    finally:
        remove_if_possible(temporary)
    refresh_folder(path.parent, durable=True)
    return True


def _link_if_absent(temporary: Path, target: Path) -> bool:
    """Give a file its name. An NFS client may send the call twice: then the first one counts."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        with open(temporary, "rb") as file:  # stat() may have an old count
            return os.fstat(file.fileno()).st_nlink > 1
    return True


def replace_file(path: Path, data: bytes, *, mode: int | None = None) -> None:
    """Create or replace a file. After a power failure, one without a mode may be empty."""
    temporary = write_temporary(path.parent, data, durable=mode is not None, mode=mode)
    try:
        _retry_while_open(lambda: temporary.replace(path))
    except OSError:
        remove_if_possible(temporary)
        raise


def touch_file(path: Path) -> None:
    """Give a file the time that the file system has now."""
    if not _IS_WINDOWS:
        os.utime(path)
        return
    # os.utime would send the time of this machine: write what is there.
    with _retry_while_open(lambda: open(path, "r+b", opener=_open)) as file:
        first = file.read(1)
        file.seek(0)
        file.write(first)


def write_temporary(folder: Path, data: bytes, *, durable: bool, mode: int | None = None) -> Path:
    """Write a temporary file, whose name begins with a dot."""
    path = folder / f".{secrets.token_hex(8)}"
    created = False
    try:
        with open(path, "xb", opener=_open) as file:
            created = True
            # Whoever may read the folder may read the file, whatever the umask; nobody else writes.
            if hasattr(os, "fchmod"):
                os.fchmod(file.fileno(), mode or folder.stat().st_mode & 0o444 | 0o600)
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
    except BaseException:
        if created:  # another one isn't ours; Windows removes no open file
            remove_if_possible(path)
        raise
    return path


def read_with_status(path: Path, longest: int = _LONGEST) -> tuple[bytes, os.stat_result]:
    """Return the content of a file and its status, which NFS clients ask for when they open it."""
    try:
        with _retry_while_open(lambda: open(path, "rb", opener=_open)) as file:
            status = os.fstat(file.fileno())
            # A pipe has no content, which would be waited for.
            return file.read(longest) if stat.S_ISREG(status.st_mode) else b"", status
    except OSError as error:
        if error.errno == errno.ESTALE:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from error
        raise


def refresh_folder(folder: Path, *, durable: bool = False) -> None:
    """Let an NFS client ask whether a folder has changed, as it does when one is opened.

    Otherwise it may say for a minute that a file isn't there. If durable, names are, too.
    """
    if _IS_WINDOWS:
        os.scandir(folder).close()  # raises what opening it raises elsewhere
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if durable:
            os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    finally:
        os.close(handle)


def remove_if_possible(path: Path) -> None:
    with contextlib.suppress(OSError):
        _retry_while_open(path.unlink)


def file_system_time(folder: Path) -> float:
    """Return the time by which the file system stamps files; this machine's if it takes none."""
    try:
        path = write_temporary(folder, b".", durable=False)
        try:
            return path.stat().st_mtime
        finally:
            remove_if_possible(path)
    except OSError as error:
        if error.errno not in (*FORBIDDEN, *FULL):
            raise  # the file server does not answer
        return time.time()
