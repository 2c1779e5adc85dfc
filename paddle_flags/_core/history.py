"""The values of a flag, and where they come from."""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags._core.status import (
    check_status,
    iterate_c_handles,
    new_error,
    new_struct,
    quote_value,
    to_text,
)
from paddle_flags._core.values import (
    REDACTED,
    FormerDefinitionError,
    decode_native_value,
    get_typed_kind,
    read_native_value,
    retry_if_redefined,
)
from paddle_flags._native import lib
from paddle_flags.errors import UndefinedFlagError

if TYPE_CHECKING:
    from collections.abc import Iterator


class FlagEntry(NamedTuple):
    """One value that a flag was given, in `Flag.history`."""

    value: Any
    """The value; `<redacted>` if the flag is sensitive."""
    source: str
    """`"default"`, `"file"`, `"environment"`, `"argv"`, `"fleet"`, `"run time"`, `"live"`,
    `"override"` or `"scope"`."""
    place: str | None
    """`"main.py:12"`, `"argv[2]"`, the name of an environment variable, the address of a fleet
    with its revision as in `"dir:///mnt/job42 revision 17"`, or None if unknown."""
    replaced: bool = False
    """Whether a later value from the same source has replaced it."""

    def __repr__(self) -> str:
        value, *rest = (quote_value(field) for field in self)
        return "FlagEntry(value={}, source={}, place={}, replaced={})".format(value, *rest)


def describe_origin(origin: Any) -> str | None:
    """Return the place of a pd_origin, as in `FlagEntry.place`."""
    if not origin.place or origin.place[0] == b"\0":
        return f"argv[{origin.line}]" if origin.source == lib.PD_SOURCE_ARGV else None
    if origin.source == lib.PD_SOURCE_FLEET:
        revision = f" revision {origin.line}" if origin.line else ""
        return to_text(origin.place) + revision
    parts = [to_text(origin.place), origin.line, origin.column]
    return ":".join(str(part) for part in parts if part)


def _value_of(entry: Any) -> Any:
    if entry.unset:
        return None
    try:
        return decode_native_value(get_typed_kind(entry), entry.value)
    except FormerDefinitionError:
        raise
    except ValueError:  # it is from before this definition, whose type doesn't take it
        return read_native_value(entry)


def _iter_entries(handle: Any) -> Iterator[Any]:
    """Yield the values of a `pd_flag *`, each in the same `pd_flag_entry *`."""
    entry = new_struct("pd_flag_entry")
    err = new_error()
    for index in count():
        # The history has no length, as it may change between two calls: its end is an error.
        status = lib.pd_flag_get_entry(handle, index, entry, err)
        if status == lib.PD_ERR_ARGUMENT:
            return
        check_status(status, err)
        yield entry


def read_flag_history(handle: Any) -> list[FlagEntry]:
    """Return the values of a `pd_flag *`."""
    return retry_if_redefined(lambda: _read_history(handle))


def _read_history(handle: Any) -> list[FlagEntry]:
    found: list[FlagEntry] = []
    for entry in _iter_entries(handle):
        source = to_text(lib.pd_source_name(entry.origin.source))
        value = REDACTED if entry.sensitive else _value_of(entry)
        found.append(FlagEntry(value, source, describe_origin(entry.origin), bool(entry.replaced)))
    return found


def list_command_line_flagfiles() -> list[str]:
    """Return the flagfiles of the command line from which flags have values."""
    # A dictionary, which keeps the order, unlike a set.
    found: dict[str, None] = {}
    for handle in iterate_c_handles(lib.pd_flag_next):
        with suppress(UndefinedFlagError):  # its plugin may leave, on another thread
            for entry in _iter_entries(handle):
                origin = entry.origin
                if origin.source == lib.PD_SOURCE_ARGV and origin.place and origin.line:
                    found[to_text(origin.place)] = None
    return list(found)


def is_default_unset(handle: Any) -> bool:
    """Return whether the default in the definition of a `pd_flag *` stands for no value."""
    # The default of the definition is always the last.
    return bool([entry.unset for entry in _iter_entries(handle)][-1])
