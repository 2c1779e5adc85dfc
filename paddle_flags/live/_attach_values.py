"""Values from the bytes of a process, as values of JSON and as text."""

from __future__ import annotations

import csv
import math
import struct
import sys

from paddle_flags.live._attach_memory import Unreadable

Scalar = bool | int | float | str
TRUE = frozenset(("1", "t", "y", "yes", "true", "on"))
_DOUBLE = struct.Struct("=d")


def decode(type_name: str, data: bytes) -> bool | int | float:
    """Return the value of a bool or a number from its bytes; for a string, the address."""
    if type_name == "double":
        if len(data) != _DOUBLE.size:  # what describes the process is damaged
            raise Unreadable
        return float(_DOUBLE.unpack(data)[0])
    number = int.from_bytes(data, sys.byteorder, signed=type_name.startswith("int"))
    return number != 0 if type_name == "bool" else number


def text_of(value: Scalar) -> str:
    """Return the text that sets a flag to the value, as the library writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return "nan"
    for digits in (15, 16):
        text = f"{value:.{digits}g}"
        if float(text) == value:
            return text
    return f"{value:.17g}"


def json_of(value: Scalar) -> Scalar:
    """Return the value as JSON has it: infinities and NaN are text."""
    if isinstance(value, float) and not math.isfinite(value):
        return text_of(value)
    return value


def items_of(text: str, type_name: str) -> list[Scalar] | str:
    """Return the items of a comma list; the text itself if it isn't one."""
    if not text:
        return []
    try:
        rows = list(csv.reader([text], strict=True))
        return [json_of(_item(item, type_name)) for item in rows[0]] if len(rows) == 1 else text
    except (csv.Error, ValueError, OverflowError):
        return text


def _item(text: str, type_name: str) -> Scalar:
    if type_name == "string":
        return text
    if type_name == "bool":
        return text.lower() in TRUE
    is_hex = "0x" in text.lower()
    if type_name == "double":
        return float.fromhex(text) if is_hex else float(text)
    return int(text, 16 if is_hex else 10)


def is_type_limit(type_name: str, value: Scalar, size: int, *, upper: bool) -> bool:
    """Return whether a bound is just that of the type, where a variable has `size` bytes."""
    if isinstance(value, (bool, str)):
        return True
    if type_name == "double":
        return not math.isfinite(value)
    bits = 8 * size - type_name.startswith("int")
    lowest = -(1 << bits) if type_name.startswith("int") else 0
    return value == ((1 << bits) - 1 if upper else lowest)
