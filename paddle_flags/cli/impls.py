"""The command impls: list operations, and show which implementation runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle_flags import errors
from paddle_flags._ops.operation import op, ops
from paddle_flags._report.impls import as_data, details, overview
from paddle_flags.cli.options import add_command, check_name, set_flags, value_suggestion
from paddle_flags.cli.output import print_text

if TYPE_CHECKING:
    import argparse

    from paddle_flags.cli.line import Line
    from paddle_flags.cli.options import Action
    from paddle_flags.cli.parser import Parser


def add(main_parser: Parser) -> None:
    """Add the command to a command line."""
    parser = add_command(
        main_parser,
        "impls",
        "list operations, and show which implementation runs",
        "[--json] [--flag=value]... [NAME]",
        "impls pow -p libpow.so --impl.pow=fast,*",
    )
    parser.add_argument("--json", action="store_true", help="write JSON")


def prepare(parser: Parser, options: argparse.Namespace, line: Line) -> Action:
    """Set the flags, and make the text to print."""
    rest = set_flags(parser, options, line)
    if len(rest) > 1:
        message = f"expected the name of one operation, not {len(rest)} arguments"
        raise errors.FlagArgumentError(message + value_suggestion(line.rest))
    if rest:
        check_name(rest[0], line, is_known=any(each.name == rest[0] for each in ops()))
    found = [op(rest[0])] if rest else list(ops())
    if options.json:
        import json

        text = json.dumps(as_data(found), indent=2)
    else:
        text = details(found[0]) if rest else overview(found)
    return lambda: print_text(text)
