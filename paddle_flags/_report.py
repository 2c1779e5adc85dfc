"""Tables of flags, and what is told of one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from paddle_flags import _facts
from paddle_flags._describe import FORMATS as DESCRIBED
from paddle_flags._describe import describe
from paddle_flags._dump import FORMATS as DUMPED
from paddle_flags._dump import dump
from paddle_flags._help import help_text
from paddle_flags._registry import find

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paddle_flags._entry import FlagEntry
    from paddle_flags._flag import Flag


_WIDEST_VALUE = 60  # in a table

_JSON_VALUES = "json-config"  # dump("json"); "json" is what describe("json") gives

LISTINGS = ("table", *DESCRIBED, *(f for f in DUMPED if f != "json"), _JSON_VALUES)
"""The forms in which `listing` shows all flags."""


def _columns(text: str) -> int:
    """Give the columns of a terminal that text takes."""
    import unicodedata  # noqa: PLC0415 - it takes its time

    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Give aligned columns with a title each."""
    lines = [list(titles), *(list(row) for row in rows)]
    widths = [max(map(_columns, column)) for column in zip(*lines)]
    padded = (
        "  ".join(cell + " " * (width - _columns(cell)) for cell, width in zip(line, widths))
        for line in lines
    )
    return "\n".join(line.rstrip() for line in padded)


def _cut(text: str) -> str:
    return text if len(text) <= _WIDEST_VALUE else text[: _WIDEST_VALUE - 3] + "..."


def _row(flag: Flag[Any]) -> tuple[str, ...]:
    return (
        flag.name,
        f"{flag.items},..." if flag.items else flag.type,
        _cut(_facts.shown(flag, flag.value)),
        flag.source,
        os.path.basename(flag.module),
    )


def flags_table(*, hidden: bool = False) -> str:
    """Give the table of all flags with value, source and module."""
    rows = _facts.each(_facts.listed(hidden=hidden), _row)
    return table(("flag", "type", "value", "source", "module"), rows)


def listing(format: str = "table", *, all: bool = False) -> str:  # noqa: A002 - the words for it
    """Show all flags in one of LISTINGS; `all`: hidden ones, and defaults to be read back."""
    if format == "table":
        return flags_table(hidden=all)
    if format == "text":
        return help_text("", "helpfull" if all else "help", usage="")
    if format in DESCRIBED:
        return describe(format, program="python -m paddle_flags", full=all)
    import shlex  # noqa: PLC0415

    kind = "json" if format == _JSON_VALUES else format
    dumped: Any = dump(kind, all=all)
    if isinstance(dumped, list):
        return shlex.join(dumped)
    if isinstance(dumped, dict):
        return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in dumped.items())
    return str(dumped).removesuffix("\n")


def _fate(entry: FlagEntry, holding: FlagEntry) -> str:
    """Tell why an entry below the one that holds doesn't."""
    if entry is holding:
        return "holds"
    if entry.replaced:
        return "replaced by a later one"
    above = {"override": "an override", "file": "a file"}.get(holding.source, holding.source)
    return "hidden by an override above" if entry.source == "override" else f"hidden by {above}"


def _facts_of(flag: Flag[Any]) -> dict[str, str]:
    return {
        "type": _facts.type_of(flag),
        "help": flag.help,
        "allowed": ", ".join(flag.choices) if flag.choices else _facts.limits(flag),
        "aliases": ", ".join(flag.aliases),
        "old names": ", ".join(flag.old_names),
        "category": flag.category,
        "module": flag.module,
        "defined at": f"{flag.file}:{flag.line}" if flag.file else "",
        "attributes": ", ".join(_facts.marks(flag) + ["frozen"] * flag.frozen),
        "deprecated": flag.deprecated or "",
        "retired": flag.retired or "",
    }


def explain(name: str) -> str:
    """Tell what a flag is, every value that it was given, and which one holds.

    For people to read, as `python -m paddle_flags explain` prints it; a program reads
    `Flag.history`.
    """
    flag = find(name)
    lines = [f"{flag.name} = {_facts.shown(flag, flag.value)}", ""]
    facts = _facts_of(flag)
    lines += [f"  {name + ':':<12}{_facts.one_line(fact)}" for name, fact in facts.items() if fact]
    lines += ["", "values, the one that holds first:"]
    history = flag.history
    rows = [
        (
            f"  {_facts.shown(flag, entry.value)}",
            _fate(entry, history[0]),
            entry.source,
            _facts.one_line(entry.place or ""),
        )
        for entry in history
    ]
    lines.append(table(("  value", "state", "source", "place"), rows))
    return "\n".join(lines)
