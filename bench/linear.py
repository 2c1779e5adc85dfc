"""Check that many things of a kind cost the same each, by counting instructions.

    python -m bench.linear

Callgrind counts what native/linear.c does with three numbers of things. If one of many costs more
than 1.3 times as much as one of few, that is an error: a logarithm passes, a square does not.
"""

from __future__ import annotations

import sys

from bench import binaries, programs
from bench.places import INCLUDE, LIBRARY, output

COUNTS = (1000, 2000, 4000)
ALLOWED = 1.3


def costs() -> dict[str, list[float]]:
    """Return, for each kind of work, the instructions for one thing at each number of things."""
    run_path = f"-Wl,-rpath,{LIBRARY.parent}"
    program = programs.tool("linear", f"-I{INCLUDE}", LIBRARY, run_path)
    return {
        name: [binaries.counted("counted", program, name, count) / count for count in COUNTS]
        for name in output(program).split()
    }


def main() -> int:
    """Count, print and judge; return the exit status."""
    if not binaries.has_callgrind():
        print("valgrind is not installed: apt-get install valgrind", file=sys.stderr)
        return 1
    status = 0
    print(f"{'instructions for one of':24}" + "".join(f"{count:>10,}" for count in COUNTS))
    for name, found in costs().items():
        growth = max(found) / found[0]
        print(f"{name:24}" + "".join(f"{cost:>10,.0f}" for cost in found) + f"  {growth:.2f}x")
        if growth > ALLOWED:
            print(f"error: {name}: {growth:.2f}x, at most {ALLOWED}x is linear", file=sys.stderr)
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
