"""The command stubs: write a type stub of all flags."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from paddle_flags import errors
from paddle_flags._report.stubs import stub_text
from paddle_flags.cli.options import PROGRAM, add_command, set_flags
from paddle_flags.cli.output import print_text

if TYPE_CHECKING:
    import argparse

    from paddle_flags.cli.line import Line
    from paddle_flags.cli.options import Action
    from paddle_flags.cli.parser import Parser


def add(main_parser: Parser) -> None:
    """Add the command to a command line."""
    add_command(
        main_parser,
        "stubs",
        "write a type stub of all flags, for mypy, pyright and editors",
        "",
        "stubs -p libalpha.so > flags.pyi",
        modules=True,
    )


def prepare(parser: Parser, options: argparse.Namespace, line: Line) -> Action:
    """Make the text to print."""
    rest = set_flags(parser, options, line)
    if rest:
        message = f"unexpected argument {rest[0]}; to load a plugin, use -p {rest[0]}"
        raise errors.FlagArgumentError(message)
    names = [os.path.basename(plugin) for plugin in options.plugin] + options.module
    if not names:
        message = "expected a plugin or a module whose flags to write: -p FILE or -m MODULE"
        raise errors.FlagArgumentError(message)
    words = [word for plugin in options.plugin for word in ("-p", plugin)]
    words += [word for module in options.module for word in ("-m", module)]
    text = stub_text(", ".join(names), shlex.join([*PROGRAM.split(), "stubs", *words]))
    return lambda: print_text(text.removesuffix("\n"))
