"""The rules of a fleet's log, as short as they can be written: what the model compares with."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from paddle_flags.fleet._record import ABORT, ASK, CHANGE, END, Record

Batches = dict[int, Record]
"""The changes in effect by revision, in their order."""


class Log:
    """What a log says up to its last record."""

    def __init__(self) -> None:
        self.batches: Batches = {}
        self.asked: tuple[int, Record] | None = None
        """The question that waits for its decision."""
        self.changed = 0
        self.faults: list[str] = []
        """Records that nobody should have written."""

    def add(self, number: int, record: Record) -> None:
        """Read the next record."""
        if record.kind in (ASK, CHANGE) and not record.of and self.asked is not None:
            self.faults.append(f"{number} comes before question {self.asked[0]} is decided")
        if record.kind == END:
            if self.batches.pop(record.of, None) is None:
                self.faults.append(f"{number} ends {record.of}, which had ended")
            self.changed = number
        elif record.kind == ASK and not record.dry_run and self.asked is None:
            self.asked = (number, record)
        elif record.kind in (CHANGE, ABORT):
            self._decide(number, record)

    def _decide(self, number: int, record: Record) -> None:
        asked, made = self.asked or (0, record)
        if record.of != asked:
            self.faults.append(f"{number} decides {record.of}, and {asked} is open")
            return
        self.asked = None
        if record.kind == CHANGE:
            self.batches[number] = made
            self.changed = number


def values_of(
    batches: Iterable[Record],
    selectors: Iterable[str],
    accepts: Callable[[dict[str, str]], bool],
) -> dict[str, str]:
    """Return the values of a member that takes what it accepts, a batch at a time."""
    chosen = list(selectors)
    given: dict[tuple[str, str], str] = {}
    for batch in batches:
        after = dict(given)
        for name, value, on in batch.changes:
            after.pop((on, name), None)
            if value is not None:
                after[on, name] = value
        if accepts(_selected(after, chosen)):
            given = after
    return _selected(given, chosen)


def _selected(given: dict[tuple[str, str], str], selectors: list[str]) -> dict[str, str]:
    return {n: value for on in selectors for (each, n), value in given.items() if each == on}
