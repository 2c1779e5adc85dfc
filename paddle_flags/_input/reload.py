"""`reload`: read the configuration files of the last command line again."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags import errors
from paddle_flags._core.frames import hides_internal_frames
from paddle_flags._core.history import list_command_line_flagfiles
from paddle_flags._core.registry import all_flags
from paddle_flags._core.status import ErrorList, new_error, queue_warning, raise_deferred
from paddle_flags._core.values import REDACTED
from paddle_flags._input.config import get_last_config_files
from paddle_flags._native import lib

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paddle_flags._core.flag import Flag

_lock = threading.RLock()  # a watcher may reload too


class FlagChange(NamedTuple):
    """A value that `reload` has changed."""

    name: str
    """The name of the flag."""
    old: Any
    """The value before; `<redacted>` if the flag is sensitive."""
    new: Any
    """The value now; `<redacted>` if the flag is sensitive."""


@hides_internal_frames
def reload() -> list[FlagChange]:
    """Read the configuration files of the last `parse` again; return what has changed.

    The files' values replace those read before; a value that the files no longer have
    is dropped. Values from the environment, the command line and run time stay, and
    take precedence. Returns an empty list if `parse` was given no files.

    A file that the command line names by `--flagfile` is a part of that line, whose values
    stay: a FlagWarning says so.

    Raises FlagParseError, whose `errors` has all errors, if a file or a value is invalid,
    or if the value of a flag would change that is frozen or can only be set at startup.
    No flag has changed then. Any thread may call this; calls run one after the other.
    """
    with _lock:
        for path in list_command_line_flagfiles():
            message = (
                f"reload: {path} was named by --flagfile, so its values are those of the command"
                " line and stay; files of config or config_flag are read again"
            )
            queue_warning(errors.FlagWarning(message))
        files = get_last_config_files()
        if files is None:
            raise_deferred([])
            return []
        config = files.load_config()
        before = _snapshot(all_flags())
        found = ErrorList()
        err = new_error()
        if lib.pd_config_apply(config, files.allow_pending, found.pointer, err) != lib.PD_OK:
            raise found.to_exception(err, errors.FlagParseError)
        changes = _find_changes(before)
        raise_deferred(changes)
        return changes


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


def _find_changes(before: dict[Flag[Any], _Held]) -> list[FlagChange]:
    after = _snapshot(before)
    changes = []
    for flag, new in after.items():
        old = before[flag]
        # What others have set meanwhile is no change of ours. NaN is not equal to itself.
        same = old.value == new.value or repr(old.value) == repr(new.value)
        if same or "file" not in (old.source, new.source):
            continue
        shown = (REDACTED, REDACTED) if old.sensitive or new.sensitive else (old.value, new.value)
        changes.append(FlagChange(flag.name, *shown))
    return changes
