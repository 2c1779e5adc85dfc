"""What looks for flags that have come into the process without a call of this package."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import Callable

finders: list[Callable[[], bool]] = []  # each returns whether there are new flags


def find_new_flags() -> bool:
    """Add such flags; return whether there are any."""
    found = [find() for find in finders]
    return any(found)
