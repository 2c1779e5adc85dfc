"""Who is in a fleet, and how each member is: what a single look at the engine shows."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags.fleet import _flags
from paddle_flags.fleet._document import absent_ranks, find_other_log
from paddle_flags.fleet._record import question_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paddle_flags.fleet._document import Documents
    from paddle_flags.fleet._flags import Answer
    from paddle_flags.fleet._history import Step
    from paddle_flags.fleet._state import State

CURRENT = "current"
BEHIND = "behind"
SLOW = "slow"
GONE = "gone"
LEFT = "left"
MISSING = "missing"
LOST = "lost"
ABSENT = (GONE, LEFT, MISSING)
"""States of members that are not here."""
WELL = (CURRENT, BEHIND, LEFT)

_SOON = 2.0  # seconds in which a member that is well has read a revision
_RECENT = 600.0  # seconds for which a member that is gone is listed although others went on


class MemberStatus(NamedTuple):
    """One member, as it was seen."""

    name: str
    state: str
    """`"current"`; `"behind"`: it reads right now; `"slow"`: it has a lease and doesn't read, as
    when it is stopped; `"gone"`: its lease has ended; `"left"`: it has ended as programs do, or
    called `leave`; `"missing"`: ranks say that it should be here; `"lost"`: it can't follow the
    log, and `why` says the reason."""
    role: str | None
    rank: int | None
    host: str
    pid: int
    revision: int
    step: int | None
    why: str
    answers: dict[int, Answer]
    """Its latest answers, by revision."""
    problems: dict[int, Answer]
    """Those to changes that did not take effect and that later ones have not replaced."""


class Status(NamedTuple):
    """A fleet, as it was seen."""

    url: str
    fleet: str
    """The identity of its log."""
    revision: int
    members: list[MemberStatus]
    undecided: list[int]
    """The revision of the question that waits for its decision, if there is one."""
    question: str = ""
    """That revision, who asks for what, and until when by the clock of who asks; or ""."""

    @property
    def ok(self) -> bool:
        """Whether all members that have not left are here, have read everything and taken it."""
        return all(each.state in WELL and not each.problems for each in self.members)


def status_of(url: str, state: State, documents: Documents, log: list[Step]) -> Status:
    """Return the status that the documents of the members show, also of those that have left."""
    members = [
        _member(name, each, state, log)
        for name, each in documents.items()
        if each["alive"] or each.get("left") or _is_missed(each, state)
    ]
    members += _missing(documents, members)
    members.sort(
        key=lambda each: (each.role or "", -1 if each.rank is None else each.rank, each.name)
    )
    undecided = [state.question.revision] if state.question else []
    asked = question_text(state.question) if state.question else ""
    return Status(url, state.fleet, state.revision, members, undecided, asked)


def _is_missed(document: Mapping[str, Any], state: State) -> bool:
    """Return whether a member that is gone was here at the last change, or until just now."""
    is_recent = time.time() - document.get("time", 0.0) < _RECENT
    return is_recent or bool(document.get("revision", 0) >= state.changed)


def _member(name: str, document: Mapping[str, Any], state: State, log: list[Step]) -> MemberStatus:
    fate, why = _fate(document, state, log)
    is_here = fate not in ABSENT
    answers = document["answers"] if is_here else {}
    standing = document.get("standing", ())
    return MemberStatus(
        name,
        fate,
        document.get("role"),
        document.get("rank"),
        str(document.get("host", "")),
        int(document.get("pid", 0)) if is_here else 0,
        int(document.get("revision", 0)),
        document.get("step"),
        why,
        answers,
        {r: a for r, a in answers.items() if r in standing and a.state not in _flags.GOOD},
    )


def _fate(document: Mapping[str, Any], state: State, log: list[Step]) -> tuple[str, str]:
    """Return the state of a member, and why."""
    revision = int(document.get("revision", 0))
    if document.get("left"):
        return LEFT, ""
    if not document["alive"]:
        return GONE, f"its lease has ended; it had read revision {revision}"
    if document.get("problem"):
        return LOST, str(document["problem"])
    if other := find_other_log(document, state.fleet):
        return LOST, other
    return _pace(revision, state, log)


def _pace(revision: int, state: State, log: list[Step]) -> tuple[str, str]:
    """Return how far a member is that reads; it is late by the age of what it hasn't read."""
    if revision >= state.changed:
        return CURRENT, ""
    unread = next((step for step in log if step.revision > revision and step.holds), None)
    age = time.time() - unread.record.time if unread else 0.0
    why = f"has read revision {revision} of {state.changed}"
    if age <= _SOON:
        return BEHIND, why
    return SLOW, f"{why}; the next one was written {age:.0f} s ago"


def _missing(documents: Documents, known: list[MemberStatus]) -> list[MemberStatus]:
    """Return the ranks below the highest number that a member of their role knows."""
    here = {
        name: each for name, each in documents.items() if each["alive"] and not each.get("left")
    }
    world = max((each.get("world") or 0 for each in here.values()), default=0)
    role, ranks = absent_ranks(here, world)
    others = {each.rank for each in known if each.role == role} | {each.name for each in known}
    found = [(rank, f"{role or 'rank'}-{rank}") for rank in ranks]
    why = f"the job has {world} processes"
    return [
        MemberStatus(name, MISSING, role, rank, "", 0, 0, None, why, {}, {})
        for rank, name in found
        if not {rank, name} & others
    ]
