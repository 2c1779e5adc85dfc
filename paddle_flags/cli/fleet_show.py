"""The commands fleet status, get, diff and log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle_flags._report.table import table
from paddle_flags.cli.fleet_common import (
    entry_json,
    limits_text,
    line_of,
    moment_text,
    open_fleet,
    reason_of,
    seconds_text,
)
from paddle_flags.cli.output import print_error, print_text
from paddle_flags.cli.remote_common import matches, print_json
from paddle_flags.fleet._difference import members_text
from paddle_flags.fleet._follow import verdict_text
from paddle_flags.fleet._operate import changes_text
from paddle_flags.fleet._record import PROPOSE, selector
from paddle_flags.fleet._status import ABSENT, GONE, MISSING, SLOW
from paddle_flags.fleet._store import ReadOnlyError

if TYPE_CHECKING:
    import argparse

    from paddle_flags.fleet._apply import Answer
    from paddle_flags.fleet._difference import Difference, Holder
    from paddle_flags.fleet._fleet import Fleet
    from paddle_flags.fleet._state import Entry, Step
    from paddle_flags.fleet._status import MemberStatus, Status

_SILENT = 4


def run_status(options: argparse.Namespace) -> int:
    """List the members; return the exit status."""
    status = open_fleet(options).status()
    if options.json:
        print_json(_status_json(status))
    else:
        _print_status(status)
    if any(each.state in (SLOW, GONE, MISSING) for each in status.members):
        return _SILENT
    return 0 if status.ok else 1


def _status_json(status: Status) -> dict[str, Any]:
    members = [
        {**each._asdict(), "answers": _answers(each.answers), "problems": _answers(each.problems)}
        for each in status.members
    ]
    return {**status._asdict(), "members": members, "ok": status.ok}


def _answers(answers: dict[int, Answer]) -> dict[int, dict[str, str]]:
    return {revision: each._asdict() for revision, each in answers.items()}


def _print_status(status: Status) -> None:
    if not status.members:
        print_text(f"revision {status.revision}, no members")
        return
    titles = ("member", "state", "revision", "step", "host", "pid")
    print_text(table(titles, [_member_row(each) for each in status.members]))
    lines = []
    for each in status.members:
        if each.why:
            lines.append(f"{each.name} is {each.state}: {reason_of(each.why)}")
        for revision, answer in sorted(each.problems.items()):
            why = f": {reason_of(answer.why)}" if answer.why else ""
            lines.append(f"{each.name}: revision {revision}: {answer.state}{why}")
    lines += [f"revision {each} is not decided yet" for each in status.undecided]
    lines.append(f"revision {status.revision}, {_count(status)}")
    print_text("\n".join(["", *lines]))


def _count(status: Status) -> str:
    here = sum(each.state not in ABSENT for each in status.members)
    return f"{here} member{'s' * (here != 1)}"


def _member_row(each: MemberStatus) -> tuple[str, ...]:
    absent = each.state in ABSENT
    return (
        line_of(each.name),
        each.state,
        "" if absent else str(each.revision),
        "" if each.step is None else str(each.step),
        line_of(each.host),
        "" if absent else str(each.pid),
    )


def run_get(options: argparse.Namespace) -> int:
    """List the values of the fleet; return the exit status."""
    fleet = open_fleet(options)
    chosen = (options.role, options.host, options.member)
    if chosen == (None, None, None):
        tables = fleet.tables()
    else:
        on = selector(*chosen)
        found = fleet.values(role=options.role, host=options.host, member=options.member)
        tables = {on: found}
    patterns = _by_name(fleet, options.patterns)
    kept = {
        on: {name: each for name, each in values.items() if matches(name, patterns)}
        for on, values in tables.items()
    }
    if options.json:
        print_json(
            {on: {name: entry_json(e) for name, e in each.items()} for on, each in kept.items()}
        )
        return 0
    rows = [
        _value_row(on, name, each) for on in sorted(kept) for name, each in sorted(kept[on].items())
    ]
    if rows:
        print_text(table(("flag", "value", "for", "revision", "by", "reason", ""), rows))
    else:
        print_error("the fleet gives no such values")
    return 0


def _by_name(fleet: Fleet, patterns: list[str]) -> list[str]:
    """Return patterns, and for each that is a name the other names of its flag."""
    try:
        return [*patterns, *(fleet.names(*patterns) if patterns else ())]
    except ReadOnlyError:  # a source that has no members
        return patterns


def _value_row(on: str, name: str, entry: Entry) -> tuple[str, ...]:
    value = "not set" if entry.value is None else entry.value
    who = (line_of(entry.by), line_of(entry.reason), limits_text(entry))
    return (line_of(name), line_of(value), line_of(on), str(entry.revision), *who)


def run_diff(options: argparse.Namespace) -> int:
    """List the flags that differ; return 1 if there are any, as diff does."""
    fleet = open_fleet(options)
    patterns = _by_name(fleet, options.patterns)
    found = [each for each in fleet.diff() if matches(each.name, patterns)]
    if options.json:
        print_json({"different": [_difference_json(each) for each in found]})
    elif found:
        rows = [row for each in found for row in _difference_rows(each)]
        print_text(table(("flag", "value", "source", "members"), rows))
    return 1 if found else 0


def _difference_json(difference: Difference) -> dict[str, Any]:
    return {"name": difference.name, "holders": [each._asdict() for each in difference.holders]}


def _difference_rows(difference: Difference) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for index, each in enumerate(difference.holders):
        name = line_of(difference.name) if index == 0 else ""
        rows.append((name, _held(each), line_of(each.source), line_of(members_text(each.members))))
    return rows


def _held(holder: Holder) -> str:
    return "not defined" if holder.value is None else line_of(holder.value)


def run_log(options: argparse.Namespace) -> int:
    """List the changes; return the exit status."""
    steps = open_fleet(options).log()[::-1][: options.last]
    if options.json:
        print_json({"log": [_step_json(each) for each in steps]})
    elif steps:
        titles = ("revision", "at", "change", "state", "by", "reason")
        print_text(table(titles, [_step_row(each) for each in steps]))
    else:
        print_error("nobody has changed anything")
    return 0


def _step_json(step: Step) -> dict[str, Any]:
    fields = step.record._asdict()
    fields["changes"] = [each._asdict() for each in step.record.changes]
    return {"revision": step.revision, **fields, "state": _state_of(step)}


def _state_of(step: Step) -> str:
    record = step.record
    if record.kind == PROPOSE:
        return "dry run" if record.dry_run else verdict_text(step.verdict)
    return "committed"


def _step_row(step: Step) -> tuple[str, ...]:
    record = step.record
    change = changes_text(record)
    if record.at_step is not None:
        change += f" at step {record.at_step}"
    if record.duration is not None:
        change += f" for {seconds_text(record.duration)}"
    return (
        str(step.revision),
        moment_text(record.time),
        line_of(change),
        line_of(_state_of(step)),
        line_of(record.by),
        line_of(record.reason),
    )
