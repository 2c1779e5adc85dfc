"""Variables of the environment that were meant for a flag and name none."""

from __future__ import annotations

import difflib
import os
import re
from typing import TYPE_CHECKING

from paddle_flags._core.registry import all_flags

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FOLDED = str.maketrans("-.", "__")
_UPPER = {ord(letter): letter.upper() for letter in "abcdefghijklmnopqrstuvwxyz"}


def flag_names() -> set[str]:
    """Return the names that the environment may use for the flags of this process."""
    flags = [flag for flag in all_flags() if flag.defined]
    return {name for flag in flags for name in (flag.name, *flag.old_names)}


def environment_problems(prefix: str, names: Iterable[str]) -> Iterator[str]:
    """Report the variables that begin with the prefix and name none of the flags.

    A variable names a flag in the flag's own letters, or in ASCII capitals throughout.
    """
    known = {name.translate(_FOLDED) for name in names}
    capitals = {name.translate(_UPPER) for name in known}
    for variable in sorted(os.environ):
        rest = variable[len(prefix) :]
        if not variable.startswith(prefix) or not rest or rest in known or rest in capitals:
            continue
        candidates = capitals if re.fullmatch(r"[A-Z0-9_]+", rest) else known
        near = difflib.get_close_matches(rest, sorted(candidates), n=1, cutoff=0.7)
        hint = f"; did you mean '{prefix}{near[0]}'?" if near else ""
        yield f"environment: {variable}: no flag has this name{hint}"
