"""The flags of a fleet: what a log says, without an engine and without a registry."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags.fleet import _json
from paddle_flags.fleet._json import is_a
from paddle_flags.fleet._record import PROPOSE, Record, check_selector
from paddle_flags.fleet._store import FleetError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_DEEPEST = 8  # values below one that is temporary or waits for a step

COMMIT = "commit"
ABORT = "abort"


class Entry(NamedTuple):
    """What one selector says of one flag."""

    value: str | None
    """None: nothing, which hides nothing; only what ends or waits for a step is kept so."""
    revision: int
    time: float
    by: str
    reason: str
    duration: float | None = None
    at_step: int | None = None
    below: Entry | None = None
    """What holds before the step, and after the end."""


Tables = dict[str, dict[str, Entry]]
"""By selector and name."""


class Step(NamedTuple):
    """A record with its revision, and what was decided if it is a proposal."""

    revision: int
    record: Record
    verdict: str | None

    @property
    def is_open(self) -> bool:
        """Whether it is a proposal that nobody has decided."""
        return self.record.kind == PROPOSE and self.verdict is None

    @property
    def holds(self) -> bool:
        """Whether it takes effect."""
        return self.record.kind != PROPOSE or self.verdict == COMMIT


@dataclass(frozen=True)
class State:
    """What a log says up to a revision. The same log gives the same state to everybody."""

    revision: int = 0
    fleet: str = ""
    settled: Tables = field(default_factory=dict)
    """Without the records of `tail`."""
    tail: tuple[Step, ...] = ()
    """From the first proposal that nobody has decided on."""
    tables: Tables = field(default_factory=dict)

    def with_record(self, record: Record, verdict: str | None = None) -> State:
        """Return the state after the next record."""
        step = Step(self.revision + 1, record, verdict)
        after = replace(
            self,
            revision=step.revision,
            fleet=self.fleet or record.fleet,
            tail=(*self.tail, step),
        )
        return _settle(after)

    def with_decision(self, revision: int, verdict: str) -> State:
        """Return the state after a decision; a second one changes nothing."""
        tail = tuple(
            step._replace(verdict=verdict) if step.revision == revision and step.is_open else step
            for step in self.tail
        )
        return _settle(replace(self, tail=tail))

    def open_proposals(self) -> list[Step]:
        """Return the proposals that nobody has decided."""
        return [step for step in self.tail if step.is_open]


def _settle(state: State) -> State:
    """Return the state with as short a tail as what is decided allows."""
    settled, tail = state.settled, state.tail
    while tail and not tail[0].is_open:
        settled = _after(settled, tail[0])
        tail = tail[1:]
    tables = settled
    for step in tail:
        tables = _after(tables, step)
    return replace(state, settled=settled, tail=tail, tables=tables)


def _after(tables: Tables, step: Step) -> Tables:
    """Return the tables after a record, which replace those before."""
    if not step.holds:
        return tables
    record = step.record
    if record.reset is not None:
        tables = {}
    changed = dict(tables)
    for name, value, on in record.changes:
        table = dict(changed.get(on, {}))
        entry = _entry(step, value, table.get(name))
        table.pop(name, None)
        if entry is not None:
            table[name] = entry
        changed[on] = table
    return {on: table for on, table in changed.items() if table}


def _entry(step: Step, value: str | None, before: Entry | None) -> Entry | None:
    record = step.record
    passing = record.duration is not None or record.at_step is not None
    if value is None and (not passing or before is None):
        return None
    below = before if passing else None
    if record.at_step is None and below is not None and below.duration is not None:
        below = below.below  # a temporary value replaces another one
    made = Entry(
        value,
        step.revision,
        record.time,
        record.by,
        record.reason,
        record.duration,
        record.at_step,
        below,
    )
    return _cut(made, _DEEPEST)


def _cut(entry: Entry, depth: int) -> Entry:
    if entry.below is None:
        return entry
    below = _cut(entry.below, depth - 1) if depth > 1 else None
    return entry._replace(below=below)


# ---- For one member ----


class Selected(NamedTuple):
    """What selectors look at."""

    name: str
    role: str | None
    host: str

    def selectors(self) -> list[str]:
        """Return the selectors that fit, the least specific first."""
        roles = [f"role:{self.role}"] if self.role else []
        return ["all", *roles, f"host:{self.host}", f"member:{self.name}"]


def resolve(entry: Entry | None, holds: Callable[[Entry], bool]) -> Entry | None:
    """Return what an entry says now: `holds` knows steps and ends; None: nothing."""
    while entry is not None and not holds(entry):
        entry = entry.below
    return None if entry is None or entry.value is None else entry


def chain_of(entry: Entry) -> list[Entry]:
    """Return an entry, and all that lie below it."""
    found = [entry]
    while found[-1].below is not None:
        found.append(found[-1].below)
    return found


def values_of(tables: Tables, member: Selected, holds: Callable[[Entry], bool]) -> dict[str, Entry]:
    """Return the values of a member, each of the most specific selector that has one."""
    found: dict[str, Entry] = {}
    for on in member.selectors():
        for name, entry in tables.get(on, {}).items():
            now = resolve(entry, holds)
            if now is not None:
                found[name] = now
    return found


def concerned(record: Record, member: Selected) -> set[str]:
    """Return the flags that a record may change in a member."""
    fitting = member.selectors()
    return {change.name for change in record.changes if change.on in fitting}


def lasting(tables: Tables) -> Tables:
    """Return the values without those that end by themselves; those of steps are reached."""
    found: Tables = {}
    for on, table in tables.items():
        kept = {
            name: resolve(entry, lambda each: each.duration is None)
            for name, entry in table.items()
        }
        found[on] = {name: entry for name, entry in kept.items() if entry is not None}
    return {on: table for on, table in found.items() if table}


# ---- As JSON: bases, and the file for a start without the engine ----


def to_json(tables: Tables, revision: int, fleet: str) -> bytes:
    """Return a state as JSON."""
    document = {"version": 1, "fleet": fleet, "revision": revision, "tables": tables}
    return json.dumps(document, separators=(",", ":")).encode()


def from_json(data: bytes, what: str, revision: int | None = None) -> State:
    """Return the state of JSON; raise FleetError if it isn't one, or of another revision."""
    try:
        state = _state_of(_json.read(data))
    except (ValueError, TypeError, KeyError, AttributeError):
        state = None
    if state is not None and revision in (None, state.revision):
        return state
    message = f"{what}: expected the values of a fleet, as paddle_flags writes them"
    raise FleetError(message)


def _state_of(fields: Mapping[str, Any]) -> State:
    revision, fleet = fields["revision"], fields["fleet"]
    if not (is_a(revision, int) and is_a(fleet, str)):
        raise TypeError
    tables = {
        check_selector(on): {name: _entry_of(each, _DEEPEST) for name, each in table.items()}
        for on, table in fields["tables"].items()
    }
    return State(revision, fleet, tables, (), tables)


_TYPES: tuple[tuple[type, ...], ...] = (
    (str, type(None)),
    (int,),
    (int, float),
    (str,),
    (str,),
    (int, float, type(None)),
    (int, type(None)),
    (list, type(None)),
)
"""Of the fields of an Entry."""


def _entry_of(fields: Any, depth: int) -> Entry:
    if not (is_a(fields, list) and len(fields) == len(_TYPES) and depth):
        raise TypeError
    if not all(is_a(field, *types) for field, types in zip(fields, _TYPES)):
        raise TypeError
    entry = Entry(*fields)
    if entry.value is not None and "\0" in entry.value:
        raise ValueError
    below = None if entry.below is None else _entry_of(entry.below, depth - 1)
    return entry._replace(below=below)
