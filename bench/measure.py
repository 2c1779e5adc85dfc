"""Runs measurements in turns, each in a process of its own, and computes medians."""

from __future__ import annotations

import json
import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bench.places import output

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

SLOW_S = 10.0
Summary = dict[str, Any]
Rows = dict[str, dict[str, Summary]]  # row -> contestant -> summary


@dataclass(frozen=True)
class Case:
    """One process that measures one contestant once."""

    who: str
    command: Sequence[object]
    rows: dict[str, str]  # number in its JSON -> row
    scale: float = 1.0
    named: tuple[str, ...] = ()  # other fields of the JSON that are part of the row's name


@dataclass
class Samples:
    """The numbers that the processes printed."""

    values: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def add(self, row: str, who: str, value: float) -> None:
        """Record one value."""
        self.values.setdefault(row, {}).setdefault(who, []).append(value)

    def rows(self) -> Rows:
        """Return the medians."""
        return {
            row: {who: summary(values) for who, values in of_all.items()}
            for row, of_all in self.values.items()
        }


def summary(values: Sequence[float]) -> Summary:
    """Return median, range, and the value of each round, for comparison within the round."""
    kept = {"median": statistics.median(values), "low": min(values), "high": max(values)}
    rounds = {"values": [rounded(value) for value in values]} if len(values) > 1 else {}
    return {name: rounded(v) for name, v in kept.items()} | {"runs": len(values)} | rounds


def rounded(value: float) -> float:
    """Return a value rounded to five digits."""
    return float(f"{value:.5g}")


def values_of(summary: Summary) -> list[float]:
    """Return the measured values in the order of the rounds."""
    return list(summary.get("values", [summary["median"]]))


def ratio(mine: Summary, other: Summary) -> float | None:
    """Return the median of the ratios of all rounds."""
    pairs = [values_of(mine), values_of(other)]
    if len(pairs[0]) != len(pairs[1]):  # one was slow and ran only once
        pairs = [[mine["median"]], [other["median"]]]
    if min(pairs[1]) <= 0:
        return None
    return float(statistics.median(one / another for one, another in zip(*pairs)))


def exactly(value: float) -> Summary:
    """Return the summary of a value that is counted, not measured."""
    return summary([value])


def in_turns(groups: Sequence[Sequence[Case]], round_: int) -> Iterable[Case]:
    """Yield every case once. The contestants of a group take turns at going first."""
    for group in groups:
        first = round_ % len(group)
        yield from group[first:]
        yield from group[:first]


def take(samples: Samples, case: Case, numbers: dict[str, Any]) -> None:
    """Record the numbers of one line; the fields in `case.named` complete the row's name."""
    parts = [str(numbers[name]).replace(" ", "-") for name in case.named if name in numbers]
    for name, row in case.rows.items():
        samples.add("/".join([row, *parts]), case.who, numbers[name] * case.scale)


def run(groups: Sequence[Sequence[Case]], rounds: int, tell: Callable[[str], None]) -> Rows:
    """Measure all cases `rounds` times; a group holds the contestants of one row.

    Very slow cases run only once.
    """
    samples = Samples()
    slow: set[int] = set()
    for round_ in range(rounds):
        tell(f"round {round_ + 1} of {rounds}")
        for case in in_turns([group for group in groups if group], round_):
            if id(case) in slow:
                continue
            begin = time.monotonic()
            lines = output(*case.command).splitlines()
            if time.monotonic() - begin > SLOW_S:
                slow.add(id(case))
            for line in lines:
                take(samples, case, json.loads(line))
    return samples.rows()


def over(rows: Rows, row: str, base: dict[str, str], result: str) -> None:
    """Add a row: another row minus the values of its base contestants."""
    of_all = rows.get(row, {})
    for who, below in base.items():
        if who in of_all and below in of_all:
            pair = [values_of(of_all[who]), values_of(of_all[below])]
            if len(pair[0]) != len(pair[1]):
                pair = [[of_all[who]["median"]], [of_all[below]["median"]]]
            values = [whole - empty for whole, empty in zip(*pair)]
            rows.setdefault(result, {})[who] = summary(values)
