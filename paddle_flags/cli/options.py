"""What the commands have in common: their parsers, and how plugins and flags are read."""

from __future__ import annotations

import argparse
import os
import re
import sys
from typing import TYPE_CHECKING, Any, Callable, NoReturn

from paddle_flags import errors
from paddle_flags._core.plugin import load_plugin
from paddle_flags._input.argv import Options
from paddle_flags.cli.output import print_error, print_text
from paddle_flags.cli.parse import read_flags

if TYPE_CHECKING:
    from collections.abc import Sequence

Action = Callable[[], Any]
Parsers = dict[str, argparse.ArgumentParser]
Commands = Any  # argparse gives the type of its subparsers no public name

PROGRAM = "python -m paddle_flags"

EPILOG = """\
The options come first, then the flags of the plugins, then all else, as in

  python -m paddle_flags list -p libalpha.so --alpha_level=9
"""

# "beta=libbeta.so" for a plugin in a namespace; a path has no such beginning.
_IN_NAMESPACE = re.compile(r"([A-Za-z_][\w.-]*)=(.+)")


class Parser(argparse.ArgumentParser):
    """Prints as all of us do."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if message:
            (print_text if file is sys.stdout else print_error)(message, end="")

    def error(self, message: str) -> NoReturn:
        """End the program with a message about the command line."""
        print_error(f"{self.format_usage()}{self.prog}: error: {message}")
        sys.exit(2)


def options_end(tokens: Sequence[str], parser: argparse.ArgumentParser) -> int:
    """Give how many tokens, from the first on, are options of the command itself."""
    takes_value = own_options(parser)
    at = 0
    while at < len(tokens):
        name, equals, _ = tokens[at].partition("=")
        attached = bool(name[2:]) and takes_value.get(name[:2], False)
        if name not in takes_value and not attached:
            return at
        at += 2 if takes_value.get(name) and not equals else 1
    return at


def own_options(parser: argparse.ArgumentParser) -> dict[str, bool]:
    """Give the options of a command, and whether each takes a value."""
    return {
        option: action.nargs != 0
        for action in parser._actions  # noqa: SLF001 - argparse tells it nowhere else
        for option in action.option_strings
    }


def plugin_parts(plugin: str) -> tuple[str, str]:
    """Give namespace and path of FILE or NAMESPACE=FILE."""
    parts = None if os.path.exists(plugin) else _IN_NAMESPACE.fullmatch(plugin)
    return (parts[1], parts[2]) if parts else ("", plugin)


def load(plugin: str) -> None:
    """Load FILE or NAMESPACE=FILE."""
    namespace, file = plugin_parts(plugin)
    if file.endswith((".py", ".pyw")):
        message = (
            f"{file}: is a Python program, expected a shared library; '{PROGRAM} run --show {file}'"
            " runs it and shows its flags, and pf.explain(name) in it tells why one has its value"
        )
        raise errors.FlagArgumentError(message)
    load_plugin(file, namespace=namespace)


def set_flags(options: argparse.Namespace, tokens: list[str], **how: Any) -> list[str]:
    """Set the flags of the plugins; give the other tokens."""
    config = options.config or None
    reading = Options(env_prefix=options.env_prefix, config=config, keep_startup=True, **how)
    return read_flags([PROGRAM, *tokens], reading)


def add_command(commands: Commands, name: str, summary: str, use: str) -> argparse.ArgumentParser:
    """Add a command that loads plugins and takes their flags."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        usage=f"{PROGRAM} {name} [-p FILE]... [--config FILE]... [--env-prefix PREFIX] {use}",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "-p",
        "--plugin",
        action="append",
        default=[],
        metavar="FILE",
        help="a shared library to load, or NAMESPACE=FILE; may be given again",
    )
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="FILE",
        help="a configuration file to read: TOML, YAML, JSON or a flagfile; may be given again",
    )
    parser.add_argument(
        "--env-prefix",
        metavar="PREFIX",
        help="take values from the environment, from the variables PREFIX<flag name>",
    )
    return parser
