"""Exceptions for the errors of C, and warnings that callbacks leave."""

from __future__ import annotations

import atexit
import sys
from _thread import get_ident  # without what `threading` brings along

from paddle_flags import errors
from paddle_flags._core.frames import frame_above
from paddle_flags._fast import close_gates, has_pending_work, is_in_hook, listen, pop_deferred
from paddle_flags._fast import pop_warnings as pop_native_warnings
from paddle_flags._native import ffi, lib

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType
    from typing import Any

_CLASSES: dict[int, type[errors.FlagError]] = {
    lib.PD_ERR_ARGUMENT: errors.FlagArgumentError,
    lib.PD_ERR_NAME: errors.FlagNameError,
    lib.PD_ERR_UNDEFINED: errors.UndefinedFlagError,
    lib.PD_ERR_CONFLICT: errors.FlagConflictError,
    lib.PD_ERR_TYPE: errors.FlagTypeError,
    lib.PD_ERR_VALUE: errors.FlagValueError,
    lib.PD_ERR_RANGE: errors.FlagValueError,
    lib.PD_ERR_CHOICE: errors.FlagValueError,
    lib.PD_ERR_READ_ONLY: errors.ReadOnlyFlagError,
    lib.PD_ERR_FROZEN: errors.FrozenFlagError,
    lib.PD_ERR_ARGV: errors.FlagParseError,
    lib.PD_ERR_LOAD: errors.PluginLoadError,
    lib.PD_ERR_ABI: errors.PluginLoadError,
    lib.PD_ERR_MEMORY: errors.FlagMemoryError,
    lib.PD_ERR_UNSUPPORTED: errors.FlagUnsupportedError,
    lib.PD_ERR_REFUSED: errors.FlagValueError,
    lib.PD_ERR_FILE: errors.FlagFileError,
    lib.PD_ERR_DEPTH: errors.FlagDepthError,
}


LONGEST = 200  # characters of a value in a message


def shorten(text: str) -> str:
    """Cut text that is too long for a message, and say how long it is."""
    size = len(text)
    return text if size <= LONGEST else f"{text[:LONGEST]}... ({size} characters)"


def quote_value(value: object) -> str:
    """Return the representation of a value for a message, cut if it is too long."""
    rest, part = "", value
    if isinstance(value, (str, bytes, list, tuple)) and len(value) > LONGEST:
        unit = "bytes" if isinstance(value, bytes) else "items"
        unit = "characters" if isinstance(value, str) else unit
        part, rest = value[:LONGEST], f"... ({len(value)} {unit})"
    try:
        if isinstance(part, int) and part.bit_length() > 4 * LONGEST:
            text = hex(part)  # repr() of a very large one raises ValueError
        else:
            text = repr(part)
    except Exception:  # the message is about another mistake
        text = object.__repr__(value)
    return text[:LONGEST] + rest if rest else shorten(text)


def to_text(pointer: Any) -> str:
    """Decode borrowed text; bytes that aren't UTF-8 become surrogates, as in `os.fsdecode`."""
    text: bytes = ffi.string(pointer)
    return text.decode("utf-8", "surrogateescape")


def to_bytes(text: str, what: str = "", *, sensitive: bool = False) -> bytes:
    """Encode text for C, the reverse of `to_text`; errors begin with `what`."""
    if not isinstance(text, str):
        seen = "<redacted>" if sensitive else quote_value(text)
        raise errors.FlagTypeError(f"{what}{seen}: expected str, not {type(text).__name__}")
    text = str.__str__(text)  # what a subclass shows doesn't matter
    seen = "<redacted>" if sensitive else quote_value(text)
    if "\0" in text:
        message = f"{what}{seen}: contains a NUL character, expected text without it"
        raise errors.FlagValueError(message)
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        message = f"{what}{seen}: contains a lone surrogate, expected valid text"
        raise errors.FlagValueError(message) from None


def to_argument(name: str, text: str) -> bytes:
    """Encode a text argument, the parameter `name` of a function."""
    try:
        return to_bytes(text, f"{name}: ")
    except errors.FlagValueError as error:
        raise errors.FlagArgumentError(str(error)) from None


