"""Values that flags retained when they were defined again: validators added later check them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from paddle_flags._core.names import normalize_name
from paddle_flags._core.status import (
    call_and_raise_deferred,
    check_call,
    new_error,
    new_struct,
    to_bytes,
)
from paddle_flags._native import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from paddle_flags._core.flag import Flag

# The addresses of flags that may have such values.
_flags: set[int] = set()


def note_retained_value(flag: Flag[Any]) -> None:
    """Let validators that are added from now on check the value that the flag has."""
    _flags.add(flag._address)


# The names of flags that are being defined again: once for each thread that does that.
_unchecked: list[str] = []


@contextmanager
def allow_unchecked_value(name: str) -> Iterator[None]:
    """Note that a flag may have a value that its new definition doesn't take."""
    _unchecked.append(normalize_name(name))
    try:
        yield
    finally:
        _unchecked.remove(normalize_name(name))


def can_have_unchecked_value(flag: Flag[Any]) -> bool:
    """Return whether the flag may have a value that its definition doesn't take."""
    return bool(_unchecked) and normalize_name(flag.name) in _unchecked


def revalidate_retained_values(flags: Iterable[Flag[Any]]) -> None:
    """Ask the validators of the flags; a value that they reject is dropped, and raises."""
    if not _flags:
        return
    for flag in flags:
        if flag._address in _flags and flag.defined and not flag.frozen:
            _check_or_reset_entry(flag)


def _check_or_reset_entry(flag: Flag[Any]) -> None:
    """Set the flag to the value that it has, from where it has it."""
    entry = new_struct("pd_flag_entry")
    call_and_raise_deferred(lib.pd_flag_get_entry, flag.handle, 0, entry)
    if entry.origin.source in (
        lib.PD_SOURCE_DEFAULT,
        lib.PD_SOURCE_OVERRIDE,
        lib.PD_SOURCE_FLEET,  # pd_validator_add drops what it rejects
    ):
        return
    # No validator is asked about a flag without a value.
    if entry.unset:
        return
    text = ffi.new("char[]", to_bytes(flag.text))
    item = ffi.new("pd_assignment *", {"flag": flag.handle, "text": text})
    origin = ffi.addressof(entry, "origin")
    err = new_error()
    # Setting the same value asks all validators.
    status = lib.pd_batch_set(item, 1, origin, ffi.NULL, err)
    if status == lib.PD_ERR_REFUSED:
        lib.pd_flag_reset(flag.handle, ffi.NULL)
    if status in (lib.PD_OK, lib.PD_ERR_REFUSED):  # otherwise another thread has changed the flag
        check_call(status, err)
