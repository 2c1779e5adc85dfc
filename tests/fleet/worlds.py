"""A world with its own time, in which members and operators of a fleet meet in every order.

Each actor is a thread, of which one at a time runs: it gives up its turn in each call of the store
and whenever it sleeps. Who goes on is drawn from the seed, so the same seed gives the same history.
"""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Callable
from typing import Any

from paddle_flags.fleet._clock import Clock
from paddle_flags.fleet._memory import MemoryStore
from paddle_flags.fleet._store import ReadOnlyError, UnreachableError

EPOCH = 1_700_000_000.0
TIMEOUT = 10.0  # seconds after which a call gives up that the engine doesn't answer
NOW = 0.0
NEVER = math.inf
BUSY = 2000  # turns at one moment

WELL = "well"
REFUSES = "refuses"
HANGS = "hangs"


class FaultError(AssertionError):
    """Something that must not be."""


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
        self.renewed = 0.0  # when its lease was renewed last, as far as it knows


class _Actor:
    def __init__(self, process: Process, work: Callable[[], object]) -> None:
        self.process = process
        self.work = work
        self.until = NOW  # when it goes on,
        self.when: Callable[[], bool] | None = None  # or when this holds
        self.go = threading.Semaphore(0)
        self.done = False
        self.failure: BaseException | None = None


class World:
    """Time, actors, and the log of a fleet in memory."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.time = 0.0
        self.store = MemoryStore("memory:model", clock=lambda: self.time)
        self.engine = WELL
        self.flaky = 0.0
        """How many of all calls fail, before or after they had an effect."""
        self.ill = -NEVER
        """When the engine failed last."""
        self.hung = -NEVER
        """When it hung last."""
        self.watch: Callable[[Process], None] = lambda _: None
        """Is called after each turn of a process."""
        self.meddle: Callable[[Process, str], None] = lambda *_: None
        """Is called right before and after each call of a process, and may stop or kill it."""
        self.trace: list[tuple[float, str]] = []
        """Who had which turn."""
        self._actors: list[_Actor] = []
        self._turns = 0  # at this moment
        self._now: _Actor | None = None
        self._parked = threading.Semaphore(0)

    def draw(self, choices: Any) -> Any:
        """Return one of some things."""
        return self.random.choice(choices)

    def chance(self, share: float) -> bool:
        """Return whether one thing happens of which so many do."""
        return self.random.random() < share

    # ---- Actors ----

    def spawn(self, process: Process, work: Callable[[], object]) -> None:
        """Add an actor, which begins at its first turn."""
        actor = _Actor(process, work)
        self._actors.append(actor)
        threading.Thread(target=self._run, args=(actor,), daemon=True).start()

    def after(self, seconds: float, work: Callable[[], object]) -> None:
        """Do something later, whatever becomes of all processes."""
        end = self.time + seconds

        def wait() -> None:
            self.park(end)
            work()

        self.spawn(Process("time"), wait)

    def _run(self, actor: _Actor) -> None:
        actor.go.acquire()
        try:
            if not actor.process.killed:
                actor.work()
        except Killed:
            pass
        except BaseException as error:  # it is raised by `turn`
            actor.failure = error
        actor.done = True
        self._parked.release()

    def park(self, until: float = NOW, when: Callable[[], bool] | None = None) -> None:
        """Give up the turn until a time, or until something holds."""
        actor = self._now
        assert actor is not None
        if actor.process.killed:
            raise Killed
        actor.until, actor.when = until, when
        self._parked.release()
        actor.go.acquire()
        if actor.process.killed:
            raise Killed

    def _is_ready(self, actor: _Actor) -> bool:
        if actor.process.killed or actor.until <= self.time:
            return True
        return actor.when is not None and actor.when()

    def turn(self) -> bool:
        """Let one actor go on, or time pass; return False if nobody is left."""
        self._actors = [each for each in self._actors if not each.done]
        able = [a for a in self._actors if not a.process.stopped or a.process.killed]
        if not able:
            return False
        ready = [each for each in able if self._is_ready(each)]
        if not ready:
            self.time = min(each.until for each in able)
            if self.time == NEVER:
                message = "every actor waits for another one"
                raise FaultError(message)
            self._turns = 0
            return True
        self._turns += 1
        if self._turns > BUSY:
            message = "somebody is busy, and no time passes"
            raise FaultError(message)
        now = self._now = self.random.choice(ready)
        self.trace.append((self.time, now.process.name))
        now.go.release()
        assert self._parked.acquire(timeout=60), f"{now.process.name} waits outside the world"
        if now.failure is not None:
            raise now.failure
        if self.engine != WELL:
            self.ill = self.time
        if self.engine == HANGS:
            self.hung = self.time
        self.watch(now.process)
        return True

    def run(self, seconds: float) -> None:
        """Let time pass."""
        end = self.time + seconds
        self.after(seconds, lambda: None)
        while self.time < end and self.turn():
            pass

    def end(self) -> None:
        """Kill all actors."""
        for each in self._actors:
            each.process.killed = True
        self.watch = lambda _: None
        self.meddle = lambda *_: None
        while self.turn():
            pass

    # ---- What they use ----

    def clock(self, process: Process) -> Clock:
        """Return the clock of a process."""
        return _WorldClock(self, process)

    def connect(self, process: Process, *, writes: bool = True) -> Any:
        """Return a store for a process."""
        return _Connection(self, process, writes=writes)

    def owner(self) -> object:
        """Return whose turn it is, as a lock knows it."""
        return self._now


class _WorldClock(Clock):
    def __init__(self, world: World, process: Process) -> None:
        self._world = world
        self._process = process

    def monotonic(self) -> float:
        return self._world.time

    def wall_time(self) -> float:
        return EPOCH + self._world.time + self._process.skew

    def sleep(self, seconds: float) -> None:
        self._world.park(self._world.time + seconds)

    def random_delay(self, seconds: float) -> float:
        return self._world.random.uniform(0, seconds)

    def make_lock(self) -> Lock:
        return Lock(self._world)

    def spawn(self, function: Callable[[], object], name: str) -> None:
        self._world.spawn(self._process, function)


class Lock:
    """A lock between actors, which one of them may take again."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._owner: object = None
        self._depth = 0

    @property
    def is_free(self) -> bool:
        return self._owner is None

    def __enter__(self) -> None:
        me = self._world.owner()
        while self._owner not in (None, me):
            self._world.park(NEVER, lambda: self._owner is None)
        self._owner = me
        self._depth += 1

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._owner = None


