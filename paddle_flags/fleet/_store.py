"""What a fleet needs of an engine: a log, and members with leases.

The flags of a fleet follow from its log alone. Record 1, 2, 3, ... are created once and never
change, so whoever has read up to record N has the revision N, and whoever creates record N + 1 has
seen all before it: that is the compare-and-set of this protocol. A base replaces old records.
"""

from __future__ import annotations

import os
import re
import threading
import time
from contextlib import suppress
from typing import Any, NamedTuple

from paddle_flags.errors import FlagError

MAX_RECORD = 1 << 20  # bytes of a record, base or member's document; etcd takes 1.5 MiB
REMEMBERED = 86400.0
"""Seconds for which the document of a member stays after its lease has ended."""

_RESERVED = r"(?i:(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|\Z))"  # by Windows, for devices
_NAME = re.compile(rf"(?!{_RESERVED})[A-Za-z0-9][A-Za-z0-9._@-]{{0,127}}(?<!\.)")
_inherited: list[object] = []  # of the parent: a child must not free its connections


class FleetError(FlagError):
    """The fleet or its engine refused something, or can't be reached."""

    __module__ = "paddle_flags.fleet"

    def __str__(self) -> str:
        """Return the message in one line; what members and engines wrote is escaped."""
        from paddle_flags.extend import escape_controls

        return escape_controls(super().__str__())


class UnreachableError(FleetError):
    """The engine does not answer, or has no quorum. The change may have been made."""


class CompactedError(FleetError):
    """The revision is so old that a base has replaced it."""


class ReadOnlyError(FleetError):
    """The engine, or the user's rights in it, allow no writing."""


class LeaseError(FleetError):
    """The lease of a member has ended: the member must announce itself again."""


ERRORS = {each.__name__: each for each in FleetError.__subclasses__()}
for _kind in ERRORS.values():
    _kind.__module__ = "paddle_flags.fleet"


class StoredMember(NamedTuple):
    """A member, as an engine has it. It is alive while its lease runs."""

    document: bytes
    alive: bool


