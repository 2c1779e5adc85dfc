"""The values of a flag, and where they come from."""

from __future__ import annotations

from typing import Any, NamedTuple

from paddle_flags._core.status import (
    expect,
    new_error,
    shown,
    to_text,
)
from paddle_flags._core.values import REDACTED, ValueType, from_c
from paddle_flags._native import ffi, lib


class FlagEntry(NamedTuple):
    """One value that a flag was given, in `Flag.history`."""

    value: Any
    """The value; `<redacted>` if the flag is sensitive."""
    source: str
    """`"default"`, `"file"`, `"environment"`, `"argv"`, `"run time"` or `"override"`."""
    place: str | None
    """`"main.py:12"`, `"argv[2]"`, the name of an environment variable, or None if unknown."""
    replaced: bool = False
    """Whether a later value from the same source has replaced it."""

    def __repr__(self) -> str:
        value, *rest = (shown(field) for field in self)
        return "FlagEntry(value={}, source={}, place={}, replaced={})".format(value, *rest)


def place_of(origin: Any) -> str | None:
    """Return the place of a pd_origin, as in `FlagEntry.place`."""
    if not origin.place or origin.place[0] == b"\0":
        return f"argv[{origin.line}]" if origin.source == lib.PD_SOURCE_ARGV else None
    parts = [to_text(origin.place), origin.line, origin.column]
    return ":".join(str(part) for part in parts if part)


def _value_of(entry: Any, info: Any, kind: ValueType) -> Any:
    if info.optional and entry.origin.source == lib.PD_SOURCE_DEFAULT:
        return None
    return from_c(kind, entry.value)


def history_of(handle: Any, info: Any, kind: ValueType) -> list[FlagEntry]:
    """Return the values of a `pd_flag *`, of which `info` is the `pd_flag_info *`."""
    entry = ffi.new("pd_flag_entry *", {"size": ffi.sizeof("pd_flag_entry")})
    err = new_error()
    found: list[FlagEntry] = []
    while True:
        status = lib.pd_flag_get_entry(handle, len(found), entry, err)
        if status == lib.PD_ERR_ARGUMENT:
            return found
        expect(status, err)
        source = to_text(lib.pd_source_name(entry.origin.source))
        value = REDACTED if info.sensitive else _value_of(entry, info, kind)
        found.append(FlagEntry(value, source, place_of(entry.origin), bool(entry.replaced)))
