"""`logging_flags`: the levels of loggers as a flag."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from paddle_flags import define
from paddle_flags.errors import FlagTypeError
from paddle_flags.extend import hides_internal_frames, suggest_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paddle_flags import Flag

_HELP = "Levels of logs: one for all, and LOGGER=LEVEL for one logger and those below it"
_made: dict[str, Flag[tuple[str, ...]]] = {}


@hides_internal_frames
def logging_flags(
    name: str = "log",
    default: str | Sequence[str] = "WARNING",
    *,
    help: str = _HELP,
    handler: bool = True,
) -> Flag[tuple[str, ...]]:
    """Define a flag that sets the levels of loggers, and return it.

    `--log=INFO,paddle=DEBUG,urllib3=ERROR` sets the level of the root logger and those of
    two others. A level is a number, or a name in upper or lower case; names from
    `logging.addLevelName` work too. A change takes effect at once, whether Python or a
    plugin makes it. A logger that is no longer listed, even the root logger, returns to
    the level that it had before. A wrong level is an error like any other wrong value.

    With `handler=True`, `logging.basicConfig()` is called, which makes the root logger write
    to stderr unless it has a handler already.

    A second call with the same name returns the same flag and ignores the other arguments.
    Raises FlagConflictError if the name belongs to another flag.
    """
    levels = [default] if isinstance(default, str) else list(default)
    if not isinstance(handler, bool):
        message = f"handler: {handler!r:.60}: expected bool, not {type(handler).__name__}"
        raise FlagTypeError(message)
    made = _made.get(name)
    if made is not None and made.defined:
        return made
    flag: Flag[tuple[str, ...]] = define(name, levels, help, items=str, category="logging")
    flag.validate(_check_levels)
    setter = _Setter()
    flag.watch(setter.set_logger_levels)
    _made[name] = flag
    if handler:
        logging.basicConfig()
    setter.set_logger_levels(flag)
    return flag


def _check_levels(items: Sequence[str]) -> bool:
    _parse_levels(items)
    return True


def _parse_levels(items: Sequence[str]) -> dict[str, int]:
    """Return the level of each logger; the root logger has the name "".

    Raises ValueError, which says what is wrong.
    """
    levels: dict[str, int] = {}
    for item in items:
        logger, equals, text = item.rpartition("=")
        if equals and not logger:
            raise ValueError(f"{item}: expected LEVEL, or LOGGER=LEVEL")
        levels[logger] = _parse_level(text)
    return levels


def _parse_level(text: str) -> int:
    if text.isascii() and text.isdigit():
        return int(text)
    level = logging.getLevelName(text.upper())
    if not isinstance(level, int):
        level = logging.getLevelName(text)  # a name of one's own
    if isinstance(level, int):
        return level
    expected = f"a level, such as {', '.join(_NAMES)} or a number{suggest_name(text, _NAMES)}"
    raise ValueError(f"{text!r:.60}: expected {expected}")


_NAMES = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


class _Setter:
    """Sets the levels of loggers, and remembers those from before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._before: dict[str, int] = {}

    def set_logger_levels(self, flag: Flag[tuple[str, ...]]) -> None:
        """Set the levels that the flag has now."""
        with self._lock:
            levels = _parse_levels(flag.value)  # under the lock: the last change is applied last
            for logger in [logger for logger in self._before if logger not in levels]:
                logging.getLogger(logger).setLevel(self._before.pop(logger))
            for logger, level in levels.items():
                found = logging.getLogger(logger)
                self._before.setdefault(logger, found.level)
                found.setLevel(level)
