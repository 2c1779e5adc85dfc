"""Variables of the environment that were meant for a flag and name none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle_flags._input.unknown import unknown_variables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def environment_problems(prefix: str, names: Iterable[str]) -> Iterator[str]:
    """Report the variables that begin with the prefix and name none of the flags."""
    for variable, near in unknown_variables(prefix, names):
        suggestion = f"; did you mean '{near}'?" if near else ""
        yield f"environment: {variable}: no flag has this name{suggestion}"
