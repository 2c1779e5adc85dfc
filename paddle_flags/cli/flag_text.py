"""Flags of other processes, and their changes, as text; safe_output.py escapes it."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from paddle_flags._core.names import normalize_name, suggest_name
from paddle_flags._core.status import quote_value
from paddle_flags._core.values import REDACTED
from paddle_flags._report.explain import describe_value_state
from paddle_flags._report.facts import format_native_value
from paddle_flags.cli.batch import format_value_or_none, is_pattern, raise_together
from paddle_flags.cli.safe_output import Table, shorten
from paddle_flags.live._errors import LiveError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from paddle_flags.cli.safe_output import Part
    from paddle_flags.live._client import Client

    Document = Mapping[str, Any]


def list_flag_names(flag: Document) -> list[str]:
    """Return all names of a flag."""
    return [flag["name"], *flag.get("aliases", ()), *flag.get("old_names", ())]


def has_non_default_value(flag: Document) -> bool:
    """Return whether a flag has another value than that of its definition."""
    return bool(flag["source"] != "default")


def check_names(patterns: Iterable[str], flags: Iterable[Document]) -> None:
    """Raise LiveError for names that no flag has; a pattern may match none."""
    raise_together(LiveError, describe_unknown_names(patterns, flags))


def describe_unknown_names(patterns: Iterable[str], flags: Iterable[Document]) -> list[str]:
    """Return what is wrong with each name that no flag has."""
    known = {normalize_name(name) for flag in flags for name in list_flag_names(flag)}
    missing = [
        each for each in patterns if not is_pattern(each) and normalize_name(each) not in known
    ]
    return [
        f"no flag is named {quote_value(each)}{suggest_name(normalize_name(each), known)}"
        for each in missing
    ]


# ---- Values ----


def is_sensitive(flag: Document) -> bool:
    """Return whether a flag is one whose values are never shown."""
    hidden = "text" not in flag and "value" not in flag
    return hidden or "sensitive" in flag.get("marks", ())


def format_flag_value(flag: Document, *, wide: bool = False) -> str:
    """Return the value of a flag, or of an entry of its history, for people."""
    if is_sensitive(flag):
        return REDACTED
    value = flag.get("value")
    if isinstance(value, list):
        value = tuple(item if isinstance(item, (bool, int, float)) else str(item) for item in value)
    text = format_native_value(value, flag.get("unit"))
    return text if wide else shorten(text)


def fetch_units(client: Client) -> dict[str, str]:
    """Return the units of flags by name, without which quantities are plain numbers."""
    try:
        return {flag["name"]: flag["unit"] for flag in client.flags()["flags"] if "unit" in flag}
    except LiveError:
        return {}


def _format_with_unit(text: str | None, unit: str | None) -> str:
    """Return the text of a value for people: with a unit, as a list of flags has it."""
    if text is not None and unit is not None:
        for kind in (int, float):
            with suppress(ValueError):
                return format_native_value(kind(text), unit)
    return format_value_or_none(text)


def format_old_and_new(change: Document, units: Mapping[str, str]) -> str:
    """Return "6 -> 9" for what has an old and a new value."""
    unit = units.get(change["name"])
    old, new = (
        _format_with_unit(change[key], unit) if key in change else "" for key in ("old", "new")
    )
    if old and new:
        return f"{old} -> {new}"
    return new or (f"was {old}" if old else REDACTED)


def format_who(who: Document | None) -> str:
    """Return who made a change."""
    who = who or {}
    behalf = who.get("on_behalf_of") or {}
    uid, pid = who.get("uid"), who.get("pid")
    parts = [
        who.get("label", behalf.get("label")),
        who.get("host", behalf.get("host")),
        None if uid is None else f"uid {uid}",
        who.get("command"),
        None if pid is None else f"pid {pid}",
    ]
    return ", ".join(str(part) for part in parts if part)


# ---- Times ----


def format_local_timestamp(text: str | None) -> str:
    """Return the moment that a document names as local time, to the second."""
    try:
        moment = datetime.strptime(text or "", "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=UTC)
        return f"{moment.astimezone():%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):  # also of the last or the first year
        return text or ""


def describe_temporary_end(flag: Document) -> str:
    """Return when a temporary value ends, and which one follows; "" for other values."""
    temporary = flag.get("temporary", {})
    if "left" not in temporary:
        return ""
    below = temporary.get("below")
    whole = max(0, round(temporary["left"]))
    left = format_native_value(whole, "seconds") if whole else "0s"
    return left + ("" if below is None else f", then {_format_with_unit(below, flag.get('unit'))}")


# ---- Lists ----


def flags_table(flags: Iterable[Document], program: str) -> Table:
    """Return the table of flags: those that were changed first, the program's own before others."""
    rows = [
        (
            flag["name"],
            f"{flag['items']},..." if "items" in flag else flag["type"],
            format_flag_value(flag),
            flag["source"],
            os.path.basename(flag.get("module", "")),
            describe_temporary_end(flag),
        )
        for flag in _sort_for_table(flags, program)
    ]
    titles = ("flag", "type", "value", "source", "module", "left")
    has_left = any(row[-1] for row in rows)
    return Table(titles, rows) if has_left else Table(titles[:-1], [row[:-1] for row in rows])


