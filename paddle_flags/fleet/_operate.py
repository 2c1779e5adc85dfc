"""What an operator's change is made of: the question, the answers, the change, and who has it."""

from __future__ import annotations

import difflib
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from paddle_flags.extend import normalize_name
from paddle_flags.fleet import _document, _record, _state
from paddle_flags.fleet._document import Documents, explain_other_log, members_text, read_alive
from paddle_flags.fleet._flags import GOOD, PENDING, REJECTED, RESTART, Answer
from paddle_flags.fleet._record import ABORT, ASK, CHANGE, Change, Record
from paddle_flags.fleet._state import COMMITTED, DRY_RUN, Selected, State, Step, history_of
from paddle_flags.fleet._store import FleetError

if TYPE_CHECKING:
    from collections.abc import Collection

    from paddle_flags.fleet._follow import Follower

_POLL = 0.02  # seconds between two looks for answers
_LOOK = 0.001  # the same for each member: a look reads the documents of all
_TRIES = 100  # of appends that others were faster than
_MOST_NAMED = 5
_VERBS = {REJECTED: "rejects it", RESTART: RESTART}
_SHARE = 0.8  # of the time that members wait at a step, for a decision


class ConflictError(FleetError):
    """The fleet isn't at the expected revision. `records` has the changes since, as `Fleet.log`."""

    __module__ = "paddle_flags.fleet"

    records: tuple[Step, ...] = ()


class SensitiveError(FleetError):
    """A value was refused unwritten, since its flag is sensitive in some member."""


class UnconfirmedError(FleetError):
    """A change of unsafe flags was refused unwritten; `names` has those to be confirmed."""

    __module__ = "paddle_flags.fleet"

    names: tuple[str, ...] = ()


class AbortedError(FleetError):
    """A change was not made, since not all members have accepted it. `outcome` says why."""

    __module__ = "paddle_flags.fleet"

    outcome: Outcome


class Outcome(NamedTuple):
    """What became of a change, as far as its writer waited for it."""

    revision: int
    """Of the change; 0 if nothing had to be changed."""
    verdict: str
    """`"committed"`, `"dry run"`, or `"aborted"` with the reason."""
    answers: dict[str, Answer]
    """By member, of those that the change concerns and that have answered."""
    silent: dict[str, str]
    """By member, why there is no answer: it is slow, or gone."""
    is_checked: bool = True
    """Whether the members were asked first. They aren't by force, and if there are none."""
    note: str = ""
    """Why there is none, if there are members: such as that none of them has a role."""

    @property
    def ok(self) -> bool:
        """Whether the change took effect in all members that it concerns, as far as is known.

        Values that are pending have done so if they aren't pending in all members.
        """
        return (
            not self.silent
            and not self.verdict.startswith("aborted")
            and not self.unknown
            and all(answer.state in GOOD for answer in self.answers.values())
        )

    @property
    def unknown(self) -> bool:
        """Whether no member that has answered has defined all the flags: a name may be misspelt."""
        return {answer.state for answer in self.answers.values()} == {PENDING}


