"""The command line python -m paddle_flags: which command it names, and running that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, NamedTuple

from paddle_flags import errors
from paddle_flags._completion.answer import NOTHING
from paddle_flags._completion.request import read_request
from paddle_flags._core.status import to_text
from paddle_flags._native import lib
from paddle_flags.cli import completion, config, doctor, explain, new, run
from paddle_flags.cli import list as list_
from paddle_flags.cli.options import PROGRAM, Parser, load, options_end, own_options
from paddle_flags.cli.output import print_error, print_text
from paddle_flags.cli.parse import print_warnings

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Sequence

    from paddle_flags._completion.answer import Answer
    from paddle_flags.cli.options import Action, Parsers

# The commands that take flags.
_COMMANDS = {
    "run": run.prepare,
    "list": list_.prepare,
    "explain": explain.prepare,
    "doctor": doctor.prepare,
}


class Generator(NamedTuple):
    """The command gen, which is of a layer above this one."""

    summary: str
    new_parser: Callable[[str], argparse.ArgumentParser]
    """Of the name of the program."""
    run: Callable[[Sequence[str], str], int]
    """Of the tokens behind gen and the name of the program; gives the exit status."""


def _build_parsers(generator: Generator) -> tuple[argparse.ArgumentParser, Parsers]:
    main_parser = Parser(
        PROGRAM, description="Flags of a process and its native plugins.", allow_abbrev=False
    )
    version = f"paddle_flags {to_text(lib.PD_VERSION)}"
    main_parser.add_argument("--version", action="version", version=version)
    commands = main_parser.add_subparsers(metavar="COMMAND", required=True)
    for command in (run, list_, explain, doctor, config, completion):
        command.add(commands)
    commands.add_parser("gen", help=generator.summary, add_help=False)  # it reads its own tokens
    new.add(commands)
    return main_parser, dict(commands.choices)


def _prepare(command: str, parser: argparse.ArgumentParser, tokens: Sequence[str]) -> Action:
    """Load plugins and read flags: all that can go wrong because of a user."""
    end = options_end(tokens, parser)
    options = parser.parse_args(tokens[:end])
    rest = list(tokens[end:])
    if command != "doctor":  # which reports what loading meets
        for plugin in options.plugin:
            load(plugin)
    own = rest[: run.program_at(rest)] if command == "run" else rest
    options_here = own_options(parser).keys() - {"-h", "--help"}  # which flags have too
    late = [token for token in own if token.partition("=")[0] in options_here]
    if late:
        message = f"{late[0]}: options come before flags and names"
        raise errors.FlagArgumentError(message)
    return _COMMANDS[command](options, rest)


def _complete(generator: Generator, tokens: list[str], token: str) -> Answer:
    """Complete a token of our own command line."""
    main_parser, parsers = _build_parsers(generator)
    if not tokens:
        return completion.complete_command(main_parser, token)
    if tokens[0] == "gen":
        return completion.complete_plain(generator.new_parser(PROGRAM), tokens, token)
    parser = parsers.get(tokens[0])
    if parser is None:
        return NOTHING
    if tokens[0] in _COMMANDS:
        return completion.complete_with_flags(parser, tokens, token)
    return completion.complete_plain(parser, tokens, token)


def _suggestion(name: str, known: Collection[str]) -> str:
    from paddle_flags.cli.suggestions import suggestion  # noqa: PLC0415 - seldom used

    return suggestion(name, known)


def _act_plain(
    main_parser: argparse.ArgumentParser, parsers: Parsers, tokens: Sequence[str]
) -> None:
    """Do a command that has no flags: config, completion or new."""
    first = tokens[0] if tokens else "-"
    if not first.startswith("-") and first not in parsers:
        expected = f"expected one of {', '.join(parsers)}"
        main_parser.error(f"{first}: no such command, {expected}{_suggestion(first, parsers)}")
    options, unknown = main_parser.parse_known_args(tokens)
    if unknown:
        parser = parsers.get(first, main_parser)
        known = own_options(parser)
        near = _suggestion(unknown[0].partition("=")[0], known)
        parser.error(f"{unknown[0]}: no such option or argument{near}")
    options.act(options)


def main(tokens: Sequence[str], generator: Generator) -> int:
    """Run one command; gives the exit status."""
    request = read_request()
    if request:
        request.reply(_complete(generator, request.tokens, request.token))
    if tokens[:1] == ["gen"]:
        return generator.run(tokens[1:], PROGRAM)
    main_parser, parsers = _build_parsers(generator)
    if not tokens or tokens[0] not in _COMMANDS:
        _act_plain(main_parser, parsers, tokens)
        return 0
    try:
        action = _prepare(tokens[0], parsers[tokens[0]], tokens[1:])
    except errors.HelpRequested as help_:
        print_text(str(help_))
        return 0
    except errors.FlagError as error:
        for each in error.errors:
            print_error(f"{PROGRAM}: error: {each}")
        return 2
    print_warnings(PROGRAM)
    action()
    return 0
