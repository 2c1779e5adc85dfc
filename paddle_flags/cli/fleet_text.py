"""What there is to know about a fleet, as text and as JSON; safe_output.py escapes the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle_flags.cli.safe_output import Table, shorten
from paddle_flags.fleet._document import members_text
from paddle_flags.fleet._flags import GOOD
from paddle_flags.fleet._operate import Outcome
from paddle_flags.fleet._record import END, changes_text, moment_text
from paddle_flags.fleet._state import Entry
from paddle_flags.fleet._status import ABSENT, Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from paddle_flags.cli.safe_output import Part
    from paddle_flags.fleet._document import Difference
    from paddle_flags.fleet._operate import UnconfirmedError
    from paddle_flags.fleet._state import Step
    from paddle_flags.fleet._status import MemberStatus

    Tables = Mapping[str, Mapping[str, Entry]]

_WIDEST = 300  # letters of a reason at the end of a line


def confirmation_lines(error: UnconfirmedError) -> list[str]:
    """Return which option confirms each unsafe flag, and what else is wrong."""
    lines = [f"{name}: is unsafe to change; add --confirm {name}" for name in error.names]
    return lines + [str(each) for each in error.errors if each is not error]


def as_json(value: Any) -> Any:
    """Return what the functions of a fleet return as JSON."""
    if isinstance(value, dict):
        return {key: as_json(each) for key, each in value.items()}
    if not isinstance(value, (list, tuple)):
        return value
    fields_of = getattr(value, "_asdict", None)
    if fields_of is None:
        return [as_json(each) for each in value]
    fields = {key: as_json(each) for key, each in fields_of().items()}
    if isinstance(value, Entry):
        fields["until"] = None if value.duration is None else value.time + value.duration
    if isinstance(value, (Status, Outcome)):
        fields["ok"] = value.ok
    return fields


# ---- Values ----


def values_table(tables: Tables) -> Table:
    """Return the values that a fleet gives."""
    rows = [
        (
            shorten(name),
            shorten(entry.value),
            shorten(on),
            str(entry.revision),
            shorten(entry.by),
            shorten(entry.reason),
            _format_validity_period(entry),
        )
        for on in sorted(tables)
        for name, entry in sorted(tables[on].items())
    ]
    return Table(("flag", "value", "for", "revision", "by", "reason", ""), rows)


def _format_validity_period(entry: Entry) -> str:
    """Return when a value begins and ends: "from step 1200, for 600 s"."""
    parts = []
    if entry.at_step is not None:
        parts.append(f"from step {entry.at_step}")
    if entry.duration is not None:
        until = f" until {moment_text(entry.time + entry.duration)}" * (entry.at_step is None)
        parts.append(f"for {entry.duration:g} s{until}")
    return ", ".join(parts)


# ---- One flag ----


def explain_parts(
    name: str, values: Tables, steps: list[Step], differences: list[Difference]
) -> list[Part]:
    """Return which values the fleet gives a flag, what its members have, and who changed it."""
    parts: list[Part] = [name]
    if any(values.values()):
        parts += ["", "values of the fleet:", values_table(values)._replace(indent="  ")]
    else:
        parts += ["", "the fleet gives it no value"]
    if differences:
        parts += ["", "members that differ:", differences_table(differences)._replace(indent="  ")]
    if steps:
        parts += ["", "changes, the latest first:", log_table(steps)._replace(indent="  ")]
    return parts


def explain_json(
    name: str, values: Tables, steps: list[Step], differences: list[Difference]
) -> dict[str, Any]:
    """Return the same as JSON."""
    return {
        "name": name,
        "values": as_json(values),
        "different": as_json(differences),
        "log": [step_json(each) for each in steps],
    }


def differences_table(found: Iterable[Difference]) -> Table:
    """Return the flags in which members differ."""
    rows = []
    for difference in found:
        name = shorten(difference.name)
        for each in difference.holders:
            value = "not defined" if each.value is None else shorten(each.value)
            rows.append((name, value, shorten(each.source), shorten(members_text(each.members))))
            name = ""
    return Table(("flag", "value", "source", "members"), rows)


# ---- The log ----


def log_table(steps: Iterable[Step]) -> Table:
    """Return changes."""
    titles = ("revision", "at", "change", "state", "by", "reason")
    return Table(titles, [_step_row(each) for each in steps])


def _step_row(step: Step) -> tuple[str, ...]:
    record = step.record
    change = f"end of revision {record.of}" if record.kind == END else changes_text(record)
    if record.at_step is not None:
        change += f" at step {record.at_step}"
    if record.duration is not None:
        change += f" for {record.duration:g} s"
    return (
        str(step.revision),
        moment_text(record.time),
        shorten(change),
        shorten(_format_verdict(step)),
        shorten(record.by),
        shorten(record.reason),
    )


def _format_verdict(step: Step) -> str:
    return "undecided" if step.verdict is None else step.verdict


def step_json(step: Step) -> dict[str, Any]:
    """Return a change as JSON."""
    return {"revision": step.revision, **as_json(step.record), "state": _format_verdict(step)}


# ---- What became of a change ----


def outcome_parts(outcome: Outcome) -> tuple[list[Part], list[str]]:
    """Return what became of a change, and what is wrong about it."""
    parts: list[Part] = []
    rows = [
        (shorten(n), a.state, shorten(a.why, _WIDEST)) for n, a in sorted(outcome.answers.items())
    ]
    rows += [
        (shorten(n), "no answer", shorten(w, _WIDEST)) for n, w in sorted(outcome.silent.items())
    ]
    if rows:
        parts.append(Table(("member", "answer", ""), rows))
    elif not outcome.is_checked:
        note = f": {shorten(outcome.note, _WIDEST)}" if outcome.note else ""
        parts.append(f"no member has checked it{note}")
    text = f"revision {outcome.revision}: {outcome.verdict}"
    if outcome.verdict.startswith("aborted"):
        return parts, [text]
    others = sum(each.state not in GOOD for each in outcome.answers.values())
    if others:
        text += f", and {others} of {len(rows)} members did not take it"
    return [*parts, text], ["no member has such a flag yet"] if outcome.unknown else []


# ---- Members ----


def status_parts(status: Status) -> list[Part]:
    """Return the members and what is wrong with them."""
    if not status.members:
        return [f"revision {status.revision}, no members"]
    titles = ("member", "state", "revision", "step", "host", "pid")
    parts: list[Part] = [Table(titles, [_member_row(each) for each in status.members]), ""]
    for each in status.members:
        if each.why:
            parts.append(f"{each.name} is {each.state}: {shorten(each.why, _WIDEST)}")
        for revision, answer in sorted(each.problems.items()):
            why = f": {shorten(answer.why, _WIDEST)}" if answer.why else ""
            parts.append(f"{each.name}: revision {revision}: {answer.state}{why}")
    if status.question:
        parts.append(f"not decided yet: {status.question}")
    here = sum(each.state not in ABSENT for each in status.members)
    return [*parts, f"revision {status.revision}, {here} member{'s' * (here != 1)}"]


def _member_row(each: MemberStatus) -> tuple[str, ...]:
    absent = each.state in ABSENT
    return (
        shorten(each.name),
        each.state,
        "" if absent else str(each.revision),
        "" if each.step is None else str(each.step),
        shorten(each.host),
        "" if absent else str(each.pid),
    )
