"""paddle_flags."""

from __future__ import annotations

from typing import Any

import paddle_flags as pf

STATEMENTS = {"get": "FLAGS.limit", "value": "flag.value", "assign": "FLAGS.limit = 17"}


def one_flag() -> dict[str, Any]:
    """Give what the statements name."""
    return {"flag": pf.define("limit", 1, "A flag to use"), "FLAGS": pf.FLAGS}


def define_all(names: list[str]) -> None:
    """Define flags, each with a text of its own."""
    for name in names:
        pf.define(name, 1, f"What {name} is for")


def parse(_: object, words: list[str]) -> object:
    """Read a command line."""
    return pf.parse(words, exit=False)


def value_of(_: object, name: str) -> object:
    """Give the value of a flag."""
    return pf.FLAGS[name].value
