"""Tables of a configuration file that are the values of flags whose type is a dict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle_flags._core.flag import flags_made
from paddle_flags._core.lists import encode
from paddle_flags._core.status import address_of, to_bytes
from paddle_flags._core.values import REDACTED
from paddle_flags._input.reading import FileValue, shorten_for_message
from paddle_flags._native import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from paddle_flags._core.flag import Flag
    from paddle_flags._input.reading import Place

QUOTE_IT = "expected text; write it in quotes"  # as C says it

_KINDS = {
    "text": "text",
    "integer": "an integer",
    "number": "a number",
    "bool": "a bool",
    "date": "a date",
    "table": "a table",
}


def _find_flag_address(name: str) -> int:
    """Return the address of the flag that has the name; 0 if there is none."""
    handle = ffi.new("pd_flag **")
    if lib.pd_flag_find(to_bytes(name), handle, ffi.NULL) != lib.PD_OK:
        return 0
    return address_of(handle[0])


def is_defined(name: str) -> bool:
    """Return whether a flag has the name."""
    return bool(_find_flag_address(name))


def _dict_flag_of(name: str) -> tuple[str, Flag[Any]] | None:
    """Return the flag with a dict that the name, or the beginning of a dotted one, is of."""
    ends = [at for at, sign in enumerate(name) if sign == "."]
    for end in [None] if _find_flag_address(name) else ends:
        flag = flags_made.get(_find_flag_address(name[:end]))
        type_ = None if flag is None else flag._type
        if flag is not None and type_ is not None and type_.takes_tables:
            return name[:end], flag
    return None


def _explain_unfit_value(flag: Flag[Any], key: str | None, value: FileValue) -> str | None:
    """Return why a value cannot be that of the flag, or of a key of its dict; None if it can."""
    type_: Any = flag._type
    kind = "a list" if value.is_list else _KINDS[value.kind]
    if key is None:
        fits = kind in (_KINDS["text"], _KINDS["table"])
        return (
            None if fits else f"--{shorten_for_message(value.name)}: expected a table, not {kind}"
        )
    from paddle_flags._core import types

    if "=" in key:
        why = ": expected a key without '='"
    elif value.is_list or value.kind == "table":
        why = f": expected {type_.value.expected}, not {kind}"
    elif (value.rewritten or value.kind == "bool") and not type_.value.is_number:
        why = f"={shorten_for_message(value.text)}: {QUOTE_IT}"
    else:
        try:
            type_.key.read(key)
            type_.value.read(value.text)
        except types.Unfit as error:
            why = f"={shorten_for_message(value.text)}: {error}"
        except Exception:  # the converter of the flag reports it
            return None
        else:
            return None
    if flag.sensitive:
        return f"--{flag.name}={REDACTED}: expected {type_.expected}"
    return f"--{shorten_for_message(value.name)}{why}"


def has_numeric_type(name: str) -> bool:
    """Return whether a type of Python makes numbers of the values, or the items, of a flag."""
    flag = flags_made.get(_find_flag_address(name))
    type_ = None if flag is None else flag._type
    return type_ is not None and (type_.item or type_).is_number


def join_dict_tables(
    values: Iterable[FileValue], refuse: Callable[[Place, str], None]
) -> list[FileValue]:
    """Return the values, with one in place of all that are in the table of a dict."""
    found: list[FileValue] = []
    tables: dict[str, tuple[int, list[str]]] = {}  # owner: index in `found`, items
    for value in values:
        owned = _dict_flag_of(value.name)
        if owned is None:
            found += [] if value.kind == "table" else [value]
            continue
        owner, flag = owned
        key = None if value.name == owner else value.name[len(owner) + 1 :]
        why = None if flag.retired else _explain_unfit_value(flag, key, value)
        if why:
            refuse(value.at, why)
        elif key is None and value.kind != "table":
            found.append(value)
        else:
            at, items = tables.setdefault(owner, (len(found), []))
            found += [value] if at == len(found) else []
            items += [] if key is None else [f"{key}={value.text}"]
    for owner, (at, items) in tables.items():
        text = encode(tuple(items))
        found[at] = FileValue(owner, text, "text", is_list=True, at=found[at].at)
    return found
