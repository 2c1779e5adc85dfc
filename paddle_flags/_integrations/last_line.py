"""What parsers set by a command line, which the next command line drops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle_flags import FLAGS
from paddle_flags.extend import drop_pending

if TYPE_CHECKING:
    from paddle_flags import FlagEntry

_values: dict[str, FlagEntry | None] = {}  # by names of flags; None for one that waits
_rest: list[str] | None = None
_result: Any = None


def is_continuation_of_last(args: object, namespace: object) -> bool:
    """Return whether arguments go on with the last command line.

    They are what it left, or its result is to be filled.
    """
    if namespace is not None and namespace is _result:
        return True
    return _rest is not None and (args is _rest or bool(_rest and args == _rest))


def remember_line(names: set[str], rest: list[str], result: Any) -> None:
    """Note the flags that a command line has set, and what it left."""
    global _rest, _result
    _values.update({name: _argv_value_of(name) for name in names})
    _rest, _result = rest, result


def _argv_value_of(name: str) -> FlagEntry | None:
    """Return the value that a flag has from a command line."""
    if name not in FLAGS:
        return None
    values = (each for each in FLAGS[name].history if each.source == "argv" and not each.replaced)
    return next(values, None)


def names_still_set(names: set[str]) -> list[str]:
    """Return which of these flags still have the value of the last command line."""
    known = (name for name in names & _values.keys() if name in FLAGS)
    return [name for name in known if _argv_value_of(name) == _values[name]]


def forget_values_and_drop_pending(names: set[str]) -> None:
    """Drop what waits for these flags since the last command line, and forget the values."""
    for name in names & _values.keys():
        if _values.pop(name) is None and name not in FLAGS:
            drop_pending(name)
