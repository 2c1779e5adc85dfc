"""Implied values: while a flag has a certain value, others have values that follow from it.

Modules written by `paddle-flags gen` call this.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from paddle_flags._core.flag import Flag
from paddle_flags._core.registry import find, override
from paddle_flags._core.status import queue_warning, raise_deferred, to_text
from paddle_flags._native import ffi, lib
from paddle_flags.errors import FlagError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paddle_flags._core.assign import Assignment
    from paddle_flags._core.hooks import Hook

_made: dict[str, list[_Implied]] = {}


_RANKS = {
    to_text(lib.pd_source_name(number)): lib.pd_source_rank(number)
    for number in ffi.typeof("pd_source").elements
}


# The source of each flag that implies, by the place that its override has.
_causes: dict[str, str] = {}


def _source_of_cause(flag: Flag[Any]) -> str:
    """Return the source of the flag that implies; of one that is implied, that of the first."""
    entry = flag.history[0]
    place = entry.place or ""
    unknown = "argv" if place.startswith("implied by ") else entry.source  # by a native module
    return _causes.get(place, unknown)


def _has_stronger_source(flag: Flag[Any], cause: str) -> bool:
    """Return whether the flag keeps its own value, although a flag from `cause` implies another."""
    source = next(entry.source for entry in flag.history if entry.source != "override")
    if source == "default" or _RANKS[source] == _RANKS[cause] == _RANKS["run time"]:
        return False
    return bool(_RANKS[source] >= _RANKS[cause])


class _ImpliedOverride(override):
    """An override whose place, in messages, is the flag that implies it."""

    def __init__(self, sets: Mapping[str, object], flag: Flag[Any]) -> None:
        super().__init__(sets)
        # The place is shown in messages, so a secret must not be in it.
        value = "" if flag.sensitive else f"={flag.text}"
        self._where = f"implied by --{flag.name}{value}", 0
        self._cause = _causes[self._where[0]] = _source_of_cause(flag)

    def _resolve_assignments(self) -> list[Assignment]:
        return [
            (flag, value)
            for flag, value in super()._resolve_assignments()
            if not isinstance(flag, Flag) or not _has_stronger_source(flag, self._cause)
        ]


class _Implied:
    """An override that holds while another flag has a certain value."""

    def __init__(self, value: object, sets: Mapping[str, object]) -> None:
        self.value = tuple(value) if isinstance(value, list) else value
        self.sets = dict(sets)
        self._override: override | None = None
        self._hook: Hook | None = None
        self._lock = threading.Lock()  # of _override alone: never held while flags are set

    def update_override(self, flag: Flag[Any]) -> None:
        """Begin or end the override, even if other threads set the flag meanwhile."""
        while True:
            old = self._override
            if self._has_implying_value(flag) == (old is not None):
                return
            if old is not None:
                if self._swap_override(old, None):
                    old.__exit__(None, None, None)
                continue
            new = _ImpliedOverride(self.sets, flag)
            try:
                new._push()
            except FlagError as error:  # C calls this: nothing can be raised through it
                why = "; ".join(str(each) for each in error.errors)
                queue_warning(UserWarning(f"{why}; the implied values are not set"))
                return
            if not self._swap_override(None, new):
                new.__exit__(None, None, None)

    def begin(self, flag: Flag[Any]) -> None:
        self._hook = flag.watch(self.update_override)
        self.update_override(flag)

    def end(self) -> None:
        if self._hook:
            self._hook.remove()
        old = self._override
        if old is not None and self._swap_override(old, None):
            old.__exit__(None, None, None)

    def _has_implying_value(self, flag: Flag[Any]) -> bool:
        return bool(flag.defined and flag.value == self.value)

    def _swap_override(self, old: override | None, new: override | None) -> bool:
        with self._lock:
            if self._override is not old:
                return False
            self._override = new
            return True


def end_implications(name: str) -> None:
    """End what a flag implies that is undefined or defined again."""
    for made in _made.pop(name, ()):
        made.end()


def imply(name: str, value: object, sets: Mapping[str, object]) -> None:
    """Override flags with `sets` while the flag `name` has `value`; repeating it does nothing."""
    made = _Implied(value, sets)
    others = _made.setdefault(name, [])
    if any(each.value == made.value and each.sets == made.sets for each in others):
        return
    others.append(made)
    made.begin(find(name))
    raise_deferred()
