"""Environment variables with the prefix of flags that name no flag."""

from __future__ import annotations

import difflib
import os
import re
from typing import TYPE_CHECKING, Any

from paddle_flags._core.registry import all_flags
from paddle_flags._core.status import to_text
from paddle_flags._input.options import HELP_KINDS
from paddle_flags._native import ffi, lib
from paddle_flags.errors import UndefinedFlagError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from paddle_flags._core.flag import Flag

# Names with a meaning on the command line: some read a variable, none is misspelt.
_BUILT_IN = ("flagfile", "fromenv", "tryfromenv", "undefok", *HELP_KINDS.values())


def variable_of(name: str) -> str:
    """Return the name of a flag as a variable has it, behind the prefix."""
    return name.replace("-", "_").replace(".", "_")


def unknown_variables(prefix: str, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each variable with the prefix that names none of the flags, and the nearest one or "".

    A variable names a flag in the flag's own letters, or in ASCII capitals throughout.
    """
    flags = {variable_of(name) for name in names}
    capitals = {name.upper() for name in flags}
    built_in = {variable_of(name) for name in (*_BUILT_IN, *_pending())}
    known = flags | capitals | built_in | {name.upper() for name in built_in}
    for variable in sorted(os.environ):
        name = variable[len(prefix) :]
        if variable.startswith(prefix) and name and name not in known:
            offered = capitals if re.fullmatch("[A-Z0-9_]+", name) else flags
            near = difflib.get_close_matches(name, sorted(offered), n=1, cutoff=0.7)
            yield variable, prefix + near[0] if near else ""


def flag_names() -> set[str]:
    """Return the names that the environment may use for the flags of this process."""
    return {name for flag in all_flags() for name in _names(flag)}


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
