"""`Fleet`: what operators do with a fleet."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypedDict

from paddle_flags.errors import FlagArgumentError, FlagTypeError
from paddle_flags.extend import hides_internal_frames, normalize_name, quote_value
from paddle_flags.fleet import _document, _record, _state
from paddle_flags.fleet._arguments import check_count, check_seconds
from paddle_flags.fleet._clock import SYSTEM, Clock
from paddle_flags.fleet._document import Difference, read_alive, read_if_alive, wait_for_details
from paddle_flags.fleet._follow import Follower
from paddle_flags.fleet._open import TIMEOUT, is_address, open_store
from paddle_flags.fleet._operate import Operator, Outcome
from paddle_flags.fleet._record import Change, Record, check_batch, check_text, selector, text_of
from paddle_flags.fleet._role import host_name
from paddle_flags.fleet._state import COMMITTED, Entry, Key, Selected, State, Step, entries_of
from paddle_flags.fleet._status import Status, build_fleet_status
from paddle_flags.fleet._store import FleetError, Store

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self, Unpack

Value = bool | int | float | str | Sequence[bool | int | float | str]

_PATIENCE = 10.0  # seconds for the members' answers, if nobody says how long to wait
_TELLING = 2.0  # seconds for members to say what they have, which differ in their definitions
_UNDO = "undo of revision "  # what the reason of an undo begins with


class Options(TypedDict, total=False):
    """Of a change; see `Fleet.change`."""

    wait: float | None
    force: bool
    at_step: int | None
    duration: float | None
    reason: str
    dry_run: bool
    expect: int | None
    confirm: Iterable[str]
    aliases: bool


@hides_internal_frames
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
        clock: Clock = SYSTEM,
    ) -> None:
        opened = open_store(url, timeout=timeout, create=create) if is_address(url) else url
        self._store = opened
        self.url = opened.url
        """The address, without a password."""
        self._by = _operator_name() if by is None else check_text("by", by)
        self._clock = clock
        self._lock = clock.make_lock()
        self._follower = Follower(self._store, clock=clock)

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
    def revision(self) -> int:
        """The number of the last change."""
        return self._read_state().changed

    def _read_state(self) -> State:
        with self._lock:
            self._follower.catch_up()
            return self._follower.state

    def set(
        self,
        values: Mapping[str, Value],
        *,
        role: str | None = None,
        host: str | None = None,
        member: str | None = None,
        **options: Unpack[Options],
    ) -> Outcome:
        """Set flags: for all members, or for those of a role, of a host, or one member.

        The most specific value holds: member before host before role before all. The options are
        those of `change`: `wait`, `force`, `at_step`, `duration`, `reason`, `dry_run`, `expect` and
        `confirm`.
        """
        if not isinstance(values, Mapping):
            what = f"expected a mapping of names to values, not {type(values).__name__}"
            raise FlagTypeError(f"values: {what}")
        on = selector(role, host, member)
        changes = [Change(name, text_of(name, value), on) for name, value in values.items()]
        return self.change(changes, **options)

    def unset(
        self,
        *names: str,
        role: str | None = None,
        host: str | None = None,
        member: str | None = None,
        **options: Unpack[Options],
    ) -> Outcome:
        """Take back the values that `set` gave with the same role, host or member.

        Then a value of a less specific choice holds, or the one that the process itself has.
        The options are those of `change`.
        """
        on = selector(role, host, member)
        return self.change([Change(name, None, on) for name in names], **options)

    def change(
        self,
        changes: Iterable[Change],
        *,
        wait: float | None = None,
        force: bool = False,
        at_step: int | None = None,
        duration: float | None = None,
        reason: str = "",
        dry_run: bool = False,
        expect: int | None = None,
        confirm: Iterable[str] = (),
        aliases: bool = True,
    ) -> Outcome:
        """Make a batch of changes; each member takes all of it, or nothing.

        All members that are here are asked first. If one of them rejects a value, or doesn't
        answer, or none has such a flag, nothing changes and AbortedError says why. `force=True`
        leaves the question out: members that can't take the change keep the values that they have.
        `dry_run=True` only asks.

        `wait` is how many seconds to wait for the answers: those to the question, by default 10,
        and then those of the members that have the change. Without it, the change is stored when
        the call returns, and members take it as soon as they see it.

        With `at_step=N`, members take the change when they begin step N by
        `paddle_flags.fleet.tick`; one that has begun it already rejects it. Not with `force`.
        `duration` is after how many seconds the values end.

        `expect` is the last revision that the caller has seen. If flags were changed since, nothing
        changes, and ConflictError says who has changed what.
        `confirm` names the unsafe flags that are meant. If one of the batch isn't in it that some
        member has as unsafe, nothing changes, and UnconfirmedError names it.
        A change whose value is None also takes back what was set by other names that members have
        for the flag; with `aliases=False`, only by this one.
        """
        batch = check_batch(changes)
        if not batch:
            raise FlagArgumentError("changes: expected at least one")
        check_seconds("wait", wait)
        check_seconds("duration", duration)
        check_count("at_step", at_step)
        check_count("expect", expect)
        if force and at_step is not None:
            message = "at_step and force: expected one of them: members must agree on a step"
            raise FlagArgumentError(message)
        record = Record(
            _record.CHANGE,
            batch,
            by=self._by,
            reason=check_text("reason", reason),
            duration=duration,
            at_step=at_step,
            dry_run=dry_run,
        )
        patience, known = _PATIENCE if wait is None else wait, _check_names("confirm", confirm)
        with self._lock:
            how = (patience, wait, force, expect, known, aliases)
            return Operator(self._follower, record, *how).run()

    def reset(self, revision: int, **options: Unpack[Options]) -> Outcome:
        """Bring back the values of an earlier revision, as a new change.

        Values that were temporary then are left out. Those that still wait for a step can't come
        back: FleetError says so. The last 200 changes, at least, can be brought back. The options
        are `wait`, `force`, `reason`, `dry_run` and `confirm` of `change`.
        """
        with self._lock:
            self._follower.catch_up()
            now, then = self._follower.state, self._follower.compute_state_at(revision)
            old, new = entries_of(now, lasting=False), entries_of(then)
            keys = [key for key in {**old, **new} if old.get(key) != new.get(key)]
            changes = _changes_to_restore(keys, then, self._store)
        if not changes:
            return Outcome(0, COMMITTED, {}, {})
        return self._submit_reversal(f"reset to revision {revision}", changes, now.changed, options)

    def undo(self, revision: int | None = None, **options: Unpack[Options]) -> Outcome:
        """Take back one change: its flags get the values that the fleet gave them before it.

        Without a revision, it is the last change by the same author that can be undone, and isn't
        an undo itself. A change can be undone only while no later one has changed one of its flags;
        otherwise FleetError says which. The options are `wait`, `force`, `reason` and `dry_run` of
        `change`.
        """
        check_count("revision", revision)
        with self._lock:
            self._follower.catch_up()
            number, changes = _find_undo(self._follower, revision, self._by)
            expect = self._follower.state.changed
        options["confirm"] = {each.name for each in changes}
        return self._submit_reversal(f"{_UNDO}{number}", changes, expect, options)

    def _submit_reversal(
        self, what: str, changes: Iterable[Change], expect: int, options: Options
    ) -> Outcome:
        why = options.get("reason")
        options["reason"] = f"{what}: {why}" if why else what
        options["expect"], options["aliases"] = expect, False
        return self.change(changes, **options)

    def values(
        self, *, role: str | None = None, host: str | None = None, member: str | None = None
    ) -> dict[str, Entry]:
        """Return the values for all, for a role, for a host, or for one member, by flag.

        For a member that is here, these are all values that hold for it, also those for its role,
        its host and all. Each has `value`, `revision`, `time`, `by`, `reason`, `duration` and
        `at_step`.
        """
        tables = self.values_by_selector()
        if member is not None and (known := read_if_alive(self._store, member)):
            return Selected(member, known.get("role"), known.get("host", "")).values(tables)
        return dict(tables.get(selector(role, host, member), {}))

    def values_by_selector(self) -> dict[str, dict[str, Entry]]:
        """Return all values, by `"all"`, `"role:R"`, `"host:H"` or `"member:M"`, and by flag."""
        return _state.build_tables(self._read_state().batches)

    def names(self, *names: str) -> frozenset[str]:
        """Return names of flags, and their aliases and former names, as members say."""
        documents = read_alive(self._store)
        plain = map(normalize_name, names)
        return frozenset().union(*(_document.find_all_names(name, documents) for name in plain))

    def members(self) -> dict[str, dict[str, Any]]:
        """Return the documents of the members, by name: what they publish about themselves."""
        return read_alive(self._store)

    def status(self) -> Status:
        """Return the members and their states."""
        state, log = self._read_state(), self.log()
        return build_fleet_status(self.url, state, _document.read_recent(self._store), log)

    def diff(self) -> list[Difference]:
        """Return the flags whose values differ in members for which the fleet says the same.

        Members publish what isn't a default. If their definitions differ, a record of the kind
        `check` asks them for everything; this waits at most two seconds for it.
        """
        with self._lock:
            found = _document.diff_members(read_alive(self._store))
            if any(holder.value == _document.UNKNOWN for each in found for holder in each.holders):
                tell = Record(_record.CHECK, by=self._by, check={"stage": _record.TELL})
                with suppress(FleetError):  # of a user who may only read
                    self._follower.catch_up()
                    asked = self._follower.write(tell)
                    told = wait_for_details(self._store, self._clock, asked, _TELLING)
                    return _document.diff_members(told)
            return found

    def log(self) -> list[Step]:
        """Return the changes, the oldest first; at least the last 200 are kept.

        Each has its `revision`, its `record` with `changes`, `by`, `time`, `reason`, `duration`,
        `at_step` and `dry_run`, and its `verdict`: `"committed"`, `"aborted: "` and the reason,
        `"dry run"`, `"ended"`, or None while members are asked.
        """
        with self._lock:
            self._follower.catch_up()
            return _state.history_of(self._follower.read_log())


def _find_undo(follower: Follower, revision: int | None, by: str) -> tuple[int, tuple[Change, ...]]:
    """Return the revision to be undone, and the changes that undo it."""
    url, steps = follower.store.url, _state.history_of(follower.read_log())
    if revision is not None:
        step = next((each for each in steps if each.revision == revision), None)
        if step is None:
            raise FleetError(f"{url}: the log has no change {revision}")
        if step.verdict != COMMITTED:
            why = step.verdict or "it waits for its decision"
            raise FleetError(f"{url}: revision {revision} can't be undone: {why}")
        return revision, _changes_to_undo(follower, revision)
    for number, record, verdict in reversed(steps):
        if verdict == COMMITTED and record.by == by and not record.reason.startswith(_UNDO):
            with suppress(FleetError):
                return number, _changes_to_undo(follower, number)
    raise FleetError(f"{url}: there is no change by {by} that can be undone")


def _changes_to_undo(follower: Follower, revision: int) -> tuple[Change, ...]:
    """Return what undoes a change; raise FleetError if later ones stand in the way."""
    before = follower.compute_state_at(revision - 1)
    states = (before, follower.compute_state_at(revision), follower.state)
    old, after, now = (entries_of(each, lasting=False) for each in states)
    keys = sorted(key for key in old.keys() | after.keys() if old.get(key) != after.get(key))
    if not keys:
        raise FleetError(f"{follower.store.url}: revision {revision} has changed nothing")
    later = sorted({key[1] for key in keys if now.get(key) != after.get(key)})
    if later:
        raise FleetError(f"{', '.join(later)}: changed since revision {revision}")
    return _changes_to_restore(keys, before, follower.store)


def _changes_to_restore(keys: Iterable[Key], state: State, store: Store) -> tuple[Change, ...]:
    """Return what gives flags the values of a state, without those that are temporary.

    Raises FleetError for a value that was to come at a step, if a member has not begun that.
    """
    values = entries_of(state)
    found = [(on, name, values.get((on, name))) for on, name in keys]
    steps = [entry.at_step for _, _, entry in found if entry]
    last = max(filter(None, steps), default=0)
    begun = [each.get("step") for each in read_alive(store).values()] if last else []
    if any(step is not None and step < last for step in begun):
        what = f"has a value from step {last} on, which not all members have begun"
        raise FleetError(f"{store.url}: revision {state.revision} {what}: set it anew")
    return tuple(Change(name, entry and entry.value, on) for on, name, entry in found)


def _check_names(name: str, names: Iterable[str]) -> list[str]:
    found = [names] if isinstance(names, str) else list(names)
    if isinstance(names, str) or not all(isinstance(each, str) for each in found):
        raise FlagTypeError(f"{name} is {quote_value(names)}: expected a list of names")
    return found


def _operator_name() -> str:
    try:
        user = getpass.getuser()
    except (OSError, KeyError, ImportError):
        user = str(os.getuid()) if hasattr(os, "getuid") else "unknown"
    return f"{user}@{host_name()}"
