"""Values of flags: read from a file, and written as text."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Any

from paddle_flags.extend import format_argument
from paddle_flags.gen.model import FLOATING, INTEGERS, MEMBERS, Scalar, Value
from paddle_flags.gen.problems import AmbiguousText

_BYTES = {"B": 1, "KB": 1000}
_BYTES |= {f"{prefix}B": 1000**power for power, prefix in enumerate("kMGTPE", 1)}
_BYTES |= {f"{prefix}iB": 1024**power for power, prefix in enumerate("KMGTPE", 1)}
_SECONDS: dict[str, int | Fraction] = {"d": 86400, "h": 3600, "min": 60, "m": 60, "s": 1}
_SECONDS |= {"ms": Fraction(1, 10**3), "ns": Fraction(1, 10**9)}
_SECONDS |= dict.fromkeys(
    ("us", "\N{MICRO SIGN}s", "\N{GREEK SMALL LETTER MU}s"), Fraction(1, 10**6)
)
_SUFFIXES: dict[str, dict[str, Any]] = {"bytes": _BYTES, "seconds": _SECONDS}
_AS_IN = {"bytes": "64KiB", "seconds": "1m30s"}
_PART = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([^0-9.]+)")
# By the member of pd_value that a type uses.
_PYTHON: dict[str, Any] = {"b": bool, "i64": int, "u64": int, "f64": (int, float), "str": str}
_NOUNS = {"b": "true or false", "f64": "a number", "str": "text"}
_LONGEST = 99  # bytes of a quantity


class InvalidValueError(Exception):
    """A value is invalid; the text says what was expected."""


def suffixes(unit: str) -> list[str]:
    """Return the units that may follow a number."""
    return list(_SUFFIXES[unit])


def parse_quantity(text: str, unit: str) -> Fraction | None:
    """Return the number that "64MiB" or "1h30m" stands for, or None."""
    if len(text.encode()) > _LONGEST:
        return None
    bare = text[1:] if text[:1] in ("+", "-") else text
    total, at = Fraction(0), 0
    last: Any = None
    for match in _PART.finditer(bare):
        factor = _SUFFIXES[unit].get(match[2])
        if match.start() != at or factor is None:
            return None
        if last is not None and (unit == "bytes" or factor >= last):
            return None
        total += Fraction(match[1]) * factor
        at, last = match.end(), factor
    if not bare or at != len(bare):
        return None
    return -total if text[0] == "-" else total


def expected_text(kind: str, unit: str | None = None) -> str:
    """Return the values of a type, as messages describe them."""
    if kind in INTEGERS:
        low, high = INTEGERS[kind]
        text = f"an integer in [{low}, {high}]"
    else:
        text = _NOUNS[MEMBERS[kind]]
    return f"{text}, or a number of {unit} as {_AS_IN[unit]}" if unit else text


def to_scalar(raw: Any, kind: str, unit: str | None = None) -> Scalar:
    """Return a value of a type; raises Unfit."""
    value = convert_quantity(raw, kind, unit) if unit and type(raw) is str else raw
    wanted = _PYTHON[MEMBERS[kind]]
    fits = isinstance(value, wanted) and isinstance(value, bool) == (kind == "bool")
    if fits and kind in FLOATING:
        value = _to_double(value)
        fits = math.isfinite(value)
    if fits and kind in INTEGERS:
        low, high = INTEGERS[kind]
        fits = low <= value <= high
    if not fits or isinstance(raw, AmbiguousText):
        in_quotes = ", in quotes" if kind == "string" and not isinstance(raw, list) else ""
        raise InvalidValueError(expected_text(kind, unit) + in_quotes + _unit_hint(raw, kind, unit))
    made: Scalar = value
    return made


def _unit_hint(raw: Any, kind: str, unit: str | None) -> str:
    """Return a hint about `unit` for a quantity of a flag without one."""
    if unit is not None or type(raw) is not str or kind in ("bool", "string"):
        return ""
    needed = next((each for each in _SUFFIXES if parse_quantity(raw, each) is not None), None)
    return f"; a quantity needs 'unit: {needed}'" if needed else ""


def convert_quantity(text: str, kind: str, unit: str) -> Any:
    """Return the number of a quantity; the text itself if it is none, or not a whole number."""
    number = parse_quantity(text, unit)
    if number is None:
        return text
    if kind in FLOATING:
        return float(number)
    return int(number) if number.denominator == 1 else text


def _to_double(raw: float) -> float:
    try:
        return float(raw)
    except OverflowError:
        return math.inf


def to_value(raw: Any, kind: str, items: str | None, unit: str | None) -> Value:
    """Return a value of a flag, which may be a list; raises Unfit."""
    if items is None:
        return to_scalar(raw, kind, unit)
    if not isinstance(raw, list):
        raise InvalidValueError(f"a list of values of type {items}")
    values: list[Scalar] = []
    for index, item in enumerate(raw):
        try:
            values.append(to_scalar(item, items))
        except InvalidValueError as error:
            raise InvalidValueError(
                f"a list of values of type {items}; item {index + 1}: {error}"
            ) from error
    return values


def to_text(value: Value) -> str:
    """Return a value as a command line takes it."""
    if isinstance(value, list):
        return format_argument(tuple(value))
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def quote_for_flagfile(text: str) -> str:
    """Return a value as in a line of a flagfile."""
    if text.isprintable() and text == text.strip() and not text.startswith("$'"):
        return text
    signs = (_ESCAPES.get(c) or (c if ord(c) >= ord(" ") else f"\\x{ord(c):02x}") for c in text)
    return f"$'{''.join(signs)}'"
