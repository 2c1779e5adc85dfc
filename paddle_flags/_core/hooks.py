"""Validators and watchers written in Python."""

from __future__ import annotations

import atexit
import functools
import os
import sys
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from paddle_flags._core import retained_values
from paddle_flags._core.frames import first_user_frame, hides_internal_frames
from paddle_flags._core.status import (
    address_of,
    check_bool,
    check_status,
    new_error,
    pop_callback_error,
    quote_value,
    store_callback_error,
)
from paddle_flags._core.unraisable import report_unraisable
from paddle_flags._fast import (
    free_unadded_hook,
    has_ended,
    is_assigning,
    new_hook,
    open_gate,
    reset_gates_in_child,
)
from paddle_flags._native import ffi, lib
from paddle_flags.errors import FlagError, FlagTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paddle_flags._core.flag import Flag

# What C calls for a hook, by the address that the library has as context, until it releases that:
# with the address of the entries or of the flag, and whether only native code waits for the call.
held: dict[int, Callable[..., Any]] = {}

# The hooks that were added here, by their numbers, with what has added each.
_Ours = dict[int, "tuple[Hook, Callable[[], int]]"]
_ours: _Ours = {}

# The hooks of each flag, by its address and their numbers.
_by_flag: dict[int, dict[int, Hook]] = {}


