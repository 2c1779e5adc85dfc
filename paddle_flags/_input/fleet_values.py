"""The values that a fleet gives this process: checked or applied as one configuration.

A configuration has all values of the fleet. A flag that had one and isn't in it loses it; values
set by the program at run time stand above. Values for names that no module has defined yet stay
pending, and are checked when the name is defined. Any thread may call these functions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Union

from paddle_flags import errors
from paddle_flags._core.lists import encode
from paddle_flags._core.registry import find
from paddle_flags._core.status import (
    ErrorList,
    call_checked,
    new_error,
    quote_value,
    raise_deferred,
    to_bytes,
)
from paddle_flags._input.config import new_config
from paddle_flags._native import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Iterable

Item = bool | int | float | str
Value = Union[Item, "list[Item]"]  # as JSON has it

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


def is_startup_over() -> bool:
    """Return whether a command line was parsed; then `why_unchangeable` decides what changes."""
    return bool(lib.pd_startup_over())


def why_unchangeable(name: str) -> str | None:
    """Return why a flag of the running process can't change from outside; None if it can.

    It is as for live clients, with the same words: only a flag with the attribute
    `runtime` changes. A name that isn't defined can: its value is pending.
    """
    try:
        flag = find(name)
        reasons = {
            "is retired": flag.retired is not None,
            "is read-only": flag.read_only,
            "needs a restart": flag.startup_only or not flag.runtime,
            "is frozen": flag.frozen,
        }
    except errors.UndefinedFlagError:  # or it has left meanwhile, with its plugin
        return None
    return next((reason for reason, holds in reasons.items() if holds), None)


def _call_with_values(function: Any, values: Iterable[FleetValue]) -> errors.FlagError | None:
    """Check or apply values; return the exception that has all errors, or None."""
    config = new_config(lib.PD_SOURCE_FLEET)
    for value in values:
        _add_value(config, value)
    found, err = ErrorList(), new_error()
    if function(config, True, found.pointer, err) != lib.PD_OK:
        return found.to_exception(err)
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
