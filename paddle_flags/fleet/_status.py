"""Who is in a fleet, and how each member is: what a single look at the engine shows."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags.fleet import _document
from paddle_flags.fleet._document import Difference, Documents, diff_members, read_recent
from paddle_flags.fleet._flags import GOOD, Answer
from paddle_flags.fleet._follow import Follower
from paddle_flags.fleet._record import question_text
from paddle_flags.fleet._state import State, Step, Tables, build_tables, history_of
from paddle_flags.fleet._store import FleetError, Store
from paddle_flags.fleet._threads import allocate_lock, start_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CURRENT = "current"
BEHIND = "behind"
SLOW = "slow"
GONE = "gone"
LEFT = "left"
MISSING = "missing"
LOST = "lost"
ABSENT = (GONE, LEFT, MISSING)  # those of members that are not here
WELL = (CURRENT, BEHIND, LEFT)

_SOON = 2.0  # seconds in which a member that is well has read a revision
_RECENT = 600.0  # seconds for which a member that is gone is listed although others went on
_PERIOD = 0.5  # seconds between two looks, while somebody asks
_SHARE = 4  # a look that takes long is followed by so many times as long a pause
_POLL = 0.02


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


def build_fleet_status(url: str, state: State, documents: Documents, log: list[Step]) -> Status:
    """Return the status that the documents of the members show, also of those that have left."""
    members = [
        _member_status(name, each, state, log)
        for name, each in documents.items()
        if each["alive"]
        or each.get("left")
        or time.time() - each.get("time", 0.0) < _RECENT
        or each.get("revision", 0) >= state.changed
    ]
    members += _find_missing_ranks(documents, members)
    members.sort(
        key=lambda each: (each.role or "", -1 if each.rank is None else each.rank, each.name)
    )
    undecided = [state.question.revision] if state.question else []
    asked = question_text(state.question) if state.question else ""
    return Status(url, state.fleet, state.revision, members, undecided, asked)


def _member_status(
    name: str, document: Mapping[str, Any], state: State, log: list[Step]
) -> MemberStatus:
    fate, why = _member_state(document, state, log)
    is_here = fate not in ABSENT
    answers = document["answers"] if is_here else {}
    standing = document.get("standing", ())
    problems = {r: a for r, a in answers.items() if r in standing and a.state not in GOOD}
    who = (document.get("role"), document.get("rank"), document.get("host", ""))
    pid, revision = document.get("pid", 0) if is_here else 0, document.get("revision", 0)
    step = document.get("step")
    return MemberStatus(name, fate, *who, pid, revision, step, why, answers, problems)


def _member_state(document: Mapping[str, Any], state: State, log: list[Step]) -> tuple[str, str]:
    """Return the state of a member, and why; it is late by the age of what it hasn't read."""
    revision = document.get("revision", 0)
    if document.get("left"):
        return LEFT, ""
    if not document["alive"]:
        return GONE, f"its lease has ended; it had read revision {revision}"
    if problem := document.get("problem") or _document.explain_other_log(document, state.fleet):
        return LOST, problem
    if revision >= state.changed:
        return CURRENT, ""
    unread = next((step for step in log if step.revision > revision and step.is_in_effect), None)
    age = time.time() - unread.record.time if unread else 0.0
    why = f"has read revision {revision} of {state.changed}"
    if abs(age) <= _SOON:
        return BEHIND, why
    when = f"{age:.0f} s ago" if age > 0 else "in the future, as the clock of this machine says"
    return SLOW, f"{why}; the next one was written {when}"


def _find_missing_ranks(documents: Documents, known: list[MemberStatus]) -> list[MemberStatus]:
    """Return the ranks below the highest number that a member of their role knows."""
    here = {n: each for n, each in documents.items() if each["alive"] and not each.get("left")}
    world = max((each.get("world") or 0 for each in here.values()), default=0)
    role, ranks = _document.absent_ranks(here, world)
    others = {each.rank for each in known if each.role == role} | {each.name for each in known}
    why = f"the job has {world} processes"
    return [
        MemberStatus(name, MISSING, role, rank, "", 0, 0, None, why, {}, {})
        for rank, name in ((rank, f"{role or 'rank'}-{rank}") for rank in ranks)
        if not {rank, name} & others
    ]


class Seen(NamedTuple):
    """A fleet, as it was at one moment."""

    status: Status
    differences: list[Difference]
    sensitive: frozenset[str]  # the flags that are sensitive in any member
    tables: Tables
    log: list[Step]  # the oldest first
    moment: float  # when, by the monotonic clock

    @property
    def present(self) -> int:
        """How many members are here."""
        return sum(each.state not in ABSENT for each in self.status.members)

    @property
    def problems(self) -> int:
        """How many members are not well, or have not taken a value that the fleet has now."""
        members = self.status.members
        return sum(each.state not in WELL or bool(each.problems) for each in members)


class View:
    """Looks at the fleet on its own thread, which exists only while somebody asks.

    Whoever asks gets what was seen last, and never waits for the engine.
    """

    def __init__(self, url: str, connect: Callable[[], Store]) -> None:
        self.url = url
        self.problem = ""
        """Why the latest look saw nothing, or `""`."""
        self._connect = connect
        self._seen: Seen | None = None
        self._lock = allocate_lock()
        self._until = 0.0  # the thread goes on up to then
        self._runs = False
        self._follower: Follower | None = None

    def refresh(self, *, wait: float = 0.0, linger: float = 0.0) -> Seen | None:
        """Return what was seen last, and look again, for `linger` seconds.

        None: nothing was seen yet, though it was waited for `wait` seconds.
        """
        now = time.monotonic()
        with self._lock:
            self._until = max(self._until, now + linger)
            starts, self._runs = not self._runs, True
        if starts:
            start_thread(self._run, f"paddle_flags view of {self.url}")
        while self._seen is None and not self.problem and time.monotonic() < now + wait:
            time.sleep(_POLL)
        return self._seen

    def _run(self) -> None:
        while True:
            began = time.monotonic()
            try:
                self._seen = self._read_fleet()
                self.problem = ""
            except Exception as error:  # the next look may see something
                is_known = isinstance(error, (FleetError, OSError))
                self.problem = str(error) if is_known else f"{type(error).__name__}: {error}"
            time.sleep(max(_PERIOD, _SHARE * (time.monotonic() - began)))
            with self._lock:
                if time.monotonic() >= self._until:
                    self._runs = False
                    return

    def _read_fleet(self) -> Seen:
        store = self._connect()
        follower = self._follower = self._follower or Follower(store)
        follower.check_same_log()
        follower.catch_up()
        log = history_of(follower.read_log())
        documents = read_recent(store)
        here = {name: each for name, each in documents.items() if each["alive"]}
        return Seen(
            build_fleet_status(store.url, follower.state, documents, log),
            diff_members(here),
            frozenset(name for each in here.values() for name in each.get("sensitive", ())),
            build_tables(follower.state.batches),
            log,
            time.monotonic(),
        )
