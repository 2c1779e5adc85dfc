"""`check`: errors that no call has raised yet, of modules, pending values and validators."""

from __future__ import annotations

from paddle_flags._core.frames import hides_internal_frames
from paddle_flags._core.status import (
    ErrorList,
    iterate_c_handles,
    new_error,
    pop_refusal_warnings,
    quote_value,
    raise_deferred,
)
from paddle_flags._native import ffi, lib
from paddle_flags.errors import FlagArgumentError

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from typing import Any, Literal

    from paddle_flags.errors import FlagError

    Subject = Literal["modules", "pending", "values"]


def _collect_module_errors(errors: Any, _: object) -> int:
    """Find the errors of all modules, also of those that have left."""
    for handle in iterate_c_handles(lib.pd_module_next):
        lib.pd_module_get_errors(handle, errors, ffi.NULL)
    count: int = lib.pd_error_list_count(errors)
    return lib.PD_ERR_REFUSED if count else lib.PD_OK  # type: ignore[no-any-return]


_CHECKS = {
    "modules": _collect_module_errors,
    "pending": lib.pd_pending_check,
    "values": lib.pd_flags_validate,
}


@hides_internal_frames
def check(*subjects: Subject) -> None:
    """Raise the errors that no call has raised yet, of all subjects or of those given.

    - "modules": libraries that could not join. Those that are linked, preloaded, opened by
      ctypes or imported as extension modules join the registry on their own. If a definition
      in one is refused, none of its flags join: its own code sees their defaults. Libraries
      that have left are among them, and values that a plugin's flags have rejected.
    - "pending": values for undefined flags. Ask for it after all plugins are loaded. Each
      error is an UndefinedFlagError with the nearest known name.
    - "values": all validators are called with the current values, as `parse` does at its end.
      Ask for it when flags were defined after `parse`, such as those of a plugin. Each error
      is a FlagValueError: a value is rejected, or a required flag is not given.

    The exception has the type of the first error; its `errors` has all of them.
    """
    for each in subjects:
        if each not in list(_CHECKS):  # a list, which is no key, is refused too
            from paddle_flags._core.names import suggest_name

            message = f"check: {quote_value(each)}: expected {', '.join(map(repr, _CHECKS))}"
            raise FlagArgumentError(message + suggest_name(str(each), _CHECKS))
    found = ErrorList()
    failed = None
    for subject, find_errors in _CHECKS.items():
        if not subjects or subject in subjects:
            err = new_error()
            if find_errors(found.pointer, err) != lib.PD_OK:
                failed = failed or err
                if subject == "modules":
                    pop_refusal_warnings()  # the exception takes the place of their warnings
    if failed:
        raise _add_conflict_remedies(found.to_exception(failed))
    if not subjects or "values" in subjects:
        raise_deferred()


def check_refused_modules() -> None:
    """Raise an error if a module in the process was refused and no call has raised that."""
    found = ErrorList()
    err = new_error()
    # Where images can't be walked, no module could have joined on its own.
    if lib.pd_modules_check(found.pointer, err) not in (lib.PD_OK, lib.PD_ERR_UNSUPPORTED):
        pop_refusal_warnings()
        raise _add_conflict_remedies(found.to_exception(err))


_REMEDY = (
    "; rename one of them, or give the refused library a namespace: call"
    ' load_plugin(path, namespace="...") before it is loaded otherwise'
)


def _add_conflict_remedies(refusal: FlagError) -> FlagError:
    """Return the error with what to do about conflicts of modules."""
    for each in refusal.errors:
        if each.status == "PD_ERR_CONFLICT":
            each.args = (f"{each}{_REMEDY}",)
    refusal.args = ("\n".join(map(str, refusal.errors)),)
    return refusal
