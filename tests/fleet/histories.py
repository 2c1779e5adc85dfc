"""Histories of operations on a Store, and whether they are linearizable.

A history is linearizable if every operation can be given one moment, between its invocation and its
response, so that the operations in the order of these moments are what one process alone could have
done. In general that is a search over orders (`searches.py` does it). Here it needs none, since
every record is created once.

Let t(n) be the moment at which record n was created. The last record is m from t(m) until t(m + 1).
So an operation that was invoked at i, had its response at r and found that m is the last record has
its moment within both [i, r] and [t(m), t(m + 1)). There is such a moment exactly if

    t(m) <= r  and  t(m + 1) >= i.

Thus every operation says only that some t(n) is not before, or not after, some point in time:

    append(n) is True          i <= t(n) <= r, and this operation created record n
    append(n) is False         t(n) <= r, and this operation did not create record n
    append(n) finds a gap      t(n - 1) >= i
    append(n) without answer   i <= t(n), if this operation created record n
    last() is m                t(m) <= r and t(m + 1) >= i
    wait(n) is m, m <= n       the same: there was no record to wait for
    wait(n) is m, m > n        t(m) <= r: there may be more
    read(n) has k records      t(n + k - 1) <= r, with the contents that their creators wrote
    read(n) is empty           t(n) >= i

The records are created in order, t(1) <= t(2) <= ..., so the history is linearizable exactly if for
each n the latest "not before" of the records 1 .. n is no later than the earliest "not after" of
the records n, n + 1, ...: then t(n) = that latest "not before" fulfils all.

Bases are judged by necessary conditions alone: a reader may still see records that a base replaced.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

NEVER = float("inf")
UNKNOWN = "unknown"  # no answer: it may have happened, after its invocation or never
GAP = "gap"  # append with a number that is more than last() + 1, compact with more than last()
COMPACTED = "compacted"  # read of a record that a base replaced

Time = int | float


@dataclass(frozen=True)
class Operation:
    """One call: by whom, what, with what result, from when to when."""

    client: str
    name: str  # of the method
    arguments: tuple[Any, ...]
    result: Any  # what it returned (a list as a tuple), or UNKNOWN, GAP or COMPACTED
    start: Time
    end: Time

    @property
    def known(self) -> bool:
        return self.result != UNKNOWN

    def __str__(self) -> str:
        words = ", ".join(_short(argument) for argument in self.arguments)
        when = f"{self.start} .. {self.end}"
        return f"[{when}] {self.client}: {self.name}({words}) -> {_short(self.result)}"


def _short(value: Any) -> str:
    """Show a value of at most 60 characters whole, of others the beginning."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


@dataclass
class Moment:
    """What is known of the moment at which something was created."""

    after: Time = -NEVER
    after_why: Operation | None = None
    before: Time = NEVER
    before_why: Operation | None = None

    def not_before(self, time: Time, why: Operation) -> None:
        if time > self.after:
            self.after, self.after_why = time, why

    def not_after(self, time: Time, why: Operation) -> None:
        if time < self.before:
            self.before, self.before_why = time, why


@dataclass
class Log:
    """What a history says of the records."""

    moments: dict[int, Moment] = field(default_factory=lambda: defaultdict(Moment))
    contents: dict[int, tuple[bytes, Operation]] = field(default_factory=dict)
    creators: dict[int, Operation] = field(default_factory=dict)
    seen: dict[int, Operation] = field(default_factory=dict)  # the number of a last record, by whom
    faults: list[str] = field(default_factory=list)

    def exists(self, number: int, why: Operation) -> None:
        """Note that a record was there when an operation ended."""
        if number > 0:
            self.moments[number].not_after(why.end, why)
            self.seen.setdefault(number, why)

    def holds(self, number: int, content: bytes, why: Operation) -> None:
        """Note what a record contains."""
        first = self.contents.setdefault(number, (content, why))
        if first[0] != content:
            self.faults.append(f"record {number} has two contents:\n  {first[1]}\n  {why}")


def check(history: list[Operation]) -> list[str]:
    """Return what is wrong with a history; nothing if it is linearizable."""
    bases = [operation for operation in history if operation.name in ("base", "compact")]
    log = [operation for operation in history if operation.name not in ("base", "compact")]
    return check_log(log, bases) + check_bases(bases, log)


# -- the log ----------------------------------------------------------------------------------


def check_log(history: list[Operation], bases: list[Operation]) -> list[str]:
    """Judge the operations on the log."""
    log = Log()
    for operation in history:
        if operation.known:
            _note(log, operation)
    for operation in bases:
        if operation.known:
            _note_base(log, operation)
    _find_creators(log, history)
    return log.faults + _check_order(log)


