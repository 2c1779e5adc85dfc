"""Validators and watchers written in Python."""

from __future__ import annotations

import atexit
import weakref
from typing import TYPE_CHECKING, Any, Callable, TypeVar, Union

from paddle_flags._flag import Flag, flag_of
from paddle_flags._native import ffi, lib
from paddle_flags._registry import find
from paddle_flags._status import (
    ErrorList,
    check,
    leave_failure,
    new_error,
    settle,
    to_switch,
)
from paddle_flags.errors import FlagArgumentError, FlagTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence

F = TypeVar("F", bound="Callable[..., Any]")
FlagOrName = Union[Flag[Any], str]

# What C holds a pointer to, until it says that no call can come any more.
_held: dict[int, Any] = {}

# The hooks that call Python.
_ours: set[int] = set()


class Hook:
    """A validator or watcher that was added; it stays until `remove`.

    As a context manager it is removed at the end of the `with` block.
    """

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = number

    def remove(self) -> None:
        """End it; no call begins after this. Once is enough, and more is no error."""
        number, self._number = self._number, 0
        if number:
            _ours.discard(number)
            lib.pd_hook_remove(number, ffi.NULL)

    def __enter__(self) -> Hook:  # noqa: PYI034 - typing.Self is too new for Python 3.9
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<Hook {self._number}>" if self._number else "<Hook: removed>"


def _hold(what: object) -> Any:
    handle = ffi.new_handle(what)
    _held[int(ffi.cast("uintptr_t", handle))] = handle
    return handle


@ffi.def_extern()  # type: ignore[untyped-decorator, unused-ignore]
def pd_python_release(context: Any) -> None:
    _held.pop(int(ffi.cast("uintptr_t", context)), None)


# ---- Validators ----


class _Validator:
    def __init__(
        self, flags: Sequence[Flag[Any]], function: Callable[..., object], message: str
    ) -> None:
        self._flags = flags
        self._function = function
        self._message = message

    def why_not(self, entries: Any) -> str | None:
        """Give None to accept, or what was expected."""
        values = [flag.from_entry(entries[i]) for i, flag in enumerate(self._flags)]
        name = getattr(self._function, "__name__", repr(self._function))
        leave_failure(None)
        try:
            accepted = self._function(*values)
        except ValueError as error:
            text = str(error) or self._message
            return self._tell(text, error)
        except BaseException as error:  # noqa: BLE001 - raised again where C was called
            failure = ": ".join(filter(None, [type(error).__name__, str(error)]))
            return self._tell(f"its validator {name} failed: {failure}", error)
        if accepted is None:
            return f"its validator {name} gave None, expected True or False"
        return None if accepted else self._message

    def _tell(self, text: str, error: BaseException) -> str:
        """What an exception says, unless that may be a secret."""
        secret = any(flag.sensitive for flag in self._flags)
        if not secret or not isinstance(error, Exception):
            leave_failure(error)
        return self._message if secret else text


@ffi.def_extern(error=False)  # type: ignore[untyped-decorator, unused-ignore]
def pd_python_validate(entries: Any, context: Any, why: Any, size: int) -> bool:
    text = ffi.from_handle(context).why_not(entries)
    if text is None:
        return True
    data = text.replace("\0", " ").encode("utf-8", "replace")[: size - 1]
    ffi.memmove(why, data + b"\0", len(data) + 1)
    return False


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


def _check_callable(function: object) -> None:
    if not callable(function):
        message = f"{function!r}: expected a function, not {type(function).__name__}"
        raise FlagTypeError(message)


def _handles(flags: Sequence[Flag[Any]]) -> Any:
    return ffi.new("pd_flag *[]", [flag.handle for flag in flags])


def add_validator(
    wanted: Sequence[FlagOrName], function: Callable[..., object], message: str
) -> Hook:
    """Ask `function` with the values that the flags are about to get."""
    _check_callable(function)
    if not isinstance(message, str):
        what = f"message: {message!r:.60}: expected str, not {type(message).__name__}"
        raise FlagTypeError(what)
    flags = _flags_of(wanted)
    context = _hold(_Validator(flags, function, message))
    number = ffi.new("pd_hook *")
    err = new_error()
    status = lib.pd_validator_add(
        _handles(flags),
        len(flags),
        lib.pd_python_validate,
        context,
        lib.pd_python_release,
        number,
        err,
    )
    if status != lib.PD_OK:
        pd_python_release(context)
    check(status, err)
    _ours.add(number[0])
    return Hook(number[0])


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

    def add(function: F) -> F:
        add_validator(known, function, message)
        return function

    return add


