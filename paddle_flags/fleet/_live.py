"""Requests of the live API about the fleet: what a member has seen of it, and changes for all."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags._native import lib
from paddle_flags.errors import FlagArgumentError, FlagError, FlagTypeError
from paddle_flags.fleet._fleet import Fleet
from paddle_flags.fleet._live_document import document_of
from paddle_flags.fleet._operate import ConflictError, SensitiveError
from paddle_flags.fleet._record import Change, selector
from paddle_flags.fleet._store import ReadOnlyError, UnreachableError
from paddle_flags.live._fleet import Reply

if TYPE_CHECKING:
    from paddle_flags.fleet._outcome import Outcome
    from paddle_flags.fleet._view import View
    from paddle_flags.live._body import Field
    from paddle_flags.live._fleet import Asked

_FIRST = 0.5  # seconds to wait for the first look
_LINGER = 10.0  # seconds after a request in which a next one is expected
_WAIT = 5.0  # seconds for members to answer, if nobody says how long
_LONGEST = 30.0
_BIGGEST = 2**53

_STATUS = (
    ((FlagArgumentError, FlagTypeError), 400),
    (ReadOnlyError, 403),
    (ConflictError, 409),
    ((UnreachableError, OSError), 504),
    (FlagError, 422),
)


def answer(view: View, asked: Asked) -> Reply:
    """Answer a request about the fleet of this process."""
    if asked.fields is None:
        return Reply(200, document_of(view, view.look(wait=_FIRST, linger=_LINGER)))
    order: _Order | None = None
    try:
        order = _read(asked.fields)
        outcome = _change(view, order, asked)
    except (FlagError, OSError) as error:
        status = next(number for kind, number in _STATUS if isinstance(error, kind))
        return _refused(status, error, order)
    return Reply(200, _result_of(outcome), event=_event_of(view, order, outcome, asked))


# ---- Changes ----


class _Order(NamedTuple):
    """A change, as the body of a request says."""

    set: dict[str, str | None]
    on: str
    reason: str
    at_step: int | None
    all_or_none: bool
    dry_run: bool
    expect: int | None
    wait: float


def _read(fields: list[Field]) -> _Order:
    """Return what a body says, whose form the library has checked."""
    said = {field.path: field.text for field in fields if field.kind != lib.PD_LIVE_NULL}
    values = {_name(field.path): field.text for field in fields if field.path.startswith("/set/")}
    wait = said.get("/wait")
    seconds = _WAIT if wait is None else float(wait)
    if not 0 <= seconds <= _LONGEST:
        message = f"'/wait': expected seconds, at most {_LONGEST:g}"
        raise FlagArgumentError(message)
    return _Order(
        values,
        selector(said.get("/role"), said.get("/host"), said.get("/member")),
        said.get("/reason") or "",
        _whole(said, "/at_step"),
        said.get("/all_or_none") == "true",
        said.get("/dry_run") == "true",
        _whole(said, "/expect"),
        seconds,
    )


def _name(path: str) -> str:
    return path[len("/set/") :].replace("~1", "/").replace("~0", "~")


def _whole(said: dict[str, str | None], path: str) -> int | None:
    text = said.get(path)
    if text is None:
        return None
    if text.isascii() and text.isdigit() and int(text) < _BIGGEST:
        return int(text)
    message = f"'{path}': expected an integer, 0 or more"
    raise FlagArgumentError(message)


def _change(view: View, order: _Order, asked: Asked) -> Outcome:
    member = view.member
    fleet = Fleet(member.store, by=f"{_person(asked.who)} through {member.name}")
    return fleet.change(
        [Change(name, value, order.on) for name, value in order.set.items()],
        wait=order.wait or None,
        all_or_none=order.all_or_none,
        at_step=order.at_step,
        duration=asked.duration,
        reason=order.reason,
        dry_run=order.dry_run,
        expect=order.expect,
        confirm=order.set,  # the library has asked for it
    )


def _person(who: dict[str, Any]) -> str:
    known = [who["label"] or (f"uid {who['uid']}" if who["uid"] is not None else "somebody")]
    known += [who["host"]] if who["host"] else []
    return " at ".join(known)


# ---- Answers ----


def _result_of(outcome: Outcome) -> dict[str, Any]:
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
    }


def _refused(status: int, error: Exception, order: _Order | None) -> Reply:
    event = None
    if order is not None and not order.dry_run:
        event = {
            "event": "refused",
            "result": "refused",
            "at": _now(),
            "status": status,
            "detail": str(error),
            "reason": order.reason,
            "flags": [
                {"name": name, "new": None if isinstance(error, SensitiveError) else value}
                for name, value in order.set.items()
            ],
        }
    return Reply(status, detail=str(error), event=event)


def _event_of(view: View, order: _Order, outcome: Outcome, asked: Asked) -> dict[str, Any] | None:
    if order.dry_run:
        return None
    return {
        "event": "fleet",
        "result": "applied",
        "at": _now(),
        "fleet": view.member.url,
        "revision": outcome.revision,
        "on": order.on,
        "reason": order.reason,
        "for": asked.duration,
        "at_step": order.at_step,
        "flags": [{"name": name, "new": value} for name, value in order.set.items()],
    }


def _now() -> str:
    now = datetime.now(UTC)
    return now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
