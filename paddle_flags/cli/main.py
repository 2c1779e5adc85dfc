"""The command line of paddle-flags and python -m paddle_flags: find the command and run it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Callable, NamedTuple

from paddle_flags import errors
from paddle_flags._completion.answer import NOTHING
from paddle_flags._completion.request import read_request
from paddle_flags._core.status import to_text
from paddle_flags._native import lib
from paddle_flags.cli import completion, config, doctor, explain, new, run, stubs
from paddle_flags.cli import list as list_
from paddle_flags.cli.line import split
from paddle_flags.cli.options import PROGRAM, load
from paddle_flags.cli.output import print_error, print_text
from paddle_flags.cli.parse import print_warnings
from paddle_flags.cli.parser import Parser, own_options
from paddle_flags.cli.suggestions import nearest

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from paddle_flags._completion.answer import Answer
    from paddle_flags.cli.options import Action, Parsers

# The commands that take flags.
_COMMANDS = {
    "run": run.prepare,
    "list": list_.prepare,
    "explain": explain.prepare,
    "stubs": stubs.prepare,
    "doctor": doctor.prepare,
}


class Generator(NamedTuple):
    """The command gen, which belongs to a layer above this one."""

    summary: str
    new_parser: Callable[[str], argparse.ArgumentParser]
    """Called with the name of the program."""
    run: Callable[[Sequence[str], str], int]
    """Called with the tokens behind gen and the name of the program; returns the exit status."""


def _build_parsers(generator: Generator) -> tuple[Parser, Parsers]:
    main_parser = Parser(
        PROGRAM,
        description="Work with the flags of a process and its native plugins.",
        allow_abbrev=False,
    )
    version = f"paddle_flags {to_text(lib.PD_VERSION)}"
    main_parser.add_argument("--version", action="version", version=version)
    commands = main_parser.add_subparsers(metavar="COMMAND", required=True)
    for command in (run, list_, explain, stubs, doctor, config, completion):
        command.add(commands)
    commands.add_parser("gen", help=generator.summary, add_help=False)  # it reads its own tokens
    new.add(commands)
    return main_parser, dict(commands.choices)


def _prepare(command: str, parser: argparse.ArgumentParser, tokens: Sequence[str]) -> Action:
    """Load plugins and read flags: all that can go wrong because of a user."""
    is_run = command == "run"
    line = split(tokens, parser, has_program=is_run)
    options = parser.parse_args(line.own)  # which may show the help instead
    if is_run:  # where the program begins depends on the flags that plugins define
        line = split(tokens, parser, load, has_program=True)
        options = parser.parse_args(line.own)
    elif command in ("list", "explain", "stubs"):  # doctor reports what loading meets
        for plugin in options.plugin:
            load(plugin)
    return _COMMANDS[command](parser, options, line)


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


def _act_plain(main_parser: Parser, parsers: Parsers, tokens: Sequence[str]) -> None:
    """Run a command that has no flags: config, completion or new."""
    if tokens[0] not in parsers:
        _check_first(main_parser, parsers, tokens[0])
    options = main_parser.parse_args(tokens)
    options.act(options)


def _check_first(main_parser: Parser, parsers: Parsers, first: str) -> None:
    """End the program unless the first token, which is no command, is a known option."""
    name = first.partition("=")[0]
    if not first.startswith("-"):
        near = nearest(first, parsers)
        expected = f"did you mean {near}?" if near else f"expected one of {', '.join(parsers)}"
        main_parser.error(f"no such command {first or repr(first)}; {expected}")
    if name in own_options(main_parser):
        return
    owners = [command for command in _COMMANDS if name in own_options(parsers[command])]
    if owners:
        main_parser.error(f"{name} comes after a command, as in '{PROGRAM} {owners[0]} {name}'")
    main_parser.refuse(first)


def main(tokens: Sequence[str], generator: Generator) -> int:
    """Run one command; return the exit status."""
    request = read_request()
    if request:
        request.reply(_complete(generator, request.tokens, request.token))
    if tokens[:1] == ["gen"]:
        return generator.run(tokens[1:], PROGRAM)
    main_parser, parsers = _build_parsers(generator)
    if not tokens:
        main_parser.print_help(sys.stderr)
        return 2
    if tokens[0] not in _COMMANDS:
        _act_plain(main_parser, parsers, tokens)
        return 0
    try:
        action = _prepare(tokens[0], parsers[tokens[0]], tokens[1:])
    except errors.HelpRequested as help_:
        print_text(str(help_))
        return 0
    except errors.FlagError as error:
        print_warnings(PROGRAM)
        for each in error.errors:
            print_error(f"{PROGRAM}: error: {each}")
        return 2
    print_warnings(PROGRAM)
    action()
    return 0
