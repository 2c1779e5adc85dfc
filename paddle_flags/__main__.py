"""The command line: python -m paddle_flags run|list|explain|doctor|config|completion|gen|new."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from paddle_flags.cli.main import Generator
from paddle_flags.cli.main import main as run_command

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def _generator_parser(program: str) -> argparse.ArgumentParser:
    from paddle_flags.gen.cli import new_parser  # noqa: PLC0415 - seldom used

    return new_parser(program)


def _generate(tokens: Sequence[str], program: str) -> int:
    from paddle_flags.gen.cli import run  # noqa: PLC0415 - seldom used

    return run(tokens, program)


_GENERATOR = Generator(
    "generate C, C++, Python and documents from the flags of a YAML file",
    _generator_parser,
    _generate,
)


def main(tokens: Sequence[str]) -> int:
    """Run one command; gives the exit status."""
    return run_command(tokens, _GENERATOR)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
