"""What the commands of fleet share."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from paddle_flags._report.facts import one_line
from paddle_flags.cli.options import PROGRAM
from paddle_flags.cli.output import print_error
from paddle_flags.cli.remote_common import cut
from paddle_flags.fleet._fleet import Fleet

if TYPE_CHECKING:
    import argparse

    from paddle_flags.fleet._operate import UnconfirmedError
    from paddle_flags.fleet._state import Entry


_LONGEST = 300


def open_fleet(options: argparse.Namespace, *, create: bool = False) -> Fleet:
    """Return the fleet on the command line; a folder that has none is an error, or gets one."""
    return Fleet(options.url, timeout=options.timeout, create=create)


def print_unconfirmed(error: UnconfirmedError) -> None:
    """Say which option confirms each unsafe flag."""
    for name in error.names:
        print_error(f"{PROGRAM}: error: {name}: is unsafe to change; add --confirm {name}")


def moment_text(seconds: float) -> str:
    """Return a moment as local time, to the second."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
    except (ValueError, OverflowError, OSError):  # somebody wrote nonsense
        return ""


def seconds_text(seconds: float) -> str:
    """Return a length of time: 90 s."""
    return f"{seconds:g} s"


def line_of(text: str) -> str:
    """Return a text for a cell of a table."""
    return cut(one_line(text))


def reason_of(text: str) -> str:
    """Return why a member has refused something, for the end of a line: more than a cell has."""
    line = one_line(text)
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."


def limits_text(entry: Entry) -> str:
    """Return when a value begins and ends: "from step 1200, for 600 s"."""
    parts = []
    if entry.at_step is not None:
        parts.append(f"from step {entry.at_step}")
    if entry.duration is not None:
        until = f" until {moment_text(entry.time + entry.duration)}" * (entry.at_step is None)
        parts.append(f"for {seconds_text(entry.duration)}{until}")
    return ", ".join(parts)


def entry_json(entry: Entry) -> dict[str, Any]:
    """Return a value as JSON."""
    until = None if entry.duration is None else entry.time + entry.duration
    document = {**entry._asdict(), "until": until}
    document["below"] = None if entry.below is None else entry_json(entry.below)
    return document
