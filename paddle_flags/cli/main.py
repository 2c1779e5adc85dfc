"""The command line of paddle-flags and python -m paddle_flags: find the command and run it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from paddle_flags import errors
from paddle_flags._completion.answer import NOTHING
from paddle_flags._completion.request import read_request
from paddle_flags._core.status import to_text
from paddle_flags._native import lib
from paddle_flags.cli import (
    completion,
    config,
    doctor,
    explain,
    fleet,
    gateway,
    impls,
    live,
    new,
    run,
    stubs,
)
from paddle_flags.cli import list as list_
from paddle_flags.cli import open as open_
from paddle_flags.cli.line import split
from paddle_flags.cli.options import PROGRAM, load
from paddle_flags.cli.output import print_error, print_text
from paddle_flags.cli.parse import print_warnings
from paddle_flags.cli.parser import Parser, ShowVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paddle_flags._completion.answer import Answer
    from paddle_flags.cli.options import Action

# The commands that take flags.
_COMMANDS = {
    "run": run.prepare,
    "list": list_.prepare,
    "explain": explain.prepare,
    "impls": impls.prepare,
    "stubs": stubs.prepare,
    "doctor": doctor.prepare,
}


class Generator(NamedTuple):
    """The command gen, which belongs to a layer above this one."""

    summary: str
    new_parser: Callable[[str], Parser]
    """Called with the name of the program."""
    run: Callable[[Sequence[str], str], int]
    """Called with the tokens behind gen and the name of the program; returns the exit status."""


def _build_parser(generator: Generator) -> Parser:
    about = "Work with the flags of a process and its native plugins."
    main_parser = Parser(PROGRAM, description=about)
    version = f"paddle_flags {to_text(lib.PD_VERSION)}"
    main_parser.add_argument("--version", action=ShowVersion, const=version)
    main_parser.add_commands("COMMAND")
    for command in (run, list_, explain, impls, stubs, doctor, live, fleet, config, completion):
        command.add(main_parser)
    main_parser.add_command("gen", generator.summary, add_help=False)  # it reads its own tokens
    for command in (gateway, open_):
        command.add(main_parser)
    new.add(main_parser)
    return main_parser


def _prepare(command: str, parser: Parser, tokens: Sequence[str]) -> Action:
    """Load plugins and read flags: all that can go wrong because of a user."""
    is_run = command == "run"
    line = split(tokens, parser, has_program=is_run)
    options = parser.parse_args(line.own)  # which may show the help instead
    if is_run:  # where the program begins depends on the flags that plugins define
        line = split(tokens, parser, load, has_program=True)
        options = parser.parse_args(line.own)
    elif command in ("list", "explain", "impls", "stubs"):  # doctor reports what loading meets
        for plugin in options.plugin:
            load(plugin)
    return _COMMANDS[command](parser, options, line)


def _complete(generator: Generator, tokens: list[str], token: str) -> Answer:
    """Complete a token of our own command line."""
    main_parser = _build_parser(generator)
    if not tokens:
        return completion.complete_command(main_parser, token)
    if tokens[0] == "gen":
        return completion.complete_plain(generator.new_parser(PROGRAM), tokens, token)
    if tokens[0] in ("live", "fleet"):
        return _complete_own(tokens, token)
    parser = main_parser.commands.get(tokens[0])
    if parser is None:
        return NOTHING
    if tokens[0] in _COMMANDS:
        return completion.complete_with_flags(parser, tokens, token)
    return completion.complete_plain(parser, tokens, token)


def _complete_own(tokens: list[str], token: str) -> Answer:
    """Complete a token of a command that has commands of its own."""
    if tokens[0] == "live":
        from paddle_flags.cli import live_complete  # noqa: PLC0415 - seldom used

        return live_complete.complete(live.new_parser(PROGRAM), tokens[1:], token)
    from paddle_flags.cli import fleet_complete  # noqa: PLC0415 - seldom used

    return fleet_complete.complete(fleet.new_parser(PROGRAM), tokens[1:], token)


def _act_plain(main_parser: Parser, tokens: Sequence[str]) -> None:
    """Run a command that has no flags, such as config."""
    if tokens[0].startswith("-"):
        _check_option(main_parser, tokens[0])
    options = main_parser.parse_args(tokens)
    options.act(options)


def _check_option(main_parser: Parser, first: str) -> None:
    """End the program unless the first token is an option that is known."""
    name = first.partition("=")[0]
    if name in main_parser.own_options:
        return
    owners = [each for each in _COMMANDS if name in main_parser.commands[each].own_options]
    if owners:
        main_parser.error(f"{name} comes after a command, as in '{PROGRAM} {owners[0]} {name}'")
    main_parser.refuse(first)


def main(tokens: Sequence[str], generator: Generator) -> int:
    """Run one command; return the exit status."""
    request = read_request()
    if request:
        request.reply(_complete(generator, request.tokens, request.token))
    own = {"gen": generator.run, "live": live.run, "fleet": fleet.run}.get(
        tokens[0] if tokens else ""
    )
    if own:  # they read their own tokens
        return own(tokens[1:], PROGRAM)
    main_parser = _build_parser(generator)
    if not tokens:
        main_parser.print_help(sys.stderr)
        return 2
    if tokens[0] not in _COMMANDS:
        _act_plain(main_parser, tokens)
        return 0
    try:
        action = _prepare(tokens[0], main_parser.commands[tokens[0]], tokens[1:])
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