_WRITES = ("append", "announce", "keep_alive", "withdraw", "compact")


class _Connection:
    """A connection to the engine. It implements Store."""

    def __init__(self, world: World, process: Process, *, writes: bool) -> None:
        self.url = world.store.url
        self._world = world
        self._process = process
        self._writes = writes

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            world, process = self._world, self._process
            world.park(world.time + world.random.uniform(0, process.lag))
            if not self._writes and name in _WRITES:
                raise ReadOnlyError(f"{self.url}: this user may only read")
            self._pass(name, "before")
            result = getattr(world.store, name)(*args)
            self._pass(name, "after")
            if name in ("announce", "keep_alive"):
                process.renewed = world.time
            return result

        return call

    def _pass(self, call: str, when: str) -> None:
        """Let others have their turn, and whatever may happen to a call happen."""
        world = self._world
        world.meddle(self._process, call)
        world.park()
        if world.engine == HANGS:
            world.park(world.time + TIMEOUT, lambda: world.engine != HANGS)
        if world.engine != WELL or world.chance(world.flaky):
            world.park(world.time + world.random.uniform(0, 1))
            raise UnreachableError(f"{self.url}: no answer, {when} it had an effect")

    def wait(self, after: int, timeout: float) -> int:
        world, end = self._world, self._world.time + timeout
        self._pass("wait", "before")
        world.park(end, lambda: world.store.last() > after or world.engine != WELL)
        world.park(min(end, world.time + world.draw((0.01, 0.05, 0.2))))
        self._pass("wait", "after")
        return world.store.last()

    def close(self) -> None:
        pass
