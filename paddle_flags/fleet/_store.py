"""What a fleet needs of an engine: a log, and members with leases.

The flags of a fleet follow from its log alone. Record 1, 2, 3, ... are created once and never
change, so whoever has read up to record N has the revision N, and whoever creates record N + 1 has
seen all before it: that is the compare-and-set of this protocol. A base replaces old records.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, NamedTuple, Protocol

from paddle_flags.errors import FlagError

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable

MAX_RECORD = 1 << 20  # bytes of a record, base or member's document; etcd takes 1.5 MiB
MAX_NAME = 128  # characters of the name of a member
REMEMBERED = 86400.0
"""Seconds for which the document of a member stays after its lease has ended."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]*")


class FleetError(FlagError):
    """The fleet or its engine refused something, or can't be reached."""

    __module__ = "paddle_flags.fleet"

    def __str__(self) -> str:
        """Return the message in one line; what members and engines wrote is escaped."""
        from paddle_flags._report.facts import one_line  # noqa: PLC0415 - seldom used

        return one_line(super().__str__())


class UnreachableError(FleetError):
    """The engine does not answer, or has no quorum. The change may have been made."""

    __module__ = "paddle_flags.fleet"


class CompactedError(FleetError):
    """The revision is so old that a base has replaced it."""

    __module__ = "paddle_flags.fleet"


class ReadOnlyError(FleetError):
    """The engine, or the user's rights in it, allow no writing."""

    __module__ = "paddle_flags.fleet"


class LeaseError(FleetError):
    """The lease of a member has ended: the member must announce itself again."""

    __module__ = "paddle_flags.fleet"


class StoredMember(NamedTuple):
    """A member, as an engine has it."""

    document: bytes
    alive: bool
    """Whether its lease runs."""


class Store(Protocol):
    """A connection to one fleet in an engine. All methods may be called by any thread.

    Each raises UnreachableError if the engine does not answer within the timeout of the store, and
    ReadOnlyError if it may not write. A call that raised UnreachableError may have happened, now or
    a little later: `append` is therefore read back by its callers. A store that was made before a
    fork is usable in the child; it opens connections of its own there.
    """

    url: str  # as users wrote it, without a password

    def last(self) -> int:
        """Return the number of the last record, or of the base if none follows it; 0: nothing.

        It is never older than what an `append` that returned before this call has created.
        """
        ...

    def append(self, number: int, record: bytes) -> bool:
        """Create a record; return False, and change nothing, if there is one of this number.

        Raises FleetError if `number` is more than `last() + 1`, or the record is too long.
        """
        ...

    def read(self, first: int) -> list[bytes]:
        """Return the records from `first` on, in order, without gaps; all there are or some.

        Empty if there is none yet. Raises CompactedError if record `first` was replaced by a base.
        """
        ...

    def wait(self, after: int, timeout: float) -> int:
        """Wait at most `timeout` seconds for a record behind `after`.

        Returns the number of one, which may not be the last by now; or `last()` if there is none.
        """
        ...

    def base(self) -> tuple[int, bytes]:
        """Return the base and the number of the last record that it replaces; (0, b"") at first."""
        ...

    def compact(self, number: int, base: bytes) -> bool:
        """Replace the records up to `number` by a base, unless an equal or later one is there.

        Readers see the old records, or the base, and never neither.
        """
        ...

    def announce(self, name: str, document: bytes, ttl: float) -> None:
        """Create or replace the document of a member.

        Its lease ends `ttl` seconds after the last `announce` or `keep_alive` of it, up to twice
        that, as engines count. The document stays for a day after that.
        """
        ...

    def keep_alive(self, name: str) -> None:
        """Renew the lease of a member. Raises LeaseError if it has ended."""
        ...

    def withdraw(self, name: str, document: bytes) -> None:
        """End the lease of a member now. `document`, which replaces its own, stays for a day."""
        ...

    def member(self, name: str) -> StoredMember | None:
        """Return a member; None if nothing is known of it."""
        ...

    def members(self) -> dict[str, StoredMember]:
        """Return all members by name, also those whose document stays after their lease."""
        ...

    def close(self) -> None:
        """Close the connection, and end what waits. Members stay until their lease ends."""
        ...


def is_name(name: str) -> bool:
    """Return whether a text can be the name of a member."""
    return len(name) <= MAX_NAME and _NAME.fullmatch(name) is not None


def check_name(name: str) -> str:
    """Return the name of a member, if every engine can store it."""
    if not is_name(name):
        raise FleetError(
            f"{name!r}: expected at most {MAX_NAME} letters, digits and . _ @ -, "
            "with a letter or digit first"
        )
    return name


def check_size(data: bytes) -> bytes:
    """Return data, if every engine can store it."""
    if len(data) > MAX_RECORD:
        raise FleetError(f"{len(data):,} bytes: a fleet stores at most {MAX_RECORD:,} at once")
    return data


def wait_by_polling(
    last: Callable[[], int], closed: threading.Event, poll: float, after: int, timeout: float
) -> int:
    """Look every `poll` seconds until `last()` is above `after`, or the time is over; return it."""
    end = time.monotonic() + timeout
    while True:
        number = last()
        left = end - time.monotonic()
        if number > after or left <= 0:
            return number
        closed.wait(min(poll, left))
