"""`Fleet`: what operators do with a fleet."""

from __future__ import annotations

import getpass
import math
import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from paddle_flags._core.frames import public_class
from paddle_flags._core.lists import encode as encode_list
from paddle_flags._core.lists import integer_text
from paddle_flags._core.status import shown
from paddle_flags.errors import FlagArgumentError, FlagTypeError
from paddle_flags.fleet import _operate, _record, _undo
from paddle_flags.fleet._difference import differences_of
from paddle_flags.fleet._document import all_of, names_like
from paddle_flags.fleet._follow import Follower
from paddle_flags.fleet._open import TIMEOUT, is_address, open_store
from paddle_flags.fleet._outcome import Outcome
from paddle_flags.fleet._record import Change, Record, check_batch, check_text, selector
from paddle_flags.fleet._role import host_name
from paddle_flags.fleet._state import Entry, Selected, lasting, values_of
from paddle_flags.fleet._status import Status, status_of
from paddle_flags.fleet._store import FleetError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Self

    from paddle_flags.fleet._difference import Difference
    from paddle_flags.fleet._state import Step
    from paddle_flags.fleet._store import Store

Value = bool | int | float | str | Sequence[bool | int | float | str]

_PATIENCE = 10.0  # seconds for votes, if nobody says how long to wait
_BIGGEST = (1 << 62) - 1  # step or revision
_LONGER = 5.0  # seconds after which members abort what its operator has not decided


