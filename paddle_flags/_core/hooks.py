"""Validators and watchers written in Python."""

from __future__ import annotations

import atexit
import functools
import weakref
from typing import TYPE_CHECKING, Any, Callable

from paddle_flags._core.frames import public_class
from paddle_flags._core.status import check, leave_failure, new_error, shown, to_switch
from paddle_flags._native import ffi, lib
from paddle_flags.errors import FlagTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paddle_flags._core.flag import Flag

# Objects that C has pointers to, until it releases them.
_held: dict[int, Any] = {}

# The hooks that call Python.
_ours: set[int] = set()


@public_class
class Hook:
    """A validator, watcher or rule that was added to flags.

    It stays until `remove`, even if the Hook object is gone. As a context manager, it is
    removed at the end of the `with` block.
    """

    __slots__ = ("_number",)

    def __init__(self, number: int) -> None:
        self._number = number

    def remove(self) -> None:
        """Remove it. No call begins after this; calls on other threads may still be running.

        Removing it again does nothing.
        """
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


def _keep(number: int) -> None:
    """Defer the hook while modules are loaded.

    It waits for the GIL, and the thread that has the GIL may be waiting for the loader.
    """
    lib.pd_hook_defer(number, ffi.NULL)
    _ours.add(number)


# ---- Validators ----


class _Validator:
    def __init__(
        self, flags: Sequence[Flag[Any]], function: Callable[..., object], message: str
    ) -> None:
        self._flags = flags
        self._function = function
        self._message = message

    def why_not(self, entries: Any) -> str | None:
        """Return None to accept the values, or why they are rejected."""
        values = [flag.from_entry(entries[i]) for i, flag in enumerate(self._flags)]
        leave_failure(None)
        try:
            accepted = self._function(*values)
        except ValueError as error:
            text = str(error) or self._message
            return self._tell(self._named(text), error)
        except BaseException as error:  # noqa: BLE001 - raised again where C was called
            failure = ": ".join(filter(None, [type(error).__name__, str(error)]))
            return self._tell(f"its validator {self._name()} failed: {failure}", error)
        what = _no_answer(accepted)
        if what:
            return f"its validator {self._name()} returned {what}, expected True or False"
        return None if accepted else self._named(self._message)

    def _name(self) -> str:
        return _name_of(self._function)

    def _named(self, text: str) -> str:
        """Name the validator where the reason, or a single flag, doesn't lead to it."""
        if not text:
            return f"rejected by the validator {self._name()}"
        return f"{text} (validator {self._name()})" if len(self._flags) > 1 else text

    def _tell(self, text: str, error: BaseException) -> str:
        """Return the text, unless a sensitive value may be in it."""
        secret = any(flag.sensitive for flag in self._flags)
        if not secret or not isinstance(error, Exception):
            leave_failure(error)
        return self._named(self._message) if secret else text


@ffi.def_extern(error=False)  # type: ignore[untyped-decorator, unused-ignore]
def pd_python_validate(entries: Any, context: Any, why: Any, size: int) -> bool:
    text = ffi.from_handle(context).why_not(entries)
    if text is None:
        return True
    data = text.replace("\0", " ").encode("utf-8", "replace")
    if len(data) >= size:
        end = f"... ({len(text)} characters)".encode()
        data = data[: size - 1 - len(end)].decode("utf-8", "ignore").encode() + end
    ffi.memmove(why, data + b"\0", len(data) + 1)
    return False


# ---- Functions ----

_GENERATOR = 0x20 | 0x200  # CO_GENERATOR, CO_ASYNC_GENERATOR of inspect, whose import takes long
_COROUTINE = 0x80 | 0x100  # CO_COROUTINE, CO_ITERABLE_COROUTINE