def _sort_for_table(flags: Iterable[Document], program: str) -> list[Document]:
    """Order flags by module and category, as help does."""
    places: dict[tuple[str, str], int] = {}
    modules: dict[str, int] = {}

    def key(flag: Document) -> tuple[bool, bool, int, bool, int]:
        module, category = flag.get("module", ""), flag.get("category", "")
        return (
            not has_non_default_value(flag),
            os.path.basename(module) != program,
            modules.setdefault(module, len(modules)),
            bool(category),
            places.setdefault((module, category), len(places)),
        )

    return sorted(flags, key=key)


def changes_table(changes: Iterable[Document], units: Mapping[str, str]) -> Table:
    """Return the table of what was changed from outside."""
    titles = ("change", "at", "state", "flags", "who", "reason")
    return Table(titles, [_change_row(each, units) for each in changes])


def _change_row(change: Document, units: Mapping[str, str]) -> tuple[str, ...]:
    state = change["state"]
    if state == "on" and change["until"]:
        state = f"until {format_local_timestamp(change['until'])}"
    if change["undoes"] is not None:
        state = f"undo of {change['undoes']}"
    elif change["kind"] == "fleet":
        state = f"fleet, {state}"
    flags = ", ".join(
        f"{each['name']}: {format_old_and_new(each, units)}" for each in change["flags"]
    )
    return (
        str(change["change"]),
        format_local_timestamp(change["at"]),
        state,
        shorten(flags),
        format_who(change["who"]),
        change["reason"] or "",
    )


# ---- One flag ----


def facts_lines(facts: Document) -> list[str]:
    """Return a line for each fact that is known."""
    return [f"  {title + ':':<11} {fact}" for title, fact in facts.items() if fact]


def explain_parts(flag: Document) -> list[Part]:
    """Return the description of a flag, in the form of `explain` for the flags of plugins."""
    parts: list[Part] = [f"{flag['name']} = {format_flag_value(flag, wide=True)}", ""]
    parts += facts_lines(_flag_facts(flag))
    history = flag.get("history", [])
    if history:
        common = {"marks": flag.get("marks", []), "unit": flag.get("unit")}
        rows: list[tuple[str, ...]] = [
            (
                format_flag_value({**entry, **common}),
                describe_value_state(
                    entry["source"],
                    history[0]["source"],
                    in_effect=entry is history[0],
                    replaced=entry.get("replaced", False),
                ),
                entry["source"],
                entry.get("place", ""),
            )
            for entry in history
        ]
        titles = ("value", "state", "source", "place")
        parts += ["", "values, highest precedence first:", Table(titles, rows, "  ")]
    if flag.get("log"):
        units = {flag["name"]: flag["unit"]} if "unit" in flag else {}
        rows = [_event_row(event, units) for event in flag["log"]]
        titles = ("at", "change", "who", "reason")
        parts += ["", "changes, the latest first:", Table(titles, rows, "  ")]
    return parts


def _flag_facts(flag: Document) -> dict[str, str]:
    choices = flag.get("choices")
    kind = f"list of {flag['items']}" if "items" in flag else flag["type"]
    file = flag.get("file", "")
    return {
        "type": f"{kind}, {flag['unit']}" if "unit" in flag else kind,
        "help": flag.get("help", ""),
        "allowed": ", ".join(choices) if choices else _format_limits(flag),
        "aliases": ", ".join(flag.get("aliases", ())),
        "old names": ", ".join(flag.get("old_names", ())),
        "category": flag.get("category", ""),
        "module": flag.get("module", ""),
        "defined at": f"{file}:{flag['line']}" if flag.get("line") else file,
        "attributes": ", ".join([*flag.get("marks", ()), *["frozen"] * ("frozen" in flag)]),
        "deprecated": flag.get("deprecated", ""),
        "retired": flag.get("retired", ""),
        "settable": "yes" if flag["settable"] else f"no: {flag.get('refusal', '')}",
        "temporary": describe_temporary_end(flag),
    }


def _format_limits(flag: Document) -> str:
    low, high = (
        format_flag_value({"text": "", "value": flag[key], "unit": flag.get("unit")})
        if key in flag
        else ""
        for key in ("min", "max")
    )
    if low and high:
        return f"{low} to {high}"
    return f"at least {low}" if low else f"at most {high}" if high else ""


def _event_row(event: Document, units: Mapping[str, str]) -> tuple[str, ...]:
    what = format_old_and_new(event, units) if event["kind"] == "value" else event["kind"]
    return (
        format_local_timestamp(event["at"]),
        shorten(what),
        format_who(event.get("who")) or event.get("source", ""),
        event.get("reason") or "",
    )
