"""Listings of all flags: a table or another form."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

from paddle_flags._report import facts
from paddle_flags._report.describe import FORMATS as DESCRIBED
from paddle_flags._report.describe import describe
from paddle_flags._report.dump import FORMATS as DUMPED
from paddle_flags._report.dump import dump
from paddle_flags._report.help import help_text
from paddle_flags._report.table import format_table
from paddle_flags.errors import UndefinedFlagError

_WIDEST_VALUE = 60  # in a table

_JSON_VALUES = "json-config"  # dump("json"); "json" is what describe("json") gives

LISTINGS = ("table", *DESCRIBED, *(f for f in DUMPED if f != "json"), _JSON_VALUES)
"""The forms in which `render_flag_list` shows all flags."""


def _shorten_value(text: str) -> str:
    return text if len(text) <= _WIDEST_VALUE else text[: _WIDEST_VALUE - 3] + "..."


def _row(flag: facts.FlagSnapshot) -> tuple[str, ...]:
    return (
        flag.name,
        f"{flag.items},..." if flag.items else flag.type,
        _shorten_value(facts.format_value(flag.flag, flag.flag.value)),
        flag.flag.source,
        os.path.basename(flag.module),
    )


def format_flags_table(*, hidden: bool = False) -> str:
    """Return the table of all flags with value, source and module."""
    rows: list[tuple[str, ...]] = []
    for flag in facts.listed_flags(hidden=hidden):
        with suppress(UndefinedFlagError):
            rows.append(_row(flag))
    return format_table(("flag", "type", "value", "source", "module"), rows)


def render_flag_list(
    format: str,
    *,
    program: str,
    all: bool = False,
    left_out: dict[str, str],
) -> str:
    """Return all flags in one of LISTINGS; `all` includes hidden ones, and defaults in dumps.

    `program` is what reports name as the program. `left_out` gets what a form leaves out
    that has no comments to say so.
    """
    if format == "table":
        return format_flags_table(hidden=all)
    if format == "text":
        return help_text("", "helpfull" if all else "help", usage="")
    if format in DESCRIBED:
        return describe(format, program=program, full=all)
    import shlex

    kind = "json" if format == _JSON_VALUES else format
    missing = left_out if format not in ("flagfile", "toml") else None
    dumped: Any = dump(kind, all=all, left_out=missing)
    if isinstance(dumped, list):
        return shlex.join(dumped)
    if isinstance(dumped, dict):
        return "\n".join(f"export {name}={shlex.quote(value)}" for name, value in dumped.items())
    return str(dumped).removesuffix("\n")
