"""Read or set one flag in several threads with one library: threads.py LIBRARY WORK THREADS COUNT.

Prints one line of JSON: how many times all threads together did it in a second, each of them COUNT
times. LIBRARY is a module beside this one, and WORK one of its statements.
"""

from __future__ import annotations

import importlib
import json
import sys
import threading
import timeit
from time import perf_counter

REPEATS = 3
UNROLLED = 10  # makes the cost of the loop itself small


def rate(statement: str, names: dict[str, object], count: int, rounds: int) -> float:
    """Return how many statements a second `count` threads run."""
    together = threading.Barrier(count + 1)

    def run() -> None:
        timer = timeit.Timer("; ".join([statement] * UNROLLED), globals=names)
        together.wait()
        timer.timeit(rounds)
        together.wait()

    threads = [threading.Thread(target=run) for _ in range(count)]
    for each in threads:
        each.start()
    together.wait()
    begin = perf_counter()
    together.wait()
    taken = perf_counter() - begin
    for each in threads:
        each.join()
    return count * rounds * UNROLLED / taken


def main() -> None:
    """Run the measurement that the command line names."""
    library, work = importlib.import_module(sys.argv[1]), sys.argv[2]
    threads, rounds = int(sys.argv[3]), max(1, int(sys.argv[4]) // UNROLLED)
    names = library.one_flag()
    rates = [rate(library.STATEMENTS[work], names, threads, rounds) for _ in range(REPEATS)]
    print(json.dumps({"per_s": max(rates)}))


main()
