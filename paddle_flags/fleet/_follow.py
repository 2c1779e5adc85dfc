"""From the log in an engine to the state, and into the log."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from paddle_flags.extend import quote_value
from paddle_flags.fleet import _record
from paddle_flags.fleet._clock import SYSTEM, Clock
from paddle_flags.fleet._record import Record
from paddle_flags.fleet._state import State, from_json, to_json
from paddle_flags.fleet._store import CompactedError, FleetError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from paddle_flags.fleet._store import Store

_KEPT = 200  # records that a compaction leaves, for `log` and `reset`
_MOST = 1000  # records since the base before it is renewed
_PAUSE = 0.05  # seconds between two tries to read back what may have been written
_TRIES = 5


class StateLostError(FleetError):
    """The engine has lost its state, or begun another: it isn't the log that was read before."""

    __module__ = "paddle_flags.fleet"


class Follower:
    """Reads a log as it grows. Used by one thread at a time."""

    def __init__(self, store: Store, state: State | None = None, clock: Clock = SYSTEM) -> None:
        self.store = store
        self.clock = clock
        self.state = state or State()
        self.base = 0  # the revision of the base, from which the log that is left begins
        self._tail: Follower | None = None  # what has read the records since the base
        self._first = State()  # of the base
        self._records: list[Record] = []
        self._news: list[Record] = []  # written here, or read by a call that failed then

    def catch_up(self, last: int | None = None) -> list[Record]:
        """Read all that is new, in order; return it, with what a failed call read or this wrote.

        After a compaction that was missed, the records before it are in the state alone. `last` is
        what the store has just said: what it shows not to be there isn't asked for.
        Raises StateLostError, and keeps the state, if the log isn't the one that it was.
        """
        before = self.state.revision
        while last is None or last > self.state.revision:
            try:
                records = self.store.read(self.state.revision + 1)
            except CompactedError:
                self._read_base()
                continue
            if not records:
                break
            self._news += [self._follow_record(data) for data in records]
        if last is None or last < before:  # or another thread has read on meanwhile
            last = self.store.last()
            if last < before:
                raise self._lost_error(f"ends with revision {last}")
        news, self._news = self._news, []
        return news

    def check_same_log(self) -> None:
        """Raise StateLostError if the engine has another log than the one that was read."""
        if not self.state.revision:
            return
        number, base = self.store.base()
        if number and number >= self.state.revision:
            self._check_fleet(_decode_base(base, number).fleet)
            return
        try:
            records = self.store.read(self.state.revision)
        except CompactedError:
            return  # meanwhile: the next call reads that base
        if not records:
            raise self._lost_error(f"ends with revision {self.store.last()}")
        self._check_fleet(_decode_or_ignore(records[0], self.state.revision).fleet)

    def _follow_record(self, data: bytes) -> Record:
        record = _decode_or_ignore(data, self.state.revision + 1)
        self._check_fleet(record.fleet)
        self.state = self.state.after(record)
        return record

    def _read_base(self) -> None:
        number, data = self.store.base()
        if number <= self.state.revision:
            raise self._lost_error(f"begins with revision {number + 1}")
        state = _decode_base(data, number)
        self._check_fleet(state.fleet)
        self.state, self.base = state, number

    def _check_fleet(self, fleet: str) -> None:
        if self.state.fleet and fleet and fleet != self.state.fleet:
            raise self._lost_error(f"is fleet {quote_value(fleet)}")

    def _lost_error(self, now: str) -> StateLostError:
        before = f"revision {self.state.revision} of fleet {self.state.fleet!r} was read before"
        what = f"the engine has lost its state: it {now}, and {before}"
        return StateLostError(f"{self.store.url}: {what}")

    def try_append(self, record: Record) -> int:
        """Write a record behind the state that was read; return its revision, or 0: others did."""
        number = self.state.revision + 1
        whole = record._replace(
            id=record.id or _record.new_id(),
            fleet=self.state.fleet or _record.new_id(),
            time=self.clock.wall_time(),
        )
        data = _record.encode(whole)
        try:
            written = self.store.append(number, data)
        except UnreachableError as error:
            written = self._retry_append(number, whole, error)
        if not written and not self._has_record(number, whole):
            return 0
        self._news.append(self._follow_record(data))
        if not self.state.question:  # whose answers somebody waits for
            with suppress(FleetError):  # the next writer does it
                self.compact()
        return number

    def write(self, record: Record, is_wanted: Callable[[], bool] = lambda: True) -> int:
        """Write a record behind all others, while it is wanted; return its revision, or 0."""
        while is_wanted():
            if revision := self.try_append(record):
                return revision
            self.catch_up()
        return 0

    def _retry_append(self, number: int, record: Record, error: UnreachableError) -> bool:
        for _ in range(_TRIES):
            self.clock.sleep(_PAUSE)
            try:
                if self.store.last() >= number:
                    return self._has_record(number, record)
                if self.store.append(number, _record.encode(record)):
                    return True
            except UnreachableError as again:
                error = again
        what = f"revision {number} may have been written: see the log"
        raise UnreachableError(f"{error}; {what}") from None

    def _has_record(self, number: int, record: Record) -> bool:
        try:
            records = self.store.read(number)
        except CompactedError:
            return False
        return bool(records) and _decode_or_ignore(records[0], number).id == record.id

    def compact(self) -> bool:
        """Replace old records by a base if there are many; the last 200 stay."""
        if self.state.revision - self.base <= _MOST:
            return False
        number = self.state.revision - _KEPT
        if self.state.question:
            number = min(number, self.state.question.revision - 1)
        self.base = self.store.base()[0]
        if number <= self.base:  # somebody else has renewed it
            return False
        while (state := self.compute_state_at(number)).question:  # a base has none
            number = state.question.revision - 1
        self.base = number
        return self.store.compact(number, to_json(state))

    def compute_state_at(self, revision: int) -> State:
        """Return the state at an earlier revision; raise CompactedError if it was replaced."""
        records, state = self.read_log(), self._first
        first, last = state.revision, state.revision + len(records)
        if not first <= revision <= last:
            raise CompactedError(f"revision {revision}: expected one from {first} to {last}")
        for record in records[: revision - first]:
            state = state.after(record)
        return state

    def read_log(self) -> list[Record]:
        """Return the records that are left, the oldest first; those that were read stay known."""
        while True:
            number, data = self.store.base()
            if self._tail is None or self._tail.base != number:
                self._first = _decode_base(data, number) if number else State()
                self._tail, self._records = Follower(self.store, self._first, self.clock), []
                self._tail.base = number
            self._records += self._tail.catch_up()
            if self._tail.base == number:  # unless some were replaced meanwhile
                return list(self._records)


def _decode_base(data: bytes, number: int) -> State:
    return from_json(data, f"base {number}", number)


def _decode_or_ignore(data: bytes, revision: int) -> Record:
    """Return a record; one that isn't ours changes nothing, for everybody alike."""
    try:
        return _record.decode(data, revision)
    except FleetError as error:
        return Record(_record.CHECK, reason=str(error), revision=revision)
