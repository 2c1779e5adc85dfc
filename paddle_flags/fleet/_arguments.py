"""What callers give to the functions of a fleet, and its checks."""

from __future__ import annotations

import math
import re

from paddle_flags.errors import FlagArgumentError
from paddle_flags.extend import quote_value

_BIGGEST = (1 << 62) - 1  # step or revision
_LONGEST = 366 * 86400.0  # seconds that a value can last
_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(d|h|ms|m|s)")


def parse_seconds(duration: float | str | None, name: str) -> float | None:
    """Return the seconds of 90, `"90"`, `"90s"`, `"10m"` or `"1h30m"`; None is for ever."""
    seconds: float | None = -1.0
    if not isinstance(duration, str):
        seconds = duration
    else:
        text = f"{duration}s" if duration.replace(".", "", 1).isdecimal() else duration
        parts = _PART.findall(text)
        if "".join(number + unit for number, unit in parts) == text:
            seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if seconds is None or 0 < seconds <= _LONGEST:
        return seconds
    what = f"'{duration}'" if isinstance(duration, str) else quote_value(duration)
    message = f"{name}: {what}: expected a time such as 90s, 10m or 1h30m, at most 366d"
    raise FlagArgumentError(message)


def check_seconds(name: str, value: float | None, *, needed: bool = False) -> None:
    """Raise FlagArgumentError for what is no number of seconds; if needed, for None and 0, too."""
    is_number = isinstance(value, (int, float)) and 0 <= value < math.inf
    if not (is_number and value if needed else is_number or value is None):
        more = ", more than 0" if needed else ""
        message = f"{name} is {quote_value(value)}: expected a number of seconds{more}"
        raise FlagArgumentError(message)


def check_count(name: str, count: int | None, most: int = _BIGGEST) -> None:
    is_whole = isinstance(count, int) and not isinstance(count, bool)
    if count is None or (is_whole and 0 <= count <= most):
        return
    raise FlagArgumentError(f"{name} is {quote_value(count)}: expected an integer from 0 to {most}")


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        message = f"{name} is {quote_value(value)}: expected one of {', '.join(choices)}"
        raise FlagArgumentError(message)
