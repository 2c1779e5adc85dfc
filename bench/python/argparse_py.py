"""argparse: a parser without a registry, so there is nothing to read or set later."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace


def define_all(names: list[str]) -> ArgumentParser:
    """Define flags, each with its own help text."""
    parser = ArgumentParser()
    for name in names:
        parser.add_argument(f"--{name}", type=int, default=1, help=f"What {name} is for")
    return parser


def parse(parser: ArgumentParser, words: list[str]) -> Namespace:
    """Parse a command line."""
    return parser.parse_args(words[1:])


def value_of(values: Namespace, name: str) -> object:
    """Return the value of a flag."""
    return getattr(values, name)
