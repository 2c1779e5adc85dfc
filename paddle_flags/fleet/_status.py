"""Who is in a fleet, and how each member is: what a single look at the engine shows."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags.fleet import _apply
from paddle_flags.fleet._apply import Answer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paddle_flags.fleet._state import State, Step

    Documents = Mapping[str, Mapping[str, Any]]

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

_GOOD = (*_apply.GOOD, _apply.WAITS)
_SOON = 2.0  # seconds in which a member that is well has read a revision


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
    """Revisions of proposals that nobody has decided."""

    @property
    def ok(self) -> bool:
        """Whether all members that have not left are here, have read everything and taken it."""
        return all(each.state in WELL and not each.problems for each in self.members)


def status_of(url: str, state: State, documents: Documents, log: list[Step]) -> Status:
    """Return the status that the documents of the members show, also of those that have left."""
    here = {name: each for name, each in documents.items() if not each.get("left")}
    last = log[-1] if log else None
    age = time.time() - last.record.time if last else 0.0
    standing = _standing(log)
    members = [_member(name, each, state, age, standing) for name, each in here.items()]
    members += _absent(documents, log)
    members += _missing(documents, members)
    members.sort(
        key=lambda each: (each.role or "", -1 if each.rank is None else each.rank, each.name)
    )
    undecided = [step.revision for step in state.open_proposals()]
    return Status(url, state.fleet, state.revision, members, undecided)


def _standing(log: list[Step]) -> set[int]:
    """Return the revisions of which later ones have not replaced everything."""
    found: set[int] = set()
    replaced: set[tuple[str, str]] = set()
    for step in reversed(log):
        record = step.record
        changed = {(each.on, each.name) for each in record.changes}
        if not step.holds:
            continue
        if record.reset is not None:
            found.add(step.revision)
            break
        if not changed <= replaced:
            found.add(step.revision)
        if record.duration is None and record.at_step is None:
            replaced |= changed
    return found


def _member(
    name: str, document: Mapping[str, Any], state: State, age: float, standing: set[int]
) -> MemberStatus:
    revision = int(document.get("revision", 0))
    answers = answers_of(document)
    fate, why = CURRENT, ""
    if document.get("fleet") and state.fleet and document["fleet"] != state.fleet:
        fate, why = LOST, f"it keeps revision {revision} of fleet {document['fleet']}"
    elif document.get("problem"):
        fate, why = LOST, str(document["problem"])
    elif revision < state.revision:
        fate = SLOW if age > _SOON else BEHIND
        why = f"has read revision {revision} of {state.revision}"
        if fate == SLOW:
            why += f", which was written {age:.0f} s ago"
    return MemberStatus(
        name,
        fate,
        document.get("role"),
        document.get("rank"),
        str(document.get("host", "")),
        int(document.get("pid", 0)),
        revision,
        document.get("step"),
        why,
        answers,
        {r: answer for r, answer in answers.items() if r in standing and answer.state not in _GOOD},
    )


def answers_of(document: Mapping[str, Any]) -> dict[int, Answer]:
    """Return the answers in a document."""
    return {int(r): Answer(*answer) for r, answer in document.get("answers", {}).items()}


def _absent(documents: Documents, log: list[Step]) -> list[MemberStatus]:
    """Return the members that were here when the latest record was written, and aren't now."""
    if not log:
        return []
    step = log[-1]
    found = []
    for name in step.record.members:
        document = documents.get(name)
        if document is None:
            why = f"was here at revision {step.revision}; its lease has ended"
            found.append(MemberStatus(name, GONE, None, None, "", 0, 0, None, why, {}, {}))
        elif document.get("left"):
            role, rank, host = document.get("role"), document.get("rank"), document.get("host", "")
            found.append(MemberStatus(name, LEFT, role, rank, host, 0, 0, None, "", {}, {}))
    return found


def _missing(documents: Documents, known: list[MemberStatus]) -> list[MemberStatus]:
    """Return the ranks below the highest number that a member of their role knows."""
    worlds: dict[str | None, int] = {}
    left: dict[tuple[Any, Any], str] = {}
    for name, document in documents.items():
        role, rank = document.get("role"), document.get("rank")
        if document.get("left"):
            left[role, rank] = name
        elif isinstance(rank, int):
            worlds[role] = max(worlds.get(role, 0), document.get("world") or 0)
    if len(worlds) != 1:  # of several roles, nobody knows how many each has
        return []
    [(role, world)] = worlds.items()
    why = f"the job has {world} processes"
    names = [f"{role or 'rank'}-{rank}" for rank in range(min(world, 100_000))]
    present = {each.rank for each in known if each.role == role} | {each.name for each in known}
    found = []
    for rank, name in enumerate(names):
        if {rank, name} & present:
            continue
        own = left.get((role, rank))
        state, note = (MISSING, why) if own is None else (LEFT, "")
        found.append(MemberStatus(own or name, state, role, rank, "", 0, 0, None, note, {}, {}))
    return found