def _note(log: Log, operation: Operation) -> None:
    """Note what one operation that had an answer says of the records."""
    result = operation.result
    if operation.name in ("last", "wait"):
        log.exists(result, operation)
        if operation.name == "last" or result <= operation.arguments[0]:
            log.moments[result + 1].not_before(operation.start, operation)
    elif operation.name == "read":
        _note_read(log, operation)
    elif result == GAP:
        log.moments[operation.arguments[0] - 1].not_before(operation.start, operation)
        if operation.arguments[0] == 1:
            log.faults.append(f"no gap is before record 1:\n  {operation}")
    else:
        number, content = operation.arguments
        log.exists(number, operation)
        if result:
            log.moments[number].not_before(operation.start, operation)
            log.holds(number, content, operation)
            other = log.creators.setdefault(number, operation)
            if other is not operation:
                log.faults.append(f"record {number} was created twice:\n  {other}\n  {operation}")


def _note_read(log: Log, operation: Operation) -> None:
    """Note what a read says of the records."""
    (first,), result = operation.arguments, operation.result
    if result == COMPACTED:
        log.exists(first, operation)
    elif not result:
        log.moments[first].not_before(operation.start, operation)
    else:
        log.exists(first + len(result) - 1, operation)
        for number, content in enumerate(result, first):
            log.holds(number, content, operation)


def _note_base(log: Log, operation: Operation) -> None:
    """Note what an operation on bases says of the records: a base replaces only what was there."""
    if operation.name == "base":
        log.exists(operation.result[0], operation)
    elif operation.result == GAP:
        log.moments[operation.arguments[0]].not_before(operation.start, operation)
    else:
        log.exists(operation.arguments[0], operation)


def _find_creators(log: Log, history: list[Operation]) -> None:
    """Find who created the records that nobody got an answer for."""
    silent: dict[int, list[Operation]] = defaultdict(list)
    for operation in history:
        if operation.name == "append" and not operation.known:
            silent[operation.arguments[0]].append(operation)
    for number in range(1, max(log.seen, default=0) + 1):
        if number in log.creators:
            continue
        content = log.contents.get(number)
        able = [o for o in silent[number] if content is None or o.arguments[1] == content[0]]
        if able:
            first = min(able, key=lambda operation: operation.start)
            log.moments[number].not_before(first.start, first)
        else:
            seen = min(n for n in log.seen if n >= number)
            log.faults.append(f"nobody created record {number} as it is:\n  {log.seen[seen]}")


def _check_order(log: Log) -> list[str]:
    """Compare the latest "not before" up to each record with the earliest "not after" from it."""
    numbers = sorted(number for number in log.moments if number > 0)
    earliest: dict[int, tuple[Time, int]] = {}
    best: tuple[Time, int] = (NEVER, 0)
    for number in reversed(numbers):
        best = min(best, (log.moments[number].before, number))
        earliest[number] = best
    faults = []
    for number in numbers:
        moment = log.moments[number]
        before, other = earliest[number]
        if moment.after > before:
            faults.append(
                f"record {number} was not there before, but record {other} was there after:\n"
                f"  {moment.after_why}\n  {log.moments[other].before_why}"
            )
    return faults


# -- bases ------------------------------------------------------------------------------------


def check_bases(bases: list[Operation], log: list[Operation]) -> list[str]:
    """Judge the bases: they only grow, are what somebody wrote, and are there when needed."""
    faults = []
    made = [o for o in bases if o.name == "compact" and o.result not in (False, GAP)]
    for operation in bases:
        if operation.name == "base" and operation.known:
            number, content = operation.result
            if number and not any(
                o.arguments == (number, content) and o.start <= operation.end for o in made
            ):
                faults.append(f"nobody had made this base:\n  {operation}")
            later = [
                o for o in bases if o.known and o.end < operation.start and _least_base(o) > number
            ]
            faults += [f"a base was replaced by an older one:\n  {o}\n  {operation}" for o in later]
    for operation in log:
        if operation.result == COMPACTED and not any(
            o.arguments[0] >= operation.arguments[0] and o.start <= operation.end for o in made
        ):
            faults.append(f"no base replaces what was asked for:\n  {operation}")
    return faults


def _least_base(operation: Operation) -> int:
    """Return the number that the base has, at least, when an operation on bases ended."""
    if operation.name == "base":
        return int(operation.result[0])
    return 0 if operation.result == GAP else int(operation.arguments[0])
