"""Measure a fleet: python -m bench.fleet --members 50 --engine etcd.

Members are processes. Prints how long changes take until all have them, and what members cost.
With --simulate 100 500, members are only clients of the store, first 100, then 500; the figures are
projected to 10,000. With --faults, prints what takes how long when something breaks. With --costs,
counts what members ask of an engine in memory: no time is measured.
"""

from __future__ import annotations

import argparse
import json
import sys

from bench.fleet.engines import start
from bench.places import BUILD


def tell(text: str) -> None:
    """Print progress to stderr; stdout is for the tables."""
    print(text, file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.fleet", description=__doc__)
    parser.add_argument("--engine", default="etcd", help="dir, etcd, or another of the tests")
    parser.add_argument("--url", help="of a fleet in an engine that runs already")
    parser.add_argument("--members", type=int, default=50, help="processes")
    parser.add_argument("--changes", type=int, default=30)
    parser.add_argument("--pause", type=float, default=0.3, help="seconds between changes, about")
    parser.add_argument("--flags", type=int, default=100, help="other flags of each member")
    parser.add_argument(
        "--simulate", type=int, nargs="+", metavar="N", help="so many clients of the store instead"
    )
    parser.add_argument("--faults", action="store_true", help="what the tests do, with figures")
    parser.add_argument("--rounds", type=int, default=3, help="of the faults")
    parser.add_argument(
        "--costs",
        type=int,
        nargs="*",
        metavar="N",
        help="count requests, with so many members; by default 8, 32, 128 and 512",
    )
    return parser.parse_args()


def measured(options: argparse.Namespace) -> tuple[str, str, object]:
    """Return the kind of the measurement, a table, and the figures."""
    if options.costs is not None:
        from bench.fleet import costs

        options.engine = "memory"
        counted = costs.measure_all(options.costs or costs.SIZES, tell)
        return "costs", costs.text(counted), [each._asdict() for each in counted]
    if options.faults:
        from bench.fleet import faults

        rows = faults.measure(options.engine, options.rounds, tell)
        return "faults", faults.text(rows), rows
    if options.simulate:
        from bench.fleet import simulate

        counts = []
        for count in options.simulate:
            with start(options.engine, options.url) as running:
                counts.append(simulate.measure(running, count, options.changes, tell))
        return "simulated", simulate.text(counts), [each._asdict() for each in counts]
    from bench.fleet import spread

    with start(options.engine, options.url) as running:
        figures = spread.measure(
            running, options.members, options.changes, options.pause, options.flags, tell
        )
    return "members", spread.text(figures), figures._asdict()


def main() -> None:
    """Measure, print, save."""
    options = arguments()
    kind, table, data = measured(options)
    print(table)
    place = BUILD / "fleet"
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{options.engine}-{kind}.json"
    path.write_text(json.dumps(data, indent=1) + "\n", "utf-8")
    tell(f"saved in {path}")


if __name__ == "__main__":
    main()
