"""What looks for flags that have come into the process without a call of this package."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import Callable

flag_finders: list[Callable[[], bool]] = []
"""Functions that add flags which are new in the process, and return whether there were any.

They are called when flags are listed, and when a name is not found.
"""


def add_new_flags() -> bool:
    """Add such flags; return whether there are any."""
    found = [find() for find in flag_finders]
    return any(found)
