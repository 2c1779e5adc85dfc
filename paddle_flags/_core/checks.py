"""Checks for errors that no call raised: of modules, pending values and validators."""

from __future__ import annotations

from paddle_flags._core.frames import public
from paddle_flags._core.status import ErrorList, new_error, settle, take_refusals
from paddle_flags._native import ffi, lib

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from paddle_flags.errors import FlagError


@public
def check_modules() -> None:
    """Raise an error if a library that was not loaded by `load_plugin` could not join.

    Libraries that are linked, preloaded, opened by ctypes or imported as extension
    modules join the registry on their own. If a definition in one is refused, none of
    its flags join: its own code sees their defaults. The exception has the type of the
    first error; its `errors` has all of them.
    """
    found = ErrorList()
    handle = lib.pd_module_next(ffi.NULL)
    while handle:
        lib.pd_module_get_errors(handle, found.pointer, ffi.NULL)
        handle = lib.pd_module_next(handle)
    if lib.pd_error_list_count(found.pointer):
        raise _explained(found.gather(ffi.NULL))


def check_refused() -> None:
    """Raise an error if a module in the process was refused and no call has raised that."""
    found = ErrorList()
    err = new_error()
    if lib.pd_modules_check(found.pointer, err) not in (lib.PD_OK, lib.PD_ERR_UNSUPPORTED):
        raise _explained(found.gather(err))


_REMEDY = (
    "; rename one of them, or give the refused library a namespace: call"
    ' load_plugin(path, namespace="...") before it is loaded otherwise'
)


def _explained(refusal: FlagError) -> FlagError:
    """Return the error with what to do about conflicts. It takes the place of the warnings."""
    take_refusals()
    for each in refusal.errors:
        if each.status == "PD_ERR_CONFLICT":
            each.args = (f"{each}{_REMEDY}",)
    refusal.args = ("\n".join(map(str, refusal.errors)),)
    return refusal


@public
def check_pending() -> None:
    """Raise UndefinedFlagError if there are pending values for undefined flags.

    Its `errors` has one error for each, with the nearest known name. Call this after
    all plugins are loaded.
    """
    found = ErrorList()
    err = new_error()
    if lib.pd_pending_check(found.pointer, err) != lib.PD_OK:
        raise found.gather(err)


@public
def check_values() -> None:
    """Call all validators with the current values, as `parse` does at its end.

    Use it for flags that were defined after `parse`, such as those of a plugin. Raises
    FlagValueError if a validator rejects a value or a required flag is not given; its
    `errors` has every rejection.
    """
    found = ErrorList()
    err = new_error()
    if lib.pd_flags_validate(found.pointer, err) != lib.PD_OK:
        raise found.gather(err)
    settle()
