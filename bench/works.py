"""Measurements of the native libraries, as groups of cases for measure.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bench import programs
from bench.contestants import PLAIN, Contestant, native, present
from bench.measure import Case, Rows, exactly, over

if TYPE_CHECKING:
    from collections.abc import Iterator

EMPTY = {False: "empty C program", True: "empty C++ program"}


@dataclass(frozen=True)
class Sizes:
    """The sizes of the measurements."""

    rounds: int
    flags: tuple[int, ...]
    reads: int
    definitions: int  # in the programs whose start is measured
    starts: int  # in each round
    milliseconds: int  # of each case with threads
    python_flags: int
    python_calls: int


FULL = Sizes(
    rounds=7,
    flags=(1, 10, 100, 1000, 10_000, 100_000, 1_000_000),
    reads=100_000_000,
    definitions=10_000,
    starts=20,
    milliseconds=50,
    python_flags=10_000,
    python_calls=200_000,
)
QUICK = Sizes(
    rounds=1,
    flags=(1, 100),
    reads=1000,
    definitions=10,
    starts=2,
    milliseconds=20,
    python_flags=50,
    python_calls=100,
)

RANDOM_AT_MOST = 100_000
REGISTER = {
    "ns": "register",
    "heap": "memory",
    "resident": "resident",
    "heap_set": "memory-set",
    "definition": "definition",
}


def flag_groups(sizes: Sizes) -> Iterator[list[Case]]:
    """Yield the cases that define, set and parse up to a million flags."""
    made = {each.name: programs.work_program(each) for each in present()}
    for count in sizes.flags:
        for work in ("register", "set", "parse", "parse-random"):
            if work == "parse-random" and count > RANDOM_AT_MOST:
                continue
            keys = REGISTER if work == "register" else {"ns": work}
            rows = {name: f"{row}/{count}" for name, row in keys.items()}
            yield [Case(who, [program, work, count], rows) for who, program in made.items()]


def read_groups(sizes: Sizes) -> Iterator[list[Case]]:
    """Yield the cases that read one flag in a loop."""
    readers = [PLAIN, *(each for each in present() if not each.another_way)]
    made = {each.name: programs.work_program(each) for each in readers}
    for work in ("read-int", "read-string"):
        yield [
            Case(who, [program, work, sizes.reads], {"ns": work}) for who, program in made.items()
        ]


def thread_groups(sizes: Sizes) -> Iterator[list[Case]]:
    """Yield the case that reads a string in threads while another sets it or its neighbour."""
    rows = {"reads_per_s": "threads", "reads": "reads", "torn": "torn"}
    made = {each.name: programs.thread_program(each) for each in present() if each.threads}
    if made:
        yield [
            Case(who, [program, sizes.milliseconds, 1], rows, 1e-6, ("readers", "case"))
            for who, program in made.items()
        ]


def torn_share(rows: Rows) -> None:
    """Add the share of torn reads, in per cent."""
    for row in [key for key in rows if key.startswith("torn/")]:
        for who, torn in rows[row].items():
            reads = rows[row.replace("torn", "reads", 1)][who]["median"]
            share = 100 * torn["median"] / max(reads, 1e-6)  # in millions, like `torn`
            rows.setdefault(row.replace("torn", "torn-share", 1), {})[who] = exactly(share)


def starters(count: int) -> Iterator[tuple[str, object]]:
    """Yield programs with `count` definitions."""
    first: Contestant = native()[0]
    for contestant in present():
        if contestant.definition:
            yield contestant.name, programs.start_program(contestant, count)
    if count:
        yield "ours, in a plugin", programs.start_program(first, count, plugin=True)
    for cxx in {each.cxx for each in present()}:
        yield EMPTY[cxx], programs.empty_program(cxx=cxx)


def start_groups(sizes: Sizes) -> Iterator[list[Case]]:
    """Yield the cases that start processes which end at once."""
    spawn = programs.tool("spawn")
    for count in (0, sizes.definitions):
        rows = {"wall": f"start-whole/{count}", "cpu": f"start-cpu-whole/{count}"}
        yield [Case(who, [spawn, sizes.starts, program], rows) for who, program in starters(count)]


def starts_over_empty(rows: Rows, sizes: Sizes) -> None:
    """Subtract the time of an empty program in the same language."""
    base = {each.name: EMPTY[each.cxx] for each in present()}
    base["ours, in a plugin"] = EMPTY[False]
    for count in (0, sizes.definitions):
        for kind in ("start", "start-cpu"):
            over(rows, f"{kind}-whole/{count}", base, f"{kind}/{count}")
