"""absl-py, whose registry is pure Python."""

from __future__ import annotations

from typing import Any

from absl import flags
from absl.testing.flagsaver import flagsaver

STATEMENTS = {
    "get": "FLAGS.limit",
    "value": "flag.value",
    "list": "FLAGS.limits",
    "contains": "'limit' in FLAGS",
    "assign": "FLAGS.limit = 17",
    "override": "change()",
}


def one_flag() -> dict[str, Any]:
    """Return the names that the statements use. Reading needs a parsed command line."""
    flag = flags.DEFINE_integer("limit", 1, "A flag to use")
    flags.DEFINE_list("limits", [str(number) for number in range(10_000)], "A list to read")
    flags.FLAGS(["program"])

    def change() -> None:
        with flagsaver(limit=17):
            pass

    return {"flag": flag, "FLAGS": flags.FLAGS, "change": change}


def define_all(names: list[str]) -> None:
    """Define flags, each with its own help text."""
    for name in names:
        flags.DEFINE_integer(name, 1, f"What {name} is for")


def parse(_: object, words: list[str]) -> object:
    """Parse a command line."""
    return flags.FLAGS(words)


def value_of(_: object, name: str) -> object:
    """Return the value of a flag."""
    return flags.FLAGS[name].value
