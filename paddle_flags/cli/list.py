"""The command list: print all flags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle_flags import errors
from paddle_flags._report.facts import one_line
from paddle_flags._report.listing import LISTINGS, listing
from paddle_flags.cli.options import NO_ARGUMENT, PROGRAM, add_command, argument_errors, set_flags
from paddle_flags.cli.output import print_error, print_text
from paddle_flags.cli.parser import one_of, switch, value

if TYPE_CHECKING:
    import argparse

    from paddle_flags.cli.line import Line
    from paddle_flags.cli.options import Action
    from paddle_flags.cli.parser import Parser


def add(main_parser: Parser) -> None:
    """Add the command to a command line."""
    parser = add_command(
        main_parser,
        "list",
        "list all flags",
        "[--all] [--format FORMAT] [--flag=value]...",
        "list -p libalpha.so --alpha_level=9",
        modules=True,
    )
    parser.add_options(_OPTIONS)


_OPTIONS = {
    "--format": value(
        "FORMAT",
        f"write {', '.join(LISTINGS)}; the default is %(default)s",
        type=one_of(LISTINGS),
        default="table",
    ),
    "--long": {
        "dest": "format",
        "action": "store_const",
        "const": "text",
        "help": "show the help of each flag; short for --format=text",
    },
    "--all": switch("include hidden flags; in formats that can be loaded again, include defaults"),
}


def prepare(parser: Parser, options: argparse.Namespace, line: Line) -> Action:
    """Set the flags, and make the text to print."""
    rest = set_flags(parser, options, line)
    if rest:
        raise errors.FlagArgumentError(_unexpected(rest[0], line))
    left_out: dict[str, str] = {}
    text = listing(options.format, program=PROGRAM, all=options.all, left_out=left_out)

    def act() -> None:
        print_text(text)
        for name, why in left_out.items():
            print_error(f"{PROGRAM}: left out: {one_line(name)} {why}")

    return act


def _unexpected(argument: str, line: Line) -> str:
    """Return what is wrong with a line that has an argument."""
    error = argument_errors(line.rest)[0]
    if error.startswith("argv["):  # it may be a part of a secret
        return error
    suggestion = error.rpartition(NO_ARGUMENT)[2]
    if argument and not suggestion:
        suggestion = f"; to load a plugin, use -p {argument}"
    return f"unexpected argument {argument or repr(argument)}{suggestion}"
