"""One member of a fleet in a model world, through all its processes, and what must hold for it."""

from __future__ import annotations

import json
from typing import Any

import oracle
from programs import Program, narrow, wide
from worlds import TIMEOUT, FaultError, Process, World

from paddle_flags.fleet import _flags
from paddle_flags.fleet._flags import NEVER, TickTimeoutError
from paddle_flags.fleet._member import Member
from paddle_flags.fleet._membership import Membership
from paddle_flags.fleet._record import CHANGE, Change, Record
from paddle_flags.fleet._role import Options
from paddle_flags.fleet._state import State, Verdict, apply_batches
from paddle_flags.fleet._store import UnreachableError

TICK_TIMEOUT = 8.0
TTL = 3.0
SLACK = 0.5  # seconds
FAREWELL = 2.0 + SLACK
MOST_ANSWERS = 8
RULES = (narrow, wide)
ACCEPTED = (_flags.ACCEPTED, _flags.PENDING)


class Life:
    """One member. Its processes follow each other; what it is stays."""

    def __init__(self, world: World, log: list[Record], name: str, ticking: float) -> None:
        self.world = world
        self.log = log
        self.name = name
        self.role = world.draw(("trainer", "server"))
        self.rule = world.draw(RULES)
        self.lag = world.draw((0.0, 0.0, 0.0, 0.3))
        self.on_lost = world.draw(("keep", "default"))
        self.observes = world.chance(0.1)
        self.ticks = world.chance(ticking)
        self.step = 0
        self.start()

    def start(self) -> None:
        """Begin a process, in the place of one that is gone."""
        world = self.world
        self.process = Process(self.name, world.draw((0.0, 0.0, 30.0, -30.0)), self.lag)
        self.program = Program(self.rule, {"a", "b", "lo", "hi", "x", "y"})
        self.presence: Membership | None = None
        self.accepted: dict[int, Any] = {}  # questions, and in which circumstances
        self.given_up: set[int] = set()  # questions for whose decision it waits no longer
        self.resumed = self.joined = world.time
        self.was_stopped = False
        process, program = self.process, self.program
        world.spawn(process, lambda: self._work(process, program))

    def stop(self) -> None:
        """Stop the process, as the signal does."""
        self.process.stopped = self.was_stopped = True

    def resume(self) -> None:
        self.process.stopped = False
        self.resumed = self.world.time

    def kill(self) -> None:
        """Kill the process, and start another one."""
        self.process.killed = True
        self.start()

    def leave(self) -> None:
        """Let the process end as programs do, and start another one."""
        process, presence = self.process, self.presence
        if presence is not None:
            self.world.spawn(process, lambda: self._leave(process, presence))

    # ---- What the process does ----

    def _work(self, process: Process, program: Program) -> None:
        world, clock = self.world, self.world.clock(process)
        defines_late = world.chance(0.5)
        options = Options(
            self.name, self.role, None, None, TTL, self.on_lost, "raise", TICK_TIMEOUT, None,
            self.observes,
        )  # fmt: skip
        while True:
            store = world.connect(process, writes=not self.observes)
            presence = Membership(store, options, program, clock)
            try:
                presence.start()
                break
            except UnreachableError:
                clock.sleep(0.5)
        self.presence, self.joined = presence, world.time
        if defines_late:
            clock.sleep(world.random.uniform(0, 10))
            program.define("late")
        while self.ticks:
            self._tick(presence)
            self.step += 1
            clock.sleep(world.random.uniform(0.1, 1.5))

    def _tick(self, presence: Membership) -> None:
        began = self.world.time
        try:
            presence.tick(self.step)
        except TickTimeoutError as error:
            if self._is_well_since(began - TICK_TIMEOUT):
                raise FaultError(f"{self.name}: {error}") from error
        else:
            self._look_at_gate(presence)
        took = self.world.time - began
        longest = TICK_TIMEOUT + (5 if self.world.ill < began else 4 * TIMEOUT)
        if took > longest and not self.was_stopped:
            raise FaultError(f"{self.name}: step {self.step} took {took:.1f} s")

    def _look_at_gate(self, presence: Membership) -> None:
        """A step does not begin while it isn't decided what happens at it."""
        member = presence._member
        for batch in () if presence.left else self._concerning(member):
            is_due = batch.at_step is not None and batch.at_step <= self.step
            is_new = batch.revision > member._applied
            if is_due and not is_new and batch.revision not in member._reached:
                raise FaultError(f"{self.name} begins step {self.step} without {batch.revision}")
        question = member.log_state.question
        if question is None or presence.left or question.revision in self.given_up:
            return
        answer, step = member.answers.get(question.revision), question.at_step
        accepted = answer is not None and answer.state in ACCEPTED
        concerned = member.selected.is_affected_by(question.changes)
        if accepted and concerned and step is not None and step <= self.step:
            raise FaultError(
                f"{self.name} begins step {self.step}, and {question.revision} is open"
            )

    def _leave(self, process: Process, presence: Membership) -> None:
        began = self.world.time
        presence.leave()
        took = self.world.time - began
        if took > FAREWELL and not self.was_stopped:
            raise FaultError(f"{self.name} took {took:.1f} s to leave")
        if self.process is process:
            self.kill()

    def said_since(self, moment: float) -> dict[str, Any] | None:
        """Return what it has published, if it is a member that has been well since a moment."""
        if self.presence is None or self.presence.left or self.observes:
            return None
        is_here = self.joined < moment < self.process.renewed + TTL / 2
        is_here = is_here and self._is_well_since(moment) and not self.presence._is_lost
        return self.presence._build_document() if is_here else None

    def has_seen(self, revision: int, moment: float) -> bool:
        """Whether its process has seen a temporary value begin, and has told the others."""
        said = self.said_since(moment)
        if said is None or self.world.time < moment + TTL / 2:
            return False
        return revision in said["counting"]

    def look_at_commit(self, asked: int, moment: float, changes: tuple[Change, ...]) -> None:
        """A change is made only if it was asked, and would take it."""
        said = self.said_since(moment)
        assert self.presence is not None or said is None
        if said is None or not self.presence._member.selected.is_affected_by(changes):
            return
        answer = said["answers"].get(str(asked), ["no answer"])[0]
        if answer not in (*ACCEPTED, _flags.HELD):
            raise FaultError(f"{self.name} says {answer!r} of {asked}, and its change is made")

    def _look_at_ends(self, presence: Membership) -> None:
        """Temporary values end at their time, also while the engine is away."""
        now, member = self.world.time, presence._member
        longest = 3.0 if self.world.hung < now - 2 * TIMEOUT else 3 * TIMEOUT
        for revision, end in member.ends.items():
            held = any(entry.revision == revision for entry in self.program.fleet_values.values())
            if held and end.is_sure and now > max(end.at, self.resumed) + longest:
                raise FaultError(f"{self.name} has a value of {revision}, which has ended")

    def _look_at_words(self, presence: Membership) -> None:
        """Who has accepted a change takes it, unless something else has happened in between."""
        member = presence._member
        for revision, answer in member.answers.items():
            if answer.state == _flags.ACCEPTED:
                self.accepted.setdefault(revision, self._circumstances(member, revision))
            if answer.state != _flags.REJECTED or revision > len(self.log):
                continue
            record = self.log[revision - 1]
            asked = self.log[record.of - 1] if record.of else record
            if revision != record.of + 1 or record.kind != CHANGE or asked.at_step is not None:
                continue
            if self.accepted.get(record.of) == self._circumstances(member, record.of):
                raise FaultError(f"{self.name} has accepted {record.of} and rejects {revision}")

    def _circumstances(self, member: Member, asked: int) -> Any:
        """Return what its answer to a question depends on."""
        current = filter(member._is_current, member.log_state.batches)
        before = {batch.revision for batch in current if batch.revision < asked}
        return before, "late" in self.program.defined

    def _is_well_since(self, moment: float) -> bool:
        """Whether nothing has disturbed the process and the engine."""
        return not self.was_stopped and self.world.ill < moment and not self.world.flaky

    # ---- What must hold at each moment ----

    @property
    def is_settled(self) -> bool:
        """Whether its values are those of the revision that it has."""
        if self.presence is None or self.process.killed:
            return False
        member = self.presence._member
        idle = member._applying.is_free and not member._is_outdated() and not member._is_without
        return idle and self.presence._lost_since is None

    def look(self) -> None:
        """Look at what it has in this moment; raise FaultError."""
        if self.presence is None or self.process.killed:
            return
        self._look_at_steps(self.presence)
        self._look_at_ends(self.presence)
        self._look_at_words(self.presence)
        numbers = self.program.numbers()
        if numbers["a"] != numbers["b"] and self.is_settled:
            raise FaultError(f"{self.name}: half of a batch: {numbers}")

    def key(self) -> Any:
        """Return what its values may depend on. It is settled."""
        assert self.presence is not None
        member = self.presence._member
        reached = frozenset(member._reached) & {each.revision for each in member.log_state.batches}
        over = frozenset(member._over)
        if over and self.world.ill < 0 and not self.observes:
            raise FaultError(f"{self.name} has ended {over} alone")
        defined = "late" in self.program.defined
        who = (self.rule.__name__, self.role, self.name == "m0", defined)
        return who, member.log_state.changed, reached, over

    def expected(self, batches: oracle.Batches) -> dict[str, int]:
        """Return what it should have after batches of the log."""
        assert self.presence is not None
        member = self.presence._member
        held = [
            record
            for revision, record in batches.items()
            if revision not in member._over
            and (record.at_step is None or member.steps.is_reached(record.at_step))
        ]
        accepts = lambda texts: self.rule(self.program.numbers(texts))  # noqa: E731
        return self.program.numbers(oracle.values_of(held, member.selected.selectors(), accepts))

    def look_at_lease(self) -> None:
        """Look whether its values are gone with its lease, if that was asked for."""
        if self.on_lost != "default" or self.observes or self.process.stopped:
            return
        if self.presence is None or self.presence.left:
            return
        since = max(self.process.renewed + TTL, self.resumed)
        if self.program.fleet_values and self.world.time > since + SLACK:
            raise FaultError(
                f"{self.name} has values {self.world.time - since:.1f} s after its lease"
            )

    def _look_at_steps(self, presence: Membership) -> None:
        """Changes at a step come at that step, in those that have accepted them."""
        member = presence._member
        question = member.log_state.question
        if question is not None and member._asked == (question.revision, NEVER):
            self.given_up.add(question.revision)
        steps = {batch.revision: batch.at_step for batch in self._concerning(member)}
        for revision, step in member._reached.items():
            if steps.get(revision, step) == step:
                continue
            asked = self.log[revision - 1].of
            accepted = member.answers.get(asked)
            if accepted and accepted.state in ACCEPTED and asked not in self.given_up:
                raise FaultError(f"{self.name}: change {revision} at {step}, not {steps[revision]}")

    def _concerning(self, member: Member) -> list[Record]:
        return [b for b in member.log_state.batches if member.selected.is_affected_by(b.changes)]

    # ---- What must hold in the end ----

    def check_end(self, state: State) -> None:
        """Compare what it says of itself with what is so."""
        if self.presence is None or not self.is_settled:
            presence = self.presence
            why = presence and (
                presence.problem,
                presence._member._is_outdated(),
                presence._lost_since,
            )
            raise FaultError(f"{self.name} is not settled: {why}")
        member = self.presence._member
        if member.log_state.revision < state.changed:
            read = member.log_state.revision
            raise FaultError(f"{self.name} has read revision {read} of {state.changed}")
        if self.observes:
            return
        stored = self.world.store.member(self.name)
        if stored is None or not stored.alive:
            raise FaultError(f"{self.name} is here, and the engine doesn't know it")
        held = [each for each in state.batches if member._is_current(each)]
        judge = lambda _, wanted: self.program.check(wanted)  # noqa: E731
        said = json.loads(stored.document)["answers"]
        self._check_answers(said, apply_batches(held, member.selected, judge)[1])

    def _check_answers(self, said: dict[str, list[Any]], verdicts: list[Verdict]) -> None:
        """Compare what it says of changes that later ones have not replaced."""
        replaced: set[tuple[str, str]] = set()
        for batch, why, _ in reversed(verdicts[-MOST_ANSWERS:]):
            keys = {(each.on, each.name) for each in batch.changes}
            answer = said.get(str(batch.revision), [""])[0]
            good = (_flags.APPLIED, _flags.PENDING) if why is None else (_flags.REJECTED,)
            if answer not in good and not keys <= replaced:
                raise FaultError(f"{self.name} says {answer!r} of {batch.revision}, not {good}")
            replaced |= keys if batch.is_lasting else set()
