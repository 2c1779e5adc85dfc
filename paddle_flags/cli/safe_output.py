"""Text that others wrote, on its way to the terminal of somebody who trusts none of it.

The verbs print by these functions alone. They escape each line and each cell of a table: control
characters, sequences that move the cursor or set colors, and marks that turn the direction of
writing.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags._report.facts import escape_controls
from paddle_flags._report.table import format_table
from paddle_flags.cli.options import PROGRAM
from paddle_flags.cli.output import print_error, print_or_exit

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDEST = 300  # letters of a cell


class Table(NamedTuple):
    """Columns with a title each."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    indent: str = ""


class Raw(str):
    """A value that a program may read, so it is escaped on a terminal only."""

    __slots__ = ()


Part = str | Table
"""A line, or a table."""


class Report(NamedTuple):
    """What a verb has to say."""

    document: Any = None
    """For programs."""
    parts: Sequence[Part] = ()
    """For people."""
    remarks: Sequence[str] = ()
    problems: Sequence[str] = ()
    status: int = 0


def print_report(report: Report, *, as_json: bool) -> int:
    """Print a report; return the exit status."""
    if not as_json:
        show(*report.parts)
    elif report.document is not None:
        print_or_exit(json.dumps(report.document, indent=2))
    show_on_stderr(*report.remarks)
    show_problems(*report.problems)
    return report.status


def show(*parts: Part) -> bool:
    """Print lines and tables; return False if nobody reads any more."""
    return not parts or print_or_exit(_render_parts(parts))


def show_on_stderr(*lines: str) -> None:
    """Print lines on stderr."""
    if lines:
        print_error(_render_parts(lines))


def show_problems(*problems: str) -> None:
    """Print what is wrong on stderr, each on a line."""
    show_on_stderr(*(f"{PROGRAM}: error: {each}" for each in problems))


def _render_parts(parts: Sequence[Part]) -> str:
    """Return parts as the only text of others that is ever printed."""
    return "\n".join(map(_render_part, parts))


def _render_part(part: Part) -> str:
    if isinstance(part, Table):
        rows = [[shorten(escape_controls(cell), _WIDEST) for cell in row] for row in part.rows]
        lines = format_table(
            [shorten(escape_controls(each), _WIDEST) for each in part.titles], rows
        )
        return "\n".join(part.indent + line for line in lines.splitlines())
    if isinstance(part, Raw) and not (sys.stdout is not None and sys.stdout.isatty()):
        return part
    return escape_controls(part)


def shorten(text: str, widest: int = 60) -> str:
    """Cut a text that is too long for a table."""
    return text if len(text) <= widest else text[: widest - 3] + "..."