@dataclass
class Operator:
    """Makes one change. Used by one thread."""

    _follower: Follower
    record: Record  # of the kind `change`
    patience: float  # seconds for the answers of the members before the change
    wait: float | None = None  # seconds for their answers after it; None: not at all
    force: bool = False
    expect: int | None = None
    confirm: Collection[str] = ()
    aliases: bool = True  # whether to take flags back by all their names

    def __post_init__(self) -> None:
        self._store, self._clock = self._follower.store, self._follower.clock
        self._turn_end = self._clock.monotonic() + self.patience  # of waiting for others' decisions
        self._wanted: set[str] = set()  # members whose answers count
        self._count = 0  # of all members, when their documents were read last

    @property
    def _state(self) -> State:
        return self._follower.state

    def run(self) -> Outcome:
        """Make the change, unless a member rejects it; raise AbortedError then."""
        documents = self._wait_for_turn()
        record = self.record._replace(peers=len(documents))
        is_for_some = bool(_select_affected_members(record, documents))
        note = _describe_no_match(record, documents) if documents and not is_for_some else ""
        if not record.dry_run and (self.force or not is_for_some):
            made = Outcome(self._append(record), COMMITTED, {}, {}, is_checked=False, note=note)
            return self._wait_until_applied(made)
        patience = _limit_patience(record, documents, self.patience)
        asked = record._replace(kind=ASK, patience=patience, id=_record.new_id())
        try:
            found = Outcome(self._append(asked), DRY_RUN, {}, {}, note=note)
            why = self._wait_for_answers(found, asked.id, patience)
            found = found._replace(is_checked=bool(found.answers or found.silent))
            return found if record.dry_run else self._commit_or_abort(found, why)
        except BaseException:  # Ctrl+C, and an unreachable engine: the members wait for a decision
            with suppress(FleetError):
                self._follower.catch_up()  # it may be there although its revision isn't known
                question = self._state.question
                if question is not None and question.id == asked.id:
                    self._write_abort(question.revision, "its operator gave up")
            raise

    def _wait_for_turn(self) -> Documents:
        """Wait for the decision on an earlier change, and check what can be checked here."""
        self._catch_up_and_check_revision()
        documents = self._read_checked_documents()
        ends: dict[int, float] = {}  # of questions
        while question := self._state.question:
            now = self._clock.monotonic()
            end = ends.setdefault(question.revision, now + question.patience)
            if self.force and not self.record.dry_run:
                self._write_abort(question.revision, f"forced aside by {self.record.by}")
            elif now >= end:
                why = f"nobody had decided after {question.patience:g} s"
                self._write_abort(question.revision, why)
            elif now >= self._turn_end:
                what = f"waited {self.patience:g} s for the decision on another change"
                raise FleetError(f"{self._store.url}: {what}: {_record.question_text(question)}")
            else:
                self._clock.sleep(_POLL)
            self._catch_up_and_check_revision()
            if self._state.question is None:
                documents = self._read_checked_documents()
        return documents

    def _read_checked_documents(self) -> Documents:
        documents = read_alive(self._store)
        _check_allowed(self.record, documents, self.confirm)
        return documents

    def _catch_up_and_check_revision(self) -> None:
        self._follower.catch_up()
        expect = self.expect
        if expect is not None and not self._state.changed <= expect <= self._state.revision:
            raise self._conflict_error(expect)

    def _append(self, record: Record) -> int:
        """Write a record when no other change waits for its decision."""
        for _ in range(_TRIES):
            if self._state.question is not None:
                self._wait_for_turn()
            if revision := self._follower.try_append(self._with_alias_resets(record)):
                return revision
            self._catch_up_and_check_revision()
        raise FleetError(f"{self._store.url}: others were faster {_TRIES} times in a row")

    def _with_alias_resets(self, record: Record) -> Record:
        """Return a record that takes a flag back by each name by which it was set.

        Those are names that operators gave: aliases too, and former names for older programs.
        """
        if not self.aliases or all(each.value is not None for each in record.changes):
            return record
        documents, tables = read_alive(self._store), _state.build_tables(self._state.batches)
        changes = list(record.changes)
        given = {(each.name, each.on) for each in changes}
        for name, value, on in record.changes:
            if value is None:
                others = _document.find_all_names(name, documents) & tables.get(on, {}).keys()
                changes += [Change(each, None, on) for each in others if (each, on) not in given]
        return record._replace(changes=_record.check_batch(dict.fromkeys(changes)))

    def _conflict_error(self, expect: int) -> ConflictError:
        since = [each for each in history_of(self._follower.read_log()) if each.revision > expect]
        at = f"was changed by revision {self._state.changed}, expected {expect}"
        if expect > self._state.revision:  # of another log, or of one that the engine has lost
            at = f"ends with revision {self._state.revision}, expected {expect}"
        lines = [f"revision {n} by {each.by}: {_record.changes_text(each)}" for n, each, _ in since]
        error = ConflictError("; ".join([f"{self._store.url}: {at}", *lines]))
        error.records = tuple(since)
        return error

    def _wait_for_answers(self, found: Outcome, asked: str, patience: float) -> str:
        """Wait for the answers to a question; return why there can't be a change, or ""."""
        end = self._clock.monotonic() + patience
        dry_run = self.record.dry_run
        while True:
            missing = self._read_answers(found)
            refusals = [
                f"{name} {_VERBS[answer.state]}: {answer.why}"
                for name, answer in sorted(found.answers.items())
                if answer.state in _VERBS
            ]
            if refusals and not (dry_run and missing):
                return "; ".join(refusals[:_MOST_NAMED])
            if not missing:
                return ""
            if self._clock.monotonic() >= end:
                return f"no answer of {members_text(missing)} after {patience:g} s"
            self._follower.catch_up(self._store.last())
            question = self._state.question
            is_closed = not dry_run and (not question or question.id != asked)
            if is_closed and self._clock.monotonic() < end:  # later, the answers say more
                return self._find_abort_reason(found.revision)
            self._pause()

    def _commit_or_abort(self, found: Outcome, why: str) -> Outcome:
        """Make the change, unless there is a reason against it; raise AbortedError then."""
        question, by = found.revision, self.record.by
        why = why or _describe_names_no_member_has(found.answers)
        if why:
            with suppress(FleetError):  # the members do it when its time is over
                self._follower.catch_up()
                self._write_abort(question, why)
        else:
            made = self._write_decision(Record(CHANGE, of=question, by=by, peers=self._count))
            if made:
                return self._wait_until_applied(found._replace(revision=made, verdict=COMMITTED))
            why = self._find_abort_reason(question)
        error = AbortedError(f"{self._store.url}: nothing was changed: {why}")
        error.outcome = found._replace(verdict=f"aborted: {why}")
        raise error

    def _find_abort_reason(self, question: int) -> str:
        """Return why somebody else has aborted a question."""
        steps = (s for s in history_of(self._follower.read_log()) if s.revision == question)
        verdict = next((each.verdict for each in steps), None)
        return (verdict or "it was not decided in time").removeprefix("aborted: ")

    def _write_decision(self, record: Record) -> int:
        """Write a decision; return its revision, or 0 if there is another one."""

        def is_open() -> bool:
            question = self._state.question
            return question is not None and question.revision == record.of

        return self._follower.write(record, is_open)

    def _write_abort(self, question: int, why: str) -> None:
        self._write_decision(Record(ABORT, of=question, by=self.record.by, reason=why))

    def _wait_until_applied(self, outcome: Outcome) -> Outcome:
        """Wait until all members that a change concerns have it, or the time is over."""
        if self.wait is None:
            return outcome
        end = self._clock.monotonic() + self.wait
        self._wanted = {*outcome.answers, *outcome.silent}
        outcome = outcome._replace(answers={}, silent={})
        while self._read_answers(outcome) and self._clock.monotonic() < end:
            self._pause()
        return outcome

    def _read_answers(self, found: Outcome) -> list[str]:
        """Read the answers to a revision; return the members that are here and have given none."""
        documents, fleet = read_alive(self._store), self._state.fleet
        self._count = len(documents)
        self._wanted |= _select_affected_members(self.record, documents)
        for name in self._wanted & documents.keys():
            answer = documents[name]["answers"].get(found.revision)
            if answer is not None and not explain_other_log(documents[name], fleet):
                found.answers[name] = answer
        missing = sorted(self._wanted - found.answers.keys())
        found.silent.clear()
        for name in missing:
            found.silent[name] = _describe_silence(documents.get(name), found.revision, fleet)
        return [name for name in missing if name in documents]

    def _pause(self) -> None:
        self._clock.sleep(max(_POLL, _LOOK * self._count))


