"""Whether a small history is linearizable, by trying all orders (Wing and Gong, 1993).

This tells nothing that `histories.check` doesn't, but it follows from the meaning of the operations
alone, and so tests it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from histories import GAP, UNKNOWN, Operation


class State(NamedTuple):
    """What one process alone would have."""

    records: tuple[bytes, ...] = ()


def possible(history: list[Operation]) -> bool:
    """Return whether some order of the operations explains all results."""
    return _search(history, frozenset(range(len(history))), State(), set())


def _search(history: list[Operation], left: frozenset[int], state: State, failed: set[Any]) -> bool:
    """Extend an order by each operation that may be the next."""
    ends = [history[index].end for index in left if history[index].known]
    if not ends:
        return True
    if (left, state) in failed:
        return False
    for index in left:
        # What was invoked after the response of another can't be before it.
        if history[index].start <= min(ends):
            after = _do(state, history[index])
            if after is not None and _search(history, left - {index}, after, failed):
                return True
    failed.add((left, state))
    return False


def _do(state: State, operation: Operation) -> State | None:
    """Return the state after an operation, or None if its result is not that of this state."""
    after, allowed = _meaning(state, operation)
    return after if operation.result == UNKNOWN or operation.result in allowed else None


def _meaning(state: State, operation: Operation) -> tuple[State, list[Any]]:
    """Return the state after an operation, and what it may return."""
    if operation.name == "append":
        return _append(state, *operation.arguments)
    last = len(state.records)
    if operation.name == "last":
        return state, [last]
    (number, *_) = operation.arguments
    if operation.name == "wait":
        return state, list(range(number + 1, last + 1)) or [last]
    there = state.records[number - 1 :]
    return state, [there[: i + 1] for i in range(len(there))] or [()]


def _append(state: State, number: int, record: bytes) -> tuple[State, list[Any]]:
    last = len(state.records)
    if number == last + 1:
        return state._replace(records=(*state.records, record)), [True]
    return state, [GAP if number > last else False]
