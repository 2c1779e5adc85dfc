"""What check_nan_inf costs the executor's loop: ns for each operator, with arrays of one number.

    bench.py [--rounds=15]

The rounds of the four cases take turns. The first case is a build whose loop has no test of the
flag. In the third, another thread sets the flag to the value it has, 200 times a second.
"""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager, nullcontext
from statistics import median
from typing import TYPE_CHECKING

from fluid import native
from fluid.executor import Executor, Scope
from fluid.program import Program, Variable

import paddle_flags as pf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

OPERATORS, RUNS = 500, 40

rounds = pf.define("rounds", 15, "Rounds of each case", min=3)


def chain() -> Program:
    program = Program()
    for name in ("x", "y"):
        program.block.var(Variable(name, "f64", 1, 1, persistable=True))
    program.block.append("fill_constant", {"Out": "x"}, {}, value=1)
    for _ in range(OPERATORS - 1):
        program.block.append("scale", {"Out": "y"}, {"X": "x"}, factor=2)
    return program


@contextmanager
def being_set() -> Iterator[None]:
    def keep_setting() -> None:
        while not ended.wait(0.005):
            pf.FLAGS.check_nan_inf = False

    ended = threading.Event()
    thread = threading.Thread(target=keep_setting)
    thread.start()
    yield
    ended.set()
    thread.join()


def measured(executor: Executor, scope: Scope) -> float:
    begin = time.perf_counter_ns()
    for _ in range(RUNS):
        executor.run(scope)
    return (time.perf_counter_ns() - begin) / (RUNS * OPERATORS)


def main() -> None:
    native.runtime()
    pf.parse()
    program, scope = chain(), Scope()
    without, normal = Executor(program, library="libfluid_without_check.so"), Executor(program)
    cases: dict[str, tuple[Executor, Callable[[], AbstractContextManager[object]]]] = {
        "no test in the loop": (without, nullcontext),
        "off": (normal, nullcontext),
        "off, and being set": (normal, being_set),
        "on": (normal, lambda: pf.override({"check_nan_inf": True})),
    }
    found: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds.value):
        for name, (executor, meanwhile) in cases.items():
            with meanwhile():
                found[name].append(measured(executor, scope))
    print(f"{'check_nan_inf':20} {'median':>9} {'least':>9}   ns for each operator")
    for name, times in found.items():
        print(f"{name:20} {median(times):9.1f} {min(times):9.1f}")


if __name__ == "__main__":
    main()
