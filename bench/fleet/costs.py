"""What members ask of their engine, counted: no time is measured, and none passes.

Members are the real ones, `Membership`, each with a program whose flags are a few lines of Python.
They live in the world of the tests, which has its own time. A store in memory counts what is asked.
"""

from __future__ import annotations

import contextlib
import functools
import math
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from programs import Program, wide
from worlds import NOW, Process, World

from paddle_flags.fleet import CheckError, Fleet
from paddle_flags.fleet._check import Barrier
from paddle_flags.fleet._document import Fact, Facts, digest
from paddle_flags.fleet._membership import Membership
from paddle_flags.fleet._role import Options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SIZES = (8, 32, 128, 512)  # members
FLAGS = 100  # of each member
TTL = 10.0  # seconds, as of fleet.join
NEVER = 1e6  # seconds, for a lease that isn't renewed while something else is counted
LONG = 60.0  # seconds, in which everything happens
CALL = 0.002  # seconds that a call of the store takes
LEASES = 10  # for which members are idle
_WRITES = ("append", "announce", "keep_alive", "withdraw", "compact")


class Count(NamedTuple):
    """What was asked of an engine."""

    requests: int = 0
    read: int = 0
    """Records, bases and documents."""
    written: int = 0
    """Records, documents and renewals of leases."""
    bytes_read: int = 0
    bytes_written: int = 0

    def plus(self, other: Count) -> Count:
        """Return the sum of both."""
        return Count(*map(sum, zip(self, other)))

    def minus(self, other: Count) -> Count:
        """Return what was asked after another one."""
        return Count(*(mine - theirs for mine, theirs in zip(self, other)))


class Row(NamedTuple):
    """What one event has cost in a fleet of some size, in all."""

    event: str
    members: int
    asked: Count


class Programmed(Program):
    """A program with as many flags as a real one has."""

    own = 1

    def facts(self, key: bytes | None) -> Facts:
        """See Flags."""
        numbers = {**dict.fromkeys(map("flag_{}".format, range(FLAGS)), 1), **self.numbers()}
        numbers["flag_0"] = self.own
        sources = {name: "fleet" if name in self.fleet_values else "default" for name in numbers}
        values = {n: Fact(str(v), sources[n], "", "0") for n, v in numbers.items()}
        return Facts(values, [], [], {}, digest(dict.fromkeys(numbers, "0")))


class Engine(World):
    """A world whose store counts."""

    def __init__(self, members: int, ttl: float) -> None:
        """Let members join."""
        super().__init__(seed=members)
        self.count = Count()
        self.waiting: list[Any] = []
        self.members = [self._join(f"m{index:03}", ttl) for index in range(members)]
        self.run(1)
        self.count = Count()

    def _join(self, name: str, ttl: float) -> Membership:
        process, program = Process(name), Programmed(wide)
        options = Options(name, "trainer", None, None, ttl, "keep", "raise", 60.0, None)
        made = Membership(self.connect(process), options, program, self.clock(process))
        self.spawn(process, made.start)
        return made

    def connect(self, process: Process, *, writes: bool = True) -> Any:  # noqa: ANN401 - as World
        """See World."""
        return _Connection(self, process)

    def counted(self, event: str, *works: Callable[[], object], seconds: float = LONG) -> Row:
        """Return what it costs to do something, and what follows from it."""
        before = self.count
        for work in works:
            self.spawn(Process(event), work)
        self.run(seconds)
        return Row(event, len(self.members), self.count.minus(before))

    def operator(self) -> Fleet:
        """Return the fleet as an operator sees it."""
        process = Process("operator")
        return Fleet(self.connect(process), by="operator", clock=self.clock(process))


