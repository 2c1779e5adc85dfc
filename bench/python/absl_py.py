"""absl-py: its registry is of Python alone."""

from __future__ import annotations

from typing import Any

from absl import flags

STATEMENTS = {"get": "FLAGS.limit", "value": "flag.value", "assign": "FLAGS.limit = 17"}


def one_flag() -> dict[str, Any]:
    """Give what the statements name; reading wants a parsed command line."""
    flag = flags.DEFINE_integer("limit", 1, "A flag to use")
    flags.FLAGS(["program"])
    return {"flag": flag, "FLAGS": flags.FLAGS}


def define_all(names: list[str]) -> None:
    """Define flags, each with a text of its own."""
    for name in names:
        flags.DEFINE_integer(name, 1, f"What {name} is for")


def parse(_: object, words: list[str]) -> object:
    """Read a command line."""
    return flags.FLAGS(words)


def value_of(_: object, name: str) -> object:
    """Give the value of a flag."""
    return flags.FLAGS[name].value
