"""Random lives of a fleet in processes on a real engine: what scenarios.py does, in real time.

    python tests/fleet/real_lives.py dir --seed 7 --seconds 30
    python tests/fleet/real_lives.py etcd --seed 7 --seconds 60 --rounds 10

Members are stopped, killed, started again, leave, and join late; operators are stopped and killed;
nodes of etcd are killed, stopped and cut off. The same seed gives the same faults at the same times
and each operator the same random choices. How they meet is up to the machine: so what members and
operators have said stays in a file, with the log.
"""

from __future__ import annotations

import contextlib
import json
import random
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Self

import oracle
import programs
import schedules
from crews import Crew, Event
from schedules import Fault, Outcome, Subject

from paddle_flags.fleet import UnreachableError, open_store
from paddle_flags.fleet._record import CHANGE, Record, decode
from paddle_flags.fleet._state import COMMITTED, Selected, State, history_of

MEMBERS = 4
LATER = 2  # members that join while the others live
OPERATORS = 2
SOON = 60.0  # seconds after which everything must have come to its end, when all faults have
TTL = 2.0
DEEP = 8  # later batches that last, after which a state forgets one
MOST = 60  # records before there is a new base
LOOK = 0.2  # seconds between two looks at the log
HERE = Path(__file__).parent


class Identity(NamedTuple):
    """What a member stays through all its processes."""

    role: str
    rule: str
    tick: float
    skew: float
    join: dict[str, Any]


def identity(choose: random.Random, name: str) -> Identity:
    role = choose.choice(("trainer", "server"))
    options = {
        "ttl": TTL,
        "tick_timeout": 8.0,
        "on_lost": choose.choice(("keep", "default")),
        "observe": name != "m0" and choose.random() < 0.15,
    }
    return Identity(
        role,
        "narrow" if int(name[1:]) % 2 else "wide",
        choose.choice((0.0, 0.1, 0.3)),
        choose.choice((0.0, 0.0, 30.0, -30.0)),
        {**options, "role": role},
    )


class Fleet:
    """The processes of one life."""

    def __init__(self, urls: list[str], seed: str, planted: str) -> None:
        self.crew = Crew()
        self._urls, self._planted = urls, planted
        self._choose = random.Random(f"{seed} fleet")
        self._started = 0
        self.members = [f"m{index}" for index in range(MEMBERS)]
        self.later = [f"m{MEMBERS + index}" for index in range(LATER)]
        self.operators = [f"operator{index}" for index in range(OPERATORS)]
        self.who = {name: identity(self._choose, name) for name in (*self.members, *self.later)}
        self.stopped: set[str] = set()
        for name in (*self.members, *self.operators):
            self.start(name)
        self.crew.wait_joined([*self.members, *self.operators])

    def start(self, name: str) -> None:
        """Start the process of a name, unless one has it."""
        if name in self.crew.processes:
            return
        url = self._urls[self._started % len(self._urls)]
        self._started += 1
        options: dict[str, Any] = {"planted": self._planted, "most": MOST}
        if name in self.operators:
            program = "real_operator.py"
            options["seed"] = f"{self._choose.random()} {name}"
        else:
            program = "real_member.py"
            options["late"] = self._choose.choice((0.0, self._choose.uniform(0, 5)))
            options.update(self.who[name]._asdict())
        self.crew.start(name, url, program=HERE / program, **options)

    def kill(self, name: str) -> None:
        if name in self.crew.processes:
            self.crew.kill(name)

    def leave(self, name: str) -> None:
        """Let a process end as programs do."""
        process = self.crew.processes.pop(name, None)
        if process is None:
            return
        self.resume(name)
        process.communicate(timeout=SOON)
        assert process.returncode == 0, f"{name} ended with {process.returncode}"

    def stop(self, name: str) -> None:
        if name in self.crew.processes:
            self.stopped.add(name)
            self.crew.stop(name)

    def resume(self, name: str) -> None:
        if name in self.crew.processes:
            self.crew.resume(name)

    def faults(self) -> dict[str, Fault]:
        def nothing(_name: str) -> None:
            pass

        return {
            "kill member": Fault(self.kill, self.start, self.members, 3),
            "stop member": Fault(self.stop, self.resume, self.members, 3),
            "leave": Fault(self.leave, self.start, self.members),
            "join": Fault(self.start, nothing, self.later),
            "kill operator": Fault(self.kill, self.start, self.operators, 2),
            "stop operator": Fault(self.stop, self.resume, self.operators, 2),
        }

    def heal(self) -> None:
        """Let all go on that are left, and the operators end."""
        for name in list(self.crew.processes):
            self.resume(name)
        for name in self.operators:
            self.leave(name)
        for name in self.members:
            self.start(name)


def run(engine: Subject, seed: str, seconds: float, place: Path, planted: str = "") -> Outcome:
    """Let a fleet live while faults happen, and judge what its processes have said.

    `planted` is a fault of planted.py, which all processes have.
    """
    fleet = Fleet(engine.urls()[:3], seed, planted)
    with fleet.crew as crew, Reader(engine.urls()[0]) as log:
        faults = {**fleet.faults(), **engine.faults()}
        steps = schedules.plan(seed, seconds, faults, engine.most)
        schedules.execute(steps, faults)
        engine.heal()
        fleet.heal()
        judge = Judge(fleet, log.records, is_troubled=bool(engine.faults()))
        end = time.monotonic() + SOON
        while (unsettled := judge.unsettled()) and time.monotonic() < end:
            if planted and judge.faults():
                break
            crew.read(0.2)
        crew.read()
        found = [*judge.faults(), *unsettled]
        with (place / "said.jsonl").open("w") as file:
            lines = [*crew.events, *(each._asdict() for each in log.records)]
            file.writelines(json.dumps(each, default=str) + "\n" for each in lines)
    counts = {
        "records": len(log.records),
        "looks": sum("values" in each for each in crew.events),
        "acknowledged": sum("acknowledged" in each for each in crew.events),
        "refused": sum("refused" in each for each in crew.events),
    }
    return Outcome(seed, steps, counts, found, place)


