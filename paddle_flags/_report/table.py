"""Tables of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def _count_columns(text: str) -> int:
    """Return the columns of a terminal that text takes."""
    import unicodedata

    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def format_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return aligned columns with a title each."""
    lines = [list(titles), *(list(row) for row in rows)]
    widths = [max(map(_count_columns, column)) for column in zip(*lines)]
    padded = (
        "  ".join(cell + " " * (width - _count_columns(cell)) for cell, width in zip(line, widths))
        for line in lines
    )
    return "\n".join(line.rstrip() for line in padded)