@hides_internal_frames
class Hook:
    """A validator, watcher or rule that was added to flags.

    It stays until `remove`, even if the Hook object is gone. As a context manager, it is
    removed at the end of the `with` block. Until then a call of the Hook calls the function, unless
    that is a weak one, so a function that `@flag.validate` or `@flag.watch` decorates stays one.
    """

    __slots__ = ("_flags", "_function", "_number", "module")

    module: str
    """The name of the Python module that added it."""

    def __init__(
        self,
        add: Callable[[], int] | None,
        flags: tuple[int, ...],
        function: Callable[..., object] | None = None,
    ) -> None:
        self._number = 0
        self._function = function
        self._flags = flags  # their addresses; empty for all flags
        self.module = str(first_user_frame(sys._getframe()).f_globals.get("__name__"))
        if add is not None:
            self._register(add)

    def _register(self, add: Callable[[], int]) -> None:
        """Call a function that adds the hook and returns its number."""
        self._number = add()
        _ours[self._number] = self, add
        for address in self._flags:
            _by_flag.setdefault(address, {})[self._number] = self

    def _forget(self) -> int:
        """Return the number of the hook, which is active no longer; 0 if it wasn't."""
        number, self._number = self._number, 0
        _ours.pop(number, None)
        for address in self._flags:
            _by_flag.get(address, {}).pop(number, None)
        return number

    def remove(self) -> None:
        """Remove it. No call begins after this; calls on other threads may still be running.

        Removing it again does nothing.
        """
        number = self._forget()
        self._function = None
        if number:
            lib.pd_hook_remove(number, ffi.NULL)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Call the function that was added, as the caller does."""
        if self._function is None:
            raise TypeError("this Hook has no function to call: it is a rule, weak or removed")
        return self._function(*arguments, **named)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<Hook {self._number}>" if self._number else "<Hook: removed>"


def new_text_callback(call: Callable[[bytes], object]) -> tuple[int, int]:
    """Return the addresses of a C function and of a context, which C calls `call(text)` with.

    The function is a `void (*)(const char *text, size_t length, void *context)`. Any thread may
    call it; once Python ends, it does nothing. What `call` raises goes to `sys.unraisablehook`.
    """
    context: int = new_hook()
    held[context] = call
    return int(_CALL_WITH_TEXT), context


def active_hooks() -> _Ours:
    """Return the hooks that are active now."""
    return dict(_ours)


def filter_hooks_by_flags(hooks: _Ours, flags: Iterable[Flag[Any]]) -> _Ours:
    """Return those of the hooks that are about one of the flags."""
    addresses = {flag._address for flag in flags}
    return {
        number: found
        for number, found in hooks.items()
        if not addresses.isdisjoint(found[0]._flags)
    }


def list_hook_numbers(flag: Flag[Any], module: str | None = None) -> list[int]:
    """Return the numbers of the hooks of a flag: all, or those that a module has added."""
    # A copy: hooks may be added on another thread meanwhile.
    found = list(_by_flag.get(flag._address, {}).items())
    return [number for number, hook in found if module in (None, hook.module)]


def remove_new_hooks(before: _Ours, keeps: Callable[[str], bool]) -> None:
    """Remove the hooks that were added since, unless `keeps(module)`."""
    old = {hook for hook, _ in before.values()}
    for hook, _ in active_hooks().values():
        if hook not in old and not keeps(hook.module):
            hook.remove()


def restore_removed_hooks(before: _Ours, drops: Callable[[str], bool]) -> None:
    """Add the hooks again that were removed since, unless `drops(module)`."""
    for hook, add in before.values():
        if not (hook._number or drops(hook.module)):
            with suppress(FlagError, ReferenceError):  # its flag or weak callback may be gone
                hook._register(add)


def discard_removed_hooks(numbers: Iterable[int]) -> None:
    """Forget hooks that have gone with the definition of their flag."""
    for number in numbers:
        found = _ours.get(number)
        if found is not None:
            found[0]._forget()


def _add_hook(
    call: Callable[[int, bool], bytes | None], add: Callable[..., int], *arguments: Any
) -> int:
    """Add the hook by a function of C; return its number.

    Warnings stay for the next call: raised here, as an error, one would lose the hook.
    """
    context = new_hook()
    held[context] = call  # first, because other threads may call it at once
    number = ffi.new("pd_hook *")
    err = new_error()
    status = add(*arguments, ffi.cast("void *", context), _RELEASE, number, err)
    if status != lib.PD_OK:
        del held[context]
        free_unadded_hook(context)
    check_status(status, err)
    store_callback_error(None)  # a validator may have rejected what the fleet gave
    # It waits for the GIL, and the thread that has the GIL may be waiting for the loader.
    lib.pd_hook_defer(number[0], ffi.NULL)
    return int(number[0])


# ---- Validators ----


class _Validator:
    def __init__(
        self,
        flags: Sequence[Flag[Any]],
        function: Callable[..., object],
        message: str,
        read: Callable[[Any], Any] | None = None,
    ) -> None:
        self._flags = flags
        self._read = read
        self._function = function
        self._message = message

    def validate_entries(self, entries: int, native: bool) -> bytes | None:  # from C
        """Return None to accept the values, or why they are rejected."""
        text = self._run_validator(ffi.cast("pd_flag_entry **", entries), native=native)
        if native:
            _report_leftover_error(self)
        return None if text is None else text.replace("\0", " ").encode("utf-8", "replace")

    def _run_validator(self, entries: Any, *, native: bool) -> str | None:
        store_callback_error(None)
        try:
            values = [
                (self._read or flag.from_entry)(entries[i]) for i, flag in enumerate(self._flags)
            ]
            accepted = self._function(*values)
        except ValueError as error:
            text = str(error) or self._message
            return self._report_failure(self._with_validator_name(text), error, native=native)
        except BaseException as error:  # raised again where C was called
            failure = ": ".join(filter(None, [type(error).__name__, str(error)]))
            text = f"its validator {self._name()} failed: {failure}"
            return self._report_failure(text, error, native=native)
        what = _describe_invalid_result(accepted)
        if what:
            return f"its validator {self._name()} returned {what}, expected True or False"
        return self._describe_rejection(accepted, native=native)

    def _describe_rejection(self, accepted: object, *, native: bool) -> str | None:
        try:
            return None if accepted else self._with_validator_name(self._message)
        except BaseException as error:  # raised again where C was called
            kind = type(accepted).__name__
            failure = ": ".join(filter(None, [type(error).__name__, str(error)]))
            returned = f"its validator {self._name()} returned a value of type {kind}"
            text = f"{returned}, expected True or False: {failure}"
            return self._report_failure(text, error, native=native)

    def _name(self) -> str:
        return format_function_name(self._function)

    def _with_validator_name(self, text: str) -> str:
        """Name the validator where the reason, or a single flag, doesn't lead to it."""
        if not text:
            return f"rejected by the validator {self._name()}"
        return f"{text} (validator {self._name()})" if len(self._flags) > 1 else text

    def _report_failure(self, text: str, error: BaseException, *, native: bool) -> str:
        """Return the text, unless a sensitive value may be in it."""
        secret = any(flag.sensitive for flag in self._flags)
        if not secret or not isinstance(error, Exception):
            self._store_or_report(error, native=native)
        return self._with_validator_name(self._message) if secret else text

    def _store_or_report(self, error: BaseException, *, native: bool) -> None:
        """Leave the exception for the call that sets the flag, or report it if there is none."""
        if can_raise_to_caller(native=native):
            store_callback_error(error)
        elif not isinstance(error, ValueError):  # that is how validators reject a value
            self.report(error)

    def report(self, error: BaseException) -> None:
        names = ", ".join(repr(flag.name) for flag in self._flags)
        flags = "flags" if len(self._flags) > 1 else "flag"
        report_unraisable(
            error, f"Exception ignored in a validator of {flags} {names}", self._function
        )


