"""Values that wait for their flags, which are not defined yet, or not any more."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from paddle_flags._core.lists import encode
from paddle_flags._core.names import normalize_name
from paddle_flags._core.status import call_and_raise_deferred, new_struct, to_bytes, to_text
from paddle_flags._fast import call_holding_environment
from paddle_flags._native import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def iter_pending() -> Iterator[Any]:
    """Yield a `pd_pending_info *` for each value that waits."""
    index = 0
    while True:
        info = new_struct("pd_pending_info")
        if lib.pd_pending_get(index, info, ffi.NULL) != lib.PD_OK:
            return
        yield info
        index += 1


def drop_pending(name: str) -> None:
    """Drop the values that wait for a name: a definition takes them, and goes again."""
    text, empty = ffi.new("char[]", to_bytes(name)), ffi.new("char[]", b"")
    made = ffi.new("pd_flag_def *")
    lib.pd_flag_def_init(made, ffi.sizeof("pd_flag_def"), lib.PD_TYPE_string)
    made.name, made.help, made.default_value.str = text, empty, empty
    # C drops a pending value only for a definition that takes it, so one is made and undone.
    handle = ffi.new("pd_flag **")
    call_holding_environment(lib.pd_flag_register, made, handle, ffi.NULL)
    if handle[0]:
        lib.pd_flag_reset(handle[0], ffi.NULL)
        lib.pd_flag_unregister(handle[0], ffi.NULL)


Location = tuple[str, str, int, int]  # name, and path, line and column of the file

unquoted: set[Location] = set()
"""Values that wait and that a file wrote as a bool, or otherwise than their text, as 1_000."""


def join_pending_tables(names: Iterable[str], type_: Any) -> list[str]:
    """Make one value of a table in a file whose keys wait as flags: a flag takes it whole.

    `type_` is that of the dict. Return why values are refused, with their names.
    """
    refused: list[str] = []
    for name in names:
        table = _remove_pending_table(normalize_name(name) + ".")
        if not table:
            continue
        bad = [] if type_.value.is_number else [key for key, info in table if _is_unquoted(info)]
        if bad:
            refused += [f"{name}.{key}: expected text; write it in quotes" for key in bad]
            continue
        items = tuple(f"{key}={to_text(info.text)}" for key, info in table)
        origin = ffi.addressof(table[0][1], "origin")
        text = to_bytes(encode(items))
        call_and_raise_deferred(lib.pd_pending_set, to_bytes(name), text, origin)
    return refused


def _is_unquoted(info: Any) -> bool:
    origin = info.origin
    place = to_text(origin.place) if origin.place else ""
    return (to_text(info.name), place, origin.line, origin.column) in unquoted


def _remove_pending_table(start: str) -> list[tuple[str, Any]]:
    """Remove the values of files that wait for names with this start.

    Return those of the last file, with the rest of their names.
    """
    every: dict[str, list[Any]] = {}
    for info in iter_pending():
        name = to_text(info.name)
        begins = normalize_name(name).startswith(start)
        if begins and info.text and info.origin.source == lib.PD_SOURCE_FILE:
            every.setdefault(name, []).append(info)
    for name in every:
        drop_pending(name)
    last = _last_file(every.values())
    table = [
        (name[len(start) :], info)
        for name, found in every.items()
        for info in found
        if info.origin.place == last
    ]
    return sorted(table, key=lambda one: (one[1].origin.line, one[1].origin.column))


def _last_file(every: Iterable[list[Any]]) -> Any:
    """Return the file that was read last: values of one name are in the order of arrival."""
    # Nothing says in which order files were read; values of one name do for their files.
    places = [[info.origin.place for info in found] for found in every]
    older = {one for found in places for one, other in itertools.pairwise(found) if one != other}
    known = [place for found in places for place in found]
    return ([place for place in known if place not in older] or known or [None])[-1]
