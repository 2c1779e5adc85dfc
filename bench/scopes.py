"""Measure scoped values beside those of numpy, PyTorch and JAX: python -m bench.scopes.

Prints a table; --record keeps the figures, and shows them in docs/explanation/performance.md.
"""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench import document, facts, measure
from bench.places import PYTHON, RESULTS, ROOT, CommandError, output
from bench.pythons import environment
from bench.table import line, number

DOCUMENT = ROOT / "docs" / "explanation" / "performance.md"
WORKS = {"scope": "enter and leave", "read": "read inside"}
PACKAGES = ("numpy", "jax")
TORCH = ROOT / "build" / "real" / "bin" / "python"  # of `make real`
WHO = {  # and the package
    "ours": "paddle_flags",
    "contextvars": "",
    "numpy.errstate": "numpy",
    "torch.no_grad": "torch",
    "jax.default_matmul_precision": "jax",
    "jax.debug_nans": "jax",
}


def versions(pythons: dict[str, Path]) -> dict[str, str]:
    """Return the versions of Python, and of all that is installed."""
    code = "import platform; print(platform.python_version())"
    found = {"Python": output(pythons["ours"], "-c", code).strip(), "contextvars": ""}
    for who, package in WHO.items():
        code = f"import importlib.metadata as m; print(m.version({package!r}))"
        with suppress(CommandError, OSError):
            if package:
                found[who] = f"{package} {output(pythons[who], '-c', code).strip()}"
    return found


def measured(
    pythons: dict[str, Path], known: dict[str, str], calls: int, rounds: int
) -> measure.Rows:
    """Measure everything in turns."""
    script = PYTHON / "scopes.py"
    groups = [
        [
            measure.Case(who, [pythons[who], script, who, work, calls], {"ns": work})
            for who in WHO
            if who in known
        ]
        for work in WORKS
    ]
    return measure.run(groups, rounds, lambda text: print(text, file=sys.stderr, flush=True))


def table(rows: measure.Rows) -> str:
    """Return the times, and the ratios of ours to those of each peer in the same rounds."""
    titles = WORKS.values()
    heads = [*(f"{each}, ns" for each in titles), *(f"ours / it, {each}" for each in titles)]
    lines = [line(["", *heads]), line(["---", *["--:"] * len(heads)])]
    for who in rows["scope"]:
        times = [number(rows[work][who]["median"]) for work in WORKS]
        ratios = [number(measure.ratio(rows[work]["ours"], rows[work][who])) for work in WORKS]
        name = f"`{who}`" if "." in who else who
        lines.append(line([name, *times, *(["", ""] if who == "ours" else ratios)]))
    return "\n".join(lines)


def text(results: dict[str, Any]) -> str:
    """Return what the page shows."""
    known, machine = results["versions"], results["machine"]
    peers = {known[who]: None for who in WHO if known.get(who) and who != "ours"}
    of_run = [
        f"processor: {machine['processor']}",
        f"CPython {known['Python']}",
        *peers,
        f"commit: {machine['commit']}",
        f"medians of {results['rounds']}",
    ]
    return "\n".join([table(results["rows"]), "", *(f"- {fact}" for fact in of_run)])


def main() -> None:
    """Measure, print and record."""
    parser = argparse.ArgumentParser(prog="python -m bench.scopes", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="medians of so many")
    parser.add_argument("--calls", type=int, default=20_000, help="of each statement, in a round")
    parser.add_argument("--torch", type=Path, default=TORCH, help="a Python that has torch")
    parser.add_argument("--record", action="store_true", help="renew the page on performance")
    options = parser.parse_args()
    own = environment("scopes", Path(sys.executable), PACKAGES)
    pythons = {who: options.torch if package == "torch" else own for who, package in WHO.items()}
    known = versions(pythons)
    results = {
        "machine": facts.machine(),
        "versions": known,
        "rounds": options.rounds,
        "rows": measured(pythons, known, options.calls, options.rounds),
    }
    print(text(results))
    if options.record:
        (RESULTS / "scopes.json").write_text(json.dumps(results, indent=1) + "\n", "utf-8")
        document.put(DOCUMENT, {"scopes": text(results)})


if __name__ == "__main__":
    main()