@public_class
class Fleet:
    """A fleet as operators use it: its values, its members, and changes.

        fleet = pf.fleet.Fleet("dir:///mnt/job42")
        fleet.set({"check_nan_inf": True}, role="trainer", wait=30, reason="loss is NaN")

    The engine decides who may read and write. `by` is whom the log names as the author of changes;
    the default is user and host. `timeout` is for how many seconds to wait for the engine. With
    `create=False`, a folder that has no fleet raises FleetError; other engines don't know that. Any
    thread may use a Fleet; calls run one after the other.
    """

    def __init__(
        self,
        url: str | Store,
        *,
        by: str | None = None,
        timeout: float = TIMEOUT,
        create: bool = True,
    ) -> None:
        opened = open_store(url, timeout=timeout, create=create) if is_address(url) else url
        self._store = opened
        self._by = _who() if by is None else check_text("by", by)
        self._lock = threading.RLock()
        self._follower = Follower(self._store)

    def __repr__(self) -> str:
        return f"<Fleet {self.url}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection to the engine."""
        self._store.close()

    @property
    def url(self) -> str:
        """The address, without a password."""
        return self._store.url

    @property
    def revision(self) -> int:
        """The number of the last change."""
        with self._lock:
            self._follower.catch_up()
            return self._follower.state.revision

    # ---- Changing ----

    def set(  # noqa: PLR0913 - each is a part of its meaning, and all have a default
        self,
        values: Mapping[str, Value],
        *,
        role: str | None = None,
        host: str | None = None,
        member: str | None = None,
        wait: float | None = None,
        all_or_none: bool = False,
        at_step: int | None = None,
        duration: float | None = None,
        reason: str = "",
        dry_run: bool = False,
        expect: int | None = None,
        confirm: Iterable[str] = (),
    ) -> Outcome:
        """Set flags: for all members, or for those of a role, of a host, or one member.

        The most specific value holds: member before host before role before all. The other
        parameters are those of `change`.
        """
        if not isinstance(values, Mapping):
            message = f"values: expected a mapping of names to values, not {type(values).__name__}"
            raise FlagTypeError(message)
        on = selector(role, host, member)
        return self.change(
            [Change(name, text_of(name, value), on) for name, value in values.items()],
            wait=wait,
            all_or_none=all_or_none,
            at_step=at_step,
            duration=duration,
            reason=reason,
            dry_run=dry_run,
            expect=expect,
            confirm=confirm,
        )

    def unset(
        self,
        *names: str,
        role: str | None = None,
        host: str | None = None,
        member: str | None = None,
        **options: Any,
    ) -> Outcome:
        """Take back the values that `set` gave with the same role, host or member.

        Then a value of a less specific choice holds, or the one that the process itself has.
        The options are those of `change`.
        """
        on = selector(role, host, member)
        return self.change([Change(name, None, on) for name in names], **options)

    def change(  # noqa: PLR0913 - as set()
        self,
        changes: Iterable[Change],
        *,
        wait: float | None = None,
        all_or_none: bool = False,
        at_step: int | None = None,
        duration: float | None = None,
        reason: str = "",
        dry_run: bool = False,
        expect: int | None = None,
        confirm: Iterable[str] = (),
    ) -> Outcome:
        """Make a batch of changes; each member takes all of it, or nothing.

        `wait` is how many seconds to wait for the members' answers. Without it, the change is
        stored when the call returns, and members take it as soon as they see it.

        `all_or_none=True` asks all members first, and changes nothing if one of them rejects
        a value or doesn't answer. `at_step=N` does the same, and members take the change when they
        begin step N by `paddle_flags.fleet.tick`; one that has begun it already rejects. Both raise
        AbortedError if nothing changes. `dry_run=True` only asks. These wait for the votes for
        `wait` seconds, by default 10.

        `duration` is after how many seconds each member ends the values by itself.

        `expect` is the last revision that the caller has seen. If it isn't the last one any more,
        nothing changes, and ConflictError says who has changed what.

        `confirm` names the unsafe flags that are meant. If one of the batch isn't in it that some
        member has as unsafe, nothing changes, and UnconfirmedError names it.
        """
        batch = check_batch(changes)
        if not batch:
            message = "changes: expected at least one"
            raise FlagArgumentError(message)
        _check_seconds("wait", wait)
        _check_seconds("duration", duration)
        _check_number("at_step", at_step)
        _check_number("expect", expect)
        confirmed = _check_names("confirm", confirm)
        proposed = all_or_none or dry_run or at_step is not None
        patience = _PATIENCE if wait is None else wait
        record = Record(
            _record.PROPOSE if proposed else _record.CHANGE,
            batch,
            by=self._by,
            reason=reason,
            duration=duration,
            at_step=at_step,
            dry_run=dry_run,
            patience=patience + _LONGER if proposed else 0.0,
        )
        return self._run(record, wait, patience, expect, confirmed)

    def reset(self, revision: int, *, wait: float | None = None, reason: str = "") -> Outcome:
        """Bring back the values of an earlier revision, as a new one.

        Values that were temporary then are left out. The last 200 changes, at least, can be
        brought back.
        """
        _check_seconds("wait", wait)
        with self._lock:
            self._follower.catch_up()
            tables = lasting(self._follower.at(revision).tables)
        changes = [
            Change(name, entry.value, on)
            for on, table in tables.items()
            for name, entry in table.items()
        ]
        record = Record(_record.CHANGE, tuple(changes), by=self._by, reason=reason, reset=revision)
        return self._run(record, wait, 0.0)

    def undo(
        self, revision: int | None = None, *, wait: float | None = None, reason: str = ""
    ) -> Outcome:
        """Take back one change: its flags get the values that the fleet gave them before it.

        Without a revision, it is the last change by the same author that can be undone, and isn't
        an undo itself. A change can be undone only while no later one has changed one of its flags;
        otherwise FleetError says which.
        """
        _check_seconds("wait", wait)
        _check_number("revision", revision)
        with self._lock:
            self._follower.catch_up()
            number, changes = _undo.find(self._follower, revision, self._by)
            text = f"{_undo.REASON}{number}" + (f": {reason}" if reason else "")
            record = Record(_record.CHANGE, changes, by=self._by, reason=text)
            names = {each.name for each in changes}
            return self._run(record, wait, 0.0, self._follower.state.revision, names)

    def _run(
        self,
        record: Record,
        wait: float | None,
        patience: float,
        expect: int | None = None,
        confirm: Collection[str] = (),
    ) -> Outcome:
        check_text("reason", record.reason)
        with self._lock:
            pending = _operate.write(self._follower, record, expect, confirm)
            outcome = Outcome(pending.revision, "committed", {}, {})
            if record.kind == _record.PROPOSE:
                outcome = _operate.decide(self._follower, pending, patience)
            if wait is not None and not record.dry_run:
                outcome = _operate.wait(self._follower, pending, wait)
            with suppress(FleetError):  # the next one does it
                self._follower.compact()
            return outcome

    # ---- Looking ----

    def values(
        self, *, role: str | None = None, host: str | None = None, member: str | None = None
    ) -> dict[str, Entry]:
        """Return the values for all, for a role, for a host, or for one member, by flag.

        For a member that is here, these are all values that hold for it, also those for its role,
        its host and all. Each has `value`, `revision`, `time`, `by`, `reason`, `duration` and
        `at_step`.
        """
        with self._lock:
            self._follower.catch_up()
            tables = self._follower.state.tables
            document = self._documents().get(member) if member is not None else None
            if member is not None and document is not None:
                chosen = Selected(member, document.get("role"), str(document.get("host", "")))
                return values_of(tables, chosen, lambda _: True)
            return dict(tables.get(selector(role, host, member), {}))

    def tables(self) -> dict[str, dict[str, Entry]]:
        """Return all values, by `"all"`, `"role:R"`, `"host:H"` or `"member:M"`, and by flag.

        Each has what those of `values` have.
        """
        with self._lock:
            self._follower.catch_up()
            return {on: dict(table) for on, table in self._follower.state.tables.items()}

    def names(self, *names: str) -> frozenset[str]:
        """Return names of flags, and their aliases and former names, as members say.

        The fleet has values by the names by which they were set.
        """
        with self._lock:
            documents = self._documents()
        plain = (name.replace("-", "_") for name in names)
        return frozenset().union(*(names_like(name, documents) for name in plain))

    def members(self) -> dict[str, dict[str, Any]]:
        """Return the documents of the members, by name: what they publish about themselves."""
        with self._lock:
            return self._documents()

    def status(self) -> Status:
        """Return the members and their states."""
        with self._lock:
            self._follower.catch_up()
            documents = all_of(self._store)
            return status_of(self.url, self._follower.state, documents, self._follower.log())

    def diff(self) -> list[Difference]:
        """Return the flags whose values differ in members for which the fleet says the same."""
        with self._lock:
            return differences_of(self._documents())

    def log(self) -> list[Step]:
        """Return the changes, the oldest first; at least the last 200 are kept.

        Each has its `revision`, its `record` with `changes`, `by`, `time`, `reason`, `duration`,
        `at_step`, `dry_run` and `reset`, and its `verdict`: None for a change that needs no
        decision or has none yet, `"commit"`, or `"abort"` with the reason.
        """
        with self._lock:
            self._follower.catch_up()
            return self._follower.log()

    def _documents(self) -> dict[str, dict[str, Any]]:
        return _operate.documents_of(self._store)


