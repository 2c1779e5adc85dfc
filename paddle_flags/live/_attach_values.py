"""Values from the bytes of a process, as values of JSON."""

from __future__ import annotations

import math
import struct
import sys

from paddle_flags.extend import format_argument, parse_list
from paddle_flags.live._attach_memory import Unreadable

Scalar = bool | int | float | str
_PYTHON: dict[str, type] = {"bool": bool, "double": float, "string": str}  # others: int
_DOUBLE = struct.Struct("=d")


def decode(type_name: str, data: bytes) -> bool | int | float:
    """Return the value of a bool or a number from its bytes; for a string, the address."""
    if type_name == "double":
        if len(data) != _DOUBLE.size:  # what describes the process is damaged
            raise Unreadable
        return float(_DOUBLE.unpack(data)[0])
    number = int.from_bytes(data, sys.byteorder, signed=type_name.startswith("int"))
    return number != 0 if type_name == "bool" else number


def convert_to_json_scalar(value: Scalar) -> Scalar:
    """Return the value as JSON has it: infinities and NaN are text."""
    if isinstance(value, float) and not math.isfinite(value):
        return format_argument(value)
    return value


def parse_list_items(text: str, type_name: str) -> list[Scalar] | str:
    """Return the items of a comma list; the text itself if it isn't one."""
    try:
        return [
            convert_to_json_scalar(item) for item in parse_list(_PYTHON.get(type_name, int), text)
        ]
    except (KeyError, ValueError, OverflowError):
        return text


def is_type_limit(type_name: str, value: Scalar, size: int, *, upper: bool) -> bool:
    """Return whether a bound is just that of the type, where a variable has `size` bytes."""
    if isinstance(value, (bool, str)):
        return True
    if type_name == "double":
        return not math.isfinite(value)
    bits = 8 * size - type_name.startswith("int")
    lowest = -(1 << bits) if type_name.startswith("int") else 0
    return value == ((1 << bits) - 1 if upper else lowest)
