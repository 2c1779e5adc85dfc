"""A fleet, and what became of a change, as JSON documents: the answers of a gateway."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from paddle_flags.fleet._record import END

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paddle_flags.fleet._document import Difference
    from paddle_flags.fleet._flags import Answer
    from paddle_flags.fleet._operate import Outcome
    from paddle_flags.fleet._state import Step, Tables
    from paddle_flags.fleet._status import MemberStatus, Seen, View

_MOST_MEMBERS = 1000
_MOST_DIFFERENCES = 500
_MOST_VALUES = 1000
_MOST_CHANGES = 20
_MOST_ANSWERS = 8  # of a member


def fleet_document(view: View, seen: Seen | None) -> dict[str, Any]:
    """Return what was seen of a fleet, with its age."""
    status = seen and seen.status
    members = status.members if status else []
    differences = seen.differences if seen else []
    secret = seen.sensitive if seen else frozenset()
    log = seen.log[-_MOST_CHANGES:] if seen else []
    return {
        "url": view.url,
        "fleet": status.fleet if status else "",
        "revision": status.revision if status else 0,
        "ok": bool(status and status.ok and not differences and not view.problem),
        "age": round(time.monotonic() - seen.moment, 3) if seen else None,
        "problem": view.problem,
        "count": len(members),
        "present": seen.present if seen else 0,
        "members": [_member_document(each) for each in members[:_MOST_MEMBERS]],
        "differing": len(differences),
        "differences": [
            _difference_document(each, secret) for each in differences[:_MOST_DIFFERENCES]
        ],
        "changes": [_change_document(step, secret) for step in reversed(log)],
        "values": list(_value_documents(seen.tables, secret))[:_MOST_VALUES] if seen else [],
    }


def outcome_document(outcome: Outcome) -> dict[str, Any]:
    """Return what became of a change."""
    members = [
        {"name": name, "state": each.state, "why": each.why}
        for name, each in sorted(outcome.answers.items())
    ]
    silent = [{"name": name, "why": why} for name, why in sorted(outcome.silent.items())]
    return {
        "revision": outcome.revision,
        "verdict": outcome.verdict,
        "ok": outcome.ok,
        "members": members,
        "silent": silent,
        "is_checked": outcome.is_checked,
    }


def _member_document(status: MemberStatus) -> dict[str, Any]:
    answers, problems = _latest_answers(status.answers), _latest_answers(status.problems)
    pid = status.pid or None
    return {**status._asdict(), "pid": pid, "answers": answers, "problems": problems}


def _latest_answers(answers: dict[int, Answer]) -> list[dict[str, Any]]:
    latest = sorted(answers)[-_MOST_ANSWERS:]
    return [{"revision": each, **answers[each]._asdict()} for each in latest]


def _difference_document(difference: Difference, secret: frozenset[str]) -> dict[str, Any]:
    hidden = difference.name in secret
    holders = [
        {**each._asdict(), "value": None if hidden else each.value} for each in difference.holders
    ]
    return {"name": difference.name, "sensitive": hidden, "holders": holders}


def _change_document(step: Step, secret: frozenset[str]) -> dict[str, Any]:
    record = step.record
    return {
        "revision": step.revision,
        "at": _time_text(record.time),
        "by": record.by,
        "reason": record.reason,
        "state": "undecided" if step.verdict is None else step.verdict.partition(":")[0],
        "verdict": step.verdict or "undecided",
        "for": record.duration,
        "at_step": record.at_step,
        "ends": record.of if record.kind == END else None,
        "changes": [
            {"on": on, "name": name, "value": None if name in secret else value}
            for name, value, on in record.changes
        ],
    }


def _value_documents(tables: Tables, secret: frozenset[str]) -> Iterator[dict[str, Any]]:
    for on, table in sorted(tables.items()):
        for name, entry in sorted(table.items()):
            yield {
                "on": on,
                "name": name,
                "value": None if name in secret else entry.value,
                "revision": entry.revision,
                "by": entry.by,
                "reason": entry.reason,
                "for": entry.duration,
                "at_step": entry.at_step,
            }


def _time_text(seconds: float) -> str | None:
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):  # of a record that somebody else wrote
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
