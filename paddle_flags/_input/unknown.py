"""Environment variables with the prefix of flags that name no flag."""

from __future__ import annotations

import difflib
import os
from typing import TYPE_CHECKING, Any

from paddle_flags._core.registry import all_flags
from paddle_flags._core.status import to_text
from paddle_flags._input.argv import HELP_KINDS
from paddle_flags._native import ffi, lib
from paddle_flags.errors import UndefinedFlagError, UnknownVariableWarning

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paddle_flags._core.flag import Flag

# Names with a meaning on the command line: some read a variable, none is misspelt.
_BUILT_IN = ("flagfile", "fromenv", "tryfromenv", "undefok", *HELP_KINDS.values())


def variable_of(name: str) -> str:
    """Return the name of a flag as a variable has it, behind the prefix."""
    return name.replace("-", "_").replace(".", "_")


def unknown_variables(prefix: str) -> list[UnknownVariableWarning]:
    """Return a warning for each variable with the prefix that names no flag."""
    flags = {variable_of(name) for flag in all_flags() for name in _names(flag)}
    known = flags | {variable_of(name) for name in (*_BUILT_IN, *_pending())}
    known |= {name.upper() for name in known}
    offered = [*flags, *(name.upper() for name in flags)]
    warnings = []
    for variable in sorted(os.environ):
        name = variable[len(prefix) :]
        if variable.startswith(prefix) and name not in known:
            near = difflib.get_close_matches(name, offered, n=1, cutoff=0.7)
            hint = f"; did you mean {prefix}{near[0]}?" if near else ""
            text = f"environment variable {variable} names no flag{hint}"
            warnings.append(UnknownVariableWarning(text))
    return warnings


def _names(flag: Flag[Any]) -> Iterator[str]:
    """Yield the names of a flag that the environment may use: no aliases."""
    yield flag.name
    try:
        yield from flag.old_names
    except UndefinedFlagError:  # its plugin may leave, on another thread
        return


def _pending() -> Iterator[str]:
    info = ffi.new("pd_pending_info *", {"size": ffi.sizeof("pd_pending_info")})
    index = 0
    while lib.pd_pending_get(index, info, ffi.NULL) == lib.PD_OK:
        yield to_text(info.name)
        index += 1
