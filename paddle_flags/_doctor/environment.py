"""Environment variables with the prefix of flags that name no flag."""

from __future__ import annotations

import difflib
import os
import re
from typing import TYPE_CHECKING

from paddle_flags._doctor.bridges import BUILT_IN
from paddle_flags.extend import iter_pending, to_text, variable_suffix_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def unknown_variables(prefix: str, names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each variable with the prefix that names none of the flags, and the nearest one or "".

    A variable names a flag in the flag's own letters, or in ASCII capitals throughout.
    """
    flags = {variable_suffix_of(name) for name in names}
    pending = [to_text(info.name) for info in iter_pending()]
    capitals = {name.upper() for name in flags}
    built_in = {variable_suffix_of(name) for name in (*BUILT_IN, *pending)}
    known = flags | capitals | built_in | {name.upper() for name in built_in}
    for variable in sorted(os.environ):
        name = variable[len(prefix) :]
        if variable.startswith(prefix) and name and name not in known:
            offered = capitals if re.fullmatch("[A-Z0-9_]+", name) else flags
            near = difflib.get_close_matches(name, sorted(offered), n=1, cutoff=0.7)
            yield variable, prefix + near[0] if near else ""
