"""Paddle's functions for flags: `set_flags`, `get_flags` and `flag_guard`.

from paddle_flags.paddle import flag_guard, get_flags, set_flags

set_flags({"FLAGS_check_nan_inf": True})
get_flags("FLAGS_check_nan_inf")  # {'FLAGS_check_nan_inf': True}
with flag_guard("FLAGS_check_nan_inf", False): ...

Names begin with `FLAGS_`. Only exported flags can be reached: those of PHI_DEFINE_EXPORTED_<type>
of paddle/common/flags.h, and those whose category is `"exported"`.
"""

from __future__ import annotations

from paddle_flags._core.assign import assign, caller_place
from paddle_flags._core.flag import Flag
from paddle_flags._core.frames import hides_internal_frames
from paddle_flags._core.registry import find, override
from paddle_flags._core.status import shorten
from paddle_flags.errors import FlagError, FlagTypeError, ReadOnlyFlagError, UndefinedFlagError

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from paddle_flags._core.assign import Assignment

    Value = bool | int | float | str

__all__ = ["NotExportedError", "flag_guard", "get_flags", "set_flags"]

PREFIX = "FLAGS_"
CATEGORIES = {"exported": True, "exported, read-only": False}  # whether it can be set from here


class NotExportedError(UndefinedFlagError, ValueError):
    """The name has no `FLAGS_`, or is not that of an exported flag."""


@hides_internal_frames
def set_flags(flags: Mapping[str, Value]) -> None:
    """Set exported flags, all or none of them: `{"FLAGS_check_nan_inf": True}`.

    A bool can also be set to 0 or 1. Raises the exception of the first value that is refused;
    its `errors` has all.
    """
    if not isinstance(flags, dict):
        message = f"flags: expected a dict of names and values, not {type(flags).__name__}"
        raise FlagTypeError(message)
    assign(_resolve_flag_assignments(flags), caller_place(1))


@hides_internal_frames
def get_flags(flags: str | Sequence[str]) -> dict[str, Any]:
    """Return a dict of the values of exported flags, given as a name, a list or a tuple."""
    if not isinstance(flags, (str, list, tuple)):
        message = f"flags: expected a name, or a list or tuple of names, not {type(flags).__name__}"
        raise FlagTypeError(message)
    names = [flags] if isinstance(flags, str) else flags
    return {name: _find_exported_flag(name).value for name in names}


@hides_internal_frames
class flag_guard(override):
    """Set exported flags for the duration of a `with` block or of a function call.

    with flag_guard("FLAGS_check_nan_inf", True): ...
    with flag_guard({"FLAGS_check_nan_inf": True, "FLAGS_v": 2}): ...

    It ends as `paddle_flags.override` does: what the flags were meanwhile given, they lose.
    """

    def __init__(self, flags: str | Mapping[str, Value], value: Value | None = None) -> None:
        if isinstance(flags, str) and value is not None:
            flags, value = {flags: value}, None
        if not isinstance(flags, dict) or value is not None:
            message = "expected flag_guard(name, value) or flag_guard({name: value, ...})"
            raise FlagTypeError(message)
        self._guarded = flags
        super().__init__({})
        self._where = caller_place(1)

    def _resolve_assignments(self) -> list[Assignment]:
        return _resolve_flag_assignments(self._guarded)


def _resolve_flag_assignments(flags: Mapping[str, object]) -> list[Assignment]:
    wanted: list[Assignment] = []
    for name, value in flags.items():
        try:
            flag: Flag[Any] | FlagError = _find_writable_flag(name)
        except FlagError as error:
            flag = error
        is_bool = isinstance(flag, Flag) and flag.type == "bool"
        number = is_bool and isinstance(value, int) and value in (0, 1)
        wanted.append((flag, bool(value) if number else value))
    return wanted


def _find_exported_flag(name: str) -> Flag[Any]:
    if not isinstance(name, str):
        raise FlagTypeError(f"flags: expected names, not {type(name).__name__}")
    if not name.startswith(PREFIX):
        raise NotExportedError(f"{shorten(name)}: expected a name that begins with {PREFIX}")
    try:
        flag = find(name[len(PREFIX) :])
    except UndefinedFlagError as error:
        raise NotExportedError(_prefix_names_in_message(str(error))) from None
    if flag.category not in CATEGORIES:
        message = f"{name}: the flag is not exported: expected one of PHI_DEFINE_EXPORTED"
        raise NotExportedError(message)
    return flag


def _prefix_names_in_message(message: str) -> str:
    """Write the prefix, as the caller does, into a message about names of the registry."""
    for words in ("is named '", "; did you mean '"):
        message = message.replace(words, words + PREFIX)
    return message


def _find_writable_flag(name: str) -> Flag[Any]:
    flag = _find_exported_flag(name)
    if not CATEGORIES[flag.category]:
        raise ReadOnlyFlagError(f"{name}: the flag is exported for reading alone")
    return flag