def _name_of(function: object) -> str:
    """Return the name of a function, with that of its class."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__qualname__", "") or getattr(function, "__name__", "")
    return str(name).rpartition("<locals>.")[2] or shown(function)


def _marks_of(function: object) -> int:
    """Return the flags of the code that a call would run; 0 if there is none in Python."""
    while isinstance(function, functools.partial):
        function = function.func
    call = function if hasattr(function, "__code__") else type(function).__call__
    marks = getattr(getattr(call, "__code__", None), "co_flags", 0)
    return marks if isinstance(marks, int) else 0


def _check_callable(function: object) -> None:
    """Raise FlagTypeError unless a call of the function runs it to its end."""
    if not callable(function):
        message = f"{shown(function)}: expected a function, not {type(function).__name__}"
        raise FlagTypeError(message)
    marks = _marks_of(function)
    if marks & (_GENERATOR | _COROUTINE):
        what = "a generator" if marks & _GENERATOR else "an async one, which nothing would await"
        message = f"{_name_of(function)}: expected a plain function, not {what}"
        raise FlagTypeError(message)


def _no_answer(result: object) -> str:
    """Return what a validator returned instead of an answer, or "". Ends what would run later."""
    if result is None:
        return "None"
    kind = type(result)
    if not hasattr(kind, "__await__") and not hasattr(kind, "send") and not hasattr(kind, "asend"):
        return ""
    _close(result)
    return f"a value of type {kind.__name__}"


def _close(result: Any) -> None:
    """Close a coroutine, so that Python doesn't warn that it was never awaited."""
    if hasattr(result, "close"):
        result.close()


def handles(flags: Sequence[Flag[Any]]) -> Any:
    """Return the array of `pd_flag *` that functions of C take."""
    return ffi.new("pd_flag *[]", [flag.handle for flag in flags])


def add_validator(
    flags: Sequence[Flag[Any]], function: Callable[..., object], message: str
) -> Hook:
    """Call `function` with the values that the flags are about to get."""
    _check_callable(function)
    if not isinstance(message, str):
        what = f"message: {shown(message)}: expected str, not {type(message).__name__}"
        raise FlagTypeError(what)
    context = _hold(_Validator(flags, function, message))
    number = ffi.new("pd_hook *")
    err = new_error()
    status = lib.pd_validator_add(
        handles(flags),
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
    _keep(number[0])
    return Hook(number[0])


# ---- Watchers ----


Callback = Callable[["Flag[Any]"], object]


class _Watcher:
    def __init__(self, get: Callable[[], Any], flag_of: Callable[[Any], Flag[Any]]) -> None:
        self._get = get
        self._flag_of = flag_of

    def notify(self, handle: Any) -> None:
        """Call the callback, unless it was weak and is gone."""
        callback = self._get()
        if callback is None:
            return
        flag = self._flag_of(handle)
        try:
            result = callback(flag)
        except (KeyboardInterrupt, SystemExit) as error:
            leave_failure(error)
            return
        if hasattr(result, "cr_frame"):  # a task would be running already
            _close(result)
            what = "returned a coroutine, which nothing awaits"
            message = f"the watcher {_name_of(callback)} of {flag.name!r} {what}"
            raise FlagTypeError(message)


@ffi.def_extern()  # type: ignore[untyped-decorator, unused-ignore]
def pd_python_watch(handle: Any, context: Any) -> None:
    ffi.from_handle(context).notify(handle)


def _reference(callback: Callback, hook: Hook, *, weak: bool) -> Callable[[], Any]:
    """Return a function that returns the callback; a weak one removes the hook when it goes."""

    def gone(_: object) -> None:
        hook.remove()

    if not weak:
        return lambda: callback
    if hasattr(callback, "__self__") and hasattr(callback, "__func__"):
        return weakref.WeakMethod(callback, gone)
    return weakref.ref(callback, gone)


def add_watcher(
    handle: Any, callback: Callback, flag_of: Callable[[Any], Flag[Any]], *, weak: bool
) -> Hook:
    """Call `callback` after each change of a flag, the `pd_flag *`, or of any, NULL.

    `flag_of` gives the Flag for the handle of the flag that has changed.
    """
    _check_callable(callback)
    to_switch("weak", weak)
    hook = Hook(0)
    context = _hold(_Watcher(_reference(callback, hook, weak=weak), flag_of))
    number = ffi.new("pd_hook *")
    err = new_error()
    status = lib.pd_watcher_add(
        handle, lib.pd_python_watch, context, lib.pd_python_release, number, err
    )
    if status != lib.PD_OK:
        pd_python_release(context)
    check(status, err)
    hook._number = number[0]  # noqa: SLF001 - made here
    _keep(number[0])
    return hook


def _end() -> None:
    """Remove all hooks when Python ends: native code may still set flags."""
    for number in list(_ours):
        lib.pd_hook_remove(number, ffi.NULL)


atexit.register(_end)
