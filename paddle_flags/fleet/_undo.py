"""What takes one change of a fleet back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle_flags.fleet._history import COMMITTED, history_of
from paddle_flags.fleet._record import Change
from paddle_flags.fleet._state import tables_of
from paddle_flags.fleet._store import FleetError

if TYPE_CHECKING:
    from paddle_flags.fleet._follow import Follower
    from paddle_flags.fleet._history import Step
    from paddle_flags.fleet._state import Entry, Tables

    Key = tuple[str, str]

REASON = "undo of revision "
"""What the reason of an undo begins with."""


def find(follower: Follower, revision: int | None, by: str) -> tuple[int, tuple[Change, ...]]:
    """Return the revision to be undone, and the changes that undo it."""
    steps = [each for each in history_of(follower.log()) if each.verdict == COMMITTED]
    if revision is not None:
        step = next((each for each in steps if each.revision == revision), None)
        if step is None:
            message = f"{follower.store.url}: the log has no change {revision}"
            raise FleetError(message)
        return revision, _changes(follower, step)
    for step in reversed(steps):
        if step.record.by == by and not step.record.reason.startswith(REASON):
            try:
                return step.revision, _changes(follower, step)
            except FleetError:
                continue
    message = f"{follower.store.url}: there is no change by {by} that can be undone"
    raise FleetError(message)


def _changes(follower: Follower, step: Step) -> tuple[Change, ...]:
    """Return what undoes a step; raise FleetError if later ones stand in the way."""
    before = follower.at(step.revision - 1)
    after, now = _flat(tables_of(follower.at(step.revision))), _flat(tables_of(follower.state))
    old, lasting = _flat(tables_of(before)), _flat(tables_of(before, lasting=True))
    keys = sorted(key for key in old.keys() | after.keys() if old.get(key) != after.get(key))
    if not keys:
        message = f"{follower.store.url}: revision {step.revision} has changed nothing"
        raise FleetError(message)
    later = sorted({name for on, name in keys if now.get((on, name)) != after.get((on, name))})
    if later:
        message = f"{', '.join(later)}: changed since revision {step.revision}"
        raise FleetError(message)
    values = {key: lasting[key].value if key in lasting else None for key in keys}
    return tuple(Change(name, value, on) for (on, name), value in values.items())


def _flat(tables: Tables) -> dict[Key, Entry]:
    return {(on, name): entry for on, table in tables.items() for name, entry in table.items()}
