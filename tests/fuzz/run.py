#!/usr/bin/env python3
"""Run the fuzz targets for some time each, then compare our command line with gflags'."""

from __future__ import annotations

import argparse
import re
import secrets
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
TARGETS = ("values", "argv", "flagfile", "environment", "record", "operations", "glob", "live")
# A process keeps each name and text that it met: none runs for long.
RUNS = 100_000


def fuzz(program: Path, target: str, seconds: float) -> str | None:
    """Run one target; give what it found, or None."""
    count, started = 0, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="pd_fuzz") as found:
        while (left := seconds - (time.monotonic() - started)) >= 1:
            command = [program, f"-runs={RUNS}", f"-max_total_time={int(left)}", "-timeout=60"]
            command += ["-rss_limit_mb=4096", "-max_len=2048", "-print_final_stats=1"]
            command += [f"-dict={HERE / 'words.dict'}", f"-artifact_prefix={program}-"]
            command += [found, HERE / "corpus" / target]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace")
            if done.returncode != 0:
                return f"{target}:\n{done.stderr}"
            units = re.search(r"number_of_executed_units: (\d+)", done.stderr)
            count += int(units[1]) if units else 0
        inputs = len(list(Path(found).iterdir()))
    took = time.monotonic() - started
    print(f"{target:12} {count:10} executions in {took:4.0f} s, {inputs} new inputs, nothing found")
    sys.stdout.flush()
    return None


def compare(program: Path, lines: int) -> str | None:
    """Compare lines with gflags; one run in ten has a seed that nobody has seen."""
    for count, seed in ((lines - lines // 10, 1), (lines // 10, secrets.randbelow(1 << 32))):
        command = [program, "--seed", str(seed), "--lines", str(count), HERE.parents[1] / "docs"]
        done = subprocess.run(command, check=False)
        if done.returncode != 0:
            return f"against_gflags: seed {seed}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", default=[], help="all by default")
    parser.add_argument("--seconds", type=float, default=600, help="for each target")
    parser.add_argument("--lines", type=int, default=1_000_000, help="to compare with gflags")
    parser.add_argument("--jobs", type=int, default=2, help="targets at once")
    parser.add_argument("--out", type=Path, default=HERE.parents[1] / "build" / "fuzz")
    options = parser.parse_args()
    with ThreadPoolExecutor(options.jobs) as pool:
        each = [
            pool.submit(fuzz, options.out / f"fuzz_{target}", target, options.seconds)
            for target in options.targets or TARGETS
        ]
        findings = [future.result() for future in each]
    if not options.targets:
        findings.append(compare(options.out / "against_gflags", options.lines))
    for finding in filter(None, findings):
        print(f"FOUND by {finding}", file=sys.stderr)
    return int(any(findings))


if __name__ == "__main__":
    sys.exit(main())