# ---- Functions ----

_GENERATOR = 0x20 | 0x200  # CO_GENERATOR, CO_ASYNC_GENERATOR of inspect, whose import takes long
_COROUTINE = 0x80 | 0x100  # CO_COROUTINE, CO_ITERABLE_COROUTINE


def format_function_name(function: object) -> str:
    """Return the name of a function, with that of its class."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__qualname__", "") or getattr(function, "__name__", "")
    return str(name).rpartition("<locals>.")[2] or quote_value(function)


def _get_code_flags(function: object) -> int:
    """Return the flags of the code that a call would run; 0 if there is none in Python."""
    while isinstance(function, functools.partial):
        function = function.func
    call = function if hasattr(function, "__code__") else type(function).__call__
    marks = getattr(getattr(call, "__code__", None), "co_flags", 0)
    return marks if isinstance(marks, int) else 0


def _check_plain_function(function: object) -> None:
    """Raise FlagTypeError unless a call of the function runs it to its end."""
    if not callable(function):
        message = f"{quote_value(function)}: expected a function, not {type(function).__name__}"
        raise FlagTypeError(message)
    if (marks := _get_code_flags(function)) & (_GENERATOR | _COROUTINE):
        what = "a generator" if marks & _GENERATOR else "an async one, which nothing would await"
        name = format_function_name(function)
        raise FlagTypeError(f"{name}: expected a plain function, not {what}")


def _describe_invalid_result(result: object) -> str:
    """Return what a validator returned instead of an answer, or "". Ends what would run later."""
    if result is None:
        return "None"
    kind = type(result)
    if not hasattr(kind, "__await__") and not hasattr(kind, "send") and not hasattr(kind, "asend"):
        return ""
    _close_coroutine(result)
    return f"a value of type {kind.__name__}"


def _close_coroutine(result: Any) -> None:
    """Close a coroutine, so that Python doesn't warn that it was never awaited."""
    if hasattr(result, "close"):
        result.close()


def _check_not_coroutine(result: object, callback: object, name: str) -> None:
    """Raise FlagTypeError for a coroutine; a task would be running already."""
    if hasattr(result, "cr_frame"):
        _close_coroutine(result)
        what = "returned a coroutine, which nothing awaits"
        raise FlagTypeError(f"the watcher {format_function_name(callback)} of {name!r} {what}")


def make_handle_array(flags: Sequence[Flag[Any]]) -> Any:
    """Return the array of `pd_flag *` that functions of C take."""
    return ffi.new("pd_flag *[]", [flag.handle for flag in flags])


def list_flag_addresses(flags: Sequence[Flag[Any]]) -> tuple[int, ...]:
    """Return the addresses of the flags, as a Hook takes them."""
    return tuple(flag._address for flag in flags)


def add_validator(
    flags: Sequence[Flag[Any]],
    function: Callable[..., object],
    message: str,
    read: Callable[[Any], Any] | None = None,
) -> Hook:
    """Call `function` with the values that the flags are about to get.

    `read` returns the value of a `pd_flag_entry *` in place of `Flag.from_entry`.
    """
    _check_plain_function(function)
    if not isinstance(message, str):
        what = f"message: {quote_value(message)}: expected str, not {type(message).__name__}"
        raise FlagTypeError(what)
    made = _Validator(flags, function, message, read)
    wanted = make_handle_array(flags), len(flags), _VALIDATE
    add = functools.partial(_add_hook, made.validate_entries, lib.pd_validator_add, *wanted)
    hook = Hook(add, list_flag_addresses(flags), function)
    try:
        retained_values.revalidate_retained_values(flags)
    except BaseException:
        hook.remove()  # the caller gets no handle of it
        raise
    return hook


# ---- Watchers ----


Callback = Callable[["Flag[Any]"], object]


