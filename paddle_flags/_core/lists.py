"""Lists of values: their text, which C has checked, and their tuples in Python."""

from __future__ import annotations

from _collections_abc import Sequence  # as collections.abc, without what that imports

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from typing import Any, Callable

_ITEM = r'"((?:[^"]+|"")*)"|([^,"]*)'
_TRUE = ("1", "t", "true", "y", "yes")


def split(text: str) -> list[str]:
    """Return the items of a list, as pd_list_get does."""
    if '"' not in text:
        return text.split(",") if text else []
    import re  # noqa: PLC0415 - few lists need it

    matcher = re.compile(_ITEM)
    items: list[str] = []
    at = -1
    while at < len(text):
        found = matcher.match(text, at + 1)
        if found is None:  # can't be: _ITEM matches even nothing
            break
        quoted = found[1]
        items.append(found[2] if quoted is None else quoted.replace('""', '"'))
        at = found.end()
    return items


def _is_hexadecimal(text: str) -> bool:
    return "x" in text or "X" in text


def _int(text: str) -> int:
    return int(text, 16) if _is_hexadecimal(text) else int(text)


def _float(text: str) -> float:
    return float.fromhex(text) if _is_hexadecimal(text) else float(text)


def _bool(text: str) -> bool:
    return text.lower() in _TRUE


_READ: dict[type, Callable[[str], Any]] = {bool: _bool, int: _int, float: _float, str: str}


def decode(item: type, text: str) -> tuple[Any, ...]:
    """Return the values in the text of a list whose items have a Python type."""
    return tuple(map(_READ[item], split(text)))


def integer_text(value: int) -> str:
    """Write an integer. Hexadecimal has no limit on its digits."""
    return hex(value) if abs(value) >> 128 else str(value)


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
