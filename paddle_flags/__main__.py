"""The command line: python -m paddle_flags run|list|explain|config."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from typing import TYPE_CHECKING

from paddle_flags import _config, errors
from paddle_flags._parse import parse
from paddle_flags._plugin import load_plugin
from paddle_flags._registry import find
from paddle_flags._report import explanation, flags_table

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "python -m paddle_flags"

EPILOG = """\
The flags of the plugins follow the options, as in

  python -m paddle_flags list -p libalpha.so --alpha_level=9
"""


def _options_end(words: Sequence[str], takes_value: dict[str, bool]) -> int:
    """Give how many words, from the first on, are options of our own."""
    at = 0
    while at < len(words):
        name, equals, _ = words[at].partition("=")
        if name not in takes_value:
            return at
        at += 2 if takes_value[name] and not equals else 1
    return at


def _command_parser(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, summary: str, use: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        usage=f"{PROGRAM} {name} {use}",
        epilog=EPILOG if name != "config" else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if name != "config":
        parser.add_argument(
            "-p",
            "--plugin",
            action="append",
            default=[],
            metavar="FILE",
            help="a shared library to load; may be given again",
        )
        parser.add_argument(
            "--env-prefix",
            metavar="PREFIX",
            help="take values from environment variables PREFIX<flag name>",
        )
    return parser


def _build_parsers() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    main_parser = argparse.ArgumentParser(
        PROGRAM, description="Flags of a process and its native plugins.", allow_abbrev=False
    )
    main_parser.add_argument("--version", action="version", version=_version())
    commands = main_parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    options = "[-p FILE]... [--env-prefix PREFIX]"
    run = _command_parser(
        commands,
        "run",
        "load plugins and set flags, then run a script or module, or show the flags",
        f"{options} [--show] [-m MODULE] [--flag=value]... [--] [SCRIPT] [ARGUMENT]...",
    )
    run.add_argument("-m", "--module", metavar="MODULE", help="a module to run, as python -m does")
    run.add_argument("--show", action="store_true", help="show the flags at the end")
    listing = _command_parser(
        commands,
        "list",
        "show all flags with value, source and module",
        f"{options} [--all] [--flag=value]...",
    )
    listing.add_argument("--all", action="store_true", help="show hidden flags too")
    _command_parser(
        commands,
        "explain",
        "tell what a flag is and where its value comes from",
        f"{options} [--flag=value]... NAME",
    )
    config = _command_parser(
        commands, "config", "print what a build of plugins and hosts needs", "OPTION"
    )
    config.add_argument("option", choices=list(_config.OPTIONS), metavar="OPTION")
    return main_parser, dict(commands.choices)


def _version() -> str:
    from paddle_flags import __version__

    return f"paddle_flags {__version__}"


def _read(parser: argparse.ArgumentParser, words: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Read a command's own options, load its plugins, and split the words behind them."""
    takes_value = {
        option: action.nargs != 0
        for action in parser._actions  # noqa: SLF001 - argparse has no other way
        for option in action.option_strings
    }
    end = _options_end(words, takes_value)
    options = parser.parse_args(words[:end])
    for path in options.plugin:
        load_plugin(path)
    return options, list(words[end:])


def _flags(options: argparse.Namespace, words: list[str], **how: bool) -> list[str]:
    return parse([PROGRAM, *words], env_prefix=options.env_prefix, exit=False, **how)


def _run(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    options, behind = _read(parser, words)
    rest = _flags(options, behind, stop_at_argument=True)
    if options.module:
        sys.argv = [options.module, *rest]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(options.module, run_name="__main__", alter_sys=True)
    elif rest:
        if not os.path.exists(rest[0]):
            message = f"{rest[0]}: no such file"
            raise errors.FlagArgumentError(message)
        sys.argv = rest
        sys.path.insert(0, os.path.dirname(os.path.abspath(rest[0])))
        runpy.run_path(rest[0], run_name="__main__")
    if options.show or not (options.module or rest):
        print(flags_table())  # noqa: T201


def _list(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    options, behind = _read(parser, words)
    rest = _flags(options, behind)
    if rest:
        message = f"{rest[0]}: expected no argument; plugins are given by -p"
        raise errors.FlagArgumentError(message)
    print(flags_table(hidden=options.all))  # noqa: T201


def _explain(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    options, behind = _read(parser, words)
    rest = _flags(options, behind)
    if len(rest) != 1:
        message = f"expected the name of one flag, not {len(rest)} arguments"
        raise errors.FlagArgumentError(message)
    print(explanation(find(rest[0])))  # noqa: T201


def _show_config(parser: argparse.ArgumentParser, words: Sequence[str]) -> None:
    print(_config.run_config(parser.parse_args(words).option))  # noqa: T201


_COMMANDS = {"run": _run, "list": _list, "explain": _explain, "config": _show_config}


def main(words: Sequence[str]) -> int:
    """Run one command; gives the exit status."""
    main_parser, parsers = _build_parsers()
    if not words or words[0] not in parsers:
        main_parser.parse_args(words)  # help, version, or an error
    try:
        _COMMANDS[words[0]](parsers[words[0]], words[1:])
    except errors.HelpRequested as help_:
        print(help_)  # noqa: T201
    except errors.FlagError as error:
        for each in error.errors:
            print(f"{PROGRAM}: error: {each}", file=sys.stderr)  # noqa: T201
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
