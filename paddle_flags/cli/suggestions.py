"""Suggestions for misspelt names."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


def nearest(name: str, known: Collection[str]) -> str:
    """Return the known name that is nearest, or "" if none is near."""
    found = difflib.get_close_matches(name, known, n=1, cutoff=0.7)
    return found[0] if found else ""


def suggestion(name: str, known: Collection[str]) -> str:
    """Return "; did you mean 'x'?" if a known name is near, else ""."""
    near = nearest(name, known)
    return f"; did you mean '{near}'?" if near else ""
