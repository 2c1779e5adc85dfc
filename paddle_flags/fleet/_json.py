"""JSON that members and operators read alike: integers of 64 bits, and finite numbers."""

from __future__ import annotations

import json
import math
from typing import Any

_MOST = 1 << 63
_MOST_DIGITS = 64  # one that is far longer would take seconds with older Pythons


def read(data: bytes) -> Any:
    """Return the value of JSON; raise ValueError."""
    try:
        return json.loads(
            data.decode(), parse_constant=_number, parse_int=_integer, parse_float=_number
        )
    except RecursionError as error:
        raise ValueError from error


def _integer(text: str) -> int:
    number = int(text) if len(text) <= _MOST_DIGITS else _MOST
    if -_MOST <= number < _MOST:
        return number
    raise ValueError(text[:_MOST_DIGITS])


def _number(text: str) -> float:
    number = float(text)
    if math.isfinite(number):
        return number
    raise ValueError(text[:_MOST_DIGITS])
