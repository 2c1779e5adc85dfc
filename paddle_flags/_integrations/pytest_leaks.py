"""What a test or a fixture leaves changed in flags, for the plugin for pytest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle_flags import FLAGS
from paddle_flags.extend import (
    escape_controls,
    for_each,
    format_value,
)
from paddle_flags.testing import Scopes, State

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paddle_flags import Flag

ADVICE = "it was put back; the fixture or marker pf_flags does so silently"


class _Seen:
    """The value of a flag, with source and place, and what is open on top of its values."""

    def __init__(self, flag: Flag[Any]) -> None:
        place = flag.place if flag.source != "default" else None
        source = f"{flag.source}, {escape_controls(place)}" if place else flag.source
        self.name = flag.name
        self.value = flag.value
        self.text = f"{format_value(flag, flag.value)} [{source}]"
        self.open = sum(entry.source in ("override", "scope") for entry in flag.history)


class Watch:
    """What flags were when this began, to say what has changed and to put it back."""

    def __init__(self) -> None:
        self._state = State()
        self._scopes = Scopes()

    def undo_and_list_new(self) -> set[str]:
        """Undo everything; return the names of the flags that were defined since."""
        new = {
            name
            for flag in self._state.flags_defined_since()
            for name in (flag.name, *flag.aliases)
        }
        self._scopes.restore_scopes()
        self._state.restore()
        return new

    def restore_and_report(self, *, definitions: bool) -> list[str]:
        """Put values and former definitions back, and return a line for each flag that had left.

        With `definitions`, the new ones are undone, too.
        """
        changed, redefined = self._changed_flags(), self._state.redefined_flags()
        new = [flag for flag in self._state.flags_to_undefine() if definitions]
        after = for_each(changed, _Seen)
        lines = [f"{flag.name}: {_describe_definition_change(flag)}" for flag in [*redefined, *new]]
        self._scopes.restore_scopes()
        if changed or redefined:
            self._state.restore_definitions_and_values(redefined)
        if new:
            self._state.undefine_flags(new)
        before = {seen.name: seen for seen in for_each(changed, _Seen)}
        return lines + _differences(before, after)

    def _changed_flags(self) -> list[Flag[Any]]:
        changed = self._state.changed_flags()
        if self._scopes.has_changed_scopes():
            scoped = for_each(FLAGS.values(), lambda flag: [flag] * flag.scoped)
            changed += [flag for found in scoped for flag in found if flag not in changed]
        return changed

    def changed_names(self) -> set[str]:
        """Return the names of the flags that have other values or definitions now."""
        flags = [
            *self._changed_flags(),
            *self._state.redefined_flags(),
            *self._state.flags_to_undefine(),
        ]
        return {flag.name for flag in flags}


def _differences(before: dict[str, _Seen], after: Iterable[_Seen]) -> list[str]:
    """Return what differs; a new source alone, as monkeypatch leaves one, is nobody's mistake."""
    return [
        f"{seen.name}: {before[seen.name].text} -> {seen.text}"
        for seen in after
        if seen.name in before
        and (repr(seen.value), seen.open) != (repr(before[seen.name].value), before[seen.name].open)
    ]


def _describe_definition_change(flag: Flag[Any]) -> str:
    """Say what has become of the definition of a flag."""
    if not flag.defined:
        return "was undefined"
    return escape_controls(f"was defined at {flag.file}:{flag.line}")


def leak_message(who: str, lines: list[str], advice: str = ADVICE) -> str:
    """Return the message about what a test or a fixture has left."""
    if len(lines) == 1:
        return f"{who} left a flag changed: {lines[0]} ({advice})"
    return "\n  ".join([f"{who} left flags changed ({advice}):", *lines])
