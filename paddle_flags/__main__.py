"""The command line, started as paddle-flags or as python -m paddle_flags."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from paddle_flags.cli.main import Generator
from paddle_flags.cli.main import main as run_command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paddle_flags.cli.parser import Parser


def _make_generator_parser(program: str) -> Parser:
    from paddle_flags.gen.cli import new_parser

    return new_parser(program)


def _run_generator(tokens: Sequence[str], program: str) -> int:
    from paddle_flags.gen.cli import run

    return run(tokens, program)


_GENERATOR = Generator(
    "generate C, C++, Python and documentation from flags in a YAML file",
    _make_generator_parser,
    _run_generator,
)


def main(tokens: Sequence[str]) -> int:
    """Run one command; return the exit status."""
    return run_command(tokens, _GENERATOR)


def console() -> int:
    """Run the command of `sys.argv`: the console script paddle-flags calls this."""
    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(console())