def _describe_silence(document: _document.Document | None, revision: int, fleet: str) -> str:
    if document is None:
        return "gone: its lease has ended, or it left"
    if problem := document.get("problem"):
        return str(problem)
    if other := explain_other_log(document, fleet):
        return f"lost: {other}"
    seen = document.get("revision", 0)
    slow = f"slow: it has read revision {seen}"
    return slow if seen < revision else "it has read the change, and not answered yet"


def _describe_no_match(record: Record, documents: Documents) -> str:
    """Return why a record is for none of the members that there are, with the nearest name."""
    found = []
    for kind, _, name in sorted({each.on.partition(":") for each in record.changes}):
        field = "name" if kind == "member" else kind
        known = sorted({str(each[field]) for each in documents.values() if each.get(field)})
        near = difflib.get_close_matches(name, known, n=1)
        what = f"no member has {kind} {name}" if field == kind else f"there is no member {name}"
        found.append(what + (f"; did you mean {near[0]}?" if near else ""))
    return "; ".join(found)


def _select_affected_members(record: Record, documents: Documents) -> set[str]:
    return {
        name
        for name, each in documents.items()
        if Selected(name, each.get("role"), each.get("host", "")).is_affected_by(record.changes)
    }


def _limit_patience(record: Record, documents: Documents, patience: float) -> float:
    """Return the time for a decision: members that wait for it at a step must not wait in vain."""
    if record.at_step is None:
        return patience
    waits = [float(each.get("tick_timeout", 60.0)) for each in documents.values()]
    return min([patience, *(_SHARE * each for each in waits)])


def _describe_names_no_member_has(answers: dict[str, Answer]) -> str:
    """Return why a name may be misspelt: no member has such a flag."""
    missing = [set(each.missing) for each in answers.values()]
    unknown = set.intersection(*missing) if missing else set()
    if not unknown:
        return ""
    name, answer = min(answers.items())
    return f"no member has {members_text(sorted(unknown))}: {name} says: {answer.why}"


def _check_allowed(record: Record, documents: Documents, confirm: Collection[str]) -> None:
    """Raise all that forbids a batch, before anything of it is written anywhere."""
    found: list[FleetError] = []
    unsafe = {name for each in documents.values() for name in each.get("unsafe", ())}
    changed = {each.name for each in record.changes}
    left = tuple(sorted((changed & unsafe) - set(map(normalize_name, confirm))))
    if left:
        error = UnconfirmedError(f"{', '.join(left)}: unsafe to change, and not in confirm")
        error.names = left
        found.append(error)
    for name, value, _ in record.changes:
        owners = [n for n, each in documents.items() if name in each.get("sensitive", ())]
        if owners and value is not None:
            why = f"is sensitive in {members_text(owners)}, and a fleet publishes values"
            found.append(SensitiveError(f"{name}: {why}"))
    if found:
        found[0]._errors = tuple(found)
        raise found[0]
