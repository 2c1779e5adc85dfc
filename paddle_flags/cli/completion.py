"""The command completion, and the completion of our own command line."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from paddle_flags._completion.answer import NOTHING, Candidate, describe, files, match
from paddle_flags._completion.flags import complete_flags, flag_names
from paddle_flags._completion.script import SHELLS, own_programs, script
from paddle_flags.cli import new
from paddle_flags.cli.options import PROGRAM, load, options_end
from paddle_flags.cli.output import print_text
from paddle_flags.errors import FlagError

if TYPE_CHECKING:
    import argparse

    from paddle_flags._completion.answer import Answer
    from paddle_flags.cli.options import Commands

_WITH_FILES = ("-p", "--plugin", "--config")  # options whose value is a path


def add(commands: Commands) -> None:
    """Add the command to the parsers of a command line."""
    summary = "print a script that lets a shell complete flags"
    parser = commands.add_parser(
        "completion",
        help=summary,
        description=summary[0].upper() + summary[1:] + ", and how to use it.",
        usage=f"{PROGRAM} completion {'|'.join(SHELLS)} [PROGRAM]...",
        allow_abbrev=False,
    )
    parser.add_argument("shell", choices=SHELLS, help="the shell")
    parser.add_argument(
        "programs",
        nargs="*",
        metavar="PROGRAM",
        default=own_programs(),
        help="a command whose program calls parse(), as in train.py or 'python train.py';"
        f" without one, {PROGRAM}",
    )
    parser.set_defaults(
        act=lambda options: print_text(script(options.shell, options.programs), end="")
    )


# ---- our own command line ----


def complete_command(parser: argparse.ArgumentParser, token: str) -> Answer:
    """Complete the first token: a command, or an option of them all."""
    offered = _options_of(parser) if token.startswith("-") else _commands_of(parser)
    return match(offered, token)


def complete_with_flags(parser: argparse.ArgumentParser, tokens: list[str], token: str) -> Answer:
    """Complete a token behind a command that takes flags, the first of `tokens`."""
    end = options_end(tokens[1:], parser) + 1
    if end > len(tokens):  # the token is the value of an option
        return files(token) if tokens[-1] in _WITH_FILES else NOTHING
    name, equals, typed = token.partition("=")
    if equals and name in _WITH_FILES:
        return files(typed, name + equals)
    for plugin in parser.parse_args(tokens[1:end]).plugin:
        with suppress(FlagError):
            load(plugin)
    return _complete_line(tokens[0], parser, tokens[end:], token)


def _complete_line(
    command: str, parser: argparse.ArgumentParser, rest: list[str], token: str
) -> Answer:
    """Complete a token behind the options, where flags and arguments stand."""
    if command == "run" and "-m" in rest:
        return files(token) if rest[-1] != "-m" else NOTHING
    arguments = {"list": NOTHING, "explain": match(flag_names(), token)}
    answer = complete_flags(
        rest, token, stop_at_argument=command == "run", arguments=arguments.get(command)
    )
    if rest or not token.startswith("-") or "=" in token:
        return answer
    return match([*_options_of(parser), *answer.candidates], token)


def complete_plain(parser: argparse.ArgumentParser, tokens: list[str], token: str) -> Answer:
    """Complete a token behind a command that has no flags: config, completion, gen or new."""
    if token.startswith("-"):
        return match(_options_of(parser), token)
    if tokens[-1] in ("--lang", "--dir"):
        return new.complete(tokens[-1], token)
    if tokens == ["completion"]:
        return match(map(Candidate, SHELLS), token)
    with_files = tokens[0] in ("completion", "gen")
    return files(token) if with_files else NOTHING


def _options_of(parser: argparse.ArgumentParser) -> list[Candidate]:
    """Give the options of a parser."""
    return [
        Candidate(option, describe(action.help or ""))
        for action in parser._actions  # noqa: SLF001 - as in own_options
        for option in action.option_strings
    ]


def _commands_of(parser: argparse.ArgumentParser) -> list[Candidate]:
    return [
        Candidate(command.dest, describe(command.help or ""))
        for action in parser._actions  # noqa: SLF001 - as in own_options
        for command in getattr(action, "_choices_actions", ())
    ]
