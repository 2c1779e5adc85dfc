"""Measure reading and setting a flag in threads without a GIL: python -m bench.free_threaded.

Beside absl-py, on a free-threaded CPython: the running one, or --python. Prints a table; --record
keeps the figures, and shows them in docs/explanation/performance.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from bench import document, facts, measure
from bench.places import PYTHON, RESULTS, ROOT, output
from bench.pythons import MODULES, environment
from bench.table import line, number

DOCUMENT = ROOT / "docs" / "explanation" / "performance.md"
WORKS = {"get": "`FLAGS.x`", "value": "`flag.value`", "assign": "`FLAGS.x = v`"}
THREADS = (1, 2, 4)
WHO = ("ours", "absl-py")
FACTS = """
import importlib.metadata, platform, sys
import absl.flags, paddle_flags
assert not sys._is_gil_enabled(), "expected a free-threaded Python"
print("CPython", platform.python_version() + "t")
print("absl-py", importlib.metadata.version("absl-py"))
"""


def measured(python: Path, calls: int, rounds: int) -> measure.Rows:
    """Measure everything in turns."""
    script = PYTHON / "threads.py"
    groups = [
        [
            measure.Case(
                who,
                [python, script, MODULES[who], work, threads, calls],
                {"per_s": f"{work}/{threads}"},
                1e-6,
            )
            for who in WHO
        ]
        for work in WORKS
        for threads in THREADS
    ]
    return measure.run(groups, rounds, lambda text: print(text, file=sys.stderr, flush=True))


def table(rows: measure.Rows) -> str:
    """Return the rates of all threads together, in millions a second."""
    heads = [f"{each} thread{'s' * (each > 1)}" for each in THREADS]
    lines = [line(["million/s", "", *heads]), line(["---", "---", *["--:"] * len(heads)])]
    for work, title in WORKS.items():
        for who in WHO:
            rates = [number(rows[f"{work}/{each}"][who]["median"]) for each in THREADS]
            lines.append(line([title, who, *rates]))
    return "\n".join(lines)


def text(results: dict[str, Any]) -> str:
    """Return what the page shows."""
    of_run = [
        f"processor: {results['machine']['processor']}",
        *results["versions"],
        f"commit: {results['machine']['commit']}",
        f"medians of {results['rounds']}",
    ]
    return "\n".join([table(results["rows"]), "", *(f"- {fact}" for fact in of_run)])


def main() -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser(prog="python -m bench.free_threaded", description=__doc__)
    parser.add_argument("--python", type=Path, default=Path(sys.executable), help="free-threaded")
    parser.add_argument("--rounds", type=int, default=7, help="medians of so many")
    parser.add_argument("--calls", type=int, default=500_000, help="of each thread, in a round")
    parser.add_argument("--record", action="store_true", help="renew the page on performance")
    options = parser.parse_args()
    python = environment("free-threaded", options.python, ("absl-py",))
    results = {
        "machine": facts.machine(),
        "versions": output(python, "-c", FACTS).splitlines(),
        "rounds": options.rounds,
        "rows": measured(python, options.calls, options.rounds),
    }
    print(text(results))
    if options.record:
        path = RESULTS / "free_threaded.json"
        path.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
        document.put(DOCUMENT, {"free-threaded": text(results)})


if __name__ == "__main__":
    main()
