"""Values of flags: read from a file, and written as text."""

from __future__ import annotations

import math
from typing import Any

from paddle_flags.extend import ffi, format_argument, lib
from paddle_flags.gen.model import FLOATING, INTEGERS, MEMBERS, UNITS, Scalar, Value
from paddle_flags.gen.problems import AmbiguousText

_AS_IN = {"bytes": "64KiB", "seconds": "1m30s"}
# By the member of pd_value that a type uses.
_PYTHON: dict[str, Any] = {"b": bool, "i64": int, "u64": int, "f64": (int, float), "str": str}
_NOUNS = {"b": "true or false", "f64": "a number", "str": "text"}


class InvalidValueError(Exception):
    """A value is invalid; the text says what was expected."""


def describe_expected_values(kind: str, unit: str | None = None) -> str:
    """Return the values of a type, as messages describe them."""
    if kind in INTEGERS:
        low, high = INTEGERS[kind]
        text = f"an integer in [{low}, {high}]"
    else:
        text = _NOUNS[MEMBERS[kind]]
    return f"{text}, or a number of {unit} as {_AS_IN[unit]}" if unit else text


def convert_to_scalar(raw: Any, kind: str, unit: str | None = None) -> Scalar:
    """Return a value of a type; raises Unfit."""
    value = convert_if_quantity(raw, kind, unit) if unit and type(raw) is str else raw
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
        raise InvalidValueError(
            describe_expected_values(kind, unit) + in_quotes + _suggest_unit(raw, kind, unit)
        )
    made: Scalar = value
    return made


def _suggest_unit(raw: Any, kind: str, unit: str | None) -> str:
    """Return a hint about `unit` for a quantity of a flag without one."""
    if unit is not None or type(raw) is not str or kind in ("bool", "string"):
        return ""
    needed = next((e for e in UNITS if convert_if_quantity(raw, "double", e) is not raw), None)
    return f"; a quantity needs 'unit: {needed}'" if needed else ""


def convert_if_quantity(text: str, kind: str, unit: str) -> Any:
    """Return the number that "64MiB" or "1h30m" stands for; other text is returned unchanged."""
    if not text.isprintable() or _parse_number(text, kind, None) is not None:
        return text  # a plain number in quotes is text
    number = _parse_number(text, kind, unit)
    return text if number is None else number


def _parse_number(text: str, kind: str, unit: str | None) -> Any:
    """Return the number that a flag of a type would have; None if it refuses the text."""
    out, number = ffi.new("pd_value *"), getattr(lib, f"PD_TYPE_{kind}")
    given = unit.encode() if unit else ffi.NULL
    status = lib.pd_value_parse(number, given, text.encode(), out, ffi.NULL)
    return getattr(out, MEMBERS[kind]) if status == lib.PD_OK else None


def _to_double(raw: float) -> float:
    try:
        return float(raw)
    except OverflowError:
        return math.inf


def convert_to_flag_value(raw: Any, kind: str, items: str | None, unit: str | None) -> Value:
    """Return a value of a flag, which may be a list; raises Unfit."""
    if items is None:
        return convert_to_scalar(raw, kind, unit)
    if not isinstance(raw, list):
        raise InvalidValueError(f"a list of values of type {items}")
    values: list[Scalar] = []
    for index, item in enumerate(raw):
        try:
            values.append(convert_to_scalar(item, items))
        except InvalidValueError as error:
            raise InvalidValueError(
                f"a list of values of type {items}; item {index + 1}: {error}"
            ) from error
    return values


def format_flag_argument(value: Value) -> str:
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
