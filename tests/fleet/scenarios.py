"""Random lives of a fleet in a world of its own, and what must hold in each of them.

python tests/fleet/scenarios.py --seed 1 --count 200
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from programs import Program, narrow, wide
from worlds import Process, World

from paddle_flags.errors import FlagError
from paddle_flags.fleet import _flags, _follow
from paddle_flags.fleet._fleet import Fleet
from paddle_flags.fleet._history import COMMITTED, history_of
from paddle_flags.fleet._membership import Options
from paddle_flags.fleet._operate import AbortedError
from paddle_flags.fleet._presence import Presence
from paddle_flags.fleet._record import decode
from paddle_flags.fleet._state import State, fold
from paddle_flags.fleet._steps import TickTimeoutError
from paddle_flags.fleet._store import FleetError, UnreachableError

TICK_TIMEOUT = 8.0
TTL = 3.0
LONGEST_SET = 90.0  # seconds: another question, its own, and an engine that is away for a while
RULES = (narrow, wide)
ACCEPTED = (_flags.ACCEPTED, _flags.PENDING)


class Fault(AssertionError):
    """Something that must not be."""


class Life:
    """One member, through its processes."""

    def __init__(self, scenario: Scenario, name: str) -> None:
        self.scenario = scenario
        self.name = name
        self.role = scenario.draw(("trainer", "server"))
        self.rule = scenario.draw(RULES)
        self.ticks = scenario.world.random.random() < 0.6
        self.step = 0
        self.start()

    def start(self) -> None:
        """Begin a process, in the place of one that is gone."""
        world = self.scenario.world
        self.process = Process(self.name, self.scenario.draw((0.0, 0.0, 30.0, -30.0)))
        self.defines_late = world.random.random() < 0.5
        defined = {"a", "b", "lo", "hi", "x", "y"}
        self.program = Program(self.rule, defined)
        self.presence: Presence | None = None
        process, program = self.process, self.program
        world.spawn(process, lambda: self._work(process, program))

    def _work(self, process: Process, program: Program) -> None:
        world, clock = self.scenario.world, self.scenario.world.clock(process)
        options = Options(
            self.name, self.role, None, None, TTL, "keep", "raise", TICK_TIMEOUT, None, None
        )
        while True:
            presence = Presence(self.scenario.world.connect(process), options, program, clock)
            try:
                presence.start(lambda work, _: world.spawn(process, work))
                break
            except UnreachableError:
                clock.sleep(0.5)
        self.presence = presence
        if self.defines_late:
            clock.sleep(world.random.uniform(0, 10))
            program.define("late")
        while self.ticks:
            began = world.time
            try:
                presence.tick(self.step)
            except TickTimeoutError as error:
                if not self.scenario.was_stopped(process):
                    raise Fault(f"{self.name}: {error}") from error
            if world.time - began > TICK_TIMEOUT + 5 and not self.scenario.was_stopped(process):
                raise Fault(f"{self.name}: step {self.step} took {world.time - began:.1f} s")
            self.step += 1
            clock.sleep(world.random.uniform(0.1, 1.5))

    @property
    def is_settled(self) -> bool:
        """Whether its values are those of the revision that it has."""
        if self.presence is None or self.process.killed:
            return False
        member = self.presence._member
        idle = member._folding._owner is None and not member._is_due()
        return idle and self.presence._lost_since is None


class Scenario:
    """One random life of a fleet."""

    def __init__(self, seed: int, members: int = 4, operators: int = 2) -> None:
        self.seed = seed
        self.world = World(seed)
        self.world.watch = self.look
        self.world.flaky = self.draw((0.0, 0.0, 0.01, 0.05))
        self.is_flaky = self.world.flaky > 0
        self.was_away = False
        self.forces, self.highest = self.draw(((0.3, 16), (0.3, 16), (0.9, 40)))
        self.log: list[bytes] = []
        self.seen: dict[Any, tuple[dict[str, int], str]] = {}
        self.acknowledged: list[tuple[int, str]] = []
        self.refused: list[int] = []
        self.stops: set[Process] = set()
        append = self.world.store.append

        def noted(number: int, record: bytes) -> bool:
            done = append(number, record)
            if done:
                self.log.append(record)
            return done

        self.world.store.append = noted  # type: ignore[method-assign]
        self.lives = [Life(self, f"m{index}") for index in range(members)]
        self.operators = [self.add_operator() for _ in range(operators)]
        self.is_over = False

    def draw(self, choices: Any) -> Any:
        return self.world.random.choice(choices)

    def was_stopped(self, process: Process) -> bool:
        return process in self.stops or self.world.away or self.is_flaky

    # ---- Operators ----

    def add_operator(self) -> Process:
        name = f"operator{self.world.random.randrange(1000)}"
        process = Process(name, self.draw((0.0, 20.0)), self.draw((0.0, 0.0, 1.0)))
        self.world.spawn(process, lambda: self._operate(process))
        return process

    def _operate(self, process: Process) -> None:
        world, clock = self.world, self.world.clock(process)
        fleet = Fleet(self.world.connect(process), by=process.name, clock=clock)
        while not self.is_over:
            clock.sleep(world.random.uniform(0, 4))
            began = world.time
            try:
                outcome = self._change(fleet)
            except AbortedError as error:
                self.refused.append(error.outcome.revision)
            except FlagError:
                pass  # no answer, a conflict, or nothing to undo
            else:
                if outcome.verdict == COMMITTED and outcome.revision:
                    self.acknowledged.append((outcome.revision, process.name))
                elif outcome.revision:
                    self.refused.append(outcome.revision)
            took = world.time - began
            if took > LONGEST_SET and not self.was_stopped(process):
                raise Fault(f"{process.name}: a change took {took:.1f} s")

    def _change(self, fleet: Fleet) -> Any:
        world = self.world
        number = world.random.randrange(1, 100)
        values: dict[str, int] = {}
        if world.random.random() < 0.6:
            values.update(a=number, b=number)
        if world.random.random() < 0.4 or not values:
            name = self.draw(("lo", "hi", "x", "y", "late"))
            values[name] = world.random.randrange(0, self.highest)
        options: dict[str, Any] = {
            "wait": self.draw((None, None, 3.0, 20.0)),
            "force": world.random.random() < self.forces,
            "duration": self.draw((None, None, None, 2.0, 6.0)),
            "dry_run": world.random.random() < 0.1,
        }
        tops = [life.step for life in self.lives]
        if world.random.random() < 0.25:
            options["at_step"] = max(tops) + world.random.randrange(0, 6)
        where = self.draw(({}, {}, {"role": "trainer"}, {"member": "m0"}))
        kind = world.random.random()
        if kind < 0.1:
            return fleet.unset(*values, **where, **options)
        if kind < 0.15:
            return fleet.undo(wait=options["wait"], force=options["force"])
        if kind < 0.2:
            return fleet.reset(fleet.revision, force=True)
        return fleet.set(values, **where, **options)

    # ---- Faults ----

    def disturb(self) -> None:
        """Let one thing go wrong, or end."""
        world, life = self.world, self.draw(self.lives)
        what = self.draw(("stop", "stop", "kill", "away", "operator", "pause", "join", "nothing"))
        if what == "stop":
            life.process.stopped = not life.process.stopped
            self.stops.add(life.process)
        elif what == "kill":
            life.process.killed = True
            life.start()
        elif what == "away":
            world.away = not world.away
            self.was_away = True
        elif what == "pause":
            process = self.draw(self.operators)
            process.stopped = not process.stopped
            self.stops.add(process)
        elif what == "operator":
            index = world.random.randrange(len(self.operators))
            self.operators[index].killed = True
            self.operators[index] = self.add_operator()
        elif what == "join" and len(self.lives) < 8:
            self.lives.append(Life(self, f"m{len(self.lives)}"))

    def heal(self) -> None:
        """End all faults."""
        self.world.away = False
        self.world.flaky = 0.0
        self.is_over = True
        for process in [*self.operators, *(each.process for each in self.lives)]:
            process.stopped = False

    # ---- What must hold ----

    def look(self) -> None:
        """Compare all members, in this moment and with all before."""
        for life in self.lives:
            if not life.is_settled:
                continue
            assert life.presence is not None
            member = life.presence._member
            numbers = life.program.numbers()
            if numbers["a"] != numbers["b"]:
                raise Fault(f"{life.name}: half of a batch: {numbers}")
            over = frozenset(member._over)
            if over and not (self.is_flaky or self.was_away):
                raise Fault(f"{life.name} has ended {over} alone")
            self._look_at_steps(life)
            reached = frozenset(member._reached) & {b.revision for b in member.state.batches}
            key = (
                life.rule.__name__,
                life.role,
                life.name == "m0",
                "late" in life.program._defined,
                member.state.changed,
                reached,
                over,
            )
            who = f"{life.name} at {self.world.time:.2f} s"
            before, first = self.seen.setdefault(key, (numbers, who))
            if before != numbers:
                raise Fault(f"revision {member.revision}: {first}: {before}; {who}: {numbers}")

    def _look_at_steps(self, life: Life) -> None:
        """Changes at a step come at that step, in those that have accepted them."""
        assert life.presence is not None
        member = life.presence._member
        if self.was_stopped(life.process) or self.was_away:
            return
        for revision, step in member._reached.items():
            batch = next((each for each in member.state.batches if each.revision == revision), None)
            if batch is None or not member.selected.is_concerned(batch.changes):
                continue
            question = decode(self.log[revision - 1], revision).of
            accepted = member.answers.get(question)
            if accepted and accepted.state in ACCEPTED and step != batch.at_step:
                raise Fault(f"{life.name}: change {revision} at {step}, not {batch.at_step}")

    def check_end(self) -> None:
        """Compare what members have in the end with what the whole log says."""
        records = [(n, decode(data, n)) for n, data in enumerate(self.log, 1)]
        committed = {each.revision for each in history_of(records) if each.verdict == COMMITTED}
        for revision, who in self.acknowledged:
            if revision not in committed:
                raise Fault(f"{who}: change {revision} was acknowledged, and isn't in the log")
        for revision in self.refused:
            if any(record.kind == "change" and record.of == revision for _, record in records):
                raise Fault(f"question {revision} was refused, and its change is in the log")
        state = State()
        for _, record in records:
            state = state.after(record)
        if state.question is not None:
            raise Fault(f"question {state.question.revision} was never decided")
        for life in self.lives:
            self._check_life(life, state)

    def _check_life(self, life: Life, state: State) -> None:
        if life.presence is None or not life.is_settled:
            presence = life.presence
            why = presence and (presence.problem, presence._member._is_due(), presence._lost_since)
            raise Fault(f"{life.name} is not settled: {why}")
        member = life.presence._member
        if member.revision < state.changed:
            raise Fault(f"{life.name} has read revision {member.revision} of {state.changed}")
        held = [each for each in state.batches if member._holds(each)]
        judge = lambda _, wanted: life.program.check(wanted)  # noqa: E731
        values, _ = fold(held, member.selected, judge)
        if life.program.numbers(values) != life.program.numbers():
            raise Fault(
                f"{life.name} at revision {member.revision}: {life.program.numbers()}, and the log"
                f" says {life.program.numbers(values)}"
            )


def run(seed: int, faults: int = 12) -> Scenario:
    """Live through one scenario; raise Fault."""
    kept, most = _follow._KEPT, _follow._MOST
    _follow._KEPT, _follow._MOST = 10, 30
    scenario = Scenario(seed)
    try:
        for _ in range(faults):
            scenario.world.run(scenario.world.random.uniform(0, 4))
            scenario.disturb()
        scenario.heal()
        scenario.world.run(60)
        scenario.check_end()
    except Fault as fault:
        fault.args = (f"seed {seed}: {fault}",)
        raise
    finally:
        scenario.world.end()
        _follow._KEPT, _follow._MOST = kept, most
    return scenario


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    options = parser.parse_args()
    records = bad = 0
    for seed in range(options.seed, options.seed + options.count):
        try:
            records += len(run(seed).log)
        except (Fault, FleetError, AssertionError) as fault:
            bad += 1
            print(f"{seed}: {type(fault).__name__}: {fault}", flush=True)
    print(f"{options.count} scenarios, {records} records, {bad} with a fault")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
