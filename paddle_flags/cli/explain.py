"""The command explain: describe a flag and where its value comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle_flags import errors
from paddle_flags._core.registry import FLAGS
from paddle_flags._report.explain import explain
from paddle_flags.cli.options import (
    SECRET,
    add_command,
    check_name,
    may_be_secret,
    set_flags,
    value_suggestion,
)
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
        "explain",
        "describe a flag and where its value comes from",
        "[--flag=value]... NAME",
        "explain alpha_level -p libalpha.so --config app.toml",
        modules=True,
    )


def prepare(parser: Parser, options: argparse.Namespace, line: Line) -> Action:
    """Set the flags, and make the text to print."""
    rest = set_flags(parser, options, line)
    if len(rest) != 1:
        message = f"expected the name of one flag, not {len(rest)} arguments"
        raise errors.FlagArgumentError(message + value_suggestion(line.rest))
    try:
        if not may_be_secret(line.rest):
            check_name(rest[0], line, is_known=rest[0] in FLAGS)
        text = explain(rest[0])
    except errors.UndefinedFlagError:
        if not may_be_secret(line.rest):
            raise
        message = f"expected the name of a flag; the argument {SECRET}"
        raise errors.FlagArgumentError(message) from None
    return lambda: print_text(text)
