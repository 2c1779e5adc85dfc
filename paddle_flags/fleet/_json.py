"""JSON of a fleet, read alike by every implementation.

What two readers could take differently is refused. There is only text in UTF-8 without lone
surrogates, and without NUL in the names of objects' members; integers of 64 bits, and finite
numbers; at most 32 levels. Of two members of an object with one name, the later holds.
"""

from __future__ import annotations

import json
import math
from typing import Any

_DEEPEST = 32
_MOST = 1 << 63
_MOST_DIGITS = 64


def read(data: bytes) -> Any:
    """Return the value of JSON; raise ValueError."""
    try:
        value = json.loads(data.decode(), parse_constant=_refuse, parse_int=read_integer)
    except RecursionError as error:
        raise ValueError from error
    _check(value, _DEEPEST)
    return value


def is_a(value: object, *types: type) -> bool:
    """Return whether a value is of one of the types; bool is no int."""
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))


def read_integer(text: str) -> int:
    """Return an integer; one that is far too long would take seconds with older Pythons."""
    if len(text) > _MOST_DIGITS:
        raise ValueError(text[:_MOST_DIGITS])
    return int(text)


def _refuse(text: str) -> None:
    raise ValueError(text)


def _check(value: Any, levels: int) -> None:
    """Raise ValueError for what another reader may not take."""
    if isinstance(value, str):
        value.encode()
    fits = (
        isinstance(value, str)
        or (isinstance(value, float) and math.isfinite(value))
        or (isinstance(value, int) and -_MOST <= value < _MOST)
        or (isinstance(value, (list, dict)) and levels > 0)
        or value is None
    )
    if not fits:
        raise ValueError
    if isinstance(value, dict):
        if any("\0" in name for name in value):
            raise ValueError
        value = [*value, *value.values()]
    for each in value if isinstance(value, list) else ():
        _check(each, levels - 1)
