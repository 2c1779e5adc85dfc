"""A member's part of the protocol: it follows the log, applies, answers and votes."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

from paddle_flags.fleet import _apply
from paddle_flags.fleet._apply import Answer, Applier
from paddle_flags.fleet._follow import Follower
from paddle_flags.fleet._record import decision_key
from paddle_flags.fleet._state import (
    ABORT,
    COMMIT,
    Selected,
    State,
    Step,
    chain_of,
    concerned,
    values_of,
)
from paddle_flags.fleet._steps import NEVER, Steps

if TYPE_CHECKING:
    from paddle_flags.fleet._state import Entry
    from paddle_flags.fleet._store import Store

ACCEPT = "accept"

_PAUSE_OF_ONE = 0.004  # seconds: 250 looks of all members in a second
_TURN = 0.002  # the same: 500 answers in a second
_LONGEST_PAUSE = 1.0


class Member:
    """What one process knows of its fleet. Its caller holds a lock; only `steps` needs none."""

    def __init__(self, store: Store, selected: Selected, state: State | None = None) -> None:
        self.selected = selected
        self.follower = Follower(store, state)
        self.applier = Applier(store.url)
        self.steps = Steps()
        self.answers: dict[int, Answer] = {}
        self.votes: dict[int, str] = {}
        self._names: dict[int, set[str]] = {}  # of the answers
        self._ends: dict[int, float] = {}  # of temporary values, by the monotonic clock
        self._deadlines: dict[int, float] = {}  # of proposals
        self._is_live = False
        self._peers = 0  # members, when the last record was written

    @property
    def revision(self) -> int:
        """The last revision that was read."""
        return self.follower.state.revision

    # ---- Following ----

    def start(self, *, read: bool = True) -> None:
        """Apply all that the log says; without `read`, what the state says that was given."""
        if read:
            self.follower.catch_up()
        self.apply_all()
        self._is_live = True
        self._vote()

    def follow(self, *, live: bool = True, last: int | None = None) -> bool:
        """Read what is new and act on it; return whether the member has something to say.

        `last` is what the store has just said.

        Without `live`, what is new may be old: temporary values have begun when they were written.
        """
        self._is_live = live
        before = (self.revision, dict(self.answers), dict(self.votes))
        self._review()  # what flags did not take that were defined since must stop nothing
        self.follower.catch_up(self._take, last=last)
        self._renew()
        self._vote()
        return before != (self.revision, self.answers, self.votes)

    def apply_all(self) -> None:
        """Apply all at once, and renew the answers to the changes that hold."""
        wanted = self._wanted(self.follower.state)
        for revision, answer in self.applier.start(wanted).items():
            names = {name for name, entry in wanted.items() if entry.revision == revision}
            self._note(revision, names, answer)

    def renew(self) -> None:
        """End what is over, and begin what its step has reached."""
        self._renew()

    def _take(self, step: Step) -> None:
        """Act on one record, or on a proposal that was decided."""
        self._peers = len(step.record.members)
        if not step.holds:
            return
        names, answer = self.applier.change(self._wanted(self.follower.state), step.record)
        mine = concerned(step.record, self.selected) | names
        if not mine and step.record.reset is None:
            return
        at_step = step.record.at_step
        if at_step is not None:
            reached = self.steps.is_reached(at_step)
            waits = Answer(_apply.WAITS, f"step {at_step}")
            answer = self._at(answer, at_step) if reached else waits
        self._note(step.revision, mine, answer)

    def _note(self, revision: int, names: set[str], answer: Answer) -> None:
        self.answers[revision] = answer
        self._names[revision] = names
        for old in sorted(self.answers)[:-64]:
            del self.answers[old], self._names[old]

    def _renew(self) -> None:
        """Bring the values in line with clock, steps, and what a compaction has hidden."""
        before = self.applier.wanted
        names, answer = self.applier.change(self._wanted(self.follower.state))
        for name in names:
            entry = self.applier.wanted.get(name)
            old = before.get(name)
            if old is not None and self._is_over(old):
                ended = Answer(_apply.ENDED) if answer.state in _apply.GOOD else answer
                self._note(old.revision, {name}, ended)
            if entry is not None and entry.at_step is not None:
                self._note(entry.revision, {name}, self._at(answer, entry.at_step))
        self._review()

    def _review(self) -> None:
        """Renew the answers that may change by themselves: flags were defined, or set back."""
        defined = False
        for revision, found in list(self.answers.items()):
            if found.state in (_apply.HELD, _apply.PENDING):
                answer = self.applier.review(self._names[revision])
                defined |= found.state == _apply.PENDING and answer != found
                self.answers[revision] = answer
        for revision, answer in self.applier.sift().items() if defined else ():
            self._note(revision, self._names.get(revision, set()), answer)

    def _at(self, answer: Answer, step: int) -> Answer:
        last = self.steps.last
        if answer.state == _apply.APPLIED and last is not None and last > step:
            return answer._replace(why=f"at step {last}, not {step}")
        return answer

    def _wanted(self, state: State) -> dict[str, Entry]:
        return values_of(state.tables, self.selected, self._holds)

    # ---- Temporary values, and those that wait for a step ----

    def _holds(self, entry: Entry) -> bool:
        if entry.at_step is not None and not self.steps.is_reached(entry.at_step):
            return False
        return not self._is_over(entry)

    def _is_over(self, entry: Entry) -> bool:
        if entry.duration is None:
            return False
        end = self._end_of(entry)  # first: it may be now
        return time.monotonic() >= end

    def _end_of(self, entry: Entry) -> float:
        """Return when a temporary value ends, by a clock that nobody changes.

        A member that sees it begin counts from then. One that sees it later takes what is left by
        the clocks of the writer and its own.
        """
        duration = entry.duration or 0.0
        if entry.revision not in self._ends:
            left = duration
            if not self._is_live and entry.at_step is None:
                left = max(0.0, min(duration, entry.time + duration - time.time()))
            self._ends[entry.revision] = time.monotonic() + left
        return self._ends[entry.revision]

    def left(self) -> float:
        """Return the seconds until something is due: an end, or a deadline."""
        now = time.monotonic()
        ends = [
            self._end_of(entry)
            for entry in self.applier.wanted.values()
            if entry.duration is not None
        ]
        due = [each - now for each in [*ends, *self._deadlines.values()]]
        return max(0.0, min(due, default=NEVER))

    def turn(self) -> float:
        """Return after how many seconds to answer: others have yet to apply, and answer too."""
        return random.uniform(0, min(_LONGEST_PAUSE, _TURN * self._peers))  # noqa: S311

    # ---- Proposals ----

    def pause(self, least: float) -> float:
        """Return the seconds between two looks for a decision: all members look for it at once."""
        counts = [len(step.record.members) for step in self.follower.state.open_proposals()]
        return max(least, min(_LONGEST_PAUSE, _PAUSE_OF_ONE * max(counts, default=0)))

    def _vote(self) -> None:
        """Vote on what is open, and abort what nobody has decided in time."""
        open_ = {step.revision: step for step in self.follower.state.open_proposals()}
        for revision in [each for each in self.votes if each not in open_]:
            del self.votes[revision]
            self._deadlines.pop(revision, None)
        for revision, step in open_.items():
            if revision not in self.votes:
                self.votes[revision] = self._judge(step)
                self._deadlines[revision] = time.monotonic() + step.record.patience
            elif time.monotonic() >= self._deadlines[revision]:
                why = f"{ABORT}: nobody had decided after {step.record.patience:g} s"
                self.follower.store.decide(decision_key(revision), why.encode())
        self.set_gate()

    def _judge(self, step: Step) -> str:
        """Return the vote on a proposal; one for a step closes the gate before it looks."""
        record = step.record
        if not concerned(record, self.selected) and record.reset is None:
            return ACCEPT
        if record.at_step is not None:
            why = self.steps.close(record.at_step)
            if why:
                return f"reject: {why}"
        state = self.follower.state.with_decision(step.revision, COMMIT)
        wanted = values_of(
            state.tables,
            self.selected,
            lambda entry: entry.revision == step.revision or self._holds(entry),
        )
        answer = self.applier.check(wanted)
        if answer.state in (_apply.APPLIED, _apply.PENDING):
            return ACCEPT
        why = answer.why if answer.state == _apply.REJECTED else f"{answer.state}: {answer.why}"
        return f"reject: {why}"

    def set_gate(self) -> None:
        """Let ticks pass until the next step at which something is to happen."""
        waiting = [
            entry.at_step
            for on in self.selected.selectors()
            for top in self.follower.state.tables.get(on, {}).values()
            for entry in chain_of(top)
            if entry.at_step is not None and not self.steps.is_reached(entry.at_step)
        ]
        self.steps.gate = min([*waiting, *self._accepted().values()], default=NEVER)

    def _accepted(self) -> dict[int, int]:
        """Return the steps of the proposals that this member has accepted, by revision."""
        return {
            step.revision: step.record.at_step
            for step in self.follower.state.open_proposals()
            if step.record.at_step is not None
            and self.votes.get(step.revision) == ACCEPT
            and (concerned(step.record, self.selected) or step.record.reset is not None)
        }

    def undecided(self, step: int) -> list[int]:
        """Return the revisions on which a tick of `step` must wait."""
        return [revision for revision, wanted in self._accepted().items() if wanted <= step]

    def give_up(self, revisions: list[int]) -> None:
        """Pass the gate without a decision; a commit that comes later applies late."""
        for revision in revisions:
            self.votes[revision] = "reject: the step came before the decision"
        self.set_gate()
