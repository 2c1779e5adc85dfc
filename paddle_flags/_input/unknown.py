"""The names of flags as environment variables have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle_flags._core.registry import all_flags
from paddle_flags.errors import UndefinedFlagError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paddle_flags._core.flag import Flag


def variable_suffix_of(name: str) -> str:
    """Return the name of a flag as a variable has it, behind the prefix."""
    return name.replace("-", "_").replace(".", "_")


def flag_names() -> set[str]:
    """Return the names that the environment may use for the flags of this process."""
    return {name for flag in all_flags() for name in _iter_names_without_aliases(flag)}


def _iter_names_without_aliases(flag: Flag[Any]) -> Iterator[str]:
    """Yield the names of a flag that the environment may use: no aliases."""
    yield flag.name
    try:
        yield from flag.old_names
    except UndefinedFlagError:  # its plugin may leave, on another thread
        return
