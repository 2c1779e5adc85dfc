"""Tables of the results: the value of each contestant, ratios, and whether budgets are met."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import geometric_mean
from typing import TYPE_CHECKING, Any

from bench import measure
from bench.rows import BEST, Row, Table, tables

if TYPE_CHECKING:
    from collections.abc import Iterable

Results = dict[str, Any]  # what results.json holds
NOISE = 1.1  # two measurements of the same thing may differ by this factor


@dataclass(frozen=True)
class Verdict:
    """The result of a row. `shortfall` is the factor by which ours misses its budget, if over 1."""

    ours: float | None
    best_peer: str
    ratio: float | None  # ours to the best peer
    shortfall: float | None  # None without a budget, or without a value
    judged: float | None = None  # the ratio that the budget limits

    @property
    def met(self) -> str:
        """The verdict, yes or no, with the ratio or the factor by which the budget is missed."""
        if self.shortfall is None:
            return ""
        word = "yes" if self.shortfall <= 1 else "**no**"
        if self.judged is not None:
            return f"{word}: {self.judged:.3g} times"
        return word if self.shortfall <= 1 else f"{word}, {self.shortfall:.2g} times"


def medians(results: Results, row: Row) -> dict[str, float]:
    """Return each contestant's median; for a mean, only of those that have all of its parts."""
    if not row.mean_of:
        of_all = results["rows"].get(row.key, {})
        return {who: summary["median"] for who, summary in of_all.items()}
    parts = [results["rows"].get(key, {}) for key in row.mean_of]
    known = [who for who in parts[0] if all(who in of_all for of_all in parts)]
    return {who: geometric_mean([p[who]["median"] for p in parts]) for who in known}


def is_ours(who: str) -> bool:
    """Return whether this is one of our own ways."""
    return who.split(",", maxsplit=1)[0] == "ours"


def worse_first(row: Row, values: Iterable[float]) -> list[float]:
    """Sort values, worst first."""
    return sorted(values, reverse=not row.more)


def judge(results: Results, table: Table, row: Row) -> Verdict:
    """Compare our worse way, or the one that the row names, with the best peer and the budget."""
    of_all = {who: v for who, v in medians(results, row).items() if who in table.contestants}
    ways = [who for who in of_all if (who == row.ours if row.ours else is_ours(who))]
    if not ways:
        return Verdict(None, "", None, None)
    mine = worse_first(row, (of_all[who] for who in ways))[0]
    peers = {who: v for who, v in of_all.items() if not is_ours(who) and who != "plain"}
    best = worse_first(row, peers.values())[-1:]
    name = next((who for who, value in peers.items() if [value] == best), "")
    judged = None
    if row.ratio is not None:
        against = name if row.against == BEST else row.against
        judged = judged_ratio(results, row, ways, against)
    ratio = mine / best[0] if best and best[0] > 0 else None
    parts = shortfalls(row, mine, of_all, judged)
    without = results["rows"].get(row.as_without, {}).get("ours")
    if without:
        parts.append(without["median"] / mine / NOISE)
    return Verdict(mine, name, ratio, max(parts, default=None), judged)


def judged_ratio(results: Results, row: Row, ways: list[str], peer: str) -> float | None:
    """Return the ratio of our worst way to a peer: the median of rounds, then the mean of rows."""
    found = []
    for who in ways:
        pairs = [results["rows"].get(key, {}) for key in row.mean_of or (row.key,)]
        ratios = [measure.ratio(p[who], p[peer]) if peer in p else None for p in pairs]
        known = [ratio for ratio in ratios if ratio is not None and ratio > 0]
        if len(known) == len(pairs):
            found.append(geometric_mean(known))
    return next(iter(worse_first(row, found)), None)


def shortfalls(
    row: Row, mine: float, of_all: dict[str, float], judged: float | None
) -> list[float]:
    """Return, for each budget, the ratio of ours to what it allows."""
    parts = []
    if row.at_most is not None:
        parts.append(mine / row.at_most if row.at_most else float(mine > 0) * 1000)
    if row.ratio is not None and judged is not None:
        parts.append(row.ratio / judged if row.more else judged / row.ratio)
    if row.as_plain and "plain" in of_all:
        parts.append(mine / of_all["plain"])
    return parts


def number(value: float | None) -> str:
    """Return a number with three digits."""
    if value is None:
        return ""
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2  # three in all
    return f"{value:,.{digits}f}".replace("-0.00", "0.00")


def cell(results: Results, who: str, values: dict[str, float]) -> str:
    """Return a contestant's value, or why there is none."""
    if who in values:
        return number(values[who])
    return "not installed" if lacks(results, who) else "-"


def values_of(results: Results, row: Row, contestants: Iterable[str]) -> list[str]:
    """Return what each contestant has in a row."""
    values = medians(results, row)
    return [cell(results, who, values) for who in contestants]


def lacks(results: Results, who: str) -> bool:
    """Return whether a contestant should have been measured but isn't installed."""
    return str(results["contestants"].get(who, "")).startswith("not installed")


def columns(results: Results, table: Table) -> list[str]:
    """Return the contestants that were measured, or should have been."""
    known = {who for row in table.rows for who in medians(results, row)}
    return [who for who in table.contestants if who in known or lacks(results, who)]


def line(cells: Iterable[str]) -> str:
    """Return a line of a table."""
    return f"| {' | '.join(cells)} |"


def markdown(results: Results, table: Table) -> str:
    """Return a table; "" if none of its rows was measured."""
    chosen = columns(results, table)
    rows = [row for row in table.rows if medians(results, row)]
    if not rows:
        return ""
    head, rule = ["work", "unit", *chosen], ["---", "---", *["--:"] * len(chosen)]
    cells = [[row.title, row.unit, *values_of(results, row, chosen)] for row in rows]
    if not results.get("quick"):
        head += ["ours / best peer", "budget", "met"]
        rule += ["--:", "---", "---"]
        for row, of_row in zip(rows, cells):
            verdict = judge(results, table, row)
            of_row += [number(verdict.ratio), row.budget, verdict.met]
    return "\n".join(map(line, [head, rule, *cells]))


def machine(results: Results) -> str:
    """Return the machine and the contestants as a list."""
    facts = [f"- {name}: {text}" for name, text in results["machine"].items()]
    peers = [f"- {who}: {text}" for who, text in results["contestants"].items()]
    return "\n".join([*facts, *peers, f"- medians of {results['rounds']}"])


def page(results: Results) -> str:
    """Return the whole page."""
    parts = ["# Results", machine(results)]
    if results.get("quick"):
        parts.append("Everything was tried with few flags and one round, whatever a row says.")
    for table in tables(tuple(results["pythons"])):
        text = markdown(results, table)
        if text:
            parts += [f"## {table.title}", text]
    return "\n\n".join(parts) + "\n"


def worst(results: Results) -> list[str]:
    """Return the budgets that aren't met, worst first."""
    found = []
    for table in () if results.get("quick") else tables(tuple(results["pythons"])):
        for row in table.rows:
            verdict = judge(results, table, row)
            if verdict.shortfall is not None and verdict.shortfall > 1:
                found.append((verdict.shortfall, f"{table.title}: {missed(row, verdict)}"))
    return [
        f"{factor:.3g} times the budget: {text}" for factor, text in sorted(found, reverse=True)
    ]


def missed(row: Row, verdict: Verdict) -> str:
    """Return a row's value and budget as text."""
    ratio = "" if verdict.judged is None else f", {verdict.judged:.3g} times {row.against}"
    took = f"{number(verdict.ours)} {row.unit}".rstrip()
    return f"{row.title}: {took}{ratio}, budget {row.budget}"
