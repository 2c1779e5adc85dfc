"""Check that many things of a kind cost the same each, by counting instructions.

    python -m bench.linear

Callgrind counts what native/linear.c does with three numbers of things. If one of many costs more
than 1.3 times as much as one of few, that is an error: a logarithm passes, a square does not. The
loader itself compares each library with all others, so modules are compared with dlopen: loading
many may cost as many times a dlopen as loading few.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from bench import binaries, programs
from bench.places import INCLUDE, LIBRARY, NATIVE, output

COUNTS = (1000, 2000, 4000)
LOADS = (200, 400, 800)
ALLOWED = 1.3
RUN_PATH = f"-Wl,-rpath,{LIBRARY.parent}"


def costs() -> dict[str, list[float]]:
    """Return, for each kind of work, the instructions for one thing at each number of things."""
    program = programs.tool("linear", f"-I{INCLUDE}", LIBRARY, RUN_PATH)
    return {
        name: [binaries.counted("counted", program, name, count) / count for count in COUNTS]
        for name in output(program).split()
    }


def costs_of_loads(way: str, *options: str) -> list[float]:
    """Return the instructions for one of many libraries, compiled so and opened in that way."""
    program = programs.tool("loads", f"-I{INCLUDE}", LIBRARY, RUN_PATH)
    command = [*programs.compiler(cxx=False), "-O2", "-shared", "-fPIC", f"-I{INCLUDE}", *options]
    content = programs.build(f"loaded-{way}", *command, NATIVE / "loaded.c").read_bytes()
    place = Path(tempfile.mkdtemp(prefix="pd-loads-"))
    try:
        for number in range(max(LOADS)):
            own = content.replace(b"loaded_00000", b"loaded_%05d" % number)
            (place / f"{number}.so").write_bytes(own)
        return [binaries.counted("counted", program, way, place, count) / count for count in LOADS]
    finally:
        shutil.rmtree(place)


def show(name: str, found: list[float], growth: float, most: float = ALLOWED) -> bool:
    """Print a row; return whether it grows too much."""
    print(f"{name:24}" + "".join(f"{cost:>10,.0f}" for cost in found) + f"  {growth:.2f}x")
    if growth > most:
        print(f"error: {name}: {growth:.2f}x, at most {most}x is linear", file=sys.stderr)
    return growth > most


def main() -> int:
    """Count, print and judge; return the exit status."""
    if not binaries.has_callgrind():
        print("valgrind is not installed: apt-get install valgrind", file=sys.stderr)
        return 1
    print(f"{'instructions for one of':24}" + "".join(f"{count:>10,}" for count in COUNTS))
    failed = [show(name, found, max(found) / found[0]) for name, found in costs().items()]
    plain, modules = costs_of_loads("dlopen"), costs_of_loads("load_module", "-DWITH_FLAG")
    print(f"\n{'instructions for one of':24}" + "".join(f"{count:>10,}" for count in LOADS))
    show("dlopen", plain, plain[-1] / plain[0], float("inf"))
    ratios = [module / each for module, each in zip(modules, plain)]
    failed.append(show("load_module", modules, max(ratios) / ratios[0]))
    print(f"{'load_module / dlopen':24}" + "".join(f"{ratio:>9.2f}x" for ratio in ratios))
    return 1 if any(failed) else 0


if __name__ == "__main__":
    sys.exit(main())
