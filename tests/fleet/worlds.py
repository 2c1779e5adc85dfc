"""A world with its own time, in which members and operators of a fleet meet in every order.

Each actor is a thread, of which one at a time runs: it gives up its turn in each call of the store
and whenever it sleeps. Who goes on is drawn from the seed, so the same seed gives the same history.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import Any

from paddle_flags.fleet._clock import Clock
from paddle_flags.fleet._memory import MemoryStore
from paddle_flags.fleet._store import ReadOnlyError, UnreachableError

EPOCH = 1_700_000_000.0
ALWAYS = 0.0


class Killed(BaseException):
    """The process of an actor was killed."""


class Process:
    """What is stopped and killed together, and has one clock."""

    def __init__(self, name: str, skew: float = 0.0, lag: float = 0.0) -> None:
        self.name = name
        self.skew = skew  # seconds by which its clock is ahead
        self.lag = lag  # seconds that a call of the store takes at most
        self.stopped = False
        self.killed = False


class _Actor:
    def __init__(self, process: Process, work: Callable[[], object]) -> None:
        self.process = process
        self.work = work
        self.ready: float | Callable[[], bool] = ALWAYS
        self.go = threading.Semaphore(0)
        self.done = False
        self.failure: BaseException | None = None


class World:
    """Time, actors, and the log of a fleet in memory."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.time = 0.0
        self.store = MemoryStore("memory:model", clock=lambda: self.time)
        self.away = False
        """Whether the engine is out of reach for everybody."""
        self.flaky = 0.0
        """How many of all calls fail, before or after they had an effect."""
        self.watch: Callable[[], None] = lambda: None
        """Is called after each turn."""
        self._actors: list[_Actor] = []
        self._now: _Actor | None = None
        self._parked = threading.Semaphore(0)

    # ---- Actors ----

    def spawn(self, process: Process, work: Callable[[], object]) -> None:
        """Add an actor, which begins at its first turn."""
        actor = _Actor(process, work)
        self._actors.append(actor)
        threading.Thread(target=self._run, args=(actor,), daemon=True).start()

    def _run(self, actor: _Actor) -> None:
        actor.go.acquire()
        try:
            if not actor.process.killed:
                actor.work()
        except Killed:
            pass
        except BaseException as error:
            actor.failure = error
        actor.done = True
        self._parked.release()

    def park(self, ready: float | Callable[[], bool] = ALWAYS) -> None:
        """Give up the turn until a time, or until a condition holds."""
        actor = self._now
        assert actor is not None
        if actor.process.killed:
            raise Killed
        actor.ready = ready
        self._parked.release()
        actor.go.acquire()
        if actor.process.killed:
            raise Killed

    def _is_ready(self, actor: _Actor) -> bool:
        if actor.process.killed:
            return True
        ready = actor.ready
        return ready() if callable(ready) else ready <= self.time

    def turn(self) -> bool:
        """Let one actor go on, or time pass; return False if nobody is left."""
        self._actors = [each for each in self._actors if not each.done]
        able = [a for a in self._actors if not a.process.stopped or a.process.killed]
        if not able:
            return False
        ready = [each for each in able if self._is_ready(each)]
        if not ready:
            times = [each.ready for each in able if not callable(each.ready)]
            assert times, "every actor waits for another one"
            self.time = min(times)
            return True
        self._now = self.random.choice(ready)
        self._now.go.release()
        assert self._parked.acquire(timeout=60), f"{self._now.process.name} waits outside the world"
        if self._now.failure is not None:
            raise self._now.failure
        self.watch()
        return True

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end = self.time + seconds
        self.spawn(Process("time"), lambda: self.park(end))
        while self.time < end and self.turn():
            pass

    def end(self) -> None:
        """Kill all actors."""
        for each in self._actors:
            each.process.killed = True
        self.watch = lambda: None
        while self.turn():
            pass

    # ---- What they use ----

    def clock(self, process: Process) -> Clock:
        """Return the clock of a process."""
        return _WorldClock(self, process)

    def connect(self, process: Process, *, writes: bool = True) -> Any:
        """Return a store for a process."""
        return _Connection(self, process, writes=writes)


class _WorldClock(Clock):
    def __init__(self, world: World, process: Process) -> None:
        self._world = world
        self._process = process

    def now(self) -> float:
        return self._world.time

    def date(self) -> float:
        return EPOCH + self._world.time + self._process.skew

    def sleep(self, seconds: float) -> None:
        self._world.park(self._world.time + seconds)

    def spread(self, seconds: float) -> float:
        return self._world.random.uniform(0, seconds)

    def lock(self) -> Any:
        return _Lock(self._world)


class _Lock:
    def __init__(self, world: World) -> None:
        self._world = world
        self._owner: _Actor | None = None
        self._depth = 0

    def __enter__(self) -> None:
        while self._owner not in (None, self._world._now):
            self._world.park(lambda: self._owner is None)
        self._owner = self._world._now
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._owner = None


_WRITES = ("append", "announce", "keep_alive", "withdraw", "compact")


class _Connection:
    def __init__(self, world: World, process: Process, *, writes: bool) -> None:
        self.url = world.store.url
        self._world = world
        self._process = process
        self._writes = writes

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            lag = self._world.random.uniform(0, self._process.lag)
            self._world.park(self._world.time + lag)
            if not self._writes and name in _WRITES:
                raise ReadOnlyError(f"{self.url}: this user may only read")
            self._fail("before")
            result = getattr(self._world.store, name)(*args)
            self._fail("after")
            self._world.park()
            return result

        return call

    def _fail(self, when: str) -> None:
        chance = self._world.random.random()
        if self._world.away or chance < self._world.flaky:
            self._world.park(self._world.time + self._world.random.uniform(0, 1))
            raise UnreachableError(f"{self.url}: no answer, {when} it had an effect")

    def wait(self, after: int, timeout: float) -> int:
        world, end = self._world, self._world.time + timeout
        world.park()
        self._fail("before")
        while world.store.last() <= after and world.time < end:
            world.park(min(end, world.time + world.random.choice((0.01, 0.05, 0.2))))
        return world.store.last()

    def close(self) -> None:
        pass