class _Watcher:
    def __init__(self, get: Callable[[], Any], flag_of: Callable[[Any], Flag[Any]]) -> None:
        self._get = get
        self._flag_of = flag_of

    def is_gone(self) -> bool:
        """Return whether the callback was weak and is gone."""
        return self._get() is None

    def notify_callback(self, handle: int, native: bool) -> None:  # from C
        """Call the callback, unless it was weak and is gone."""
        callback = self._get()
        if callback is None:
            return
        name = ""
        try:
            flag = self._flag_of(ffi.cast("pd_flag *", handle))
            name = flag.name
            _check_not_coroutine(callback(flag), callback, name)
        except BaseException as error:  # the change has happened
            if not isinstance(error, Exception) and can_raise_to_caller(native=native):
                store_callback_error(error)
            else:
                self.report(error, name)
        if native:
            _report_leftover_error(self)

    def report(self, error: BaseException, name: str = "") -> None:
        of = f"flag {name!r}" if name else "a flag"
        report_unraisable(error, f"Exception ignored in a watcher of {of}", self._get())


def _make_reference(callback: Callback, hook: Hook, *, weak: bool) -> Callable[[], Any]:
    """Return a function that returns the callback; a weak one removes the hook when it goes."""

    def remove_gone_hook(_: object) -> None:
        hook.remove()

    if not weak:
        return lambda: callback
    if hasattr(callback, "__self__") and hasattr(callback, "__func__"):
        return _refer_to_method(callback, remove_gone_hook)
    return weakref.ref(callback, remove_gone_hook)


def _refer_to_method(method: Any, on_gone: Callable[[object], None]) -> Callable[[], Any]:
    """Return a weak reference to a bound method.

    That of `weakref.WeakMethod` prints an exception if it goes as CPython 3.14 ends.
    """
    owner, function = weakref.ref(method.__self__, on_gone), weakref.ref(method.__func__, on_gone)
    kind = type(method)

    def resolve_method() -> Any:
        found, code = owner(), function()
        return None if found is None or code is None else kind(code, found)

    return resolve_method


def add_watcher(
    handle: Any, callback: Callback, flag_of: Callable[[Any], Flag[Any]], *, weak: bool
) -> Hook:
    """Call `callback` after each change of a flag, the `pd_flag *`, or of any, NULL.

    `flag_of` gives the Flag for the handle of the flag that has changed.
    """
    _check_plain_function(callback)
    check_bool("weak", weak)
    about = (address_of(handle),) if handle else ()
    hook = Hook(None, about, None if weak else callback)
    made = _Watcher(_make_reference(callback, hook, weak=weak), flag_of)

    def add_watcher_hook() -> int:
        if made.is_gone():
            raise ReferenceError
        return _add_hook(made.notify_callback, lib.pd_watcher_add, handle, _WATCH)

    hook._register(add_watcher_hook)
    return hook


# ---- Calls from C ----


def can_raise_to_caller(*, native: bool) -> bool:
    """Return whether a function of this package made the change, and can raise an exception.

    If not, the change was made by native code: on a native thread, or on a thread of Python
    that has called it.
    """
    if native:
        return False
    frame = sys._getframe()
    while frame.f_back and frame.f_code not in CALLED:
        frame = frame.f_back
    if frame.f_back is None:  # of an interpreter whose frames Python doesn't know here
        return True
    name = str(frame.f_back.f_globals.get("__name__"))
    return name == "paddle_flags" or name.startswith("paddle_flags.") or is_assigning()


CALLED = {_Validator.validate_entries.__code__, _Watcher.notify_callback.__code__}
"""The code that C calls for hooks."""


def _report_leftover_error(hook: _Validator | _Watcher) -> None:
    """Report what is left of a hook that no call of this package has called."""
    error = pop_callback_error()
    if error is not None:
        hook.report(error)


def _remove_all_hooks() -> None:
    """Remove all hooks of an interpreter that ends: native code may still set flags."""
    if not has_ended():
        for number in list(_ours):
            lib.pd_hook_remove(number, ffi.NULL)


_VALIDATE, _WATCH, CONVERT, _CALL_WITH_TEXT, _RELEASE = map(
    ffi.cast,
    ("pd_validator", "pd_watcher", "pd_converter", "uintptr_t", "void (*)(void *)"),
    open_gate(sys.version_info >= (3, 12), held),
)
atexit.register(_remove_all_hooks)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=reset_gates_in_child)