class Store:
    """A connection to one fleet in an engine. All methods may be called by any thread.

    Each raises UnreachableError if the engine does not answer within the timeout of the store, and
    ReadOnlyError if it may not write. A call that raised UnreachableError may have happened, now or
    a little later: `append` is therefore read back by its callers. A store that was made before a
    fork is usable in the child; it opens its own connections there.

    An engine is made of a `Url` and a timeout in seconds. It implements `_last`, `_create`,
    `_read`, `_base`, `_replace_records`, `_announce`, `_keep_alive`, `_member` and `_members`,
    whose arguments have been checked, and which may raise OSError.
    """

    _poll = 0.05  # seconds between two looks, of an engine that can't wait for a record

    def __init__(self, url: str) -> None:
        self.url = url  # as users wrote it, without a password
        self.closed = threading.Event()
        self._pid = os.getpid()

    def check_exists(self) -> None:
        """Raise FleetError if there is no fleet; only a folder is easily mistyped."""

    def last(self) -> int:
        """Return the number of the last record, or of the base if none follows it; 0: nothing.

        It is never older than what an `append` that returned before this call has created.
        """
        return int(self._run_if_open("last"))

    def append(self, number: int, record: bytes) -> bool:
        """Create a record; return False, and change nothing, if there is one of this number.

        Raises FleetError if `number` is more than `last() + 1`, or the record is too long.
        """
        return bool(self._run_if_open("append", number, self._check_size(record)))

    def read(self, first: int) -> list[bytes]:
        """Return the records from `first` on, in order, without gaps; all there are or some.

        Empty if there is none yet. Raises CompactedError if record `first` was replaced by a base.
        """
        return [bytes(record) for record in self._run_if_open("read", max(first, 1))]

    def wait(self, after: int, timeout: float) -> int:
        """Wait at most `timeout` seconds for a record behind `after`.

        Returns the number of one, which may not be the last by now; or `last()` if there is none.
        """
        return int(self._run_if_open("wait", after, timeout))

    def base(self) -> tuple[int, bytes]:
        """Return the base and the number of the last record that it replaces; (0, b"") at first."""
        number, base, *_ = self._run_if_open("base")
        return int(number), bytes(base)

    def compact(self, number: int, base: bytes) -> bool:
        """Replace the records up to `number` by a base, unless an equal or later one is there.

        Readers see the old records, or the base, and never neither.
        """
        return bool(self._run_if_open("compact", number, self._check_size(base)))

    def announce(self, name: str, document: bytes, ttl: float) -> None:
        """Create or replace the document of a member.

        Its lease ends `ttl` seconds after the last `announce` or `keep_alive` of it, up to twice
        that, as engines count. The document stays for a day after that.
        """
        self._run_if_open("announce", check_name(name), self._check_size(document), ttl)

    def keep_alive(self, name: str) -> None:
        """Renew the lease of a member. Raises LeaseError if it has ended."""
        self._run_if_open("keep_alive", check_name(name))

    def withdraw(self, name: str, document: bytes) -> None:
        """End the lease of a member now. `document`, which replaces its own, stays for a day."""
        self._run_if_open("withdraw", check_name(name), self._check_size(document))

    def member(self, name: str) -> StoredMember | None:
        """Return a member; None if nothing is known of it."""
        found = self._run_if_open("member", check_name(name))
        return None if found is None else StoredMember(bytes(found[0]), bool(found[1]))

    def members(self) -> dict[str, StoredMember]:
        """Return all members by name, also those whose document stays after their lease."""
        found: dict[str, StoredMember] = self._run_if_open("members")
        return found

    def close(self) -> None:
        """Close the connection, and end what waits. Members stay until their lease ends."""
        with suppress(FleetError):
            self.check_open()
        self.closed.set()
        self._disconnect()

    def _run_if_open(self, method: str, *args: Any) -> Any:
        self.check_open()
        try:
            return self._run_method(method, *args)
        except OSError as error:
            self.check_open()  # `close` may have ended the connection
            raise self._convert_os_error(error, method) from error

    def _run_method(self, method: str, *args: Any) -> Any:
        return getattr(self, f"_{method}")(*args)

    def _convert_os_error(self, error: OSError, method: str) -> FleetError:
        where = f": {error.filename}" if error.filename else ""
        what = error.strerror or str(error) or "no answer in time"
        return self.unreachable(f"cannot be reached: {what}{where}")

    def check_open(self) -> None:
        if self._pid != os.getpid():
            _inherited.append(dict(vars(self)))
            self._pid = os.getpid()
            was_closed, self.closed = self.closed.is_set(), threading.Event()
            self._reset_process_state()
            if was_closed:
                self.closed.set()
        if self.closed.is_set():
            raise self.error("the store is closed")

    def _reset_process_state(self) -> None:
        """Make anew, in a child, what threads of the parent may be using."""

    def _disconnect(self) -> None:
        """Close what is open, now that `closed` is set."""

    def _append(self, number: int, record: bytes) -> bool:
        last = self.last()
        self._check_record_number(number, last)
        return number > last and bool(self._run_method("create", number, record))

    def _wait(self, after: int, timeout: float) -> int:
        end = time.monotonic() + timeout
        while True:
            number = self.last()
            left = end - time.monotonic()
            if number > after or left <= 0:
                return number
            self.closed.wait(min(self._poll, left))

    def _compact(self, number: int, base: bytes) -> bool:
        last = self.last()
        if not 1 <= number <= last:
            raise self.error(f"base {number}: the last record is {last}")
        return number > self.base()[0] and bool(self._run_method("replace_records", number, base))

    def _withdraw(self, name: str, document: bytes) -> None:
        self.announce(name, document, 0.0)

    def _check_size(self, data: bytes) -> bytes:
        if len(data) > MAX_RECORD:
            raise self.error(f"{len(data):,} bytes: a fleet stores at most {MAX_RECORD:,} at once")
        return data

    def _check_record_number(self, number: int, last: int) -> None:
        if not 1 <= number <= last + 1:
            raise self.error(f"record {number}: the next record is {last + 1}")

    def error(self, what: str, kind: type[FleetError] = FleetError) -> FleetError:
        return kind(f"{self.url}: {what}")

    def unreachable(self, what: str) -> FleetError:
        return self.error(what, UnreachableError)

    def _make_compacted_error(self, first: int) -> FleetError:
        return self.error(f"record {first} was replaced by a base", CompactedError)

    def _make_lease_error(self, name: str) -> FleetError:
        return self.error(f"the lease of member {name} has ended", LeaseError)


def is_storable_name(name: str) -> bool:
    """Return whether every engine can store a name, also in a folder that Windows has."""
    return _NAME.fullmatch(name) is not None


def check_name(name: str) -> str:
    """Raise FleetError for a name that not every engine can store."""
    if not is_storable_name(name):
        what = "expected at most 128 letters, digits and . _ @ -, with a letter or digit first"
        what += ", no dot last, and no name that Windows reserves"
        raise FleetError(f"{name!r}: {what}")
    return name
