"""What the commands live and fleet share: their arguments, and how they run."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from paddle_flags import errors
from paddle_flags.cli.output import print_error
from paddle_flags.cli.parser import Parser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Adder = Callable[[Parser], None]

UNREACHABLE = 3
"""The exit status if a process, or the engine of a fleet, can't be reached."""


def new_parser(prog: str, use: str, about: str, end: str, adders: tuple[Adder, ...]) -> Parser:
    """Return the parser of a command that has commands of its own, each with its adder."""
    parser = Parser(
        prog,
        usage=f"{prog} {use}",
        description=about,
        epilog=end,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_commands("COMMAND")
    for add_one in adders:
        add_one(parser)
    return parser


def add_command(parser: Parser, name: str, summary: str, use: str, after: str = "") -> Parser:
    """Add a command, which may come after something, such as "URL "."""
    prog = f"{parser.prog} {after}{name}"
    return parser.add_command(name, summary, prog=prog, usage=f"{prog} {use}".rstrip())


# ---- Arguments ----


def number(text: str) -> float:
    """Return a number; -1 if it isn't one."""
    try:
        return float(text)
    except ValueError:
        return -1.0


def seconds(text: str) -> float:
    """Return a positive number of seconds: the type of an argument."""
    found = number(text)
    if 0 < found <= 1e6:  # noqa: PLR2004 - more than anybody waits
        return found
    message = f"'{text}': expected a positive number of seconds"
    raise argparse.ArgumentTypeError(message)


def whole(text: str, expected: str = "a whole number") -> int:
    """Return a whole number that isn't negative: the type of an argument."""
    if text.isascii() and text.isdigit() and len(text) <= 18:  # noqa: PLR2004 - fits int64
        return int(text)
    message = f"'{text}': expected {expected}"
    raise argparse.ArgumentTypeError(message)


def add_json(command: Parser) -> None:
    """Let the command print for programs."""
    command.add_argument("--json", action="store_true", help="write JSON")


def add_timeout(command: Parser, awaited: str, default: int) -> None:
    """Let the command wait for something: an answer, the engine."""
    command.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=seconds,
        default=float(default),
        help=f"how long to wait for {awaited}; the default is {default}",
    )


def add_patterns(command: Parser) -> None:
    """Let the command take names and patterns of flags."""
    text = "names of flags; * and ? match as in a shell"
    command.add_argument("patterns", nargs="*", default=[], metavar="PATTERN", help=text)


def add_pairs(command: Parser) -> None:
    """Let the command take flags and their new values."""
    command.advice = "; flags are written NAME=VALUE, without dashes"
    text = "a flag and its new value, as for --NAME"
    command.add_argument("pairs", nargs="*", default=[], metavar="NAME=VALUE", help=text)


def add_list(command: Parser, option: str, metavar: str, text: str) -> None:
    """Add an option that may be repeated."""
    text += "; may be repeated"
    command.add_argument(option, action="append", default=[], metavar=metavar, help=text)


def add_confirm(command: Parser) -> None:
    """Let the command change unsafe flags."""
    add_list(command, "--confirm", "NAME", "an unsafe flag that is meant to be changed")


# ---- Running ----


def run(
    parser: Parser,
    tokens: list[str],
    program: str,
    is_unreachable: Callable[[errors.FlagError], bool],
) -> int:
    """Run the command that the first token names; return the exit status."""
    command = parser.commands.get(tokens[0], parser)
    options = parser.parse_args([tokens[0], *in_order(command, tokens[1:])])
    try:
        status: int = options.act(options)
    except errors.FlagArgumentError as error:
        command.error(str(error))
    except errors.FlagError as error:
        for each in error.errors:
            print_error(f"{program}: error: {each}")
        return UNREACHABLE if is_unreachable(error) else 1
    except KeyboardInterrupt:
        return 130
    return status


def in_order(command: Parser, tokens: list[str]) -> list[str]:
    """Return options first, each with its value in one token, then the rest: any order will do.

    A value may begin with a dash, as in `--expect level=-1` or `--reason -5%`.
    """
    options: list[str] = []
    rest: list[str] = []
    left = iter(tokens)
    for token in left:
        if token == "--":
            rest += left
        elif not token.startswith("-") or token == "-":
            rest.append(token)
        elif command.takes_value(token):
            options.append("=".join([token, *_next(left)]))
        else:
            options.append(token)
    return [*options, "--", *rest] if rest else options


def _next(tokens: Iterator[str]) -> list[str]:
    return [each for each in [next(tokens, None)] if each is not None]
