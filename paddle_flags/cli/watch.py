"""Each change of a process as it happens."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from paddle_flags.cli.batch import format_value_or_none, is_selected
from paddle_flags.cli.flag_text import (
    describe_unknown_names,
    fetch_units,
    format_local_timestamp,
    format_old_and_new,
    format_who,
)
from paddle_flags.cli.safe_output import Report, show, show_on_stderr
from paddle_flags.live._errors import LiveError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from paddle_flags.live._client import Client
    from paddle_flags.live._documents import Event


def watch(client: Client, options: argparse.Namespace) -> Report:
    """Print changes until the process ends or Ctrl-C."""
    only, units = options.arguments, {} if options.json else fetch_units(client)
    if only:  # a flag of this name may be defined later
        with suppress(LiveError):
            show_on_stderr(*describe_unknown_names(only, client.flags()["flags"]))
    try:
        for event in client.events(reconnect=options.reconnect):
            lines = (
                _json_lines(event, only) if options.json else _format_changes(event, only, units)
            )
            if not all(map(show, lines)):
                return Report()  # nobody reads any more
            if not options.json:
                show_on_stderr(*_describe_stream_event(event))
    except KeyboardInterrupt:
        return Report()
    return Report(remarks=["the process has ended the stream"])


def _format_changes(event: Event, patterns: list[str], units: Mapping[str, str]) -> list[str]:
    if event.kind != "changes":
        return []
    return [
        _format_change_line(each, units)
        for each in event.data["changes"]
        if is_selected(each["name"], patterns)
    ]


def _format_change_line(change: dict[str, Any], units: Mapping[str, str]) -> str:
    parts = [
        format_local_timestamp(change["at"]),
        f"{change['name']}: {_describe_change(change, units)}",
    ]
    who = format_who(change.get("who")) or change.get("place", "")
    by = ", ".join(filter(None, (change.get("source", ""), who)))
    parts += [f"({by})"] if by else []
    until = change.get("until")
    parts += [f"until {format_local_timestamp(until)}"] if until else []
    reason = change.get("reason")
    parts += [f"because {reason}"] if reason else []
    return "  ".join(parts)


def _describe_change(change: dict[str, Any], units: Mapping[str, str]) -> str:
    kind = str(change["kind"])
    if kind == "value":
        return format_old_and_new(change, units)
    return (
        f"{kind} as {format_value_or_none(change['new'])}"
        if change.get("new") is not None
        else kind
    )


def _describe_stream_event(event: Event) -> list[str]:
    """Return what isn't a change, for stderr."""
    data = event.data
    if event.kind == "hello":
        return [f"watching {data['program']}, pid {data['pid']}"]
    if event.kind == "gap":
        lost = f"some changes were lost up to revision {data['revision']}"
        return [f"{lost}: the process was started again, or this was too slow"]
    if event.kind == "lost":
        return [f"connection lost: {data['detail']}; trying again"]
    return []


def _json_lines(event: Event, patterns: list[str]) -> list[str]:
    """Return JSON lines: each has the kind of the event as `event`."""
    if event.kind == "changes":
        changes = [each for each in event.data["changes"] if is_selected(each["name"], patterns)]
        return [json.dumps({"event": "change", **each}) for each in changes]
    return [json.dumps({"event": event.kind, **event.data})]
