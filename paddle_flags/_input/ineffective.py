"""Flags of a command line that keep the value that code has set, which takes precedence."""

from __future__ import annotations

from paddle_flags._core.flag import flags_made
from paddle_flags._core.names import name_in_token, normalize_name
from paddle_flags._core.registry import for_each
from paddle_flags._core.status import quote_value
from paddle_flags._core.values import REDACTED
from paddle_flags.errors import FlagWarning

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from paddle_flags._core.flag import Flag


def ineffective_flag_warnings(tokens: list[str]) -> Iterator[FlagWarning]:
    """Yield a warning for each flag of a line that was read and that had no effect."""
    named = {name_in_token(token) for token in tokens[1:] if token.startswith("-")}
    if not named:
        return
    made = _flags_by_name()
    names = [name if name in made else name.removeprefix("no") for name in named]
    if not made.keys() >= set(names):  # it may be an alias
        names = list(made)
    for warnings in for_each(
        map(made.__getitem__, names), lambda flag: _make_ineffective_warnings(flag, tokens)
    ):
        yield from warnings


_by_name: dict[str, Flag[Any]] = {}


def _flags_by_name() -> dict[str, Flag[Any]]:
    """Return all flags that have been made, by their own names; a Flag keeps its name."""
    if len(_by_name) != len(flags_made):
        _by_name.update({normalize_name(flag._name): flag for flag in list(flags_made.values())})
    return _by_name


def _make_ineffective_warnings(flag: Flag[Any], tokens: list[str]) -> list[FlagWarning]:
    if flag.source != "run time":
        return []
    found: list[FlagWarning] = []
    now = flag.value
    names = {normalize_name(name) for name in (flag.name, *flag.aliases, *flag.old_names)}
    names |= {f"no{name}" for name in names}
    places = {f"argv[{i}]" for i, token in enumerate(tokens) if i and name_in_token(token) in names}
    for entry in flag.history:
        if entry.source != "argv" or entry.place not in places or entry.replaced:
            continue
        if entry.value == now and not flag.sensitive:
            continue
        line, seen = (
            (quote_value(entry.value), quote_value(now)) if not flag.sensitive else (REDACTED,) * 2
        )
        message = (
            f"--{flag.name}={line} has no effect: code has set the flag to {seen} at {flag.place},"
            " which takes precedence over the command line; to use the line, call"
            f" FLAGS[{flag.name!r}].reset() before parse()"
        )
        found.append(FlagWarning(message))
    return found
