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
import math
import os
import re
import stat
import threading
import time
from typing import TYPE_CHECKING, Any

from paddle_flags.fleet._files import (
    FORBIDDEN,
    FULL,
    create_durable_file,
    file_system_time,
    path_in_url,
    read_with_status,
    refresh_folder,
    remove_if_possible,
    replace_file,
    touch_file,
)
from paddle_flags.fleet._store import (
    REMEMBERED,
    FleetError,
    ReadOnlyError,
    Store,
    StoredMember,
    is_storable_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from paddle_flags.fleet._open import Url

_READ_AT_ONCE = 8 << 20  # bytes, about
_TEMPORARY = 3600.0  # seconds after which a temporary file has no owner
# Removed; or what another member made, which must stop nobody: a link, its own file, a socket, ...
_NO_MEMBER = (errno.ENOENT, errno.ELOOP, errno.EACCES, errno.ENXIO, errno.EISDIR)
_HIDDEN = b"10\n"  # the lease that members have by default, and no document
_NUMBER = re.compile(r"[0-9]{20}")
_WRITES = {
    "append": "append to",
    "compact": "compact",
    **dict.fromkeys(("announce", "keep_alive", "withdraw"), "announce in"),
}
_JUMP = 1.0  # seconds by which the clock of a file system may drift between two looks


class DirectoryStore(Store):
    """A connection to a fleet in a folder. The first call makes it, if only itself is missing."""

    def __init__(self, url: Url, timeout: float) -> None:
        super().__init__(url.text)
        self._root = path_in_url(url.path)
        self._log, self._bases = self._root / "log", self._root / "base"
        self._documents = self._root / "members"
        self._poll = url.poll_seconds(self._poll)
        self._known = 0  # the last record that this store has seen
        self._is_prepared = self._ignores_case = False
        self._reset_process_state()

    def check_exists(self) -> None:
        """Raise FleetError if there is no fleet in the folder, and this user may look for it."""
        with contextlib.suppress(OSError):  # the first call says more
            refresh_folder(self._root.parent)  # it fails if nothing is mounted there
            try:
                self._log.stat()
            except (FileNotFoundError, NotADirectoryError):
                what = "there is no fleet in this folder; the first member or change makes one"
                if self._root.is_file():
                    what = "is a file, expected a folder"
                raise self.error(what) from None

    def _reset_process_state(self) -> None:
        self._lock = threading.Lock()  # guards the ages
        self._ages = Ages(lambda: file_system_time(self._documents))

    def _run_method(self, method: str, *args: Any) -> Any:
        if not self._is_prepared:
            for folder in (self._root, self._log, self._bases, self._documents):
                if not folder.is_dir():
                    with contextlib.suppress(FileExistsError):
                        folder.mkdir(0o700)
            self._ignores_case = (self._root / "LOG").exists()
            self._is_prepared = True
        return super()._run_method(method, *args)

    def _convert_os_error(self, error: OSError, method: str) -> FleetError:
        doing = _WRITES.get(method, "read") if self._is_prepared else "create"
        where = f": {error.filename}" if error.filename else ""
        what = f"cannot {doing} it: {error.strerror}{where}"
        if error.errno in FORBIDDEN:
            return self.error(what, FleetError if doing == "read" else ReadOnlyError)
        if error.errno in FULL:
            return self.error(what)
        if isinstance(error, FileNotFoundError) and not self._root.is_dir():
            what = f"there is no folder {self._root}"
        return self.unreachable(what)

    def _last(self) -> int:
        refresh_folder(self._log)
        base = self._newest_bases()[1]
        number = max(self._known, base)
        if number and number == self._known and not _numbered_path(self._log, number).exists():
            number = max([base, *_list_numbers(self._log)])
        while _numbered_path(self._log, number + 1).exists():
            number += 1
        self._known = number
        return number

    def _create(self, number: int, record: bytes) -> bool:
        if not create_durable_file(_numbered_path(self._log, number), record):
            return False
        if number <= self._newest_bases()[0]:
            self._known = 0
            # This process slept while others appended and compacted twice.
            raise self.unreachable(f"record {number} may have been created")
        return True

    def _read(self, first: int) -> list[bytes]:
        found: list[bytes] = []
        size = 0
        refresh_folder(self._log)
        with contextlib.suppress(FileNotFoundError):
            while size < _READ_AT_ONCE:
                found.append(read_with_status(_numbered_path(self._log, first + len(found)))[0])
                size += len(found[-1]) + 1000
        if first <= self._newest_bases()[1]:
            raise self._make_compacted_error(first)
        return found

    def _base(self) -> tuple[int, bytes]:
        while number := self._newest_bases()[1]:
            with contextlib.suppress(FileNotFoundError):  # two later ones are there now
                return number, read_with_status(_numbered_path(self._bases, number))[0]
        return 0, b""

    def _replace_records(self, number: int, base: bytes) -> bool:
        if not create_durable_file(_numbered_path(self._bases, number), base):
            return False
        self._remove_obsolete_files()
        return True  # readers may have seen it, even if a later one is there by now

    def _newest_bases(self) -> list[int]:
        """Return the numbers of two bases: records up to the first one may have been removed."""
        return sorted([0, 0, *_list_numbers(self._bases)])[-2:]

    def _remove_obsolete_files(self) -> None:
        """Remove what no reader can want. What an earlier compaction left is removed, too."""
        removed = self._newest_bases()[0]
        old = [
            _numbered_path(self._log, n) for n in sorted(_list_numbers(self._log)) if n <= removed
        ]
        old += [_numbered_path(self._bases, n) for n in _list_numbers(self._bases) if n < removed]
        now = file_system_time(self._bases)
        for folder in (self._log, self._bases, self._documents):
            for path in folder.glob(".*"):
                with contextlib.suppress(OSError):
                    # While NFS creates a file, its modification time is a random number.
                    if now - path.stat().st_ctime > _TEMPORARY:
                        old.append(path)
        for path in old:
            remove_if_possible(path)
        with contextlib.suppress(FleetError):
            self.members()

    def _announce(self, name: str, document: bytes, ttl: float) -> None:
        if self._ignores_case:
            self._check_same_case(name)
        replace_file(self._documents / name, b"%r\n%s" % (float(ttl), document))
        self._note_renewal(name)

    def _check_same_case(self, name: str) -> None:
        """Raise FleetError if another member's name differs only in case: they share a file."""
        for other in os.listdir(self._documents):
            if other != name and other.lower() == name.lower():
                what = "their names differ only in case, which this folder ignores"
                raise self.error(f"{name}: there is a member {other}: {what}; give another name")

    def _keep_alive(self, name: str) -> None:
        found = self._member(name)
        if found is None or not found.alive:
            raise self._make_lease_error(name)
        touch_file(self._documents / name)
        self._note_renewal(name)

    def _note_renewal(self, name: str) -> None:
        with self._lock:
            self._ages.mark_renewed(name, (self._documents / name).stat())

    def _member(self, name: str) -> StoredMember | None:
        return self._read_and_prune_members([name]).get(name)

    def _members(self) -> dict[str, StoredMember]:
        names = sorted(name for name in os.listdir(self._documents) if is_storable_name(name))
        with self._lock:
            self._ages.forget_others(names)
        return self._read_and_prune_members(names)

    def _read_and_prune_members(self, names: list[str]) -> dict[str, StoredMember]:
        """Return members; remove what has been without a lease for long."""
        found = {}
        refresh_folder(self._documents)
        with self._lock:
            self._ages.reset_measured_time()
            for name in names:
                path = self._documents / name
                try:
                    data, status = _read_document(path)
                except OSError as error:
                    if error.errno not in _NO_MEMBER:
                        raise
                    continue
                head, _, document = data.partition(b"\n")
                ttl = _parse_lease(head)
                age = self._ages.get_lease_age(name, status)
                if age > max(ttl, 0.0) + REMEMBERED:
                    remove_if_possible(path)
                elif ttl >= 0:
                    found[name] = StoredMember(document, age < ttl)
        return found


def _read_document(path: Path) -> tuple[bytes, os.stat_result]:
    """Return a document with its lease. If it is hidden, its member is here all the same."""
    try:
        return read_with_status(path)
    except PermissionError:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise
        return _HIDDEN, status


def _parse_lease(head: bytes) -> float:
    """Return seconds; -1 if that is no lease, as in an empty file after a power failure."""
    with contextlib.suppress(ValueError):
        if 0 <= float(head) < math.inf:
            return float(head)
    return -1.0


def _numbered_path(folder: Path, number: int) -> Path:
    return folder / f"{number:020}"


def _list_numbers(folder: Path) -> list[int]:
    return [int(name) for name in os.listdir(folder) if _NUMBER.fullmatch(name)]


class Ages:
    """How old the files of members are, by the clock of their file system.

    The time of a file is compared only with that of a new file, as clocks of machines differ and
    may jump. From then on the reader counts on its own monotonic clock.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        # By name: what changes with each renewal, and when that was, on the monotonic clock.
        self._renewals: dict[str, tuple[object, float]] = {}
        self._offset: float | None = None
        self._now: float | None = None

    def reset_measured_time(self) -> None:
        """Begin a look at some or all members; it asks for the time at most once."""
        self._now = None

    def get_lease_age(self, name: str, file: os.stat_result) -> float:
        """Return how many seconds ago a member renewed its lease."""
        stamp, now = (file.st_mtime_ns, file.st_ino), time.monotonic()
        seen = self._renewals.get(name)
        if seen is None or seen[0] != stamp:
            if self._now is None:
                self._now = self._measure_now()
            seen = self._renewals[name] = stamp, now - max(0.0, self._now - file.st_mtime)
        return now - seen[1]

    def _measure_now(self) -> float:
        now = self._clock()
        before, self._offset = self._offset, now - time.monotonic()
        has_jumped = before is not None and abs(before - self._offset) > _JUMP
        return -math.inf if has_jumped else now  # no file is old by a clock that has jumped

    def mark_renewed(self, name: str, file: os.stat_result) -> None:
        self._renewals[name] = (file.st_mtime_ns, file.st_ino), time.monotonic()

    def forget_others(self, names: Collection[str]) -> None:
        self._renewals = {name: seen for name, seen in self._renewals.items() if name in names}
