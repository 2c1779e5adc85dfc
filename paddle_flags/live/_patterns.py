"""Names and patterns of the flags that clients may change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle_flags._core.status import shown
from paddle_flags.errors import FlagTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable


def join_patterns(settable: str | Iterable[str]) -> str:
    """Return the names and patterns as the library takes them."""
    each = [settable] if isinstance(settable, str) else list(settable)
    for pattern in each:
        if not isinstance(pattern, str):
            message = f"settable: {shown(pattern)}: expected str, not {type(pattern).__name__}"
            raise FlagTypeError(message)
    return ",".join(each)
