"""Python alone, as a measure: a function that returns a value, and json.dumps."""

from __future__ import annotations

import json
from typing import Any

STATEMENTS = {"list": "limits()", "source": "limits()"}
_flags: list[dict[str, Any]] = []


def one_flag() -> dict[str, Any]:
    """Return the names that the statements use."""
    kept = tuple(range(10_000))

    def limits() -> tuple[int, ...]:
        return kept

    return {"limits": limits}


def define_all(names: list[str]) -> None:
    """Keep what a report says of each flag."""
    marks = ("hidden", "read_only", "startup_only", "sensitive", "experimental", "required")
    texts = ("items", "min", "max", "choices", "unit", "deprecated", "retired")
    entry = {"value": 1, "source": "default", "place": f"{__file__}:1", "replaced": False}
    for name in names:
        known = {"name": name, "type": "int64", "help": f"What {name} is for", **entry}
        lists = {"aliases": [], "old_names": [], "history": [entry]}
        _flags.append({**known, **dict.fromkeys(texts), **dict.fromkeys(marks, False), **lists})


def describe(_: str) -> str:
    """Return all of that as JSON."""
    return json.dumps({"flags": _flags})  # with indent=2, older versions of Python take 8 times
