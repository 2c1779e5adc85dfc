"""Random schedules of faults, made of a seed, beside clients that use a store at random.

    python tests/fleet/schedules.py dir --seed 7 --seconds 20
    python tests/fleet/schedules.py etcd --seed 7 --seconds 60 --rounds 10

The same seed gives the same faults at the same times, and each client the same random choices. How
they meet is up to the machine: a history that has a fault is kept, with the schedule.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import importlib
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import histories
from clients import Recorder, history
from etcds import Cluster
from histories import UNKNOWN, Operation

from paddle_flags.fleet._open import open_store

CLIENTS = 4
HERE = Path(__file__).parent


class Fault(NamedTuple):
    """Something that happens to a part of the system and ends again."""

    begin: Callable[[str], None]
    end: Callable[[str], None]
    targets: list[str]
    weight: int = 1


class Step(NamedTuple):
    """What happens when."""

    at: float  # seconds after the start
    name: str
    target: str
    lasts: float

    def __str__(self) -> str:
        return f"{self.at:6.2f} s: {self.name} {self.target} for {self.lasts:.2f} s"


def plan(seed: str, seconds: float, faults: dict[str, Fault], most: float = 4) -> list[Step]:
    """Choose faults of 0.1 to `most` seconds, of which two may happen at once."""
    choose = random.Random(f"{seed} schedule")
    steps, now = [], choose.uniform(0.2, 1.0)
    names, weights = list(faults), [fault.weight for fault in faults.values()]
    while now < seconds - 0.5:
        (name,) = choose.choices(names, weights)
        lasts = min(choose.uniform(0.1, most), seconds - now)
        steps.append(Step(now, name, choose.choice(faults[name].targets), lasts))
        now += lasts * choose.choice((0.3, 1.0, 1.0)) + choose.uniform(0.05, 0.7)
    return steps


def execute(steps: list[Step], faults: dict[str, Fault]) -> None:
    """Let the faults happen; returns when the last one has ended."""
    todo: list[tuple[float, int, Callable[[str], None], str]] = []
    for index, step in enumerate(steps):
        fault = faults[step.name]
        todo.append((step.at, index, fault.begin, step.target))
        todo.append((step.at + step.lasts, index, fault.end, step.target))
    start = time.monotonic()
    for at, _, do, target in sorted(todo, key=lambda item: item[:2]):
        time.sleep(max(0.0, start + at - time.monotonic()))
        do(target)


class Clients:
    """Processes that use the store; those that are killed get successors."""

    def __init__(
        self, urls: list[str], seed: str, seconds: float, place: Path, planted: str = ""
    ) -> None:
        self._urls, self._seed, self._place = urls, seed, place
        self._planted = [planted] if planted else []
        self._end = time.monotonic() + seconds
        self._started = 0
        self._all: list[subprocess.Popen[str]] = []
        self._now: dict[str, subprocess.Popen[str]] = {}
        for target in self.targets:
            self.start(target)
        for process in self._all:  # some engines take seconds to import
            assert process.stdout is not None
            process.stdout.readline()
        self._end = time.monotonic() + seconds

    @property
    def targets(self) -> list[str]:
        return [f"client{index}" for index in range(CLIENTS)]

    def start(self, target: str) -> None:
        """Start a client in the place of one that is gone, with a name of its own."""
        left = self._end - time.monotonic()
        if left <= 0:
            return
        name = f"c{self._started:02}"
        url = self._urls[self._started % len(self._urls)]
        self._started += 1
        file = self._place / f"{name}.history"
        command = [HERE / "clients.py", url, name, self._seed, str(left), file, *self._planted]
        process = subprocess.Popen(
            [sys.executable, *command],
            stdout=subprocess.PIPE,
            text=True,
        )
        self._now[target] = process
        self._all.append(process)

    def kill(self, target: str) -> None:
        self._now[target].kill()

    def stop(self, target: str) -> None:
        self._now[target].send_signal(signal.SIGSTOP)

    def resume(self, target: str) -> None:
        self._now[target].send_signal(signal.SIGCONT)

    def wait(self) -> None:
        """Wait until all have ended by themselves or were killed."""
        for process in self._all:
            process.send_signal(signal.SIGCONT)
        for process in self._all:
            process.communicate(timeout=120)
            assert process.returncode in (0, -signal.SIGKILL), process.args

    def close(self) -> None:
        for process in self._all:
            process.kill()
            process.communicate()

    def faults(self) -> dict[str, Fault]:
        return {
            "kill": Fault(self.kill, self.start, self.targets, 2),
            "stop": Fault(self.stop, self.resume, self.targets, 1),
        }


class Folder:
    """The engine that is a folder."""

    most = 2.0  # seconds that a fault lasts

    def __init__(self, place: Path) -> None:
        self._place = place

    def urls(self) -> list[str]:
        return [f"dir://{self._place}/fleet?poll=0.01"]

    def faults(self) -> dict[str, Fault]:
        return {}

    def heal(self) -> None:
        """Nothing was broken: there is no server."""


class Server:
    """An engine of the conformance suite, whose process is stopped at times."""

    most = 2.0

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._url = engine.new()

    def urls(self) -> list[str]:
        return [self._url]

    def faults(self) -> dict[str, Fault]:
        stops = [0]  # of which some may overlap

        def stop(_target: str) -> None:
            stops[0] += 1
            if stops[0] == 1:
                self._engine.stop()

        def resume(_target: str) -> None:
            stops[0] -= 1
            if stops[0] == 0:
                self._engine.restart()

        return {"stop engine": Fault(stop, resume, ["engine"], 2)}

    def heal(self) -> None:
        """It was resumed by the schedule."""


class Etcd:
    """Three nodes of etcd."""

    most = 4.0

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._fleet = f"fleet{time.monotonic_ns()}"

    def urls(self) -> list[str]:
        """Clients begin with different nodes; the last URLs are of one node alone each."""
        count = len(self._cluster.nodes)
        alone = [self._cluster.url_of(self._fleet, name) for name in self._cluster.nodes]
        return [self._cluster.url(self._fleet, index) for index in range(count)] + alone[:1]

    def faults(self) -> dict[str, Fault]:
        cluster = self._cluster
        nodes = list(cluster.nodes)

        def restart(name: str) -> None:
            if not cluster.nodes[name].runs:
                cluster.start(name)

        def kill_two(name: str) -> None:
            for other in nodes:
                if other != name:
                    cluster.kill(other)

        def restart_all(_name: str) -> None:
            for name in nodes:
                restart(name)

        def stop(name: str) -> None:
            if cluster.nodes[name].runs:
                cluster.stop(name)

        return {
            "kill node": Fault(cluster.kill, restart, nodes, 2),
            "kill all nodes but": Fault(kill_two, restart_all, nodes),
            "stop node": Fault(stop, cluster.resume, nodes, 2),
            "isolate": Fault(cluster.isolate, cluster.rejoin, nodes, 2),
            "cut what goes to": Fault(
                lambda name: cluster.isolate(name, of=False), cluster.rejoin, nodes
            ),
            "cut what comes of": Fault(
                lambda name: cluster.isolate(name, to=False), cluster.rejoin, nodes
            ),
            "hide from clients": Fault(cluster.hide, cluster.show, nodes),
        }

    def heal(self) -> None:
        self._cluster.heal()


Subject = Folder | Server | Etcd


class Outcome(NamedTuple):
    """What a run has shown."""

    seed: str
    steps: list[Step]
    counts: dict[str, int]
    """How much has happened."""
    faults: list[str]
    place: Path

    def __str__(self) -> str:
        lines = [f"seed {self.seed}: {self.counts}", *map(str, self.steps), *self.faults[:5]]
        return "\n".join([*lines, f"what was said: {self.place}"])


def run(engine: Subject, seed: str, seconds: float, place: Path, planted: str = "") -> Outcome:
    """Let clients use an engine while faults happen, and judge what they saw."""
    clients = Clients(engine.urls(), seed, seconds, place, planted)
    try:
        faults = {**clients.faults(), **engine.faults()}
        steps = plan(seed, seconds, faults, engine.most)
        execute(steps, faults)
        engine.heal()
        clients.wait()
    finally:
        clients.close()
    for index, url in enumerate(engine.urls()):
        read_all(url, place / f"end{index}.history")
    files = sorted(place.glob("*.history"))
    found = [operation for file in files for operation in history(file)]
    return Outcome(seed, steps, _counts_of(found), histories.check(found), place)


def _counts_of(history: list[Operation]) -> dict[str, int]:
    """Return how many operations there were, of which kinds."""
    return {
        "operations": len(history),
        "without answer": sum(not o.known for o in history),
        "records": sum(o.name == "append" and o.result is True for o in history),
        "lost races": sum(o.name == "append" and o.result is False for o in history),
        "bases": sum(o.name == "compact" and o.result is True for o in history),
    }


def read_all(url: str, file: Path) -> None:
    """Read everything that is there at the end, so that what was lost is missed."""
    recorder = Recorder(open_store(url, timeout=10), file)
    last, (base, _) = recorder.call("last"), recorder.call("base")
    number = base + 1
    while number <= last:
        records = recorder.call("read", number)
        assert records != UNKNOWN, f"{url}: no answer, although all faults have ended"
        if not records:
            break
        number += len(records)
    recorder.close()


@contextlib.contextmanager
def engine(name: str, place: Path) -> Iterator[Callable[[], Subject]]:
    """Start an engine, and return how to make an empty fleet in it."""
    if name == "dir":
        yield lambda: Folder(Path(tempfile.mkdtemp(dir=place)))
        return
    if name == "etcd":
        with Cluster(place / "etcd", 3) as cluster:
            yield lambda: Etcd(cluster)
        return
    sys.path.append(str(HERE.parent))  # for what all tests share
    made = importlib.import_module("engines").ENGINES[name]()
    made.start()
    try:
        yield lambda: Server(made)
    finally:
        made.end()


def main(description: str, run: Callable[[Subject, str, float, Path], Outcome]) -> int:
    """Run what the command line asks for, until there is a fault."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("engine", choices=("dask", "dir", "etcd", "ray", "tcpstore"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20, help="of one round")
    parser.add_argument("--rounds", type=int, default=1, help="with the seeds that follow")
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="fleet-faults-"))
    total: collections.Counter[str] = collections.Counter()
    with engine(options.engine, place) as new:
        for seed in range(options.seed, options.seed + options.rounds):
            here = place / f"seed{seed}"
            here.mkdir()
            outcome = run(new(), str(seed), options.seconds, here)
            print(outcome, flush=True)
            if outcome.faults:
                return 1
            total.update(outcome.counts, faults=len(outcome.steps))
    print(f"{options.rounds} rounds, no fault: {dict(total)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(__doc__, run))
