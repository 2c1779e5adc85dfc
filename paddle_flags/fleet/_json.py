"""JSON of a fleet, read alike by every implementation: what two readers could take differently is refused.

That is text in UTF-8 without lone surrogates and NUL, integers of 64 bits, and finite numbers, at
most 32 levels deep. Of two members of an object with one name, the later holds.
"""

from __future__ import annotations

import json
import math
from typing import Any

_DEEPEST = 32
_MOST = 1 << 63


def read(data: bytes) -> Any:
    """Return the value of JSON; raise ValueError."""
    try:
        value = json.loads(data.decode(), parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError from error
    _check(value, _DEEPEST)
    return value


def is_a(value: object, *types: type) -> bool:
    """Return whether a value is of one of the types; bool is no int."""
    return isinstance(value, types) and (bool in types or not isinstance(value, bool))


def _refuse(text: str) -> None:
    raise ValueError(text)


def _check(value: Any, levels: int) -> None:
    """Raise ValueError for what another reader may not take."""
    if isinstance(value, str):
        value.encode()
        if "\0" in value:
            raise ValueError
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError
    elif isinstance(value, int):
        if not -_MOST <= value < _MOST:
            raise ValueError
    elif isinstance(value, (list, dict)):
        if not levels:
            raise ValueError
        for each in value:
            _check(each, levels - 1)
        for each in value.values() if isinstance(value, dict) else ():
            _check(each, levels - 1)
