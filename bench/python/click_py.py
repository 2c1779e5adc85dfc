"""click: like argparse, a parser without a registry."""

from __future__ import annotations

from typing import Any

import click


def define_all(names: list[str]) -> click.Command:
    """Define flags, each with its own help text."""
    options: list[click.Parameter] = [
        click.Option([f"--{name}"], type=int, default=1, help=f"What {name} is for")
        for name in names
    ]
    return click.Command("program", params=options, callback=lambda **values: values)


def parse(command: click.Command, words: list[str]) -> dict[str, Any]:
    """Parse a command line; the callback returns the values."""
    values: dict[str, Any] = command.main(words[1:], standalone_mode=False)
    return values


def value_of(values: dict[str, Any], name: str) -> object:
    """Return the value of a flag."""
    return values[name]
