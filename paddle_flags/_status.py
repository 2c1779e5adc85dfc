"""From a pd_status and a pd_error to an exception."""

from __future__ import annotations

from typing import Any

from paddle_flags import errors
from paddle_flags._native import ffi, lib

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


def to_text(pointer: Any) -> str:
    """Decode borrowed text; bytes that aren't UTF-8 become surrogates, as in `os.fsdecode`."""
    text: bytes = ffi.string(pointer)
    return text.decode("utf-8", "surrogateescape")


def to_bytes(text: str, what: str = "", *, sensitive: bool = False) -> bytes:
    """Encode text for C, the reverse of `to_text`; errors begin with `what`."""
    if not isinstance(text, str):
        shown = "<redacted>" if sensitive else f"{text!r:.60}"
        message = f"{what}{shown}: expected str, not {type(text).__name__}"
        raise errors.FlagTypeError(message)
    shown = "<redacted>" if sensitive else repr(text[:60])
    if "\0" in text:
        message = f"{what}{shown}: contains a NUL character, expected text without"
        raise errors.FlagValueError(message)
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        message = f"{what}{shown}: has a surrogate that stands for no byte, expected text"
        raise errors.FlagValueError(message) from None


def new_error() -> Any:
    """Give a pd_error for a call, as a `pd_error *`."""
    return ffi.new("pd_error *")


def to_exception(err: Any) -> errors.FlagError:
    """Give the exception that a filled pd_error stands for."""
    exception = _CLASSES[err.status](to_text(err.message))
    exception.status = to_text(lib.pd_status_name(err.status))
    return exception


def check(status: int, err: Any) -> None:
    """Raise what `err` says unless `status` is PD_OK."""
    if status != lib.PD_OK:
        raise to_exception(err)


class ErrorList:
    """A pd_error_list for one operation."""

    def __init__(self) -> None:
        self.pointer = ffi.gc(lib.pd_error_list_new(), lib.pd_error_list_free)

    def exceptions(self) -> list[errors.FlagError]:
        """Give an exception for each error."""
        count = lib.pd_error_list_count(self.pointer)
        return [to_exception(lib.pd_error_list_at(self.pointer, i)) for i in range(count)]

    def gather(self, err: Any, kind: type[errors.FlagError] | None = None) -> errors.FlagError:
        """Give one exception that carries all errors, of the first one's class or of `kind`."""
        every = self.exceptions() or [to_exception(err)]
        gathered = (kind or type(every[0]))("\n".join(map(str, every)))
        gathered.status = every[0].status
        gathered._errors = tuple(every)  # noqa: SLF001 - made here
        return gathered