def _group(kind: int, wanted: Sequence[FlagOrName], least: int) -> Hook:
    flags = _flags_of(wanted, least)
    number = ffi.new("pd_hook *")
    err = new_error()
    check(lib.pd_group_add(kind, _handles(flags), len(flags), number, err), err)
    return Hook(number[0])


def mutually_exclusive(*flags: FlagOrName, required: bool = False) -> Hook:
    """Let at most one of the flags be given; exactly one if `required`.

    A flag is given when its value is from any source but the default. What is
    missing is an error of `parse`, what is too much of every change.
    """
    kind = lib.PD_GROUP_EXACTLY_ONE if required else lib.PD_GROUP_AT_MOST_ONE
    return _group(kind, flags, 2)


def at_least_one(*flags: FlagOrName) -> Hook:
    """Want one of the flags to be given, or more, by the end of `parse`."""
    return _group(lib.PD_GROUP_AT_LEAST_ONE, flags, 1)


def all_or_none(*flags: FlagOrName) -> Hook:
    """Want the flags to be given together, or none of them."""
    return _group(lib.PD_GROUP_ALL_OR_NONE, flags, 2)


def required(*flags: FlagOrName) -> Hook:
    """Want each of the flags to be given by the end of `parse`."""
    return _group(lib.PD_GROUP_ALL, flags, 1)


def check_values() -> None:
    """Ask all validators about the values of now, as `parse` does at its end.

    For flags that came after it, with a plugin. Raises FlagValueError; its `errors`
    has every refusal.
    """
    found = ErrorList()
    err = new_error()
    if lib.pd_flags_validate(found.pointer, err) != lib.PD_OK:
        raise found.gather(err)
    settle()


# ---- Watchers ----


@ffi.def_extern()  # type: ignore[untyped-decorator, unused-ignore]
def pd_python_watch(handle: Any, context: Any) -> None:
    callback = ffi.from_handle(context)()
    if callback is None:
        return
    try:
        callback(flag_of(handle))
    except (KeyboardInterrupt, SystemExit) as error:
        leave_failure(error)


def _strong(callback: Callable[[Flag[Any]], object]) -> Callable[[], Any]:
    return lambda: callback


def add_watcher(
    flag: Flag[Any] | None, callback: Callable[[Flag[Any]], object], *, weak: bool
) -> Hook:
    """Call `callback` after each change of the flag, or of any."""
    _check_callable(callback)
    to_switch("weak", weak)
    hook = Hook(0)

    def gone(_: object) -> None:
        hook.remove()

    if not weak:
        reference = _strong(callback)
    elif hasattr(callback, "__self__") and hasattr(callback, "__func__"):
        reference = weakref.WeakMethod(callback, gone)
    else:
        reference = weakref.ref(callback, gone)
    context = _hold(reference)
    number = ffi.new("pd_hook *")
    err = new_error()
    handle = flag.handle if flag is not None else ffi.NULL
    status = lib.pd_watcher_add(
        handle, lib.pd_python_watch, context, lib.pd_python_release, number, err
    )
    if status != lib.PD_OK:
        pd_python_release(context)
    check(status, err)
    hook._number = number[0]  # noqa: SLF001 - made here
    _ours.add(number[0])
    return hook


def watch(callback: Callable[[Flag[Any]], object], *, weak: bool = False) -> Hook:
    """Call `callback` with the Flag after each change of any flag's value.

    As `Flag.watch`, for all flags, also those that are defined later.
    """
    return add_watcher(None, callback, weak=weak)


def _end() -> None:
    """Python ends: native code may still set flags, and must find nothing of ours."""
    for number in list(_ours):
        lib.pd_hook_remove(number, ffi.NULL)


atexit.register(_end)
