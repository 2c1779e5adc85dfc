"""Random lives of a fleet in a world of its own, and what must hold in each of them.

python tests/fleet/scenarios.py --seed 1 --count 200
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator
from typing import Any
from unittest import mock

import oracle
from changing import Kind, change
from lives import TTL, Life
from worlds import HANGS, REFUSES, WELL, FaultError, Process, World

from paddle_flags.errors import FlagError
from paddle_flags.fleet import _follow, _membership, _operate
from paddle_flags.fleet._fleet import Fleet
from paddle_flags.fleet._operate import AbortedError
from paddle_flags.fleet._record import ASK, CHANGE, END, Record, decode
from paddle_flags.fleet._state import COMMITTED, State, history_of

LONGEST_SET = 90.0  # seconds: other questions, its own, and an engine that is away for a while
SOON = 15.0  # seconds
QUIET = 25.0  # seconds in the end, after which everybody has everything


BOUNDS = ("lo", "hi")
LATE = ("late", "late", "x")
KINDS = (
    Kind(),
    Kind(("stop", "kill", "join"), (0.0,), forces=0.9, highest=40, names=LATE, ticking=0.0),
    Kind(
        ("stop", "operator", "pause"), (0.0,), 0.1, steps=0.8, ticking=1.0, roughness=0.05, lag=1.0
    ),
    Kind(
        ("operator", "operator", "join", "kill"), (0.0, 0.0, 0.02), 0.0, 10, BOUNDS, roughness=0.2
    ),
    Kind(("engine", "leave", "leave", "stop"), ticking=0.3),
)


class Operator:
    """Somebody who changes the fleet again and again, until it is over."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        world = self.world = scenario.world
        name = f"operator{world.random.randrange(1000)}"
        self.process = Process(name, world.draw((0.0, 20.0)), scenario.kind.lag)
        self.was_stopped = False
        world.spawn(self.process, self._work)

    def _work(self) -> None:
        world, clock, name = self.world, self.world.clock(self.process), self.process.name
        fleet = Fleet(world.connect(self.process), by=name, clock=clock)
        while not self.scenario.is_over:
            clock.sleep(world.random.uniform(0, 1))
            began = world.time
            try:
                outcome = change(fleet, world.random, self.scenario.kind, self.scenario.top())
            except AbortedError as error:
                self.scenario.refused.append(error.outcome.revision)
            except FlagError:
                pass  # no answer, a conflict, or nothing to undo
            else:
                if outcome.verdict == COMMITTED and outcome.revision:
                    self.scenario.acknowledged.append((outcome.revision, name))
                elif outcome.revision:
                    self.scenario.refused.append(outcome.revision)
            took, troubled = world.time - began, self.was_stopped or world.ill >= began
            if took > LONGEST_SET and not troubled and not world.flaky:
                raise FaultError(f"{name}: a change took {took:.1f} s")


