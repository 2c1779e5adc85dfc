"""The commands live set, undo and changes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from paddle_flags import errors
from paddle_flags._report.facts import one_line
from paddle_flags._report.table import table
from paddle_flags.cli.live_common import (
    change_text,
    client_of,
    names_of,
    shown,
    time_text,
    who_text,
)
from paddle_flags.cli.options import PROGRAM
from paddle_flags.cli.output import print_error, print_text
from paddle_flags.cli.remote_common import cut, pair, plain, print_json
from paddle_flags.cli.suggestions import nearest
from paddle_flags.live._errors import LiveError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping

    from paddle_flags.live._client import Client
    from paddle_flags.live._errors import Problem

_NO_CHANGE = "no client has changed anything"


def run_set(options: argparse.Namespace) -> int:
    """Change flags; return the exit status."""
    wanted: dict[str, str | None] = {}
    for name, value in [pair(each) for each in options.pairs]:
        _add(wanted, name, value)
    for name in options.unset:
        _add(wanted, name, None)
    if not wanted:
        message = "expected NAME=VALUE, or --unset NAME"
        raise errors.FlagArgumentError(message)
    expected: dict[str, str | None] = {}
    for name, value in [pair(each, "--expect: ") for each in options.expect]:
        _add(expected, name, value)
    client = client_of(options)
    try:
        result = client.change(
            wanted,
            expect=expected or None,
            reason=options.reason,
            duration=_duration(options.duration),
            dry_run=options.dry_run,
            confirm=options.confirm,
        )
    except LiveError as error:
        return _refused(client, error, options, expected)
    _print_result(dict(result), options)
    return 0


def _add(found: dict[str, str | None], name: str, value: str | None) -> None:
    if plain(name) in map(plain, found):
        message = f"{one_line(name)}: is given twice"
        raise errors.FlagArgumentError(message)
    found[name] = value


def _duration(text: str | None) -> float | str | None:
    """Return a plain number of seconds as a number; the process reads all else."""
    if text is not None and re.fullmatch(r"\d{1,15}(\.\d{1,9})?", text, re.ASCII):
        return float(text)
    return text


def run_undo(options: argparse.Namespace) -> int:
    """Take a change back; return the exit status."""
    client = client_of(options)
    try:
        result = client.undo(options.change, reason=options.reason)
    except LiveError as error:
        return _refused(client, error, options, {})
    _print_result(dict(result), options)
    return 0


def _print_result(result: dict[str, Any], options: argparse.Namespace) -> None:
    if options.json:
        print_json(result)
        return
    dry = result["dry_run"]
    lines = [("would set " if dry else "") + _line(each) for each in result["flags"]]
    if result["change"] is not None:
        end = f", until {time_text(result['until'])}" if result["until"] else ""
        lines.append(f"change {result['change']}{end}")
    print_text("\n".join(lines))


def _line(flag: Mapping[str, Any]) -> str:
    changed = f"{one_line(flag['name'])}: {change_text(flag) or '<redacted>'}"
    return changed + (", hidden by an override" if flag.get("hidden") else "")


# ---- Refusals ----


def _refused(
    client: Client,
    error: LiveError,
    options: argparse.Namespace,
    expected: Mapping[str, str | None],
) -> int:
    """Print what is wrong, each problem on a line, and return the exit status."""
    if error.problem is None:
        raise error
    if options.json:
        print_json(_document(error.problem))
    near = _Nearest(client)
    parts = [each for each in error.errors if isinstance(each, LiveError)]
    for line in dict.fromkeys(_problem(part, error.problem, near, expected) for part in parts):
        print_error(f"{PROGRAM}: error: {one_line(line)}")
    return 1


def _problem(
    part: LiveError, problem: Problem, near: _Nearest, expected: Mapping[str, str | None]
) -> str:
    """Return what is wrong with one flag, or with the request, in the words of the command line."""
    text = re.sub(r"^/(for|reason|expect|confirm|change)\b", r"--\1", str(part))
    name = part.name
    if name is None:
        return text
    if problem.type == "confirm":
        return f"{name}: is unsafe to change; add --confirm {name}"
    current = (problem.current or {}).get(name)
    if current is not None:
        wanted = {plain(each): value for each, value in expected.items()}.get(plain(name))
        return f"{name}: is {shown(current)}" + (f", expected {shown(wanted)}" if wanted else "")
    if part.status == "PD_ERR_UNDEFINED" and "did you mean" not in text:
        return text + near.suggestion(name)
    return text


def _document(problem: Problem) -> dict[str, Any]:
    document = {**problem._asdict(), "errors": list(problem.errors)}
    if problem.current is None:
        del document["current"]
    return document


class _Nearest:
    """Suggests names of the flags of a process, which is asked once, if at all."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._known: list[str] | None = None

    def suggestion(self, name: str) -> str:
        if self._known is None:
            try:
                flags: Iterable[Any] = self._client.flags()["flags"]
            except LiveError:
                flags = ()
            self._known = [each for flag in flags for each in names_of(flag)]
        near = nearest(name, self._known)
        return f"; did you mean '{one_line(near)}'?" if near else ""


# ---- The list of changes ----


def run_changes(options: argparse.Namespace) -> int:
    """List what clients have changed; return the exit status."""
    changes = client_of(options).changes()
    if options.json:
        print_json({"changes": changes})
    elif changes:
        titles = ("change", "at", "state", "flags", "who", "reason")
        print_text(table(titles, [_row(each) for each in changes]))
    else:
        print_error(_NO_CHANGE)
    return 0


def _row(change: Mapping[str, Any]) -> tuple[str, ...]:
    state = one_line(change["state"])
    if state == "on" and change["until"]:
        state = f"until {time_text(change['until'])}"
    if change["undoes"] is not None:
        state = f"undo of {change['undoes']}"
    flags = ", ".join(
        f"{each['name']}: {change_text(each) or '<redacted>'}" for each in change["flags"]
    )
    return (
        str(change["change"]),
        time_text(change["at"]),
        state,
        cut(one_line(flags)),
        who_text(change["who"]),
        one_line(change["reason"] or ""),
    )
