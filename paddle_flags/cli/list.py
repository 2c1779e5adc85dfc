"""The command list: show all flags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle_flags import errors
from paddle_flags._report.listing import LISTINGS, listing
from paddle_flags.cli.options import add_command, set_flags
from paddle_flags.cli.output import print_text

if TYPE_CHECKING:
    import argparse

    from paddle_flags.cli.options import Action, Commands


def add(commands: Commands) -> None:
    """Add the command to the parsers of a command line."""
    parser = add_command(
        commands,
        "list",
        "show all flags with value, source and module, or in another form",
        "[--all] [--format=FORMAT] [--flag=value]...",
    )
    parser.add_argument(
        "--format",
        choices=LISTINGS,
        default="table",
        help="what to write: a %(default)s if not told, or " + ", ".join(LISTINGS[1:]),
        metavar="FORMAT",
    )
    parser.add_argument(
        "--long",
        dest="format",
        action="store_const",
        const="text",
        help="show what each flag is for, as --format=text",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="show hidden flags too, and defaults in what is to be read back",
    )


def prepare(options: argparse.Namespace, tokens: list[str]) -> Action:
    """Set the flags, and make the text to print."""
    rest = set_flags(options, tokens)
    if rest:
        message = f"{rest[0]}: expected no argument; plugins are given by -p"
        raise errors.FlagArgumentError(message)
    text = listing(options.format, all=options.all)
    return lambda: print_text(text)
