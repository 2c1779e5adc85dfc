"""Measure this library beside its peers: python -m bench.

Prints tables, and saves them with the numbers and plots into build/bench/results;
--record puts them where docs/explanation/performance.md shows them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from itertools import chain
from pathlib import Path

from bench import binaries, document, facts, large, measure, plots, pythons, table, works
from bench.places import BUILD, RESULTS, ROOT

DOCUMENT = ROOT / "docs" / "explanation" / "performance.md"
SUMMARY = re.compile(r'\{\s+"median"[^{}]*\}')  # which takes one line of the record
PARTS = ("flags", "reads", "threads", "starts", "python", "binaries")


def tell(text: str) -> None:
    """Print progress to stderr; stdout is for the tables."""
    print(text, file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rounds", type=int, help="measure so often; medians of 7 by default")
    parser.add_argument(
        "--quick", action="store_true", help="try everything with few flags; no verdicts"
    )
    parser.add_argument("--only", choices=PARTS, action="append", help="measure only this part")
    parser.add_argument("--large", action="store_true", help="as BENCH_LARGE=1: c10 and Paddle")
    parser.add_argument("--output", type=Path, default=BUILD / "results", help="where results go")
    parser.add_argument("--record", action="store_true", help="renew the page on performance")
    parser.add_argument("--render", action="store_true", help="the same from recorded numbers")
    options = parser.parse_args()
    if options.record and (options.quick or options.only):
        parser.error("what the document shows is measured whole, in one run")
    if options.large:
        os.environ[large.SWITCH] = "1"
    return options


def measured(options: argparse.Namespace) -> table.Results:
    """Measure everything and return what results.json holds."""
    sizes = works.QUICK if options.quick else works.FULL
    parts = options.only or PARTS
    rounds = options.rounds or sizes.rounds
    machine = facts.machine()
    interpreters = pythons.environments(quick=options.quick) if "python" in parts else {}
    tell("building")
    groups = chain(
        works.flag_groups(sizes) if "flags" in parts else (),
        works.read_groups(sizes) if "reads" in parts else (),
        works.thread_groups(sizes) if "threads" in parts else (),
        works.start_groups(sizes) if "starts" in parts else (),
        pythons.groups(interpreters, sizes),
    )
    rows = measure.run(list(groups), rounds, tell)
    works.torn_share(rows)
    works.starts_over_empty(rows, sizes)
    pythons.imports_over_empty(rows, interpreters)
    if "binaries" in parts:
        binaries.sizes(rows)
        binaries.read_instructions(rows)
    return {
        "machine": machine,
        "contestants": known_contestants(interpreters),
        "pythons": list(interpreters),
        "rounds": rounds,
        "quick": options.quick,
        "rows": rows,
        "disassembly": binaries.disassembly() if "binaries" in parts else {},
    }


def known_contestants(interpreters: dict[str, Path]) -> dict[str, str]:
    """Return every contestant with its version, or with what is missing to measure it."""
    known = facts.contestants()
    for python in interpreters.values():
        known.update(pythons.packages(python))
    for version in pythons.absent():
        known[f"CPython {version}"] = f"not installed: pyenv install {version}"
    if not binaries.has_callgrind():
        known["valgrind"] = "not installed: apt-get install valgrind"
    return known


def save(results: table.Results, directory: Path) -> None:
    """Write the numbers and plots."""
    directory.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, indent=1, ensure_ascii=False)
    text = SUMMARY.sub(lambda found: " ".join(found[0].split()), text)
    (directory / "results.json").write_text(text + "\n", "utf-8")
    plots.draw(results, directory)


def record(results: table.Results) -> None:
    """Write the results where the documentation shows them."""
    save(results, RESULTS)
    document.write(DOCUMENT, results)


def main() -> None:
    """Measure, print, save."""
    options = arguments()
    if options.render:
        record(json.loads((RESULTS / "results.json").read_text("utf-8")))
        return
    results = measured(options)
    print(table.page(results))
    for text in table.worst(results):
        print(f"not met: {text}")
    save(results, options.output)
    (options.output / "results.md").write_text(table.page(results), "utf-8")
    if options.record:
        record(results)
    tell(f"saved in {options.output}")


if __name__ == "__main__":
    main()
