"""Validators, groups and watchers of flags that are given by name or as Flag."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, TypeVar, Union

from paddle_flags._core.flag import Flag, flag_of
from paddle_flags._core.frames import public
from paddle_flags._core.hooks import Hook, add_validator, add_watcher, handles
from paddle_flags._core.registry import find
from paddle_flags._core.status import check, new_error
from paddle_flags._native import ffi, lib
from paddle_flags.errors import FlagArgumentError, FlagTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence

F = TypeVar("F", bound="Callable[..., Any]")
FlagOrName = Union[Flag[Any], str]


def _flags_of(wanted: Sequence[FlagOrName], least: int = 1) -> list[Flag[Any]]:
    for each in wanted:
        if not isinstance(each, (Flag, str)):
            message = f"{each!r:.60}: expected the name of a flag, not {type(each).__name__}"
            raise FlagTypeError(message)
    flags = [flag if isinstance(flag, Flag) else find(flag) for flag in wanted]
    if len(set(flags)) < max(least, len(flags)):
        message = f"expected {least} or more flags, each once"
        raise FlagArgumentError(message)
    return flags


@public
def validator(*flags: FlagOrName, message: str = "") -> Callable[[F], F]:
    """Make a function a validator of flags, which are given by name or as Flag.

        @validator("low", "high", message="low must be below high")
        def is_ordered(low: int, high: int) -> bool:
            return low < high

    It is called with the values that the flags are about to get, in that order,
    whoever sets one of them, before anything changes, and by `parse`. True lets the
    change happen. False refuses it with FlagValueError and `message`, as does a
    ValueError, with its own text. It may read and set flags. It runs on the thread of
    whoever sets, which may be a native one. `Flag.validate` gives a Hook, to remove it.
    """
    known = _flags_of(flags)

    @public
    def add(function: F) -> F:
        add_validator(known, function, message)
        return function

    return add


def _group(kind: int, wanted: Sequence[FlagOrName], least: int) -> Hook:
    flags = _flags_of(wanted, least)
    number = ffi.new("pd_hook *")
    err = new_error()
    check(lib.pd_group_add(kind, handles(flags), len(flags), number, err), err)
    return Hook(number[0])


@public
def mutually_exclusive(*flags: FlagOrName, required: bool = False) -> Hook:
    """Let at most one of the flags be given; exactly one if `required`.

    A flag is given when its value is from any source but the default. What is
    missing is an error of `parse`, what is too much of every change.
    """
    kind = lib.PD_GROUP_EXACTLY_ONE if required else lib.PD_GROUP_AT_MOST_ONE
    return _group(kind, flags, 2)


@public
def at_least_one(*flags: FlagOrName) -> Hook:
    """Want one of the flags to be given, or more, by the end of `parse`."""
    return _group(lib.PD_GROUP_AT_LEAST_ONE, flags, 1)


@public
def all_or_none(*flags: FlagOrName) -> Hook:
    """Want the flags to be given together, or none of them."""
    return _group(lib.PD_GROUP_ALL_OR_NONE, flags, 2)


@public
def required(*flags: FlagOrName) -> Hook:
    """Want each of the flags to be given by the end of `parse`."""
    return _group(lib.PD_GROUP_ALL, flags, 1)


@public
def watch(callback: Callable[[Flag[Any]], object], *, weak: bool = False) -> Hook:
    """Call `callback` with the Flag after each change of any flag's value.

    As `Flag.watch`, for all flags, also those that are defined later.
    """
    return add_watcher(ffi.NULL, callback, flag_of, weak=weak)
