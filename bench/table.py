"""Tables of the results: what each contestant takes, ratios, and whether budgets are met."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.rows import Row, Table, tables

if TYPE_CHECKING:
    from collections.abc import Iterable

Results = dict[str, Any]  # what results.json holds
NOISE = 1.1  # what two measurements of the same may differ by


@dataclass(frozen=True)
class Verdict:
    """How a row ends; `shortfall` is over 1 where ours misses its budget, by that factor."""

    ours: float | None
    best_peer: str
    ratio: float | None  # ours to the best peer
    shortfall: float | None  # None without a budget, or without a value

    @property
    def met(self) -> str:
        """Whether the budget is met, in a word."""
        if self.shortfall is None:
            return ""
        return "yes" if self.shortfall <= 1 else f"**no**, {self.shortfall:.2g} times"


def medians(results: Results, row: Row) -> dict[str, float]:
    """Give what each contestant takes."""
    of_all = results["rows"].get(row.key, {})
    return {who: summary["median"] for who, summary in of_all.items()}


def is_ours(who: str) -> bool:
    """Tell our own ways from peers."""
    return who.split(",", maxsplit=1)[0] == "ours"


def worse_first(row: Row, values: Iterable[float]) -> list[float]:
    """Sort values, the worst first."""
    return sorted(values, reverse=not row.more)


def judge(results: Results, table: Table, row: Row) -> Verdict:
    """Compare our worse way with the best peer and with the budget."""
    of_all = {who: v for who, v in medians(results, row).items() if who in table.contestants}
    mine = worse_first(row, (value for who, value in of_all.items() if is_ours(who)))
    if not mine:
        return Verdict(None, "", None, None)
    peers = {who: v for who, v in of_all.items() if not is_ours(who) and who != "plain"}
    best = worse_first(row, peers.values())[-1:]
    name = next((who for who, value in peers.items() if [value] == best), "")
    ratio = mine[0] / best[0] if best and best[0] > 0 else None
    without = results["rows"].get(row.as_without, {}).get("ours")
    parts = shortfalls(row, mine[0], of_all)
    if without:
        parts.append(without["median"] / mine[0] / NOISE)
    return Verdict(mine[0], name, ratio, max(parts, default=None))


def shortfalls(row: Row, mine: float, of_all: dict[str, float]) -> list[float]:
    """Give the ratio of ours to what each budget allows."""
    parts = []
    if row.at_most is not None:
        parts.append(mine / row.at_most if row.at_most else float(mine > 0) * 1000)
    if row.times and row.against in of_all:
        other = of_all[row.against]
        parts.append(row.times * (other / mine if row.more else mine / other))
    if row.as_plain and "plain" in of_all:
        parts.append(mine / of_all["plain"])
    return parts


def number(value: float | None) -> str:
    """Give a number in three digits."""
    if value is None:
        return ""
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2  # noqa: PLR2004 - three in all
    return f"{value:,.{digits}f}".replace("-0.00", "0.00")


def cell(results: Results, who: str, values: dict[str, float]) -> str:
    """Give a contestant's value, or why there is none."""
    if who in values:
        return number(values[who])
    return "not installed" if lacks(results, who) else "-"


def lacks(results: Results, who: str) -> bool:
    """Tell whether a contestant should have been measured, and isn't there."""
    return str(results["contestants"].get(who, "")).startswith("not installed")


def columns(results: Results, table: Table) -> list[str]:
    """Give the contestants that were measured, or should have been."""
    known = {who for row in table.rows for who in medians(results, row)}
    return [who for who in table.contestants if who in known or lacks(results, who)]


def line(cells: Iterable[str]) -> str:
    """Give a line of a table."""
    return f"| {' | '.join(cells)} |"


def markdown(results: Results, table: Table) -> str:
    """Give one table; empty where nothing of it was measured."""
    chosen = columns(results, table)
    rows = [row for row in table.rows if medians(results, row)]
    if not rows:
        return ""
    head = ["work", "unit", *chosen, "ours / best peer", "budget", "met"]
    lines = [line(head), line(["---", "---", *["--:"] * (len(chosen) + 1), "---", "---"])]
    for row in rows:
        values, verdict = medians(results, row), judge(results, table, row)
        cells = [cell(results, who, values) for who in chosen]
        ratio = number(verdict.ratio)
        lines.append(line([row.title, row.unit, *cells, ratio, row.budget, verdict.met]))
    return "\n".join(lines)


def machine(results: Results) -> str:
    """Give what was measured, and where."""
    facts = [f"- {name}: {text}" for name, text in results["machine"].items()]
    peers = [f"- {who}: {text}" for who, text in results["contestants"].items()]
    return "\n".join([*facts, *peers, f"- medians of {results['rounds']}"])


def page(results: Results) -> str:
    """Give all tables, the machine first."""
    parts = ["# Results", machine(results)]
    for table in tables(tuple(results["pythons"])):
        text = markdown(results, table)
        if text:
            parts += [f"## {table.title}", text]
    return "\n\n".join(parts) + "\n"


def worst(results: Results) -> list[str]:
    """Give the budgets that aren't met, the worst first."""
    found = []
    for table in tables(tuple(results["pythons"])):
        for row in table.rows:
            verdict = judge(results, table, row)
            if verdict.shortfall is not None and verdict.shortfall > 1:
                text = f"{table.title}: {row.title}: {number(verdict.ours)} {row.unit}"
                found.append((verdict.shortfall, f"{text}, budget {row.budget}"))
    return [f"{factor:.2g} times: {text}" for factor, text in sorted(found, reverse=True)]