def encode_env_prefix(name: str, prefix: str) -> bytes:
    """Encode a prefix of environment variables, the parameter `name`."""
    data = to_argument(name, prefix)
    if len(data) <= lib.PD_NAME_MAX and b"=" not in data:
        return data
    message = f"{name}: {quote_value(prefix)}: expected at most {lib.PD_NAME_MAX} bytes without '='"
    raise errors.FlagArgumentError(message)


def encode_variable_name(name: str, variable: str) -> bytes:
    """Encode the name of an environment variable, the parameter `name`."""
    data = to_argument(name, variable)
    if data and b"=" not in data:
        return data
    message = f"{name}: {quote_value(variable)}: expected the name of a variable"
    raise errors.FlagArgumentError(message)


def check_bool(name: str, value: bool) -> bool:
    """Check that an argument, the parameter `name` of a function, is True or False."""
    if isinstance(value, bool):
        return value
    message = f"{name}: {quote_value(value)}: expected bool, not {type(value).__name__}"
    raise errors.FlagTypeError(message)


def _missing_symbol_hint(message: str) -> str:
    """Return what to do if the loader misses one of our functions, as glibc and musl report it."""
    import re

    missed = re.search(r"undefined symbol: pd_\w|: pd_\w+: symbol not found", message)
    return "; compile with -DPD_HEADER_ONLY, or link libpd_flags" if missed else ""


def new_error() -> Any:
    """Return a pd_error for a call, as a `pd_error *`."""
    return ffi.new("pd_error *")


def address_of(pointer: Any) -> int:
    """Return the address that a pointer of cffi has; 0 for NULL."""
    return int(ffi.cast("uintptr_t", pointer))


def iterate_c_handles(find_next: Callable[[Any], Any], start: Any = None) -> Iterator[Any]:
    """Yield what a `pd_..._next` function of C gives, from the first on, or from `start`."""
    handle = start or find_next(ffi.NULL)
    while handle:
        yield handle
        handle = find_next(handle)


def new_struct(kind: str) -> Any:
    """Return a struct of C that begins with its size, as a `<kind> *`."""
    return ffi.new(f"{kind} *", {"size": ffi.sizeof(kind)})


def _complete_structs() -> None:
    """Have cffi look up the fields of all structs, which it does at the first use of each.

    Its lock for that may be released halfway where there is no GIL: two threads that come to one
    struct at once then end the process with "lost a struct/union!", as of cffi 2.1.
    """
    _, structs, unions = ffi.list_types()
    for name in (*(f"struct {each}" for each in structs), *(f"union {each}" for each in unions)):
        try:
            ffi.sizeof(name)
        except ffi.error:  # an opaque one has neither size nor fields
            continue
        ffi.typeof(name).fields  # noqa: B018 # reading them completes the struct


if not getattr(sys, "_is_gil_enabled", lambda: True)():
    _complete_structs()


def to_exception(err: Any) -> errors.FlagError:
    """Return the exception that a filled pd_error stands for."""
    message = to_text(err.message)
    if err.status == lib.PD_ERR_LOAD:
        message += _missing_symbol_hint(message)
    exception = _CLASSES[err.status](message)
    exception.status = to_text(lib.pd_status_name(err.status))
    return exception


# What callbacks leave behind: they run inside calls of C, which nothing can be raised
# through. Failures are those of a thread.
failures: dict[int, BaseException] = {}
queued_warnings: list[Warning] = []


def store_callback_error(error: BaseException | None) -> None:
    """Let the function that called C know what was raised in a callback.

    None drops what another callback left, but not what ends the program.
    """
    if error is not None:
        failures[get_ident()] = error
    elif failures and isinstance(failures.get(get_ident()), Exception):
        pop_callback_error()


def pop_callback_error() -> BaseException | None:
    """Return what was left on this thread, and forget it."""
    return failures.pop(get_ident(), None)


def queue_warning(message: Warning) -> None:
    """Keep a warning until C has returned: a filter may turn it into an exception."""
    queued_warnings.append(message)


_WARNINGS: dict[int, type[Warning]] = {
    lib.PD_WARNING_GENERAL: errors.FlagWarning,
    lib.PD_WARNING_DEPRECATED: errors.DeprecatedFlagWarning,
    lib.PD_WARNING_REFUSED: errors.RefusedModuleWarning,
    lib.PD_WARNING_HIDDEN: errors.ScopeHidesWarning,
    lib.PD_WARNING_UNKNOWN: errors.UnknownVariableWarning,
}


