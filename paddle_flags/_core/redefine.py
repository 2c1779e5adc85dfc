"""Flags that are undefined, or defined again: by request, or because their own code runs again."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any
from weakref import ref

from paddle_flags._core import implied, retained_values, saved_definitions
from paddle_flags._core.flag import Flag, flag_of
from paddle_flags._core.frames import hides_internal_frames
from paddle_flags._core.hooks import discard_removed_hooks, list_hook_numbers
from paddle_flags._core.names import normalize_name
from paddle_flags._core.registry import find
from paddle_flags._core.shared_flags import library_title_of
from paddle_flags._core.status import (
    call_checked,
    check_status,
    new_error,
    quote_value,
    raise_deferred,
    to_text,
)
from paddle_flags._fast import call_holding_environment
from paddle_flags._native import ffi, lib
from paddle_flags.errors import FlagError, FlagTypeError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType


def _get_defining_module_name(flag: Flag[Any]) -> str:
    """Return the name of the Python module that defined the flag."""
    return "__main__" if flag.module == flag.file else flag.module


def _is_code_rerun(flag: Flag[Any], frame: FrameType) -> bool:
    """Return whether the module that defined the flag defines it in another run of its code.

    That is a module that is reloaded, and any code of an interactive session: each line of a
    REPL and each statement of a cell is compiled anew.
    """
    code, last = frame.f_code, flag._code
    if (
        last is None
        or last() is code
        or frame.f_globals.get("__name__") != _get_defining_module_name(flag)
    ):
        return False
    if _get_defining_module_name(flag) == "__main__" and hasattr(sys, "ps1"):
        return True
    before = last()  # None: that run is over
    again = before is None or before.co_name == "<module>"
    own = flag.file == code.co_filename == frame.f_globals.get("__file__")  # no text for exec()
    return again and own and code.co_name == "<module>"


def _find_same_named_flag(pointer: Any) -> Flag[Any] | None:
    """Return the flag that has the name of a `pd_flag_def *`, not as an alias."""
    handle = ffi.new("pd_flag **")
    if lib.pd_flag_find(pointer.name, handle, ffi.NULL) != lib.PD_OK:
        return None
    flag, name = flag_of(handle[0]), to_text(pointer.name)
    return flag if normalize_name(flag.name) == normalize_name(name) else None


def is_shared_with_library(pointer: Any) -> bool:
    """Return whether a native library has the flag of a `pd_flag_def *`, too.

    Another definition would take it away from the library, which would keep a value of its own.
    """
    flag = _find_same_named_flag(pointer)
    return flag is not None and library_title_of(flag.name) not in ("", "absl-py")


def redefine(
    pointer: Any,
    handle: Any,
    frame: FrameType,
    attach_type: Callable[[Flag[Any]], None],
    *,
    replace_requested: bool,
) -> Flag[Any] | None:
    """Let the `pd_flag_def *` take the place of the definition that its name has.

    Sets the `pd_flag **`, and calls `attach_type` with the flag once it has the definition. Return
    None if nobody asked for that and the code of `frame` isn't that of the flag.
    """
    old = _find_same_named_flag(pointer)
    again = old is not None and _is_code_rerun(old, frame)
    if (not replace_requested and not again) or is_shared_with_library(pointer):
        return None
    # The code of the module adds its hooks again; those of other modules stay.
    hooks = [] if old is None else list_hook_numbers(old, _get_defining_module_name(old))
    if old is not None and again and _get_defining_module_name(old) != "__main__":
        # After a reload, the old definitions belong to variables that no longer exist.
        saved_definitions.notify_module_reloaded(_get_defining_module_name(old))
    elif old is not None:
        saved_definitions.call_definition_savers(old)
    handle[0] = ffi.NULL
    err = new_error()
    with retained_values.allow_unchecked_value(to_text(pointer.name)):
        status = call_holding_environment(
            lib.pd_flag_replace, pointer, hooks, len(hooks), handle, err
        )
        if not handle[0]:
            check_status(status, err)
        flag = flag_of(handle[0])
        # Weak: once the code is gone, that run of it is over.
        flag._code = ref(frame.f_code)
        _forget_dependents(flag, hooks)
        # Its validators are added only after this.
        retained_values.note_retained_value(flag)
        attach_type(flag)
    saved_definitions.notify_definition_removed(flag)
    check_status(status, err)
    raise_deferred(flag)
    return flag


def add_redefinition_hint(error: FlagError, pointer: Any) -> FlagError:
    """Return the error of a definition whose name is taken; say how to take it, if that works."""
    old = _find_same_named_flag(pointer)
    if old is not None and is_shared_with_library(pointer):
        library = library_title_of(old.name)
        error.args = (f"{error}; {library} has this flag, too: choose another name",)
    elif old is not None and not old._read_info().owner:
        error.args = (f"{error}; to define it again, pass replace=True",)
    return error


def _forget_dependents(flag: Flag[Any], hooks: list[int]) -> None:
    discard_removed_hooks(hooks)
    implied.end_implications(flag.name)


@hides_internal_frames
def undefine(flag: Flag[Any] | str) -> None:
    """Undefine a flag, given by name or as Flag, that Python code or a C program defined.

    Its validators, watchers and rules go with it, also rules about several flags. Until its
    name is defined again, the Flag raises UndefinedFlagError. Values that were given on the
    command line, in the environment, in a file or by an assignment wait for that, and so do
    overrides that have not ended; a default of `set_default` does not. Native code that
    imports the flag has its own default meanwhile. Any thread may call this, while others
    read and set the flag.

    Raises UndefinedFlagError; FlagConflictError for a flag of a plugin or of another native
    module, which stays until that is unloaded.
    """
    if not isinstance(flag, (Flag, str)):
        message = f"{quote_value(flag)}: expected the name of a flag, not {type(flag).__name__}"
        raise FlagTypeError(message)
    known = flag if isinstance(flag, Flag) else find(flag)
    saved_definitions.call_definition_savers(known)
    call_checked(unregister_flag, known)
    retained_values.note_retained_value(known)
    raise_deferred()


def unregister_flag(flag: Flag[Any], err: Any) -> int:
    """Undefine a flag for `undefine` and others; return the status."""
    hooks = list_hook_numbers(flag)
    status: int = lib.pd_flag_unregister(flag.handle, err)
    if status != lib.PD_OK:
        return status
    flag._code = None
    _forget_dependents(flag, hooks)
    saved_definitions.notify_definition_removed(flag)
    return status