class Scenario:
    """One random life of a fleet."""

    def __init__(self, seed: int) -> None:
        self.kind = KINDS[seed % len(KINDS)]
        world = self.world = World(seed)
        world.watch = self._look
        world.meddle = self._meddle
        world.flaky = world.draw(self.kind.flaky)
        if world.flaky:
            world.ill = 0.0
        self.log: list[Record] = []
        self.times: list[float] = []  # of the records
        self.present: dict[int, set[str]] = {}  # members with a lease at a question
        self.faults: list[str] = []
        self.said = oracle.Log()
        self.batches: dict[int, oracle.Batches] = {}
        """Those in effect, after each revision that has changed them."""
        self.expected: dict[Any, dict[str, int]] = {}
        self.acknowledged: list[tuple[int, str]] = []
        self.refused: list[int] = []
        self.is_over = False
        self._note_appends()
        self.lives: list[Life] = []
        for _ in range(4):
            self._join()
        self.operators = [Operator(self) for _ in range(2)]

    def _note_appends(self) -> None:
        append = self.world.store.append

        def noted(number: int, data: bytes) -> bool:
            done = append(number, data)
            if done:
                record = decode(data, number)
                self.log.append(record)
                self.times.append(self.world.time)
                self._look_at_record(record)
            return done

        self.world.store.append = noted  # type: ignore[method-assign]

    def _join(self) -> None:
        name = f"m{len(self.lives)}"
        self.lives.append(Life(self.world, self.log, name, self.kind.ticking))

    def top(self) -> int:
        """Return the last step that any member has reached."""
        return max(life.step for life in self.lives)

    # ---- Faults ----

    def disturb(self) -> None:
        """Let one thing go wrong, or end."""
        world, life = self.world, self.world.draw(self.lives)
        what = world.draw(self.kind.faults)
        if what == "stop":
            (life.resume if life.process.stopped else life.stop)()
        elif what == "kill":
            life.kill()
        elif what == "leave":
            life.leave()
        elif what == "engine":
            world.engine = world.draw((REFUSES, HANGS)) if world.engine == WELL else WELL
        elif what == "pause":
            operator = world.draw(self.operators)
            operator.process.stopped = not operator.process.stopped
            operator.was_stopped = True
        elif what == "operator":
            self._replace(world.draw(self.operators))
        elif what == "join" and len(self.lives) < 8:
            self._join()

    def _replace(self, operator: Operator) -> None:
        operator.process.killed = True
        self.operators[self.operators.index(operator)] = Operator(self)

    def _meddle(self, process: Process, call: str) -> None:
        """Stop or kill whoever is about to write a record, or has just done so."""
        if call != "append" or self.is_over or not self.world.chance(self.kind.roughness):
            return
        operator = next((each for each in self.operators if each.process is process), None)
        if operator is not None and self.world.chance(0.3):
            self._replace(operator)
        elif operator is not None:
            operator.process.stopped = operator.was_stopped = True
            self.world.after(self.world.random.uniform(0, 12), lambda: _resume(process))

    def heal(self) -> None:
        """End all faults."""
        self.world.engine = WELL
        self.world.flaky = 0.0
        self.is_over = True
        for operator in self.operators:
            operator.process.stopped = False
            operator.process.killed = self.world.chance(0.5)
        for life in self.lives:
            if life.process.stopped:
                life.resume()

    # ---- What must hold ----

    def _look_at_record(self, record: Record) -> None:
        self.said.add(len(self.log), record)
        self.batches[self.said.changed] = dict(self.said.batches)
        self.faults += self.said.faults
        try:
            if record.kind == ASK:
                members = self.world.store.members()
                self.present[len(self.log)] = {name for name in members if members[name].alive}
            elif record.kind == END:
                self._look_at_end(record)
            elif record.kind == CHANGE and record.of:
                asked = self.log[record.of - 1]
                for life in (each for each in self.lives if each.name in self.present[record.of]):
                    life.look_at_commit(record.of, self.times[record.of - 1], asked.changes)
        except FaultError as fault:  # whoever writes it would catch it
            self.faults.append(str(fault))

    def _look_at_end(self, end: Record) -> None:
        """A temporary value ends not much too early, if somebody has seen it begin."""
        began, batch = self.times[end.of - 1], self.log[end.of - 1]
        if batch.of:
            batch = self.log[batch.of - 1]
        witnesses = [life.name for life in self.lives if life.has_seen(end.of, began)]
        early = began + float(batch.duration or 0) - self.world.time
        if early > TTL / 2 and witnesses:
            raise FaultError(
                f"{end.by} ends {end.of} {early:.1f} s early, and {witnesses} know better"
            )

    def _look(self, process: Process) -> None:
        """Compare a member, in this moment, with what the log says."""
        if self.faults:
            raise FaultError("; ".join(self.faults))
        for life in self.lives:
            life.look_at_lease()
            if life.process is process:
                life.look()
                if life.is_settled:
                    self._compare(life)

    def _compare(self, life: Life) -> None:
        key, numbers = life.key(), life.program.numbers()
        if key not in self.expected:
            changed = key[1]
            self.expected[key] = life.expected(self.batches.get(changed, {}))
        expected = self.expected[key]
        if numbers != expected:
            who = f"{life.name} at {self.world.time:.2f} s, revision {key[1]}"
            raise FaultError(f"{who}: {numbers}, and the log says {expected}")

    def settle(self) -> None:
        """Wait for members that do something at this moment, such as to begin a step."""
        for _ in range(20):
            if all(life.is_settled for life in self.lives):
                return
            self.world.run(0.3)

    def check_end(self) -> None:
        """Compare what all have been told, and what they have, with what the log says."""
        history = history_of(self.log)
        steps = [each for each in history if each.verdict == COMMITTED]
        committed = {(each.revision, each.record.by) for each in steps}
        for revision, who in self.acknowledged:
            if (revision, who) not in committed:
                raise FaultError(f"{who}: change {revision} was acknowledged, and isn't in the log")
        for revision in self.refused:
            if any(each.kind == CHANGE and each.of == revision for each in self.log):
                raise FaultError(f"question {revision} was refused, and its change is in the log")
        state = State()
        for record in self.log:
            state = state.after(record)
        if state.question is not None:
            raise FaultError(f"question {state.question.revision} was never decided")
        for batch in state.batches:
            over = self.times[batch.revision - 1] + float(batch.duration or 0)
            if batch.duration and batch.at_step is None and self.world.time > over + SOON:
                raise FaultError(f"the temporary change {batch.revision} has never ended")
        for life in self.lives:
            life.check_end(state)


def _resume(process: Process) -> None:
    process.stopped = False


@contextlib.contextmanager
def _quick() -> Iterator[None]:
    """Look less often, and compact early."""
    with (
        mock.patch.multiple(_follow, _KEPT=10, _MOST=30),
        mock.patch.object(_operate, "_POLL", 0.1),
        mock.patch.object(_membership, "_POLL", 0.1),
    ):
        yield


def run(seed: int, faults: int = 12) -> Scenario:
    """Live through one scenario; raise FaultError."""
    with _quick():
        scenario = Scenario(seed)
        try:
            for _ in range(faults):
                scenario.world.run(scenario.world.random.uniform(0, 4))
                scenario.disturb()
            scenario.heal()
            scenario.world.run(QUIET)
            scenario.settle()
            scenario.check_end()
        except AssertionError as fault:
            fault.args = (f"seed {seed}: {fault}",)
            raise
        finally:
            scenario.world.end()
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
        except AssertionError as fault:
            bad += 1
            print(f"{type(fault).__name__}: {fault}", flush=True)
    print(f"{options.count} scenarios, {records} records, {bad} with a fault")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
