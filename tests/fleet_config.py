"""Values as a fleet gives them to this process: checked or applied as one configuration.

A configuration has all values of the fleet. A flag that had one and isn't in it loses it; values
set by the program at run time stand above. Values for names that no module has defined yet stay
pending, and are checked when the name is defined. Any thread may call these functions.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple, Union

from paddle_flags import errors
from paddle_flags._core.lists import encode
from paddle_flags._core.status import (
    ErrorList,
    call_checked,
    quote_value,
    raise_deferred,
    to_bytes,
)
from paddle_flags._native import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Iterable

Item = bool | int | float | str
Value = Union[Item, "list[Item]"]  # as JSON has it

IMPORT = f"""
import sys
sys.path.append({os.path.dirname(__file__)!r})
from fleet_config import FleetValue, apply_values, check_values
"""
"""How the text of another program gets these functions."""

_KINDS = {bool: lib.PD_TYPE_bool, int: lib.PD_TYPE_int64, float: lib.PD_TYPE_double, str: 0}


class FleetValue(NamedTuple):
    """One value, and where it is from."""

    name: str
    value: Value
    """Text suits every flag, a number or bool no flag of text, and a list only a flag of a list."""
    place: str
    """The address of the fleet."""
    revision: int
    """That has set the value; it counts from 1."""


def check_values(values: Iterable[FleetValue]) -> list[errors.FlagError]:
    """Return why `apply_values` would refuse these values now; an empty list if it wouldn't.

    Everything is checked: types, ranges, frozen and startup-only flags, and validators, which run.
    Nothing changes.
    """
    found = _call_with_values(lib.pd_config_check, values)
    return list(found.errors) if found else []


def apply_values(values: Iterable[FleetValue]) -> None:
    """Make these all values of the fleet, at once.

    Raises FlagError, whose `errors` has all errors; then nothing has changed. A frozen flag, and
    a startup-only one after startup, may keep its value.
    """
    found = _call_with_values(lib.pd_config_apply, values)
    if found:
        raise found


def _call_with_values(function: Any, values: Iterable[FleetValue]) -> errors.FlagError | None:
    """Check or apply values; return the exception that has all errors, or None."""
    made = ffi.new("pd_config **")
    call_checked(lib.pd_config_new, lib.PD_SOURCE_FLEET, made)
    config = ffi.gc(made[0], lib.pd_config_free)
    for value in values:
        _add_value(config, value)
    found = ErrorList()
    try:  # by a function of the package, as a validator's exception is kept for that alone
        call_checked(function, config, True, found.pointer)
    except errors.FlagError as error:
        refused = found.to_exception(None)
        refused.__cause__ = error.__cause__
        return refused
    raise_deferred()
    return None


def _add_value(config: Any, given: FleetValue) -> None:
    text, literal = _text_and_literal(given)
    place = ffi.new("char[]", to_bytes(given.place))
    origin = ffi.new("pd_origin *", (lib.PD_SOURCE_FLEET, given.revision, place))
    name, data = to_bytes(given.name), to_bytes(text, f"{given.name}: ")
    call_checked(lib.pd_config_add, config, name, data, literal, origin)


def _text_and_literal(given: FleetValue) -> tuple[str, int]:
    """Return the text of a value, and how it was written, as `pd_config_add` wants them."""
    value = given.value
    if not isinstance(value, list):
        return _item_text(given, value), _KINDS[type(value)]
    texts = [_item_text(given, item) for item in value]
    kind = max((_KINDS[type(item)] for item in value), default=0)
    return encode(tuple(texts)), lib.PD_TYPE_string + 16 * kind


def _item_text(given: FleetValue, item: Item) -> str:
    if type(item) not in _KINDS:
        expected = "expected text, a number, true, false or a list of these"
        raise errors.FlagTypeError(f"{given.name}: {quote_value(item)}: {expected}")
    if isinstance(item, bool):
        return str(item).lower()
    return item if isinstance(item, str) else repr(item)
