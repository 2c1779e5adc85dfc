"""The log as people read it: each change once, with what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from paddle_flags.fleet._record import ASK, CHANGE, END, Record
from paddle_flags.fleet._state import State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paddle_flags.fleet._follow import Numbered

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
    def holds(self) -> bool:
        """Whether it took effect."""
        return self.verdict in (COMMITTED, ENDED)


def history_of(records: Iterable[Numbered]) -> list[Step]:
    """Return the changes in records that follow each other, the oldest first."""
    found: dict[int, Step] = {}
    state = State()
    for revision, record in records:
        question = state.question
        state = State(revision - 1, question=question).after(record)
        if record.kind == END:
            found[revision] = Step(revision, record, ENDED)
        elif question and state.question is None:
            asked = found.pop(question.revision)
            made = asked.record._replace(
                kind=CHANGE, of=record.of, time=record.time, revision=revision
            )
            if record.kind == CHANGE:
                found[revision] = Step(revision, made, COMMITTED)
            else:
                found[asked.revision] = asked._replace(verdict=f"aborted: {record.reason}")
        elif record.kind == CHANGE and state.changed == revision:
            found[revision] = Step(revision, record, COMMITTED)
        elif record.kind == ASK and (record.dry_run or state.question != question):
            found[revision] = Step(revision, record, DRY_RUN if record.dry_run else None)
    return [found[each] for each in sorted(found)]
