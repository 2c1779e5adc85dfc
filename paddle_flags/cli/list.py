"""The command list: print all flags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle_flags import errors
from paddle_flags._report.listing import LISTINGS, listing
from paddle_flags.cli.options import PROGRAM, add_command, set_flags
from paddle_flags.cli.output import print_text

if TYPE_CHECKING:
    import argparse

    from paddle_flags.cli.line import Line
    from paddle_flags.cli.options import Action, Commands


def add(commands: Commands) -> None:
    """Add the command to the parsers of a command line."""
    parser = add_command(
        commands,
        "list",
        "list all flags",
        "[--all] [--format FORMAT] [--flag=value]...",
        "list -p libalpha.so --alpha_level=9",
    )
    parser.add_argument(
        "--format",
        choices=LISTINGS,
        default="table",
        help=f"write {', '.join(LISTINGS)}; the default is %(default)s",
        metavar="FORMAT",
    )
    parser.add_argument(
        "--long",
        dest="format",
        action="store_const",
        const="text",
        help="show the help of each flag; short for --format=text",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="include hidden flags; in formats that can be loaded again, include defaults",
    )


def prepare(parser: argparse.ArgumentParser, options: argparse.Namespace, line: Line) -> Action:
    """Set the flags, and make the text to print."""
    rest = set_flags(parser, options, line)
    if rest:
        advice = f"; to load a plugin, use -p {rest[0]}" if rest[0] else ""
        message = f"unexpected argument {rest[0] or repr(rest[0])}{advice}"
        raise errors.FlagArgumentError(message)
    text = listing(options.format, program=PROGRAM, all=options.all)
    return lambda: print_text(text)
