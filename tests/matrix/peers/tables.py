"""The tables of the peers' matrix."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

VERDICTS = ("survives", "splits", "dies")
TITLES = {"llvm": "LLVM cl::opt"}

# The rows of the summary: which cases each is about.
ROWS: dict[str, Callable[[Any], bool]] = {
    "all": lambda _: True,
    "no source in common": lambda case: not case.doubled,
    "a source in both plugins": lambda case: case.doubled,
    "parsed after loading": lambda case: case.when == "after",
    "parsed before loading": lambda case: case.when == "before",
    "never unloaded": lambda case: not case.unload,
    "unloaded and loaded again": lambda case: case.unload,
    "shared library everywhere": lambda case: {case.a, case.b, case.host} == {"shared library"},
    "a static copy somewhere": lambda case: "static" in case.host + case.a + case.b,
    "a hidden static copy somewhere": lambda case: "static, hidden" in (case.a, case.b),
}


def title(name: str) -> str:
    """Give the name of a library as people write it."""
    return TITLES.get(name, name)


def counts(outcomes: dict[Any, Any], about: Callable[[Any], bool]) -> str:
    """Give how many of some cases survive, split and die."""
    found = collections.Counter(o.verdict for case, o in outcomes.items() if about(case))
    return " / ".join(str(found[verdict]) for verdict in VERDICTS)


def rows(head: list[str], body: list[list[str]]) -> str:
    """Give a Markdown table."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines).replace("| --- ", "|---")


def summary(outcomes: dict[str, dict[Any, Any]]) -> str:
    """Give all libraries side by side."""
    first = next(iter(outcomes.values()))
    body = [
        [name, str(sum(map(about, first))), *(counts(found, about) for found in outcomes.values())]
        for name, about in ROWS.items()
    ]
    return rows(["cases", "number", *map(title, outcomes)], body)


def by_host(found: dict[Any, Any], hosts: list[str], modes: list[str]) -> str:
    """Give the outcomes of one library by host and mode."""

    def cell(host: str, mode: str) -> str:
        return counts(found, lambda case: host in (case.host, "all") and mode in (case.mode, "all"))

    columns = [*modes, "all"]
    body = [[host, *(cell(host, mode) for mode in columns)] for host in [*hosts, "all"]]
    return rows(["host", *columns], body)


def texts(found: dict[Any, Any]) -> str:
    """Give what processes say when they split or die, most often first."""
    said = collections.Counter((o.verdict, o.text) for o in found.values() if o.text)
    ordered = sorted(said.items(), key=lambda item: (item[0][0], -item[1], item[0][1]))
    body = [
        [str(number), verdict, f"`{text.replace('|', chr(92) + '|')}`"]
        for (verdict, text), number in ordered
    ]
    return rows(["cases", "outcome", "text"], body)


def report(outcomes: dict[str, dict[Any, Any]], hosts: list[str], modes: list[str]) -> str:
    """Give all tables, each count as survives / splits / dies."""
    parts = [summary(outcomes)]
    for name, found in outcomes.items():
        parts += [f"### {title(name)}", by_host(found, hosts, modes)]
        if any(outcome.text for outcome in found.values()):
            parts.append(texts(found))
    return "\n\n".join(parts)
