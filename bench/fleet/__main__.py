"""Measure a fleet: python -m bench.fleet --members 50 --engine etcd.

Members are processes. Prints how long changes take until all have them, and what members cost.
With --simulate N, N members are only clients of the store; the figures are projected to 10,000.
"""

from __future__ import annotations

import argparse
import json
import sys

from bench.fleet import simulate, spread
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
    parser.add_argument("--simulate", type=int, metavar="N", help="clients of the store instead")
    return parser.parse_args()


def main() -> None:
    """Measure, print, save."""
    options = arguments()
    with start(options.engine, options.url) as running:
        if options.simulate:
            counts = simulate.measure(running, options.simulate, options.changes, tell)
            name, table, data = "simulated", simulate.text(counts), counts._asdict()
        else:
            figures = spread.measure(
                running, options.members, options.changes, options.pause, options.flags, tell
            )
            name, table, data = "members", spread.text(figures), figures._asdict()
    print(table)
    place = BUILD / "fleet"
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{options.engine}-{name}.json"
    path.write_text(json.dumps(data, indent=1) + "\n", "utf-8")
    tell(f"saved in {path}")


if __name__ == "__main__":
    main()
