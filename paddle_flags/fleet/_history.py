"""The log as people read it: each change once, with what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from paddle_flags.fleet._record import ABORT, ASK, CHANGE, END, Record
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
        state = State(revision - 1, question=state.question)
        question = state.question
        state = state.after(record)
        decides = question if question and record.of == question.revision else None
        if record.kind == ASK:
            found[revision] = Step(revision, record, DRY_RUN if record.dry_run else None)
        elif record.kind == END:
            found[revision] = Step(revision, record, ENDED)
        elif record.kind == CHANGE and decides:
            del found[decides.revision]
            made = decides.record._replace(kind=CHANGE, of=record.of, time=record.time)
            found[revision] = Step(revision, made, COMMITTED)
        elif record.kind == CHANGE and not record.of:
            found[revision] = Step(revision, record, COMMITTED)
        given_up = question if question and state.question != question and not decides else None
        if record.kind == ABORT and decides:
            found[decides.revision] = found[decides.revision]._replace(
                verdict=f"aborted: {record.reason}"
            )
        elif given_up:
            why = "aborted: another change came first"
            found[given_up.revision] = found[given_up.revision]._replace(verdict=why)
    return [found[each] for each in sorted(found)]
