"""Measure calls of operations beside other ways to choose code at run time: python -m bench.ops.

Prints a table: medians of the rounds, and of the ratios within a round. BENCH_LARGE=1 adds c10 of
PyTorch. BENCH_FLEXIBLAS=FOLDER adds FlexiBLAS, which Debian 12 doesn't have: the folder where it is
installed (CMAKE_INSTALL_PREFIX of its build).
"""

from __future__ import annotations

import argparse
import os
import sys

from bench import large
from bench.measure import Case, ratio, run
from bench.places import BUILD, INCLUDE, LIBRARY, NATIVE, PYTHON, ROOT, output

PEERS = ("plum-dispatch", "multimethod", "numpy")
NATIVE_CASES = ("pointer", "ours", "ours, scoped", "ours, in a scope")
FLEXIBLAS_CASES = ("ddot of its backend", "ddot of FlexiBLAS")
PYTHON_CASES = {
    "native": ("ours",),
    "python": ("plain", "ours", "singledispatch", "multimethod", "plum"),
}
PLUGIN = """#include <pd_flags.h>
static double add(double x, double y) { return x + y; }
PD_DEFINE_OP(add, double, (double, double), add, "x + y");
static double add_i(double x, int32_t y) { return x + y; }
PD_DEFINE_OP_AS(add_i, "add", double, (double, int32_t), add_i, "x + y");
"""


def tell(text: str) -> None:
    """Print progress to stderr; stdout is for the table."""
    print(text, file=sys.stderr, flush=True)


def native_cases(rounds: int) -> list[Case]:
    """Build the native program, and return its cases."""
    program = BUILD / "ops-program"
    with_c10 = large.wanted()
    options = ["-DC10", f"-I{large.unpacked('torch') / 'torch' / 'include'}"] if with_c10 else []
    libraries = [f"-L{LIBRARY.parent}", f"-Wl,-rpath,{LIBRARY.parent}", "-lpd_flags"]
    if with_c10:
        home = large.unpacked("torch") / "torch" / "lib"
        libraries += [f"-L{home}", f"-Wl,-rpath,{home}", "-lc10"]
    command = ["c++", "-std=c++20", "-O2", f"-I{INCLUDE}", *options, NATIVE / "ops.cc"]
    output(*command, "-o", program, *libraries, "-ldl")
    names = list(NATIVE_CASES)
    names += ["c10"] if with_c10 else []
    names += FLEXIBLAS_CASES if os.environ.get("BENCH_FLEXIBLAS") else []
    return [Case(name, (program, name, rounds), {"ns": "call from C++"}) for name in names]


def python_cases(count: int) -> list[list[Case]]:
    """Make an environment with the peers, and return the cases in it."""
    home = BUILD / "ops-python"
    python = home / "bin" / "python"
    if not (home / "made").exists():
        output(sys.executable, "-m", "venv", "--clear", home)
        output(python, "-m", "pip", "install", "--quiet", *PEERS, "cffi")
        (home / "made").touch()
    source = BUILD / "ops_plugin.c"
    source.write_text(PLUGIN)
    plugin = source.with_suffix(".so")
    output("cc", "-O2", "-shared", "-fPIC", f"-I{INCLUDE}", source, "-o", plugin)
    groups = []
    for work, names in PYTHON_CASES.items():
        row = {"ns": f"call from Python of {'native' if work == 'native' else 'Python'} code"}
        command = ("env", f"PYTHONPATH={ROOT}", python, PYTHON / "ops.py")
        groups.append([Case(n, (*command, n, work, count, plugin), row) for n in names])
    return groups


def main() -> int:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.ops", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="see that all works; no figures")
    options = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    scale = 100 if options.quick else 1
    groups = [native_cases(10_000_000 // scale), *python_cases(200_000 // scale)]
    rows = run(groups, 1 if options.quick else 7, tell)
    print("| what | way | ns | to ours |\n|---|---|---|---|")
    for row, found in rows.items():
        for who, summary in found.items():
            share = ratio(summary, found["ours"])
            print(f"| {row} | {who} | {summary['median']:.3g} | {share:.3g} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