fleet_hooks: list[Callable[[], object]] = []
"""Called when flags have refused values of the fleet, before the call that did it returns."""


def pop_warnings() -> list[Warning]:
    """Return the warnings that were left, and forget them."""
    native = pop_native_warnings()  # a host that is newer has kinds of its own
    if any(kind == lib.PD_WARNING_DROPPED for kind, _ in native):
        for hook in fleet_hooks:
            hook()
    taken = [_WARNINGS.get(kind, errors.FlagWarning)(text) for kind, text in native]
    try:
        while True:
            taken.append(queued_warnings.pop(0))  # one by one: other threads take, too
    except IndexError:
        return taken


def issue_warnings(result: object = None) -> None:
    """Issue the warnings that were left, at the line that called this package.

    If a filter makes some of them errors, the first is raised when all were issued. It gets the
    result of the call, which would be lost.
    """
    import warnings

    level, frame = 1, sys._getframe()
    while frame.f_back and str(frame.f_globals.get("__name__")).startswith("paddle_flags."):
        level, frame = level + 1, frame.f_back
    raised: list[Warning] = []
    for message in pop_warnings():
        try:
            warnings.warn(message, stacklevel=level)
        except Warning as error:
            raised.append(error)
    if raised:
        raised[0].result = result  # type: ignore[attr-defined] # all of ours have it
        raise raised[0]


def pop_interrupt() -> BaseException | None:
    """Return an exception that a callback raised and that ends the program, or None."""
    error = failures.get(get_ident())
    return None if error is None or isinstance(error, Exception) else pop_callback_error()


def run_deferred_hooks() -> None:
    """Call the hooks that were deferred while a module was loaded.

    A value that a validator rejects now becomes a warning: the call that set it has
    returned. Raises KeyboardInterrupt or SystemExit of a hook.
    """
    pop_deferred()
    refused = ErrorList()
    lib.pd_deferred_run(refused.pointer, ffi.NULL)
    for exception in refused.exceptions():
        queue_warning(errors.FlagWarning(str(exception)))
    failure = pop_callback_error()
    if failure is not None and not isinstance(failure, Exception):
        raise failure


# ---- Refused modules: their warnings wait for no call of this package ----


def pop_refusal_warnings() -> list[Warning]:
    """Return the warnings of refused modules that nobody has issued, and forget them."""
    taken = pop_warnings()
    queued_warnings[:0] = [w for w in taken if not isinstance(w, errors.RefusedModuleWarning)]
    return [w for w in taken if isinstance(w, errors.RefusedModuleWarning)]


def _run_hooks_and_warn() -> None:
    """Run deferred hooks and warn of refused modules, on the main thread, at any byte code.

    A warning raises nothing here, where the code is innocent: if a filter makes it an
    error, the next call of this package raises it when it has succeeded.
    """
    run_deferred_hooks()
    if is_in_hook() or not has_pending_work():
        return
    left = pop_refusal_warnings()
    try:
        left = [each for each in left if not _try_to_warn(each)]
    finally:  # interrupted: none is lost
        queued_warnings[:0] = left


def _try_to_warn(message: Warning) -> bool:
    import warnings

    frame = _loading_frame()
    names = frame.f_globals
    registry = names.setdefault("__warningregistry__", {})
    file, module = frame.f_code.co_filename, str(names.get("__name__") or "<unknown>")
    try:
        warnings.warn_explicit(message, None, file, frame.f_lineno, module, registry)
    except Warning:
        return False
    except Exception as error:  # of a function in place of warnings.showwarning
        from paddle_flags._core.unraisable import report_unraisable

        report_unraisable(
            error, "Exception ignored while warning of a refused module", warnings.showwarning
        )
    return True


_LOADERS = ("paddle_flags.", "ctypes", "importlib.", "_frozen_importlib")


def _loading_frame() -> FrameType:
    """Return the frame that has probably loaded the module, or that just happens to run."""
    frame = frame_above(1)
    while frame.f_back and str(frame.f_globals.get("__name__")).startswith(_LOADERS):
        frame = frame.f_back
    return frame


# ---- The ends of calls ----


