"""Tables of a configuration file that are the values of flags whose type is a dict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle_flags._core.flag import flags_made
from paddle_flags._core.lists import encode
from paddle_flags._core.status import to_bytes
from paddle_flags._input.reading import FileValue
from paddle_flags._native import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Iterable


def _address_of(name: str) -> int:
    """Return the address of the flag that has the name; 0 if there is none."""
    handle = ffi.new("pd_flag **")
    if lib.pd_flag_find(to_bytes(name), handle, ffi.NULL) != lib.PD_OK:
        return 0
    return int(ffi.cast("uintptr_t", handle[0]))


def _takes_tables(name: str) -> bool:
    flag = flags_made.get(_address_of(name))
    type_ = None if flag is None else flag._type  # noqa: SLF001 - of the package
    return type_ is not None and type_.takes_tables


def _owner_of(name: str) -> str | None:
    """Return the beginning of a dotted name that is the name of a flag with a dict."""
    parts = name.split(".")
    starts = [".".join(parts[:end]) for end in range(1, len(parts))]
    owner = next(filter(_takes_tables, starts), None)
    return None if owner is None or _address_of(name) else owner


def with_dicts(values: Iterable[FileValue]) -> list[FileValue]:
    """Return the values, with one in place of all that are in the table of a dict."""
    found: list[FileValue] = []
    tables: dict[str, tuple[int, list[str]]] = {}  # owner: index in `found`, items
    for value in values:
        owner = None if value.is_list or "." not in value.name else _owner_of(value.name)
        if owner is None:
            found.append(value)
            continue
        at, items = tables.setdefault(owner, (len(found), []))
        items.append(f"{value.name[len(owner) + 1 :]}={value.text}")
        whole = FileValue(owner, encode(tuple(items)), "text", is_list=True, at=value.at)
        if len(items) == 1:
            found.append(whole)
        else:
            found[at] = whole._replace(at=found[at].at)
    return found
