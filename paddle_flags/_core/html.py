"""Tables of flags for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from paddle_flags.errors import UndefinedFlagError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paddle_flags._core.flag import Flag

_HEADER = ("flag", "value", "type", "source", "help")
_LONGEST = 80  # characters of a cell


def html_table(flags: Iterable[Flag[Any]]) -> str:
    """Return a table of the flags that aren't hidden; values of sensitive ones are redacted."""
    header = "".join(f"<th>{name}</th>" for name in _HEADER)
    rows = "".join(map(_row, flags))
    return f"<table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table>"


def _row(flag: Flag[Any]) -> str:
    try:
        if flag.hidden:
            return ""
        kind = f"list of {flag.items}" if flag.items else flag.type
        cells = (flag.name, str(flag), kind, flag.source, flag.help.partition("\n")[0])
    except UndefinedFlagError:  # its plugin may leave, on another thread
        return ""
    return f"<tr>{''.join(map(_cell, cells))}</tr>"


def _cell(text: str) -> str:
    shown = text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
    return f'<td style="text-align: left">{escape(shown)}</td>'
