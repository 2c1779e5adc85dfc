"""Measure `python -m paddle_flags gen`: python -m bench.generate.

Three files of 10,000 flags, and what belongs to them, become all outputs on one core.
Ends with 1 when that takes more than its budget; --record keeps the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from bench.places import RESULTS

if TYPE_CHECKING:
    from collections.abc import Iterator

FLAGS = 10_000
SECONDS = 20.0  # of one core
MEGABYTES = 500.0

KINDS = (
    "type: bool\n  default: false",
    "type: int32\n  default: 3\n  range: [1, 4096]",
    "type: int64\n  default: 64MiB\n  unit: bytes\n  attributes: [startup_only]",
    "type: double\n  default: 0.5\n  range: [0, 1]",
    "type: string\n  default: fast\n  choices: [fast, best]",
    "type: string\n  items: int32\n  default: [1, 2, 3]",
)


def flag(index: int) -> str:
    """Return one flag as users write it."""
    return (
        f"- name: flag_{index}\n  {KINDS[index % len(KINDS)]}\n"
        f"  help: What flag {index} is for, in a sentence that is as long as such texts are.\n"
        f"  category: part {index // 100}\n  owner: team {index % 7}\n  since: 1.0.0\n"
    )


def files(count: int) -> Iterator[tuple[str, str]]:
    """Yield names and texts of the three files."""
    head = "name: large\nversion: 2.0.0\nflags:\n"
    yield "flags.yaml", head + "".join(map(flag, range(count)))
    aliases = (f"- {{flag: flag_{i}, names: [alias_{i}]}}\n" for i in range(0, count, 10))
    renamed = (f"- {{from: old_{i}, to: flag_{i}, version: 1.5.0}}\n" for i in range(1, count, 20))
    implies = (
        f"- {{flag: flag_{i}, value: true, sets: {{flag_{i + 4}: best, flag_{i + 1}: 7}}}}\n"
        for i in range(0, count - len(KINDS), 20 * len(KINDS))
    )
    parts = {"aliases": aliases, "renamed": renamed, "implies": implies}
    yield "flags_compat.yaml", "".join(f"{key}:\n{''.join(rows)}" for key, rows in parts.items())
    changes = (
        f"  - {{flag: flag_{i}, change: default, from: 2, to: 3}}\n"
        for i in range(1, count, 2 * len(KINDS))
    )
    text = f"versions:\n- version: 1.5.0\n  changes:\n{''.join(changes)}"
    yield "flags_version.yaml", text


def one_core() -> None:
    """Restrict the child process to one core."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def measured(count: int) -> dict[str, float]:
    """Generate everything once, in a process of its own."""
    with tempfile.TemporaryDirectory() as place:
        for name, text in files(count):
            Path(place, name).write_text(text, "utf-8")
        command = [sys.executable, "-m", "paddle_flags", "gen", "flags.yaml", "-o", "out"]
        start = time.monotonic()
        subprocess.run(
            command,
            cwd=place,
            check=True,
            stdout=subprocess.DEVNULL,
            preexec_fn=one_core,
        )
        took = time.monotonic() - start
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        sizes = [path.stat().st_size for path in Path(place, "out").iterdir()]
    return {
        "flags": count,
        "seconds": round(took, 2),
        "processor seconds": round(used.ru_utime + used.ru_stime, 2),
        "megabytes at most": round(used.ru_maxrss / 1024, 1),
        "files": len(sizes),
        "megabytes written": round(sum(sizes) / 1e6, 1),
    }


def main() -> int:
    """Measure, print, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.generate", description=__doc__)
    parser.add_argument("--flags", type=int, default=FLAGS, help="%(default)s if not told")
    parser.add_argument("--record", action="store_true", help="keep the figures")
    options = parser.parse_args()
    found = measured(options.flags)
    for what, value in found.items():
        print(f"{what:20} {value:g}")
    if options.record:
        text = json.dumps(found, indent=1)
        (RESULTS / "generate.json").write_text(text + "\n", "utf-8")
    slow = found["processor seconds"] > SECONDS
    large = found["megabytes at most"] > MEGABYTES
    if slow or large:
        print(f"not met: {SECONDS:g} s of one core and {MEGABYTES:g} MB")
    return int(slow or large)


if __name__ == "__main__":
    sys.exit(main())