def text_of(name: str, value: object) -> str:
    """Return a value as on a command line."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return integer_text(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return encode_list(tuple(value))
    message = f"{name}: {shown(value)}: expected bool, int, float, str or a list of them"
    raise FlagTypeError(message)


def _check_seconds(name: str, value: float | None) -> None:
    if value is None or (isinstance(value, (int, float)) and 0 <= value < math.inf):
        return
    message = f"{name} is {shown(value)}: expected a number of seconds"
    raise FlagArgumentError(message)


def _check_number(name: str, number: int | None) -> None:
    whole = isinstance(number, int) and not isinstance(number, bool)
    if number is None or (whole and 0 <= number <= _BIGGEST):
        return
    message = f"{name} is {shown(number)}: expected an integer from 0 to {_BIGGEST}"
    raise FlagArgumentError(message)


def _check_names(name: str, names: Iterable[str]) -> list[str]:
    found = [names] if isinstance(names, str) else list(names)
    if isinstance(names, str) or not all(isinstance(each, str) for each in found):
        message = f"{name} is {shown(names)}: expected a list of names"
        raise FlagTypeError(message)
    return found


def _who() -> str:
    """Return who makes the changes of this process."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):
        user = str(os.getuid()) if hasattr(os, "getuid") else "unknown"
    return f"{user}@{host_name()}"
