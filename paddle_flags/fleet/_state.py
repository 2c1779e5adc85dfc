"""What a log says, without an engine and without a registry.

A state is a function of the log up to a revision, and of nothing else. It keeps the batches that a
member may still need: a member that rejects one has what earlier batches gave it.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags.fleet import _json, _record
from paddle_flags.fleet._record import ABORT, ASK, CHANGE, END, Change, Record
from paddle_flags.fleet._store import FleetError
from paddle_flags.live._documents import find_invalid_field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_DEEP = 8  # later lasting batches for the same flags, after which a batch isn't kept
_DEEPEST = 64  # the same, temporary ones and those for a step included
_NEEDED = ("changes", "by", "time", "reason", "duration", "at_step")  # fields of a batch
_TIDY = 16  # revisions between two looks at what isn't kept


@dataclass(frozen=True)
class State:
    """What a log says up to a revision."""

    revision: int = 0
    changed: int = 0  # the last revision that has changed a value
    fleet: str = ""
    batches: tuple[Record, ...] = ()  # the changes that took effect, with what members need of them
    question: Record | None = None  # the one that waits for its decision

    def after(self, record: Record) -> State:
        """Return the state after the next record."""
        question, revision = self.question, self.revision + 1
        then = replace(self, revision=revision, fleet=self.fleet or record.fleet)
        if record.kind == END:
            return _end_temporary_batch(then, record.of)
        if record.of != (question.revision if question else 0):
            return then  # it decides another question, or comes before the decision
        if record.kind == CHANGE:
            return _apply_change(then, (question or record)._replace(time=record.time))
        if record.kind == ABORT:
            return replace(then, question=None)
        asks = record.kind == ASK and not record.dry_run and question is None
        return replace(then, question=record._replace(revision=revision)) if asks else then


def _apply_change(state: State, made: Record) -> State:
    needed = {name: getattr(made, name) for name in _NEEDED}
    batches = (*state.batches, Record(CHANGE, revision=state.revision, **needed))
    if state.revision // _TIDY != state.changed // _TIDY:
        batches = _drop_superseded(batches)
    return replace(state, batches=batches, question=None, changed=state.revision)


def _end_temporary_batch(state: State, revision: int) -> State:
    kept = tuple(
        each for each in state.batches if each.revision != revision or each.duration is None
    )
    changed = state.changed if kept == state.batches else state.revision
    return replace(state, batches=kept, changed=changed)


def _drop_superseded(batches: tuple[Record, ...]) -> tuple[Record, ...]:
    """Return those that may still have an effect."""
    lasting: Counter[Key] = Counter()
    later: Counter[Key] = Counter()
    found: list[Record] = []
    for batch in reversed(batches):
        keys = [(each.on, each.name) for each in batch.changes]
        if any(lasting[key] < _DEEP and later[key] < _DEEPEST for key in keys):
            found.append(batch)
        later.update(keys)
        if batch.is_lasting:
            lasting.update(keys)
    return tuple(reversed(found))


class Entry(NamedTuple):
    """What one selector says of one flag."""

    value: str
    revision: int
    time: float
    by: str
    reason: str
    duration: float | None = None
    at_step: int | None = None


Key = tuple[str, str]  # of a value: selector and name
Tables = dict[str, dict[str, Entry]]  # by selector and name


def add_batch_to_tables(tables: Tables, batch: Record) -> Tables:
    """Return the tables after a batch, which replace those before."""
    made = dict(tables)
    about = (batch.revision, batch.time, batch.by, batch.reason, batch.duration, batch.at_step)
    for name, value, on in batch.changes:
        table = dict(made.get(on, {}))
        table.pop(name, None)
        if value is not None:
            table[name] = Entry(value, *about)
        made[on] = table
    return {on: table for on, table in made.items() if table}


def build_tables(batches: Iterable[Record]) -> Tables:
    """Return what batches say together."""
    tables: Tables = {}
    for batch in batches:
        tables = add_batch_to_tables(tables, batch)
    return tables


def entries_of(state: State, *, lasting: bool = True) -> dict[Key, Entry]:
    """Return entries by selector and name; without what expires, if `lasting`."""
    kept = [each for each in state.batches if not lasting or each.duration is None]
    tables = build_tables(kept).items()
    return {(on, name): entry for on, table in tables for name, entry in table.items()}


class Selected(NamedTuple):
    """What selectors look at."""

    name: str
    role: str | None
    host: str

    def selectors(self) -> list[str]:
        """Return the selectors that fit, the least specific first."""
        roles = [f"role:{self.role}"] if self.role else []
        return ["all", *roles, f"host:{self.host}", f"member:{self.name}"]

    def is_affected_by(self, changes: Iterable[Change]) -> bool:
        """Return whether changes may change this member."""
        return not {each.on for each in changes}.isdisjoint(self.selectors())

    def values(self, tables: Tables) -> dict[str, Entry]:
        """Return the values of the member, each of the most specific selector that has one."""
        found: dict[str, Entry] = {}
        for on in self.selectors():
            found.update(tables.get(on, {}))
        return found


class Verdict(NamedTuple):
    """What a member does with a batch."""

    batch: Record
    why: Any  # why it isn't taken; None: it is
    values: dict[str, Entry]  # what the member has after it


def apply_batches(
    batches: Iterable[Record], selected: Selected, check: Callable[[Record, dict[str, Entry]], Any]
) -> tuple[dict[str, Entry], list[Verdict]]:
    """Return the values of a member after batches, and what it does with each that concerns it.

    Each is checked as a whole, on what those before it have given: `check` returns why the member
    can't have these values, or None.
    """
    tables: Tables = {}
    values: dict[str, Entry] = {}
    verdicts: list[Verdict] = []
    for batch in batches:
        if not selected.is_affected_by(batch.changes):
            continue
        after = add_batch_to_tables(tables, batch)
        wanted = selected.values(after)
        why = check(batch, wanted) if wanted != values else None
        if why is None:
            tables, values = after, wanted
        verdicts.append(Verdict(batch, why, values))
    return values, verdicts


COMMITTED = "committed"
DRY_RUN = "dry run"
ENDED = "ended"


class Step(NamedTuple):
    """A change with its revision, and what became of it."""

    revision: int
    record: Record
    verdict: str | None
    """`"committed"`; `"aborted: …"` with the reason; `"dry run"`; `"ended"` for the end of the
    temporary change `record.of`; None: it waits for its decision."""

    @property
    def is_in_effect(self) -> bool:
        """Whether it took effect."""
        return self.verdict in (COMMITTED, ENDED)


def history_of(records: Iterable[Record]) -> list[Step]:
    """Return the changes in records that follow each other, the oldest first."""
    found: dict[int, Step] = {}
    state = State()
    for record in records:
        question, revision = state.question, record.revision
        state = State(revision - 1, question=question).after(record)
        if record.kind == END:
            found[revision] = Step(revision, record, ENDED)
        elif question and state.question is None:
            asked = found.pop(question.revision)
            made = asked.record._replace(kind=CHANGE, of=record.of, time=record.time)
            if record.kind == CHANGE:
                found[revision] = Step(revision, made._replace(revision=revision), COMMITTED)
            else:
                found[asked.revision] = asked._replace(verdict=f"aborted: {record.reason}")
        elif record.kind == CHANGE and state.changed == revision:
            found[revision] = Step(revision, record, COMMITTED)
        elif record.kind == ASK and (record.dry_run or state.question != question):
            found[revision] = Step(revision, record, DRY_RUN if record.dry_run else None)
    return [found[each] for each in sorted(found)]


def to_json(state: State) -> bytes:
    """Return a state as JSON, without a question."""
    document = {
        "version": 2,
        "fleet": state.fleet,
        "revision": state.revision,
        "changed": state.changed,
        "batches": [_record.fields_of(each) for each in state.batches],
    }
    return json.dumps(document, separators=(",", ":")).encode()


def from_json(data: bytes, what: str, revision: int | None = None) -> State:
    """Return the state of JSON; raise FleetError if it isn't one, or of another revision."""
    with suppress(ValueError, TypeError, KeyError, AttributeError):
        fields = _json.read(data)
        if find_invalid_field(fields, _FORM) is None and revision in (None, fields["revision"]):
            batches = tuple(map(_record.parse_record_fields, fields["batches"]))
            return State(fields["revision"], fields["changed"], fields["fleet"], batches)
    raise FleetError(f"{what}: expected the values of a fleet, as paddle_flags writes them")


_FORM: dict[str, Any] = {"revision": int, "changed": int, "fleet": str, "batches": list[Any]}
