"""Suggestions for what was nearly spelled right."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


def suggestion(name: str, known: Collection[str]) -> str:
    """Give "; did you mean 'x'?" if a known name is near, else ""."""
    found = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    return f"; did you mean '{found[0]}'?" if found else ""