class _Connection:
    def __init__(self, engine: Engine, process: Process) -> None:
        self.url = "memory:costs"
        self._engine = engine
        self._process = process

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any) -> Any:  # noqa: ANN401 - all methods of a store
            self._engine.park(self._engine.time + CALL)
            result = getattr(self._engine.store, name)(*args)
            self._engine.count = self._engine.count.plus(_count(name, args, result))
            if name == "append" and result:
                for actor in self._engine.waiting:
                    actor.until = NOW
            return result

        return call

    def wait(self, after: int, timeout: float) -> int:
        """See Store."""
        engine = self._engine
        if engine.store.last() <= after:
            actor = engine._now
            engine.waiting.append(actor)
            engine.park(engine.time + timeout + CALL)
            engine.waiting.remove(actor)
        engine.count = engine.count.plus(Count(requests=1))
        return engine.store.last()

    def close(self) -> None:
        """See Store."""


def _count(name: str, args: tuple[Any, ...], result: Any) -> Count:  # noqa: ANN401 - of any method
    """Return what a call costs."""
    given = [len(each) for each in args if isinstance(each, bytes)]
    found: list[bytes] = []
    if name in ("read", "base"):
        found = [each for each in result if isinstance(each, bytes) and each]
    elif name in ("member", "members") and result is not None:
        listed = result.values() if name == "members" else [result]
        found = [each.document for each in listed]
    return Count(1, len(found), int(name in _WRITES), sum(map(len, found)), sum(given))


def measure_all(sizes: Sequence[int], tell: Callable[[str], None]) -> list[Row]:
    """Return the costs in fleets of some sizes."""
    rows: list[Row] = []
    for size in sizes:
        tell(f"{size} members")
        rows += measure(size)
    return rows


def measure(members: int) -> list[Row]:
    """Return what everything costs with so many members."""
    engine = Engine(members, TTL)
    fleet = engine.operator()
    engine.counted("change", lambda: fleet.set({"a": 1}, force=True))
    idle = engine.counted("idle", seconds=LEASES * TTL)
    engine.end()
    engine = Engine(members, NEVER)
    fleet = engine.operator()
    checks, differing = (
        [functools.partial(_check, each, members, differs=differs) for each in engine.members]
        for differs in (False, True)
    )
    rows = [
        Row(f"{TTL:g} s of idleness", members, Count(*(each // LEASES for each in idle.asked))),
        engine.counted("change", lambda: fleet.set({"a": 1, "b": 1}, wait=LONG)),
        engine.counted("change by force", lambda: fleet.set({"a": 2}, force=True, wait=LONG)),
        engine.counted("check", *checks),
        engine.counted("check of members that differ", *differing),
        engine.counted("status", fleet.status),
    ]
    engine.end()
    return rows


def _check(member: Membership, count: int, *, differs: bool) -> None:
    if differs and member.name == "m000":
        cast("Programmed", member._flags).own = 2
    with contextlib.suppress(CheckError) if differs else contextlib.nullcontext():
        Barrier(member, [], count, LONG, member._clock).wait()


def text(rows: list[Row]) -> str:
    """Return the counts as a table: for each member, and how all of them together grow."""
    sizes = sorted({each.members for each in rows})
    heads = "".join(f" {size} |" for size in sizes)
    lines = [f"| for each of so many members |{heads} slope |", "|---|" + "---|" * (len(sizes) + 1)]
    for event in dict.fromkeys(each.event for each in rows):
        found = sorted(
            (each for each in rows if each.event == event), key=lambda each: each.members
        )
        for index, what in enumerate(Count._fields):
            totals = [(each.members, each.asked[index]) for each in found]
            cells = "".join(f" {total / size:,.1f} |" for size, total in totals)
            name = f"{event}: {what.replace('_', ' ')}"
            lines.append(f"| {name} |{cells} {slope(totals)} |")
    about = "The slope is the exponent with which the sum over all members grows: 1 is linear."
    return "\n".join([*lines, "", about])


def slope(totals: list[tuple[int, int]]) -> str:
    """Return the exponent with which a total grows: 1 is linear, and 2 is quadratic."""
    (few, less), (many, more) = totals[0], totals[-1]
    if few == many or not less or not more:
        return ""
    return f"{math.log(more / less) / math.log(many / few):.2f}"
