"""Validators, groups and watchers, with flags given by name or as Flag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from paddle_flags._core.flag import Flag, flag_of
from paddle_flags._core.frames import public
from paddle_flags._core.hooks import Hook, add_validator, add_watcher, addresses, handles
from paddle_flags._core.registry import find
from paddle_flags._core.status import (
    expect,
    new_error,
    shown,
)
from paddle_flags._native import ffi, lib
from paddle_flags.errors import FlagArgumentError, FlagTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

F = TypeVar("F", bound="Callable[..., Any]")
FlagOrName = Flag[Any] | str


def _flags_of(wanted: Sequence[FlagOrName], least: int = 1) -> list[Flag[Any]]:
    for each in wanted:
        if not isinstance(each, (Flag, str)):
            message = f"{shown(each)}: expected the name of a flag, not {type(each).__name__}"
            raise FlagTypeError(message)
    flags = [flag if isinstance(flag, Flag) else find(flag) for flag in wanted]
    if len(set(flags)) < max(least, len(flags)):
        message = f"expected {least} or more different flags"
        raise FlagArgumentError(message)
    return flags


@public
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
    known = _flags_of(flags)

    @public
    def add(function: F) -> F:
        add_validator(known, function, message)
        return function

    return add


def _group(kind: int, wanted: Sequence[FlagOrName], least: int) -> Hook:
    flags = _flags_of(wanted, least)

    def add() -> int:
        number = ffi.new("pd_hook *")
        err = new_error()
        expect(lib.pd_group_add(kind, handles(flags), len(flags), number, err), err)
        return int(number[0])

    return Hook(add, addresses(flags))


@public
def mutually_exclusive(*flags: FlagOrName, required: bool = False) -> Hook:
    """Allow at most one of the flags to be given; with `required`, exactly one.

    A flag is given if its value comes from any source but the default, and isn't False. A
    change that gives a second one raises FlagValueError; `parse` and `check_values` raise
    if none is given. Returns a Hook to remove the rule.
    """
    kind = lib.PD_GROUP_EXACTLY_ONE if required else lib.PD_GROUP_AT_MOST_ONE
    return _group(kind, flags, 2)


@public
def at_least_one(*flags: FlagOrName) -> Hook:
    """Require that `parse` ends with one or more of the flags given; return a Hook."""
    return _group(lib.PD_GROUP_AT_LEAST_ONE, flags, 1)


@public
def all_or_none(*flags: FlagOrName) -> Hook:
    """Require that `parse` ends with all of the flags given, or none; return a Hook."""
    return _group(lib.PD_GROUP_ALL_OR_NONE, flags, 2)


@public
def required(*flags: FlagOrName) -> Hook:
    """Require that `parse` ends with each of the flags given; return a Hook."""
    return _group(lib.PD_GROUP_ALL, flags, 1)


@public
def watch(callback: Callable[[Flag[Any]], object], *, weak: bool = False) -> Hook:
    """Call `callback` with the Flag after each change of the value of any flag.

    It works as `Flag.watch`, for all flags, including those defined later.
    """
    return add_watcher(ffi.NULL, callback, flag_of, weak=weak)
