"""Errors that waited: of modules that joined by themselves, of pending values, of validators."""

from __future__ import annotations

from paddle_flags._core.frames import public
from paddle_flags._core.status import ErrorList, new_error, settle
from paddle_flags._native import ffi, lib


@public
def check_modules() -> None:
    """Raise the first refusal of a module that came past `load_plugin`.

    Libraries that are linked, preloaded, opened by ctypes or imported as an
    extension module join by themselves. When a definition in one is refused, all
    of its flags keep their defaults; `errors` has every reason.
    """
    found = ErrorList()
    handle = lib.pd_module_next(ffi.NULL)
    while handle:
        lib.pd_module_get_errors(handle, found.pointer, ffi.NULL)
        handle = lib.pd_module_next(handle)
    if lib.pd_error_list_count(found.pointer):
        raise found.gather(ffi.NULL)


@public
def check_pending() -> None:
    """Raise UndefinedFlagError if values still wait for flags that are not defined.

    Its `errors` has each of them, with the nearest known name. Call it when all
    plugins are loaded.
    """
    found = ErrorList()
    err = new_error()
    if lib.pd_pending_check(found.pointer, err) != lib.PD_OK:
        raise found.gather(err)


@public
def check_values() -> None:
    """Ask all validators about the current values, as `parse` does at its end.

    For flags that came after it, with a plugin. Raises FlagValueError; its `errors`
    has every refusal.
    """
    found = ErrorList()
    err = new_error()
    if lib.pd_flags_validate(found.pointer, err) != lib.PD_OK:
        raise found.gather(err)
    settle()
