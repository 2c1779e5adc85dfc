"""The command live watch: each change as it happens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from paddle_flags._report.facts import one_line
from paddle_flags.cli.live_common import change_text, client_of, shown, time_text, who_text
from paddle_flags.cli.output import print_error, print_text
from paddle_flags.cli.remote_common import matches

if TYPE_CHECKING:
    import argparse

    from paddle_flags.live._documents import Event


def run(options: argparse.Namespace) -> int:
    """Print changes until the process ends or Ctrl-C; return the exit status."""
    client = client_of(options)
    report = _json_line if options.json else _line
    try:
        for event in client.events(reconnect=options.reconnect):
            if not all(print_text(line) for line in report(event, options.patterns)):
                return 0  # nobody reads any more
            if not options.json:
                _remark(event)
    except KeyboardInterrupt:
        return 0
    print_error("the process has ended the stream")
    return 0


def _line(event: Event, patterns: list[str]) -> list[str]:
    if event.kind != "changes":
        return []
    return [_text(each) for each in event.data["changes"] if matches(each["name"], patterns)]


def _text(change: dict[str, Any]) -> str:
    parts = [time_text(change["at"]), f"{change['name']}: {_what(change)}"]
    source = change.get("source", "")
    who = who_text(change.get("who"))
    by = ", ".join(filter(None, (source, who or change.get("place", ""))))
    parts += [f"({by})"] if by else []
    until = change.get("until")
    parts += [f"until {time_text(until)}"] if until else []
    reason = change.get("reason")
    parts += [f"because {reason}"] if reason else []
    return one_line("  ".join(parts))


def _what(change: dict[str, Any]) -> str:
    kind = str(change["kind"])
    if kind == "value":
        return change_text(change) or "<redacted>"
    return f"{kind} as {shown(change['new'])}" if change.get("new") is not None else kind


def _remark(event: Event) -> None:
    """Print on stderr what isn't a change."""
    data = event.data
    if event.kind == "hello":
        print_error(f"watching {one_line(data['program'])}, pid {data['pid']}")
    elif event.kind == "gap":
        print_error(
            f"some changes were lost up to revision {data['revision']}:"
            " the process was started again, or this was too slow"
        )
    elif event.kind == "lost":
        print_error(f"connection lost: {one_line(data['detail'])}; trying again")


def _json_line(event: Event, patterns: list[str]) -> list[str]:
    """Return JSON lines: each has the kind of the event as `event`."""
    if event.kind == "changes":
        changes = [each for each in event.data["changes"] if matches(each["name"], patterns)]
        return [json.dumps({"event": "change", **each}) for each in changes]
    return [json.dumps({"event": event.kind, **event.data})]