def raise_deferred(result: object = None) -> None:
    """After a successful call of C: raise what interrupted a callback, run deferred hooks, warn.

    The caller has recorded its success: an exception here may be all that its own caller gets.
    Within a hook nothing warns; the call that runs the hook does, when it has succeeded.
    """
    failure = pop_callback_error() if failures else None
    if failure is not None and not isinstance(failure, Exception):
        raise failure
    if pop_deferred():
        run_deferred_hooks()
    if (queued_warnings or has_pending_work()) and not is_in_hook():
        issue_warnings(result)


def undo_if_deferred_raises(undo: Callable[[], object]) -> None:
    """Call `raise_deferred`; if that raises, undo what was done.

    What ends the program is raised in its place.
    """
    try:
        raise_deferred()
    except BaseException as error:
        undo()
        interrupt = pop_interrupt()
        if interrupt is not None and isinstance(error, Exception):
            raise interrupt from None
        raise


def _attach_callback_cause(exception: errors.FlagError) -> errors.FlagError:
    interrupt = pop_interrupt() if failures else None
    if interrupt is not None:
        raise interrupt
    if failures and exception.status == "PD_ERR_REFUSED":
        exception.__cause__ = pop_callback_error()
    return exception


def check_status(status: int, err: Any) -> None:
    """Raise the error in `err` unless `status` is PD_OK; call `raise_deferred` later."""
    if status != lib.PD_OK:
        raise _attach_callback_cause(to_exception(err))


def check_call(status: int, err: Any) -> None:
    """Raise the error in `err` unless `status` is PD_OK; then `raise_deferred`."""
    check_status(status, err)
    if failures or queued_warnings or has_pending_work():
        raise_deferred()


def call_checked(function: Callable[..., int], *arguments: Any) -> None:
    """Call a function of C with these arguments and a `pd_error *`; raise its error."""
    err = new_error()
    check_status(function(*arguments, err), err)


def call_and_raise_deferred(function: Callable[..., int], *arguments: Any) -> None:
    """Call a function of C as `call_checked` does; then `raise_deferred`."""
    err = new_error()
    check_call(function(*arguments, err), err)


def get_info(kind: str, function: Callable[..., int], *arguments: Any) -> Any:
    """Return the struct that a function of C fills; raise its error."""
    info = new_struct(kind)
    call_checked(function, *arguments, info)
    return info


def raise_error_at(err: int) -> None:
    """Raise the error in the pd_error at an address."""
    error = ffi.cast("pd_error *", err)
    check_call(error.status, error)


class ErrorList:
    """A pd_error_list, of its own or borrowed."""

    def __init__(self, pointer: Any = None) -> None:
        self.pointer = pointer or ffi.gc(lib.pd_error_list_new(), lib.pd_error_list_free)

    def exceptions(self) -> list[errors.FlagError]:
        """Return an exception for each error."""
        count = lib.pd_error_list_count(self.pointer)
        return [to_exception(lib.pd_error_list_at(self.pointer, i)) for i in range(count)]

    def to_exception(
        self,
        err: Any,
        kind: type[errors.FlagError] | None = None,
        ours: Iterable[errors.FlagError] = (),
    ) -> errors.FlagError:
        """Return one exception with all errors, of the class of the first or of `kind`.

        Each of `ours` takes the place of a PD_ERR_ARGUMENT.
        """
        every = self.exceptions() or [to_exception(err)]
        better = iter(ours)
        every = [next(better, each) if each.status == "PD_ERR_ARGUMENT" else each for each in every]
        gathered = (kind or type(every[0]))("\n".join(map(str, every)))
        gathered.status = every[0].status
        gathered._errors = tuple(every)
        return _attach_callback_cause(gathered)


def _close_gates_at_exit() -> None:
    """Stop listening when Python ends: native code may still use deprecated and watched flags.

    This is registered here, and not with the hooks, because the end of the main interpreter also
    closes the gates of others, which may have hooks when it has none.
    """
    listen(None)
    close_gates()
    # In an interpreter that was left, releasing the GIL would end this thread.
    if not sys.is_finalizing():
        issue_warnings()  # last: it raises if warnings are errors


atexit.register(_close_gates_at_exit)
listen(_run_hooks_and_warn)
