"""Validators, groups and watchers, with flags given by name or as Flag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from paddle_flags._core.flag import Flag, flag_of
from paddle_flags._core.frames import hides_internal_frames
from paddle_flags._core.hooks import (
    Hook,
    add_validator,
    add_watcher,
    list_flag_addresses,
    make_handle_array,
)
from paddle_flags._core.registry import find
from paddle_flags._core.status import call_checked, quote_value
from paddle_flags._native import ffi, lib
from paddle_flags.errors import FlagArgumentError, FlagTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    Rule = Literal["at_most_one", "exactly_one", "at_least_one", "all_or_none", "all"]

F = TypeVar("F", bound="Callable[..., Any]")
FlagOrName = Flag[Any] | str


def _resolve_distinct_flags(wanted: Sequence[FlagOrName], least: int = 1) -> list[Flag[Any]]:
    for each in wanted:
        if not isinstance(each, (Flag, str)):
            message = f"{quote_value(each)}: expected the name of a flag, not {type(each).__name__}"
            raise FlagTypeError(message)
    flags = [flag if isinstance(flag, Flag) else find(flag) for flag in wanted]
    # A flag given twice could break "at most one" on its own.
    if len(set(flags)) < max(least, len(flags)):
        raise FlagArgumentError(f"expected {least} or more different flags")
    return flags


@hides_internal_frames
def validator(*flags: FlagOrName, message: str = "") -> Callable[[F], F]:
    """Decorate a function to check new values of flags, given by name or as Flag.

        @validator("low", "high", message="low must be below high")
        def is_ordered(low: int, high: int) -> bool:
            return low < high

    The function is called before any of the flags changes, and at the end of `parse`,
    with the values that the flags would have, in that order. If it returns True, the
    change takes place. If it returns False, the change raises FlagValueError with
    `message`; if it raises ValueError, with the text of that. It must not rely on the
    change to happen: another validator may reject it. It runs on the thread that sets
    the flag, which may be a native one, and may read and set flags. An `async def` or a
    generator raises FlagTypeError, as nothing would run it.

    The decorated function itself is returned. To remove the validator later, use
    `Flag.validate`. Raises UndefinedFlagError.
    """
    known = _resolve_distinct_flags(flags)

    @hides_internal_frames
    def add_decorated(function: F) -> F:
        add_validator(known, function, message)
        return function

    return add_decorated


_LEAST = {"at_most_one": 2, "exactly_one": 2, "at_least_one": 1, "all_or_none": 2, "all": 1}


@hides_internal_frames
def add_group(*flags: FlagOrName, rule: Rule) -> Hook:
    """Require how many of these flags are given; return a Hook to remove the rule.

        pf.add_group("all", "only", rule="exactly_one")

    The rules are "at_most_one", "exactly_one", "at_least_one", "all_or_none" and "all". A
    flag is given if its value comes from any source but the default; for the first two, a
    bool that is False is not given. A change that breaks the rule raises FlagValueError; so do
    `parse` and `check("values")` if too few flags are given.
    """
    if rule not in list(_LEAST):  # a list, which is no key, is refused too
        from paddle_flags._core.names import suggest_name

        message = f"rule: {quote_value(rule)}: expected {', '.join(map(repr, _LEAST))}"
        raise FlagArgumentError(message + suggest_name(str(rule), _LEAST))
    members = _resolve_distinct_flags(flags, _LEAST[rule])
    kind = getattr(lib, f"PD_GROUP_{rule.upper()}")

    def add_group_hook() -> int:
        number = ffi.new("pd_hook *")
        call_checked(lib.pd_group_add, kind, make_handle_array(members), len(members), number)
        return int(number[0])

    return Hook(add_group_hook, list_flag_addresses(members))


@hides_internal_frames
def watch(callback: Callable[[Flag[Any]], object], *, weak: bool = False) -> Hook:
    """Call `callback` with the Flag after each change of the value of any flag.

    It works as `Flag.watch`, for all flags, including those defined later.
    """
    return add_watcher(ffi.NULL, callback, flag_of, weak=weak)
