"""Lists of values: their text, which C has checked, and their tuples in Python."""

from __future__ import annotations

from _collections_abc import Sequence  # as collections.abc, without what that imports

from paddle_flags._fast import split_list

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# As C reads a bool, in any case.
BOOLS = {
    "1": True, "t": True, "true": True, "y": True, "yes": True, "on": True,
    "0": False, "f": False, "false": False, "n": False, "no": False, "off": False,
}  # fmt: skip
BOOL_EXPECTED = "true or false (or yes/no, on/off, y/n, t/f, 1/0)"


def _is_hexadecimal(text: str) -> bool:
    return "x" in text or "X" in text


def _parse_int_item(text: str) -> int:
    return int(text, 16) if _is_hexadecimal(text) else int(text)


def _parse_float_item(text: str) -> float:
    return float.fromhex(text) if _is_hexadecimal(text) else float(text)


def _parse_bool_item(text: str) -> bool:
    return BOOLS[text.lower()]


_READ: dict[type, Callable[[str], Any]] = {
    bool: _parse_bool_item,
    int: _parse_int_item,
    float: _parse_float_item,
    str: str,
}


def parse_list(item: type, text: str) -> tuple[Any, ...]:
    """Return the values in the text of a list whose items have a Python type."""
    return tuple(map(_READ[item], split_list(text)))


def integer_text(value: int) -> str:
    """Write an integer. Hexadecimal has no limit on its digits."""
    return hex(value) if abs(value) >> 128 else str(value)


def number_text(value: float) -> str:
    """Write a number as C does, with as few digits as read back equal."""
    if isinstance(value, int):
        return integer_text(value)
    texts = (f"{value:.{digits}g}" for digits in (15, 16, 17))
    return next((text for text in texts if float(text) == value), "nan")


def _item_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return integer_text(value)
    if isinstance(value, float):
        return repr(value)
    text = str(value)
    plain = text == text.strip(" \t") and not any(sign in text for sign in ',"\r\n')
    return text if plain else '"' + text.replace('"', '""') + '"'


def encode(values: tuple[object, ...]) -> str:
    """Return the text of a list."""
    return '""' if values == ("",) else ",".join(map(_item_text, values))


def items_of(value: object) -> Sequence[object] | None:
    """Return the items of a sequence other than text, or of an array, or None."""
    if isinstance(value, (str, bytes, bytearray, memoryview)):
        return None
    if isinstance(value, Sequence):
        return value
    tolist: Callable[[], object] | None = getattr(value, "tolist", None)
    items = tolist() if tolist else None
    return items if isinstance(items, list) else None
