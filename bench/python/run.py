"""Measure one thing with one Python library: run.py LIBRARY WORK COUNT.

Prints one line of JSON: nanoseconds of processor time for each call, flag or argument.
LIBRARY is a module beside this one. It runs in whatever Python is measured, and needs
nothing else.
"""

from __future__ import annotations

import importlib
import json
import sys
import timeit
from time import process_time, process_time_ns
from typing import Any

REPEATS = 5
UNROLLED = 10  # makes the cost of the loop itself small


def per_call(library: Any, work: str, count: int) -> float:  # noqa: ANN401 - a module
    """Return the nanoseconds of one statement, the best of several repeats."""
    rounds = max(1, count // UNROLLED)
    statement = "; ".join([library.STATEMENTS[work]] * UNROLLED)
    timer = timeit.Timer(statement, timer=process_time, globals=library.one_flag())
    return min(timer.repeat(REPEATS, rounds)) * 1e9 / (rounds * UNROLLED)


def define(library: Any, count: int) -> float:  # noqa: ANN401 - a module
    """Return the nanoseconds per definition."""
    names = names_of(count)
    begin = process_time_ns()
    library.define_all(names)
    return (process_time_ns() - begin) / count


def parse(library: Any, count: int) -> float:  # noqa: ANN401 - a module
    """Return the nanoseconds per argument of a command line that sets all flags."""
    names = names_of(count)
    words = ["program", *(f"--{name}=17" for name in names)]
    made = library.define_all(names)
    begin = process_time_ns()
    values = library.parse(made, words)
    taken = (process_time_ns() - begin) / count
    assert library.value_of(values, names[-1]) == 17  # as words say
    return taken


def describe(library: Any, form: str, count: int) -> float:  # noqa: ANN401 - a module
    """Return the nanoseconds per flag of a report about all of them."""
    library.define_all(names_of(count))
    begin = process_time_ns()
    assert library.describe(form)
    return (process_time_ns() - begin) / count


def names_of(count: int) -> list[str]:
    """Return distinct names of flags."""
    return [f"check_{index:05d}_limit" for index in range(count)]


def main() -> None:
    """Run the measurement that the command line names."""
    library, work, count = importlib.import_module(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    if work == "define":
        taken = define(library, count)
    elif work == "parse":
        taken = parse(library, count)
    elif work.startswith("describe-"):
        taken = describe(library, work.split("-", 1)[1], count)
    else:
        taken = per_call(library, work, count)
    print(json.dumps({"ns": taken}))


main()
