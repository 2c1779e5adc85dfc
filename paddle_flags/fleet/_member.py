"""A member's part of the protocol: it follows the log, applies, answers and keeps time."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from paddle_flags.fleet import _flags
from paddle_flags.fleet._document import read_alive
from paddle_flags.fleet._flags import NEVER, Answer, Flags, Traits, Values, text_in
from paddle_flags.fleet._follow import Follower
from paddle_flags.fleet._record import ABORT, ASK, CHECK, END, Record
from paddle_flags.fleet._state import ENDED, Selected, State, Verdict, apply_batches, build_tables
from paddle_flags.fleet._store import FleetError, Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from paddle_flags.fleet._clock import Clock

_ABOVE = ("run time", "live", "override")
_MOST_ANSWERS = 64
_MOST_NOTES = 32
PAUSE_OF_ONE = 0.004  # seconds: 250 looks at all members in a second
_GRACE = 0.5  # seconds: the operator, which knows who hasn't answered, gives up first
_LONGEST_PAUSE = 1.0
_SURE = 10.0  # seconds within which a member that has seen a value begin knows when


class End(NamedTuple):
    """When a temporary value is over."""

    at: float  # by `Clock.monotonic`
    is_sure: bool = True  # whether this process has seen it begin; else `at` follows from the date


def _restart_answer(names: list[str]) -> Answer:
    return Answer(_flags.RESTART, f"{', '.join(names)}: not defined with runtime=True")


class Member:
    """What one process knows of its fleet.

    Its caller holds a lock, except for `withhold_values` and `steps`, which wait for no engine.
    """

    def __init__(
        self, store: Store, selected: Selected, flags: Flags, state: State | None, clock: Clock
    ) -> None:
        self.selected = selected
        self.follower = Follower(store, state, clock)
        self.steps = flags.steps
        self.answers: dict[int, Answer] = {}
        self.ends: dict[int, End] = {}  # of temporary changes that have begun, by revision
        self.notes: list[Record] = []  # what was said last about checks
        self._flags = flags
        self._applying = clock.make_lock()
        self._clock = clock
        self._looked = -NEVER  # when the log was about to be read last
        self._over: set[int] = set()  # ended here, since the end can't be written
        self._applied = -1  # the revision that the values are of
        self._dropped = flags.count_dropped_values()
        self._traits: dict[str, Traits | None] = {}
        self._checked: dict[str, Traits] = {}  # the flags, as they are while batches are checked
        self._fitting: dict[int, Values] = {}  # what they have taken, by revision
        self._fitting_as: object = None  # the definitions for which that holds
        self._is_without = False  # the values were taken back, since the engine is away
        self._closed_since: dict[str, int] = {}  # of flags: the last revision that could change it
        self._refused: set[int] = set()  # changes that were not taken when values were given last
        self._reached: dict[int, int] = {}  # of changes at a step: the one at which they came
        self._asked: tuple[int, float] = (0, NEVER)  # the question, and when it is overdue
        self._peers = 0  # members, when the last record was written

    @property
    def log_state(self) -> State:
        return self.follower.state

    @property
    def values(self) -> Values:
        return self._flags.fleet_values

    def compute_fleet_values(self) -> dict[str, str]:
        """Return what the fleet says for this member, also where it could not take that."""
        tables = build_tables(filter(self._is_current, self.log_state.batches))
        return {name: each.value for name, each in self.selected.values(tables).items()}

    # ---- Following ----

    def start(self, *, read: bool = True) -> None:
        """Apply all that the log says; without `read`, what the state says that was given."""
        now = self._clock.monotonic()
        news = self.follower.catch_up() if read else []
        self._update_end_times()
        if read:
            self._end_expired_changes()
            self._looked = now
        else:
            self.end_expired_locally()
        self._handle_news(news)

    def follow(self, last: int | None = None) -> bool:
        """Read the log, up to `last`, and act on it; return whether there is something to say."""
        before = (self.log_state.changed, dict(self.answers))
        self._read_and_handle_news(last)
        self._end_expired_changes()
        self._abort_overdue_change()
        return before != (self.log_state.changed, self.answers)

    def _read_and_handle_news(self, last: int | None = None) -> None:
        now = self._clock.monotonic()
        news = self.follower.catch_up(last)
        self._handle_news(news)
        self._looked = now

    def _handle_news(self, news: list[Record]) -> None:
        self._update_end_times()
        self.update_values()
        self._answer_questions(news)
        said = [record for record in news if record.kind == CHECK]
        self.notes = [*self.notes, *said][-_MOST_NOTES:]

    def update_values(self) -> None:
        """Bring the values in line with steps, ends and the program's own flags."""
        if self._is_outdated():
            self._apply_state()

    def forget_what_was_applied(self) -> None:
        """Give all values again at the next look: the program is another process."""
        self._closed_since.clear()
        self._refused.clear()
        self._dropped = -1

    def _is_outdated(self) -> bool:
        """Return whether the values may be others than those that were applied last."""
        return (
            self._applied < self.log_state.changed
            or any(self.steps.is_reached(step) for _, step in self._list_step_changes())
            or self._flags.count_dropped_values() != self._dropped
            or self._find_traits() != self._traits
        )

    def _list_step_changes(self) -> list[tuple[Record, int]]:
        """Return the changes that have not come yet, with their steps."""
        return [
            (batch, batch.at_step)
            for batch in self.log_state.batches
            if batch.at_step is not None and batch.revision not in self._reached
        ]

    def _find_traits(self) -> dict[str, Traits | None]:
        """Return which flags of the state are defined; of those whose values wait, more."""
        names: set[str] = set()
        waiting: set[str] = set()
        for batch in self.log_state.batches:
            changed = {each.name for each in batch.changes}
            names |= changed
            answer = self.answers.get(batch.revision)
            if answer and answer.state in (_flags.HELD, _flags.PENDING):
                waiting |= changed
        traits = self._flags.read_flag_traits(names)
        return {name: each if name in waiting else None for name, each in traits.items()}

    # ---- Values ----

    def _apply_state(self) -> None:
        with self._applying:
            for batch, step in self._list_step_changes():
                if self.steps.is_reached(step):
                    self._reached[batch.revision] = self.steps.last or 0
            self._update_end_times()
            verdicts, why = self._apply_values()
            if why is not None:  # what fitted doesn't any more: the program's rules are others
                self._fitting_as = None
                verdicts, why = self._apply_values()
            self._dropped = self._flags.count_dropped_values()
            self._applied = self.log_state.changed
            self._renew_answers(verdicts, why)
            self._traits = self._find_traits()

    def _apply_values(self) -> tuple[list[Verdict], str | None]:
        """Give the program what the log says; return the verdicts, and why it refuses."""
        values, verdicts = self._compute_values()
        closed = {n: each for n, each in self.values.items() if n in self._closed_since}
        if self._is_without:
            values = closed
        elif self._flags.count_dropped_values() == self._dropped:  # or they have lost a value
            values = {**{n: e for n, e in values.items() if n not in self._closed_since}, **closed}
        if values == self.values and self._flags.count_dropped_values() == self._dropped:
            return verdicts, None
        news = [b for b in self.log_state.batches[-1:] if b.revision == self.log_state.changed]
        trail = [each.values for each in verdicts]
        return verdicts, self._flags.replace(values, news[0] if news else None, trail)

    def _compute_values(self, *more: Record) -> tuple[Values, list[Verdict]]:
        """Return what the batches up to now give, and `more`, with what becomes of each."""
        batches = [*filter(self._is_current, self.log_state.batches), *more]
        names = {each.name for batch in batches for each in batch.changes}
        self._checked = self._flags.read_flag_traits(names | self.values.keys())
        for name, each in self._checked.items():
            if each.closed:
                self._closed_since.setdefault(name, self._applied)
            else:
                self._closed_since.pop(name, None)
        definitions = {n: (each.definition, each.closed) for n, each in self._checked.items()}
        now = (definitions, self._flags.count_dropped_values())
        known = self._fitting if now == self._fitting_as else {}
        self._fitting = {b.revision: known[b.revision] for b in batches if b.revision in known}
        self._fitting_as = now
        return apply_batches(batches, self.selected, self._find_rejection)

    def withhold_values(self, *, withheld: bool) -> None:
        """Take the values of the fleet back from flags that can change, or give them again."""
        if self._is_without != withheld:
            self._is_without = withheld
            self._apply_state()

    def _is_current(self, batch: Record) -> bool:
        return self.steps.is_reached(batch.at_step) and batch.revision not in self._over

    def _find_rejection(self, batch: Record, wanted: Values) -> Answer | None:
        """Return why the program can't have these values, which a batch brings.

        What fits once fits until a definition changes; what doesn't is checked at each look.
        """
        traits, names = self._checked, {each.name for each in batch.changes}
        closed = {name for name, each in traits.items() if each.closed}
        if not closed and self._fitting.get(batch.revision) == wanted:
            return None
        given = sorted(names & wanted.keys() & traits.keys())
        secret = ", ".join(name for name in given if traits[name].sensitive)
        if secret:
            why = f"{secret}: is sensitive, and a fleet publishes values"
            return Answer(_flags.REJECTED, why)
        refused = batch.revision in self._refused
        late = [
            name
            for name in sorted(names & closed)
            if (refused or batch.revision > self._closed_since.get(name, self._applied))
            and text_in(wanted, name) != text_in(self.values, name)
        ]
        if late:
            return _restart_answer(late)
        candidate = {name: each for name, each in wanted.items() if name not in closed}
        candidate.update({n: each for n, each in self.values.items() if n in closed})
        problem = self._flags.check(candidate)
        if problem is not None:
            return Answer(_flags.REJECTED, problem)
        self._fitting[batch.revision] = wanted
        return None

    def _renew_answers(self, verdicts: list[Verdict], why: str | None) -> None:
        told = {each.batch.revision: each.why for each in verdicts}
        if why is not None and verdicts:
            told[verdicts[-1].batch.revision] = Answer(_flags.REJECTED, why)
        self._refused = {revision for revision, each in told.items() if each}
        for batch in self.log_state.batches[-_MOST_ANSWERS:]:
            revision = batch.revision
            if revision in told:
                self.answers[revision] = told[revision] or self._answer_for_valid_batch(batch)
            elif self.selected.is_affected_by(batch.changes):
                waits = Answer(_flags.WAITS, f"step {batch.at_step}")
                self.answers[revision] = Answer(ENDED) if revision in self._over else waits
        self.answers.update(self._find_ended_still_set())
        for old in sorted(self.answers)[:-_MOST_ANSWERS]:
            del self.answers[old]

    def _find_ended_still_set(self) -> dict[int, Answer]:
        """Return the changes that have ended, but not for flags that can't change any more."""
        here = {batch.revision for batch in self.log_state.batches if self._is_current(batch)}
        found: dict[int, list[str]] = {}
        for name in sorted(self._closed_since.keys() & self.values.keys()):
            revision = self.values[name].revision
            if revision not in here:
                found.setdefault(revision, []).append(name)
        return {revision: _restart_answer(names) for revision, names in found.items()}

    def list_unapplied_changes(self) -> list[int]:
        """Return the changes not taken, or not taken back, that later ones have not replaced."""
        found = set(self._find_ended_still_set())
        later: set[tuple[str, str]] = set()
        for batch in reversed(self.log_state.batches):
            keys = {(each.on, each.name) for each in batch.changes}
            answer = self.answers.get(batch.revision)
            if answer is not None and answer.state not in _flags.GOOD and not keys <= later:
                found.add(batch.revision)
            later |= keys if batch.is_lasting else set()
        return sorted(found, reverse=True)

    def _answer_for_valid_batch(self, batch: Record) -> Answer:
        """Return whether the values of a batch that passed all checks take effect."""
        answer = self._answer_for_values(self.values, batch.revision)
        step = self._reached.get(batch.revision)
        if answer.state == _flags.APPLIED and step is not None and step != batch.at_step:
            return answer._replace(why=f"at step {step}, not {batch.at_step}")
        return answer

    def _answer_for_values(self, values: Values, revision: int) -> Answer:
        """Return the same of the values that a revision has given."""
        names = sorted(name for name, each in values.items() if each.revision == revision)
        traits = self._flags.read_flag_traits(names) if names else {}
        holding = [f"{n} by {each.source}" for n, each in traits.items() if each.source in _ABOVE]
        if holding:
            return Answer(_flags.HELD, ", ".join(holding))
        missing = tuple(name for name in names if name not in traits)
        if not missing:
            return Answer(_flags.APPLIED)
        why = "; ".join(self._flags.explain_undefined_flag(name) for name in missing)
        return Answer(_flags.PENDING, why, missing)

    # ---- Temporary values ----

    def _update_end_times(self) -> None:
        """Note when temporary values end that have begun since the last look."""
        here = {batch.revision for batch in self.log_state.batches}
        for revision in [each for each in self.ends if each not in here]:
            del self.ends[revision]
            self._over.discard(revision)
            if revision in self.answers:
                self.answers[revision] = Answer(ENDED)
        for batch in self.log_state.batches:
            if batch.duration is None or batch.revision in self.ends:
                continue
            if batch.at_step is None:
                self.ends[batch.revision] = self._estimate_end(batch.time, batch.duration)
            elif self.steps.is_reached(batch.at_step):
                self.ends[batch.revision] = End(self._clock.monotonic() + batch.duration)

    def _estimate_end(self, began: float, duration: float) -> End:
        """Return when a value ends that has begun since the last look.

        What dates say counts only within that time. If that is short, and they say another one,
        then clocks differ, and the value has begun just now.
        """
        now = self._clock.monotonic()
        earliest, latest = self._looked + duration, now + duration
        by_date = latest + began - self._clock.wall_time()
        is_sure = latest - earliest <= _SURE
        if is_sure and not earliest <= by_date <= latest:
            by_date = latest
        apart = self._clock.random_delay(self.scale_by_peers(PAUSE_OF_ONE))
        return End(max(earliest, min(latest, by_date)) + apart, is_sure)

    def _end_expired_changes(self) -> None:
        """Write the ends that are due; who can't ends the value here, and tries again."""
        for revision, end in list(self.ends.items()):
            if self._clock.monotonic() < end.at:
                continue
            if not end.is_sure and self._has_other_seen_begin(revision):
                self.ends[revision] = End(self._clock.monotonic() + 1, is_sure=False)
                continue
            if not self._write_end(revision):
                self._end_locally({revision})

    def _has_other_seen_begin(self, revision: int) -> bool:
        """Return whether another member has seen a temporary value begin."""
        others = read_alive(self.follower.store)
        others.pop(self.selected.name, None)
        return any(revision in each.get("counting", ()) for each in others.values())

    def list_changes_to_end(self) -> list[int]:
        """Return the temporary changes that this member will end, since it has seen them begin."""
        return sorted(n for n, end in self.ends.items() if end.is_sure and n not in self._over)

    def _write_end(self, revision: int) -> bool:
        return self._try_write(Record(END, of=revision), lambda: revision in self.ends)

    def end_expired_locally(self) -> None:
        """End here what is over, while the engine is away."""
        self._update_end_times()  # of what was read before it went
        self._end_locally({n for n, end in self.ends.items() if end.at <= self._clock.monotonic()})

    def _end_locally(self, over: set[int]) -> None:
        if over - self._over:
            self._over |= over
            self._apply_state()

    def _try_write(self, record: Record, is_wanted: Callable[[], bool]) -> bool:
        """Write a record if it is still wanted; return False if this member can't write."""
        with suppress(FleetError, OSError):
            self.write_and_handle_news(record, is_wanted)
            return True
        return False

    def write_and_handle_news(self, record: Record, is_wanted: Callable[[], bool]) -> None:
        """Write a record behind all others, unless one of those makes it needless."""
        record = record._replace(by=self.selected.name)
        while is_wanted() and not self.follower.try_append(record):
            self._read_and_handle_news()
        self._handle_news(self.follower.catch_up(self.log_state.revision))

    def seconds_until_due(self) -> float:
        """Return the seconds until something is due: an end, or a deadline."""
        due = [each.at for revision, each in self.ends.items() if revision not in self._over]
        return max(0.0, min([*due, self._asked[1]]) - self._clock.monotonic())

    # ---- Questions ----

    def _answer_questions(self, news: list[Record]) -> None:
        """Say what this member would answer to changes that are asked about."""
        self._peers = next((each.peers for each in reversed(news) if each.peers), self._peers)
        for record in news:
            if record.kind == ASK and record.dry_run:
                self.answers[record.revision] = self._answer_question(record)
        question = self.log_state.question
        if question is None:
            self._asked = (0, NEVER)
        elif question.revision != self._asked[0]:
            apart = self._clock.random_delay(PAUSE_OF_ONE / 2 * self._peers)
            patience = question.patience + _GRACE + apart
            self._asked = (question.revision, self._clock.monotonic() + patience)
            self.answers[question.revision] = self._answer_question(question)
        self.update_gate()

    def _answer_question(self, question: Record) -> Answer:
        """Return the answer to a question; one for a step closes the gate before it looks."""
        if not self.selected.is_affected_by(question.changes):
            return Answer(_flags.ACCEPTED)
        if question.at_step is not None and not question.dry_run:
            why = self.steps.close_gate_at(question.at_step)
            if why:
                return Answer(_flags.REJECTED, why)
        values, verdicts = self._compute_values(question)
        answer: Answer = verdicts[-1].why or self._answer_for_values(values, question.revision)
        return Answer(_flags.ACCEPTED) if answer.state == _flags.APPLIED else answer

    def _abort_overdue_change(self) -> None:
        """Abort a change that its operator has neither made nor given up in time."""
        revision, overdue = self._asked
        question = self.log_state.question
        if question is None or self._clock.monotonic() < overdue:
            return
        why = f"nobody had decided after {question.patience:g} s"
        abort = Record(ABORT, of=revision, reason=why)
        self._try_write(abort, lambda: self.log_state.question == question)
        self._asked = (revision, NEVER)

    def update_gate(self) -> None:
        """Let ticks pass until the next step at which something is to happen."""
        steps = [s for b, s in self._list_step_changes() if self.selected.is_affected_by(b.changes)]
        self.steps.move_gate(min([*steps, self._find_gate_step()]))

    def _find_gate_step(self) -> float:
        """Return the step of a question that this member has accepted, and that isn't overdue."""
        question = self.log_state.question
        if question is None or self._asked == (question.revision, NEVER):
            return NEVER
        answer = self.answers.get(question.revision, Answer(_flags.REJECTED))
        affected = self.selected.is_affected_by(question.changes)
        good = answer.state not in (_flags.REJECTED, _flags.RESTART)
        return question.at_step if affected and good and question.at_step is not None else NEVER

    def is_undecided(self, step: int) -> bool:
        """Return whether a tick of `step` must wait for a decision."""
        return self._find_gate_step() <= step

    def stop_waiting(self) -> None:
        """Pass the gate without a decision; a change that comes later applies late."""
        self._asked = (self._asked[0], NEVER)
        self.update_gate()

    def scale_by_peers(self, seconds: float) -> float:
        """Return the time in which all members can do something, one after the other."""
        return min(_LONGEST_PAUSE, seconds * self._peers)
