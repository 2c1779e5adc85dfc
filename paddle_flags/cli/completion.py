"""The command completion, and the completion of our own command line."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from paddle_flags._completion.answer import (
    NOTHING,
    Candidate,
    offer_candidates,
    offer_files,
    offer_matches,
    short_description,
)
from paddle_flags._completion.flags import complete_flags, flag_candidates
from paddle_flags._completion.script import SHELLS, completion_script, own_cli_commands
from paddle_flags._report.listing import LISTINGS
from paddle_flags.cli import new
from paddle_flags.cli.line import split_line
from paddle_flags.cli.options import CONSOLE, PROGRAM, load_plugin_argument
from paddle_flags.cli.output import print_or_exit
from paddle_flags.cli.parser import choice_converter
from paddle_flags.errors import FlagError

if TYPE_CHECKING:
    from paddle_flags._completion.answer import Answer
    from paddle_flags.cli.parser import Parser

_WITH_FILES = ("-p", "--plugin", "--config")  # options whose value is a path


def add_to_parser(main_parser: Parser) -> None:
    """Add the command to a command line."""
    summary = "print a script for tab completion of flags"
    parser = main_parser.add_command(
        "completion",
        summary,
        description=summary[0].upper() + summary[1:] + ", and how to use it.",
        usage=f"{PROGRAM} completion {'|'.join(SHELLS)} [PROGRAM]...",
    )
    parser.add_argument(
        "shell", type=choice_converter(SHELLS), metavar="SHELL", help=", ".join(SHELLS)
    )
    parser.add_argument(
        "programs",
        nargs="*",
        metavar="PROGRAM",
        default=own_cli_commands(),
        help="a command that starts a program that calls parse(), such as train.py or"
        f" 'python train.py'; the default is {CONSOLE} itself",
    )
    parser.set_defaults(
        act=lambda options: print_or_exit(
            completion_script(options.shell, options.programs), end=""
        )
    )


# ---- our own command line ----


def list_option_candidates(parser: Parser) -> list[Candidate]:
    """Return the options of a parser, each with its help."""
    known = parser.known_options().items()
    return [Candidate(option, short_description(action.help or "")) for option, action in known]


def complete_command(parser: Parser, token: str) -> Answer:
    """Complete the first token: a command, or an option in its place."""
    if token.startswith("-"):
        return offer_matches(list_option_candidates(parser), token)
    commands = parser.commands.items()
    return offer_matches(
        (Candidate(name, short_description(each.summary)) for name, each in commands), token
    )


def complete_with_flags(parser: Parser, tokens: list[str], token: str) -> Answer:
    """Complete a token behind a command that takes flags, the first of `tokens`."""
    command, *before = tokens
    line = split_line(before, parser, _load_plugin, has_program=command == "run")
    if line.open_option:
        return _complete_value(line.open_option, "", token)
    name, equals, typed = token.partition("=")
    if equals and parser.takes_value(name):
        return _complete_value(name, name + equals, typed)
    if line.program:
        return offer_files(token) if line.program != ["-m"] else NOTHING
    names = {"list": NOTHING, "stubs": NOTHING, "explain": offer_matches(flag_candidates(), token)}
    # An option in front of the cursor ends what the flag before it could take.
    rest = [] if len(line.rest) in line.cuts else line.rest
    answer = complete_flags(
        rest, token, stop_at_argument=command == "run", arguments=names.get(command)
    )
    if "--" in rest or not token.startswith("-") or equals:
        return answer
    return offer_matches([*list_option_candidates(parser), *answer.candidates], token)


def _load_plugin(plugin: str) -> None:
    with suppress(FlagError):
        load_plugin_argument(plugin)


def _complete_value(option: str, kept: str, typed: str) -> Answer:
    """Complete the value of an option of a command."""
    if option in _WITH_FILES:
        return offer_files(typed, kept)
    values = {"--explain": flag_candidates(), "--format": map(Candidate, LISTINGS)}
    return offer_candidates(kept, typed, values.get(option, ()))


def complete_flagless_command(parser: Parser, tokens: list[str], token: str) -> Answer:
    """Complete a token behind config, completion, gen or new, which have no flags."""
    if token.startswith("-"):
        return offer_matches(list_option_candidates(parser), token)
    if tokens[-1] in ("--lang", "--dir"):
        return new.complete(tokens[-1], token)
    if tokens == ["completion"]:
        return offer_matches(map(Candidate, SHELLS), token)
    with_files = tokens[0] in ("completion", "gen")
    return offer_files(token) if with_files else NOTHING
