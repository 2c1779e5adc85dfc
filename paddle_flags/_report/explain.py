"""`explain`: what a flag is, and where its value comes from."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from paddle_flags._core.frames import hides_internal_frames
from paddle_flags._core.registry import find
from paddle_flags._core.shared_flags import library_title_of
from paddle_flags._report import facts
from paddle_flags._report.impls import chosen_impls_text
from paddle_flags._report.table import format_table

if TYPE_CHECKING:
    from paddle_flags._core.flag import Flag


def describe_value_state(source: str, effective: str, *, in_effect: bool, replaced: bool) -> str:
    """Return why a value of this source is in effect, or isn't, given the source that is."""
    if in_effect:
        return "in effect"
    if replaced:
        return "replaced by a later one"
    if source == "override":
        return "hidden by an override above"
    names = {"override": "an override", "file": "a file", "live": "a live value"}
    names["fleet"] = "the fleet"
    return f"hidden by {names.get(effective, effective)}"


def _facts_of(flag: Flag[Any]) -> dict[str, str]:
    known = facts.FlagSnapshot(flag)
    choices = known.choices
    return {
        "type": known.type_text,
        "help": flag.help,
        "allowed": ", ".join(choices) if choices else known.range_text,
        "aliases": ", ".join(flag.aliases),
        "old names": ", ".join(flag.old_names),
        "category": flag.category,
        "module": flag.module,
        "shared with": library_title_of(flag.name),
        "defined at": f"{flag.file}:{flag.line}" if flag.line else flag.file,
        "attributes": ", ".join(known.marks + ["frozen"] * flag.frozen),
        "deprecated": flag.deprecated or "",
        "retired": flag.retired or "",
        "runs": chosen_impls_text(flag),
        "fleet": _describe_fleet_entry(flag),
    }


def _describe_fleet_entry(flag: Flag[Any]) -> str:
    """Return by whom and why the fleet gives a value, if this process is in one."""
    joined: Any = sys.modules.get("paddle_flags.fleet._join")
    given = joined and joined.find_fleet_entry(flag.name, *flag.aliases, *flag.old_names)
    if not given:
        return ""
    return f"revision {given.revision} by {given.by}" + (given.reason and f": {given.reason}")


@hides_internal_frames
def explain(name: str) -> str:
    """Return a description of a flag: its definition, its values, and which one is in effect.

    It is text for people, as `paddle-flags explain` prints it; programs use
    `Flag.history`. Raises UndefinedFlagError.
    """
    flag = find(name)
    lines = [f"{flag.name} = {facts.format_value(flag, flag.value)}", ""]
    known = {title: fact for title, fact in _facts_of(flag).items() if fact}
    lines += [f"  {title + ':':<11} {facts.escape_controls(fact)}" for title, fact in known.items()]
    lines += ["", "values, highest precedence first:"]
    history = flag.history
    rows = [
        (
            f"  {facts.format_value(flag, entry.value)}",
            describe_value_state(
                entry.source,
                history[0].source,
                in_effect=entry is history[0],
                replaced=entry.replaced,
            ),
            entry.source,
            facts.escape_controls(entry.place or ""),
        )
        for entry in history
    ]
    lines.append(format_table(("  value", "state", "source", "place"), rows))
    return "\n".join(lines)
