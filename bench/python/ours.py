"""paddle_flags."""

from __future__ import annotations

from typing import Any

import paddle_flags as pf

STATEMENTS = {
    "get": "FLAGS.limit",
    "value": "flag.value",
    "list": "FLAGS.limits",
    "contains": "'limit' in FLAGS",
    "source": "flag.source",
    "assign": "FLAGS.limit = 17",
    "override": "change()",
}


def one_flag() -> dict[str, Any]:
    """Return the names that the statements use."""
    pf.define("limits", list(range(10_000)), "A list to read")
    flag = pf.define("limit", 1, "A flag to use")

    def change() -> None:
        with pf.override(limit=17):
            pass

    return {"flag": flag, "FLAGS": pf.FLAGS, "change": change}


def define_all(names: list[str]) -> None:
    """Define flags, each with its own help text."""
    for name in names:
        pf.define(name, 1, f"What {name} is for")


def parse(_: object, words: list[str]) -> object:
    """Parse a command line."""
    return pf.parse(words, exit=False)


def describe(form: str) -> str:
    """Return a report about all flags."""
    return pf.describe(form)


def value_of(_: object, name: str) -> object:
    """Return the value of a flag."""
    return pf.FLAGS[name].value
