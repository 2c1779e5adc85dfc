"""What configuration files say, as the library takes it; and reading them again."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from paddle_flags import _files, errors
from paddle_flags._native import ffi, lib
from paddle_flags._registry import all_flags
from paddle_flags._status import ErrorList, check, new_error, settle, to_argument, to_bytes
from paddle_flags._values import REDACTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paddle_flags._flag import Flag

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

# How a file wrote a value, as pd_config_add wants it.
_LITERALS = {
    "text": 0,
    "integer": lib.PD_TYPE_int64,
    "number": lib.PD_TYPE_double,
    "bool": lib.PD_TYPE_bool,
}


class FlagChange(NamedTuple):
    """A value that `reload` changed."""

    name: str
    old: Any
    new: Any


class Sources:
    """The files of one parse, to be read now and again."""

    def __init__(self, config: Path | Sequence[Path], program: str, *, allow_pending: bool) -> None:
        self.program = program
        self.allow_pending = allow_pending
        # The program may change its directory before it reads them again.
        self._files = [(path, os.path.abspath(path)) for path in _paths(config)]

    def read(self) -> Any:
        """Give the `pd_config *` of what the files say, and of what is wrong in them."""
        settings = ffi.gc(lib.pd_config_new(), lib.pd_config_free)
        for shown, path in self._files:
            suffix = os.path.splitext(path)[1].lower()
            if suffix in _files.FLAGFILES:
                here = shown if os.path.abspath(shown) == path else path
                self._read_flagfile(settings, here)
            else:
                _read_file(settings, path, shown)
        return settings

    def _read_flagfile(self, settings: Any, path: str) -> None:
        found = ErrorList()
        err = new_error()
        status = lib.pd_config_add_flagfile(
            settings, to_bytes(path), to_bytes(self.program), found.pointer, err
        )
        if status == lib.PD_OK:
            return
        count = lib.pd_error_list_count(found.pointer)
        for error in [lib.pd_error_list_at(found.pointer, i) for i in range(count)] or [err]:
            _call(lib.pd_config_fail, settings, error)


def _read_file(settings: Any, path: str, shown: str) -> None:
    reading = _files.read(path, shown)
    place = ffi.new("char[]", to_bytes(reading.path))
    origin = ffi.new("pd_origin *", {"source": lib.PD_SOURCE_FILE, "place": place})
    for setting in reading.settings:
        origin.line, origin.column = setting.at
        literal = _LITERALS[setting.kind]
        if setting.is_list:
            literal = lib.PD_TYPE_string + 16 * literal
        name, text = to_bytes(setting.name), to_bytes(setting.text)
        _call(lib.pd_config_add, settings, name, text, literal, origin)
    error = new_error()
    error.status = lib.PD_ERR_FILE
    for problem in reading.problems:
        error.message = to_bytes(problem)[: ffi.sizeof(error.message) - 1]
        _call(lib.pd_config_fail, settings, error)


def _call(function: Any, *arguments: Any) -> None:
    err = new_error()
    check(function(*arguments, err), err)


def _paths(config: Path | Sequence[Path]) -> list[str]:
    every = [config] if isinstance(config, (str, bytes, os.PathLike)) else config
    expected = "expected the path of a file, or a list of paths"
    try:
        paths = [os.fsdecode(path) for path in every]
    except TypeError:
        message = f"config is {config!r:.60}: {expected}"
        raise errors.FlagTypeError(message) from None
    for path in paths:
        to_argument("config", path)
    if "" in paths:
        message = f"config has an empty path: {expected}"
        raise errors.FlagArgumentError(message)
    return paths


# ---- Reading again ----

_last: Sources | None = None
_lock = threading.RLock()  # a watcher may reload too


def remember(sources: Sources) -> None:
    """Let `reload` read these."""
    global _last  # noqa: PLW0603 - one command line, one process
    _last = sources


_prefix = "FLAGS_"


def remember_prefix(prefix: str) -> None:
    """Keep what the variables of the environment begin with."""
    global _prefix  # noqa: PLW0603 - as above
    _prefix = prefix


def environment_prefix() -> str:
    """Give what `remember_prefix` kept."""
    return _prefix


def reload() -> list[FlagChange]:
    """Read the configuration files of the last `parse` again; tell what has changed.

    Flags then have exactly the values that the files give, below those of the
    environment, the command line and run time, which stay. A value that a file no
    longer gives is dropped.

    When anything is wrong nothing is changed, and FlagParseError has all errors:
    also a new value for a flag that is frozen, or can be set at startup only.
    """
    with _lock:
        if _last is None:
            return []
        settings = _last.read()
        before = _snapshot(all_flags())
        found = ErrorList()
        err = new_error()
        if lib.pd_config_apply(settings, _last.allow_pending, found.pointer, err) != lib.PD_OK:
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
