"""The engine `dir:///path`: a folder of this machine, or of a file server.

    log/00000000000000000001   a record; created once by link(2) with all its content
    base/00000000000000000001  a base that replaces the records up to this number
    members/NAME               the lease in seconds, a newline, the document; touched to renew, and
                               removed by whoever may, a day after the lease has ended

Nothing is locked, so nothing stays locked. Whatever a process leaves that dies is a whole file, or
a temporary one, whose name begins with a dot. A compaction removes only what the base before its
own replaced: whoever was reading or appending meanwhile finds the records that it expects.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from paddle_flags.fleet import _files
from paddle_flags.fleet._directory_leases import Ages, Look
from paddle_flags.fleet._store import (
    REMEMBERED,
    CompactedError,
    FleetError,
    LeaseError,
    ReadOnlyError,
    StoredMember,
    UnreachableError,
    check_name,
    check_size,
    is_name,
    wait_by_polling,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paddle_flags.fleet._url import Url

POLL = 0.05  # seconds between two looks at the log
_READ_AT_ONCE = 8 << 20  # bytes, about
_TEMPORARY = 3600.0  # seconds after which a temporary file has no owner
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
# Removed; or what another member made, which must stop nobody: a link, its own file, a socket.
_NO_MEMBER = (errno.ENOENT, errno.ELOOP, errno.EACCES, errno.ENXIO)
_HIDDEN = b"10\n"  # the lease that members have by default, and no document
_NUMBER = re.compile(r"[0-9]{20}")
_FULL = (errno.ENOSPC, errno.EDQUOT)


def open_url(url: Url, timeout: float) -> DirectoryStore:  # noqa: ARG001 - no call waits
    """Name a folder. The first call creates it, if only the folder itself is missing."""
    url.option({"poll": ""})
    if url.path == "/":
        message = "expected dir:///path, with a folder"
        raise url.refuse(message)
    return DirectoryStore(url.text, Path(url.path), poll=url.number("poll", POLL))


def check_exists(url: Url) -> None:
    """Raise FleetError if there is no fleet in the folder, and this user may look for it."""
    folder = Path(url.path)
    for each in (folder.parent, folder):
        with contextlib.suppress(OSError):
            _files.refresh(each)
    try:
        (folder / "log").stat()
    except (FileNotFoundError, NotADirectoryError):
        if not os.path.isdir(folder.parent):
            return  # it isn't mounted: opening it says so
        message = "there is no fleet in this folder; the first member or change makes one"
        raise url.refuse(message) from None
    except OSError:
        pass  # opening it says more


class DirectoryStore:
    """A connection to a fleet in a folder."""

    def __init__(self, url: str, root: Path, *, poll: float = POLL) -> None:
        """Name a folder. The first call creates it and its parts, if this user may."""
        self.url = url
        self._root = root
        self._log, self._base = root / "log", root / "base"
        self._members = root / "members"
        self._poll = poll
        self._known = 0  # the last record that this store has seen
        self._is_prepared = False
        self._fresh()

    def _fresh(self) -> None:
        """Make what must not be inherited from another process."""
        self._pid = os.getpid()
        self._closed = threading.Event()
        self._lock = threading.Lock()  # guards the ages
        self._ages = Ages(lambda: _files.clock(self._members))

    def _prepare(self) -> None:
        for folder in (self._root, self._log, self._base, self._members):
            if not folder.is_dir():
                with contextlib.suppress(FileExistsError):
                    folder.mkdir(0o700)
        self._is_prepared = True

    # -- The log --

    def last(self) -> int:
        """See Store."""
        with self._errors("read"):
            _files.refresh(self._log)
            number = max(self._known, self._last_base())
            if number and number == self._known and not self._record(number).exists():
                number = max([0, self._last_base(), *_numbers(self._log)])
            while self._record(number + 1).exists():
                number += 1
            self._known = number
            return number

    def append(self, number: int, record: bytes) -> bool:
        """See Store."""
        check_size(record)
        self._check_number(number)
        with self._errors("append to"):
            if number <= self.last() or not _files.create(self._log, _text(number), record):
                return False
            if number <= self._removed():
                self._known = 0
                # This process slept while others appended and compacted twice.
                raise UnreachableError(f"{self.url}: record {number} may have been created")
        return True

    def _check_number(self, number: int) -> None:
        last = self.last()
        if not 1 <= number <= last + 1:
            raise FleetError(f"{self.url}: record {number}: the next record is {last + 1}")

    def read(self, first: int) -> list[bytes]:
        """See Store."""
        found: list[bytes] = []
        size = 0
        with self._errors("read"):
            if first <= self._last_base():
                raise CompactedError(f"{self.url}: record {first} was replaced by a base")
            if not self._record(first).exists():
                _files.refresh(self._log)
            while size < _READ_AT_ONCE:
                try:
                    found.append(_files.read(self._record(first + len(found))))
                except FileNotFoundError:
                    break
                size += len(found[-1]) + 1000
            if not found and first <= self._last_base():
                raise CompactedError(f"{self.url}: record {first} was replaced by a base")
        return found

    def wait(self, after: int, timeout: float) -> int:
        """See Store."""
        return wait_by_polling(self.last, self._closed, self._poll, after, timeout)

    def _record(self, number: int) -> Path:
        return self._log / _text(number)

    # -- The base --

    def base(self) -> tuple[int, bytes]:
        """See Store."""
        with self._errors("read"):
            while True:
                number = self._last_base()
                try:
                    return number, _files.read(self._base / _text(number)) if number else b""
                except FileNotFoundError:  # two later ones are there now
                    continue

    def compact(self, number: int, base: bytes) -> bool:
        """See Store."""
        check_size(base)
        last = self.last()
        if not 1 <= number <= last:
            raise FleetError(f"{self.url}: base {number}: the last record is {last}")
        with self._errors("compact"):
            if number <= self._last_base() or not _files.create(self._base, _text(number), base):
                return False
            self._tidy()
        return True  # readers may have seen it, even if a later one is there by now

    def _last_base(self) -> int:
        return max(_numbers(self._base), default=0)

    def _removed(self) -> int:
        """Return the number up to which records may have been removed: that of the base before."""
        return ([0, 0, *sorted(_numbers(self._base))])[-2]

    def _tidy(self) -> None:
        """Remove what no reader can want. What an earlier compaction left is removed, too."""
        removed = self._removed()
        for number in sorted(_numbers(self._log)):
            if number <= removed:
                _files.remove(self._record(number))
        for number in _numbers(self._base):
            if number < removed:
                _files.remove(self._base / _text(number))
        now = _files.clock(self._base)
        for folder in (self._log, self._base, self._members):
            for path in folder.glob(".*"):
                with contextlib.suppress(OSError):
                    # While NFS creates a file, its modification time is a random number.
                    if now - path.stat().st_ctime > _TEMPORARY:
                        path.unlink()
        with contextlib.suppress(FleetError):
            self.members()

    # -- Members --

    def announce(self, name: str, document: bytes, ttl: float) -> None:
        """See Store."""
        check_name(name)
        check_size(document)
        with self._errors("announce in"):
            _files.replace(self._members, name, b"%r\n%s" % (float(ttl), document))
            self._renewed(name)

    def keep_alive(self, name: str) -> None:
        """See Store."""
        check_name(name)
        with self._errors("announce in"), contextlib.suppress(FileNotFoundError):
            with self._lock:
                found = self._stored(name, self._ages.look())
            if found is not None and found.alive:
                os.utime(self._members / name)
                self._renewed(name)
                return
        raise LeaseError(f"{self.url}: the lease of member {name} has ended")

    def _renewed(self, name: str) -> None:
        with self._lock:
            self._ages.renewed(name, (self._members / name).stat())

    def withdraw(self, name: str, document: bytes) -> None:
        """See Store."""
        self.announce(name, document, 0.0)

    def member(self, name: str) -> StoredMember | None:
        """See Store."""
        check_name(name)
        with self._errors("read"), self._lock:
            _files.refresh(self._members)
            return self._stored(name, self._ages.look())

    def members(self) -> dict[str, StoredMember]:
        """See Store."""
        with self._errors("read"), self._lock:
            look = self._ages.look()
            names = sorted(name for name in os.listdir(self._members) if is_name(name))
            self._ages.keep(names)
            found = {name: self._stored(name, look) for name in names}
        return {name: member for name, member in found.items() if member is not None}

    def _stored(self, name: str, look: Look) -> StoredMember | None:
        """Return a member; remove what has been without a lease for long."""
        path = self._members / name
        try:
            data, status = self._read_document(path)
        except OSError as error:
            if error.errno not in _NO_MEMBER:
                raise
            return None
        ttl, document = _parse(data)
        age = self._ages.age(name, status, look)
        if age > max(ttl, 0.0) + REMEMBERED:
            _files.remove(path)
            return None
        return StoredMember(document, age < ttl) if ttl >= 0 else None

    def _read_document(self, path: Path) -> tuple[bytes, os.stat_result]:
        """Return a document with its lease. If it is hidden, its member is here all the same."""
        try:
            return _files.read_with_status(path)
        except PermissionError:
            status = path.stat()
            if not stat.S_ISREG(status.st_mode):
                raise
            return _HIDDEN, status

    def close(self) -> None:
        """See Store."""
        self._closed.set()

    # -- Errors --

    @contextlib.contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        """Turn errors of the file system into those of a store."""
        if self._pid != os.getpid():
            closed = self._closed.is_set()
            self._fresh()
            if closed:
                self._closed.set()
        if self._closed.is_set():
            raise FleetError(f"{self.url}: the store is closed")
        try:
            if not self._is_prepared:
                self._prepare()
            yield
        except OSError as error:
            raise self._error(error, doing if self._is_prepared else "create") from error

    def _error(self, error: OSError, doing: str) -> FleetError:
        where = f": {error.filename}" if error.filename else ""
        what = f"{self.url}: cannot {doing} it: {error.strerror}{where}"
        if error.errno in _FORBIDDEN:
            return FleetError(what) if doing == "read" else ReadOnlyError(what)
        if error.errno in _FULL:
            return FleetError(what)
        if isinstance(error, FileNotFoundError) and not os.path.isdir(self._root):
            what = f"{self.url}: there is no folder {self._root}"
        return UnreachableError(what)


def _parse(data: bytes) -> tuple[float, bytes]:
    """Return the lease in seconds and the document of a member; -1 if it is that of nobody."""
    head, _, document = data.partition(b"\n")
    try:
        ttl = float(head)
    except ValueError:  # empty, after a power failure
        ttl = -1.0
    return (ttl, document) if 0 <= ttl < float("inf") else (-1.0, b"")


def _text(number: int) -> str:
    return f"{number:020}"


def _numbers(folder: Path) -> list[int]:
    return [int(name) for name in os.listdir(folder) if _NUMBER.fullmatch(name)]
