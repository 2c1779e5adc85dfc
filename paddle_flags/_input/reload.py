"""Reading the configuration files of the last command line again."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags import errors
from paddle_flags._core.frames import public
from paddle_flags._core.registry import all_flags
from paddle_flags._core.status import ErrorList, new_error, settle
from paddle_flags._core.values import REDACTED
from paddle_flags._input.config import last as last_files
from paddle_flags._native import lib

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paddle_flags._core.flag import Flag

_lock = threading.RLock()  # a watcher may reload too


class FlagChange(NamedTuple):
    """A value that `reload` changed."""

    name: str
    old: Any
    new: Any


@public
def reload() -> list[FlagChange]:
    """Read the configuration files of the last `parse` again; tell what has changed.

    Flags then have exactly the values that the files give, below those of the
    environment, the command line and run time, which stay. A value that a file no
    longer gives is dropped.

    When anything is wrong nothing is changed, and FlagParseError has all errors:
    also a new value for a flag that is frozen, or can be set at startup only.
    """
    with _lock:
        files = last_files()
        if files is None:
            return []
        config = files.read()
        before = _snapshot(all_flags())
        found = ErrorList()
        err = new_error()
        if lib.pd_config_apply(config, files.allow_pending, found.pointer, err) != lib.PD_OK:
            raise found.gather(err, errors.FlagParseError)
        settle()
        return _changes(before)


class _Held(NamedTuple):
    """What a flag had."""

    value: Any
    source: str
    sensitive: bool


def _snapshot(flags: Iterable[Flag[Any]]) -> dict[Flag[Any], _Held]:
    held: dict[Flag[Any], _Held] = {}
    for flag in flags:
        try:
            held[flag] = _Held(flag.value, flag.source, flag.sensitive)
        except errors.UndefinedFlagError:  # its plugin may leave, on another thread
            continue
    return held


def _changes(before: dict[Flag[Any], _Held]) -> list[FlagChange]:
    after = _snapshot(before)
    changes = []
    for flag, new in after.items():
        old = before[flag]
        # What others have set meanwhile is no change of ours. NaN is not equal to itself.
        same = old.value == new.value or repr(old.value) == repr(new.value)
        if same or "file" not in (old.source, new.source):
            continue
        shown = (REDACTED, REDACTED) if new.sensitive else (old.value, new.value)
        changes.append(FlagChange(flag.name, *shown))
    return changes
