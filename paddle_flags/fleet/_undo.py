"""What takes changes of a fleet back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle_flags.fleet._history import COMMITTED, history_of
from paddle_flags.fleet._record import Change
from paddle_flags.fleet._state import tables_of
from paddle_flags.fleet._store import FleetError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paddle_flags.fleet._follow import Follower
    from paddle_flags.fleet._history import Step
    from paddle_flags.fleet._state import Entry, State

    Key = tuple[str, str]

REASON = "undo of revision "
"""What the reason of an undo begins with."""


def find_undo(follower: Follower, revision: int | None, by: str) -> tuple[int, tuple[Change, ...]]:
    """Return the revision to be undone, and the changes that undo it."""
    steps = history_of(follower.log())
    if revision is not None:
        step = next((each for each in steps if each.revision == revision), None)
        if step is None:
            message = f"{follower.store.url}: the log has no change {revision}"
            raise FleetError(message)
        if step.verdict != COMMITTED:
            why = step.verdict or "it waits for its decision"
            message = f"{follower.store.url}: revision {revision} can't be undone: {why}"
            raise FleetError(message)
        return revision, _changes(follower, step)
    for step in reversed(steps):
        is_own = step.verdict == COMMITTED and step.record.by == by
        if is_own and not step.record.reason.startswith(REASON):
            try:
                return step.revision, _changes(follower, step)
            except FleetError:
                continue
    message = f"{follower.store.url}: there is no change by {by} that can be undone"
    raise FleetError(message)


def _changes(follower: Follower, step: Step) -> tuple[Change, ...]:
    """Return what undoes a step; raise FleetError if later ones stand in the way."""
    before = follower.at(step.revision - 1)
    old, after, now = map(_entries, (before, follower.at(step.revision), follower.state))
    keys = sorted(key for key in old.keys() | after.keys() if old.get(key) != after.get(key))
    if not keys:
        message = f"{follower.store.url}: revision {step.revision} has changed nothing"
        raise FleetError(message)
    later = sorted({name for on, name in keys if now.get((on, name)) != after.get((on, name))})
    if later:
        message = f"{', '.join(later)}: changed since revision {step.revision}"
        raise FleetError(message)
    return _values(keys, before)


def find_reset(follower: Follower, revision: int) -> tuple[Change, ...]:
    """Return what brings back the values of a revision, without those that were temporary."""
    then = follower.at(revision)
    return _values({**_entries(follower.state), **_entries(then, lasting=True)}, then)


def _values(keys: Iterable[Key], state: State) -> tuple[Change, ...]:
    """Return what gives flags the values of a state, without those that are temporary."""
    values = _entries(state, lasting=True)
    return tuple(
        Change(name, values[on, name].value if (on, name) in values else None, on)
        for on, name in keys
    )


def _entries(state: State, *, lasting: bool = False) -> dict[Key, Entry]:
    tables = tables_of(state, lasting=lasting)
    return {(on, name): entry for on, table in tables.items() for name, entry in table.items()}