class Reader:
    """Reads the whole log while it is written, since bases replace what is old."""

    def __init__(self, url: str) -> None:
        self.records: list[Record] = []
        self._store = open_store(url)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_over.set()
        self._thread.join()
        self._store.close()

    def _run(self) -> None:
        while not self._is_over.wait(LOOK):
            with contextlib.suppress(UnreachableError):
                first = len(self.records) + 1
                found = self._store.read(first)
                self.records += [decode(data, n) for n, data in enumerate(found, first)]


def is_replaced(batches: oracle.Batches, revision: int) -> bool:
    """Return whether each flag of a batch has so many later ones that a state forgets it."""
    later = [each for number, each in batches.items() if number > revision]
    lasting = [each for each in later if each.duration is None and each.at_step is None]
    return all(
        sum((change.name, change.on) in {(e.name, e.on) for e in each.changes} for each in lasting)
        >= DEEP
        for change in batches[revision].changes
    )


class Judge:
    """Compares what processes have said with what the log says."""

    def __init__(self, fleet: Fleet, log: list[Record], *, is_troubled: bool) -> None:
        self._fleet = fleet
        self._is_troubled = is_troubled  # the engine
        self._log = log  # grows meanwhile

    # ---- In the end, everything has come to rest ----

    def unsettled(self) -> list[str]:
        """Return what is still to happen."""
        state = State()
        for record in self._log:
            state = state.after(record)
        found = []
        if state.question is not None:
            found.append(f"question {state.question.revision} is open")
        found += [
            f"the temporary change {batch.revision} has not ended"
            for batch in state.batches
            if batch.duration and batch.at_step is None
        ]
        crew = self._fleet.crew
        for name in self._fleet.who.keys() & crew.processes.keys():
            process = crew.processes[name]
            if process.poll() is not None:
                found.append(f"{name} ended with {process.returncode}")
                continue
            own = [e for e in crew.events if e.get("pid") == process.pid and "values" in e]
            if not own or own[-1]["changed"] != state.changed:
                found.append(f"{name} isn't at revision {state.changed}: {own[-1:]}")
        return found

    # ---- What must never be ----

    def faults(self) -> list[str]:
        """Return what is wrong."""
        said, state = oracle.Log(), State()
        batches: dict[int, oracle.Batches] = {0: {}}
        forgotten: dict[int, str] = {}
        for number, record in enumerate(self._log, 1):
            said.add(number, record)
            state = state.after(record)
            kept = {each.revision for each in state.batches}
            batches[said.changed] = {n: each for n, each in said.batches.items() if n in kept}
            for gone in said.batches.keys() - kept - forgotten.keys():
                forgotten[gone] = "" if is_replaced(said.batches, gone) else f"{gone} is forgotten"
        return [
            *said.faults,
            *filter(None, forgotten.values()),
            *self._promises(),
            *(fault for each in self._fleet.crew.events for fault in self._look(each, batches)),
        ]

    def _promises(self) -> list[str]:
        """Return what operators were told and isn't so."""
        steps = [each for each in history_of(self._log) if each.verdict == COMMITTED]
        made = {(each.revision, each.record.by) for each in steps}
        decided = {each.of for each in self._log if each.kind == CHANGE and each.of}
        events = self._fleet.crew.events
        lost = [
            e for e in events if e.get("acknowledged") and (e["acknowledged"], e["m"]) not in made
        ]
        real = [e for e in events if e.get("refused") in decided]
        return [f"acknowledged, and not in the log: {e}" for e in lost] + [
            f"refused, and in the log: {e}" for e in real
        ]

    def _look(self, event: Event, batches: dict[int, oracle.Batches]) -> list[str]:
        """Compare what one line says with the log."""
        if "half" in event:
            return [f"half of a batch: {event}"]
        if "late" in event and event["m"] not in self._fleet.stopped and not self._is_troubled:
            return [f"nobody decided in time: {event}"]
        if "values" not in event:
            return []
        if event["changed"] not in batches:
            return [f"{event}, and the log has no such change"]
        name, step, values = event["m"], event["step"], event["values"]
        who = self._fleet.who[name]
        rule: programs.Rule = getattr(programs, who.rule)
        program = programs.Program(rule, values)
        held = [
            record
            for revision, record in batches[event["changed"]].items()
            if revision not in event["over"]
            and (record.at_step is None or (step is not None and step >= record.at_step))
        ]
        chosen = Selected(name, who.role, "").selectors()
        accepts: Callable[[dict[str, str]], bool] = lambda texts: rule(program.numbers(texts))  # noqa: E731
        expected = program.numbers(oracle.values_of(held, chosen, accepts))
        if {**programs.DEFAULTS, **values} == expected:
            return []
        return [f"{event}, and the log says {expected}"]


if __name__ == "__main__":
    sys.exit(schedules.main(__doc__, run))
