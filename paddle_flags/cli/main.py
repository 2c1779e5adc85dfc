"""The command line of paddle-flags and python -m paddle_flags: find the command and run it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from paddle_flags import errors
from paddle_flags._completion.answer import NOTHING
from paddle_flags._completion.request import read_request
from paddle_flags._core.status import to_text
from paddle_flags._native import lib
from paddle_flags.cli import completion, config, gateway, new, verbs
from paddle_flags.cli.line import split_line
from paddle_flags.cli.options import PROGRAM, import_module, load_plugin_argument
from paddle_flags.cli.output import print_error, print_or_exit
from paddle_flags.cli.parse import print_warnings
from paddle_flags.cli.parser import Parser, ShowVersion
from paddle_flags.cli.plugin_commands import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paddle_flags._completion.answer import Answer
    from paddle_flags.cli.options import Action


class Generator(NamedTuple):
    """The command gen, which belongs to a layer above this one."""

    summary: str
    new_parser: Callable[[str], Parser]
    """Called with the name of the program."""
    run: Callable[[Sequence[str], str], int]
    """Called with the tokens behind gen and the name of the program; returns the exit status."""


def _build_parser(generator: Generator, tokens: Sequence[str] = ()) -> Parser:
    """Return the parser of our command line: of the command that it names, or of all."""
    about = "Work with the flags of running processes, of fleets and of native plugins."
    main_parser = Parser(PROGRAM, description=about)
    version = f"paddle_flags {to_text(lib.PD_VERSION)}"
    main_parser.add_argument("--version", action=ShowVersion, const=version)
    main_parser.add_commands("COMMAND")
    # Each takes milliseconds.
    for name in tokens[:1] if tokens and tokens[0] in _NAMES else _NAMES:
        if name == "gen":  # it reads its own tokens
            main_parser.add_command(name, generator.summary, add_help=False)
        else:
            _add_command(main_parser, name)
    return main_parser


_PLAIN = {"gateway": gateway, "config": config, "completion": completion, "new": new}
# In the order of the help.
_PLUGIN_NAMES = [name for name in COMMANDS if name not in ("run", *verbs.VERBS)]
_NAMES = ["run", *verbs.VERBS, "gateway", *_PLUGIN_NAMES, "config", "completion", "gen", "new"]


def _add_command(main_parser: Parser, name: str) -> None:
    if name in _PLAIN:
        _PLAIN[name].add_to_parser(main_parser)
    elif name not in verbs.VERBS:
        COMMANDS[name].add_to_parser(main_parser, name)
    elif name in COMMANDS:  # about plugins, or about running processes
        plugins = Parser(PROGRAM)
        plugins.add_commands("COMMAND")
        verbs.add_verb(main_parser, name, COMMANDS[name].add_to_parser(plugins, name))
    else:
        verbs.add_verb(main_parser, name)


def _find_plugin_command(main_parser: Parser, tokens: Sequence[str]) -> Parser | None:
    """Return the parser of a command that loads plugins and takes flags, if it is one."""
    parser = main_parser.commands.get(tokens[0])
    if parser is None or tokens[0] not in COMMANDS:
        return None
    if parser.other is None:
        return parser
    return (
        parser.other if verbs.has_plugin_loading_option(parser, parser.other, tokens[1:]) else None
    )


def _prepare_plugin_command(command: str, parser: Parser, tokens: Sequence[str]) -> Action:
    """Load plugins and read flags: all that can go wrong because of a user."""
    is_run = command == "run"
    line = split_line(tokens, parser, has_program=is_run)
    options = parser.parse_args(line.own)  # which may show the help instead
    if is_run:  # where the program begins depends on the flags that plugins define
        line = split_line(tokens, parser, load_plugin_argument, has_program=True)
        options = parser.parse_args(line.own)
    elif command != "doctor":  # which reports what loading meets
        for plugin in options.plugin:
            load_plugin_argument(plugin)
        for module in getattr(options, "module", ()):
            import_module(module)
    return COMMANDS[command].prepare(parser, options, line)


def _complete(generator: Generator, tokens: list[str], token: str) -> Answer:
    """Complete a token of our own command line."""
    main_parser = _build_parser(generator, tokens)
    if not tokens:
        return completion.complete_command(main_parser, token)
    if tokens[0] == "gen":
        return completion.complete_flagless_command(generator.new_parser(PROGRAM), tokens, token)
    parser = _find_plugin_command(main_parser, [*tokens, token])
    if parser is not None:
        return completion.complete_with_flags(parser, tokens, token)
    if tokens[0] in verbs.VERBS:
        from paddle_flags.cli import verb_completion

        return verb_completion.complete(main_parser.commands[tokens[0]], tokens[1:], token)
    known = main_parser.commands.get(tokens[0])
    return NOTHING if known is None else completion.complete_flagless_command(known, tokens, token)


def _run_plain_command(main_parser: Parser, tokens: Sequence[str]) -> None:
    """Run a command that has no flags: config, completion or new."""
    if tokens[0].startswith("-"):
        _check_option(main_parser, tokens[0])
    options = main_parser.parse_args(tokens)
    options.act(options)


def _check_option(main_parser: Parser, first: str) -> None:
    """End the program unless the first token is an option that is known."""
    name = first.partition("=")[0]
    if name in main_parser.own_options:
        return
    owners = [each for each, one in main_parser.commands.items() if name in one.known_options()]
    if owners:
        main_parser.error(f"{name} comes after a command, as in '{PROGRAM} {owners[0]} {name}'")
    main_parser.exit_for_unexpected_token(first)


def main(tokens: Sequence[str], generator: Generator) -> int:
    """Run one command; return the exit status."""
    request = read_request()
    if request:
        request.reply(_complete(generator, request.tokens, request.token))
    if tokens and tokens[0] == "gen":  # it reads its own tokens
        return generator.run(tokens[1:], PROGRAM)
    main_parser = _build_parser(generator, tokens)
    if not tokens:
        main_parser.print_help(sys.stderr)
        return 2
    parser = _find_plugin_command(main_parser, tokens)
    if parser is not None:
        return _run_plugin_command(parser, tokens)
    if tokens[0] in verbs.VERBS:
        return verbs.run(main_parser, list(tokens))
    _run_plain_command(main_parser, tokens)
    return 0


def _run_plugin_command(parser: Parser, tokens: Sequence[str]) -> int:
    """Run a command that loads plugins and takes flags; return the exit status."""
    try:
        action = _prepare_plugin_command(tokens[0], parser, tokens[1:])
    except errors.HelpRequested as help_:
        print_or_exit(str(help_))
        return 0
    except errors.FlagError as error:
        print_warnings(PROGRAM, error)
        for each in error.errors:
            print_error(f"{PROGRAM}: error: {each}")
        return 2
    print_warnings(PROGRAM)
    action()
    return 0
