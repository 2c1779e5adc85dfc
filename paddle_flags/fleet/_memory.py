"""The state of a fleet in the memory of one process, and how that process serves it to others.

Dask's scheduler and an actor of Ray hold a `Server` each. It answers calls of the protocol in one
event loop, with tuples that every transport can carry. `_remote.py` has the other end.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags.fleet._store import (
    REMEMBERED,
    CompactedError,
    FleetError,
    LeaseError,
    StoredMember,
    check_name,
    check_size,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

METHODS = frozenset({
    *("last", "append", "read", "wait", "base", "compact"),
    *("announce", "keep_alive", "withdraw", "member", "page"),
})  # fmt: skip
_READ_AT_ONCE = 8 << 20  # bytes, about
_URL = "<url>"  # stands in a server's messages for the address that the client used
_ERRORS = {kind.__name__: kind for kind in (FleetError, CompactedError, LeaseError)}


class _Member(NamedTuple):
    document: bytes
    ttl: float  # seconds
    end: float  # of the lease, on the store's clock; the document stays longer


class MemoryStore:
    """A fleet in memory. It implements Store, and ends with the process."""

    def __init__(
        self, url: str = "memory:", *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Make an empty fleet. `clock` counts seconds, and leases by them."""
        self.url = url
        self._clock = clock
        self._grown = threading.Condition()  # guards all of it, and is notified of each record
        self._closed = False
        self._base = (0, b"")
        self._log: list[bytes] = []  # the records behind the base
        self._members: dict[str, _Member] = {}

    def last(self) -> int:
        """See Store."""
        with self._grown:
            return self._last()

    def _last(self) -> int:
        return self._base[0] + len(self._log)

    def append(self, number: int, record: bytes) -> bool:
        """See Store."""
        check_size(record)
        with self._grown:
            last = self._last()
            if not 1 <= number <= last + 1:
                raise FleetError(f"{self.url}: record {number}: the next record is {last + 1}")
            if number <= last:
                return False
            self._log.append(record)
            self._grown.notify_all()
            return True

    def read(self, first: int) -> list[bytes]:
        """See Store."""
        with self._grown:
            skipped = first - self._base[0] - 1
            if skipped < 0:
                raise CompactedError(f"{self.url}: record {first} was replaced by a base")
            found: list[bytes] = []
            size = 0
            for record in self._log[skipped:]:
                found.append(record)
                size += len(record)
                if size > _READ_AT_ONCE:
                    break
            return found

    def wait(self, after: int, timeout: float) -> int:
        """See Store."""
        with self._grown:
            self._grown.wait_for(lambda: self._last() > after or self._closed, timeout)
            if self._closed:
                raise FleetError(f"{self.url}: the store is closed")
            return self._last()

    def base(self) -> tuple[int, bytes]:
        """See Store."""
        with self._grown:
            return self._base

    def compact(self, number: int, base: bytes) -> bool:
        """See Store."""
        check_size(base)
        with self._grown:
            last = self._last()
            if not 1 <= number <= last:
                raise FleetError(f"{self.url}: base {number}: the last record is {last}")
            if number <= self._base[0]:
                return False
            del self._log[: number - self._base[0]]
            self._base = (number, base)
            self._forget()
            return True

    def announce(self, name: str, document: bytes, ttl: float) -> None:
        """See Store."""
        check_name(name)
        check_size(document)
        with self._grown:
            self._members[name] = _Member(document, ttl, self._clock() + ttl)

    def keep_alive(self, name: str) -> None:
        """See Store."""
        check_name(name)
        with self._grown:
            member = self._members.get(name)
            if member is None or not self._lives(member):
                raise LeaseError(f"{self.url}: the lease of member {name} has ended")
            self._members[name] = member._replace(end=self._clock() + member.ttl)

    def withdraw(self, name: str, document: bytes) -> None:
        """See Store."""
        self.announce(name, document, 0.0)

    def member(self, name: str) -> StoredMember | None:
        """See Store."""
        with self._grown:
            found = self._members.get(check_name(name))
            if found is None or found.end + REMEMBERED <= self._clock():
                return None
            return StoredMember(found.document, self._lives(found))

    def members(self) -> dict[str, StoredMember]:
        """See Store."""
        with self._grown:
            self._forget()
            return {
                name: StoredMember(each.document, self._lives(each))
                for name, each in sorted(self._members.items())
            }

    def _lives(self, member: _Member) -> bool:
        return self._clock() < member.end

    def _forget(self) -> None:
        """Forget the members whose lease ended long ago."""
        ended = self._clock() - REMEMBERED
        for name in [name for name, each in self._members.items() if each.end <= ended]:
            del self._members[name]

    def page(self, after: str) -> list[tuple[str, bytes, bool]]:
        """Return the members behind a name; all there are or some, and none at the end."""
        found: list[tuple[str, bytes, bool]] = []
        size = 0
        for name, member in self.members().items():
            if name > after:
                found.append((name, member.document, member.alive))
                size += len(member.document)
                if size > _READ_AT_ONCE:
                    break
        return found

    def close(self) -> None:
        """See Store."""
        with self._grown:
            self._closed = True
            self._grown.notify_all()


class Server:
    """The fleets of one process, by the name of their job. All calls come from one event loop."""

    def __init__(self) -> None:
        """Begin without a fleet: each is made when it is first asked for."""
        self._stores: dict[str, MemoryStore] = {}
        self._grown: dict[str, asyncio.Event] = {}

    async def call(self, job: str, method: str, args: Sequence[Any]) -> tuple[str, Any]:
        """Return "" and the result, or the name of an error's class and its text."""
        store = self._stores.setdefault(job, MemoryStore(_URL))
        if method not in METHODS:
            return "FleetError", f"{_URL}: the engine has another version: it knows no {method!r}"
        try:
            if method == "wait":
                return "", await self._wait(job, *args)
            result = getattr(store, method)(*args)
        except FleetError as error:
            return type(error).__name__, str(error)
        if method == "append" and result:
            self._grown.pop(job, asyncio.Event()).set()
        return "", result

    async def _wait(self, job: str, after: int, timeout: float) -> int:  # noqa: ASYNC109 - as Store
        store = self._stores[job]
        if store.last() <= after:
            grown = self._grown.setdefault(job, asyncio.Event())
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(grown.wait(), timeout)
        return store.last()


def result_of(reply: tuple[str, Any], url: str) -> Any:
    """Return the result that a reply of `Server.call` has, or raise its error."""
    kind, result = reply
    if kind:
        raise _ERRORS.get(kind, FleetError)(str(result).replace(_URL, url, 1))
    return result
