"""Durations as people write them."""

from __future__ import annotations

import re

from paddle_flags._core.status import shown
from paddle_flags.errors import FlagArgumentError

_LONGEST = 366 * 86400.0  # seconds that a value can last
_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(d|h|ms|m|s)")


def seconds_of(duration: float | str | None, name: str) -> float | None:
    """Return the seconds of 90, `"90"`, `"90s"`, `"10m"` or `"1h30m"`; None is for ever."""
    if duration is None:
        return None
    seconds = -1.0
    if not isinstance(duration, str):
        seconds = duration
    elif re.fullmatch(rf"(?:{_PART.pattern})+", duration):
        seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(duration))
    elif re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", duration):
        seconds = float(duration)
    if 0 < seconds <= _LONGEST:
        return seconds
    what = f"'{duration}'" if isinstance(duration, str) else shown(duration)
    message = f"{name}: {what}: expected a time such as 90s, 10m or 1h30m, at most 366d"
    raise FlagArgumentError(message)
