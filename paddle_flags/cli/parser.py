"""The parser of our command lines: argparse with nearest names, and our own printing."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from paddle_flags._core.names import find_nearest
from paddle_flags.cli.output import print_error, print_or_exit

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence


class Parser(argparse.ArgumentParser):
    """A parser that prints as the rest of the package does, and suggests names."""

    failed = 2
    """The exit status of a wrong command line."""

    advice = ""
    """What a message about an unknown option ends with."""

    summary = ""
    """What the command does, in the help of the parser that it belongs to."""

    other: Parser | None = None
    """Another form of the command, whose options help, suggestions and completion include."""

    def __init__(self, prog: str | None = None, **settings: Any) -> None:
        self.own_options: dict[str, argparse.Action] = {}
        """Each option, such as -p and --plugin, with what argparse made of it."""
        self.commands: dict[str, Parser] = {}
        self._adder: Any = None
        super().__init__(prog, allow_abbrev=False, **settings)  # which adds --help

    def add_argument(self, *names: Any, **settings: Any) -> argparse.Action:
        """Add an argument, as in argparse."""
        return self._record_options(super().add_argument(*names, **settings))

    def add_options(self, table: Mapping[str, dict[str, Any]], *, exclusive: bool = False) -> None:
        """Add options: names, separated by blanks, with the settings of argparse.

        Of exclusive ones, a command line may have one.
        """
        add = self.add_mutually_exclusive_group().add_argument if exclusive else self.add_argument
        for names, settings in table.items():
            self._record_options(add(*names.split(), **settings))

    def _record_options(self, action: argparse.Action) -> argparse.Action:
        self.own_options.update(dict.fromkeys(action.option_strings, action))
        return action

    def add_commands(self, metavar: str) -> None:
        """Let the first argument be a command, one of those that are added later."""
        self._kind = metavar.lower()
        self._adder = self.add_subparsers(metavar=metavar, required=True)

    def add_command(self, name: str, summary: str, **settings: Any) -> Parser:
        """Add a command, and return its parser; the help of it begins with the summary."""
        settings.setdefault("description", f"{summary[0].upper()}{summary[1:]}.")
        parser: Parser = self._adder.add_parser(name, help=summary, **settings)
        parser.summary = summary
        self.commands[name] = parser
        return parser

    def known_options(self) -> dict[str, argparse.Action]:
        """Return the options that are offered, also those of the other form."""
        known = {**(self.other.own_options if self.other else {}), **self.own_options}
        return {name: each for name, each in known.items() if each.help != argparse.SUPPRESS}

    def takes_value(self, option: str) -> bool:
        """Return whether there is such an option, and it has a value."""
        return option in self.own_options and self.own_options[option].nargs != 0

    def format_help(self) -> str:
        """Return the help, and that of the other form."""
        return "\n".join(
            [super().format_help(), *([self.other.format_help()] if self.other else [])]
        )

    def print_help(self, file: Any = None) -> None:
        """Print the help to stdout, or to stderr if that is the file."""
        (print_error if file is sys.stderr else print_or_exit)(self.format_help(), end="")

    def error(self, message: str) -> NoReturn:
        """End the program with a message about the command line."""
        print_error(f"{self.format_usage()}{self.prog}: error: {message}")
        sys.exit(self.failed)

    def exit_for_unexpected_token(self, token: str) -> NoReturn:
        """End the program: there is no such option, or one argument too many."""
        name = token.partition("=")[0]
        if not token.startswith("-"):
            self.error(f"unexpected argument {token or repr(token)}")
        near = find_nearest(name, self.known_options())
        suggestion = f"; did you mean {near}?" if near else ""
        self.error(f"no such option {name}{suggestion or self.advice}")

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse tokens, all of which must be known; the parser of a command names its own."""
        tokens = list(sys.argv[1:] if args is None else args)
        if not self.commands:
            self._check_options(tokens)
        elif tokens and not tokens[0].startswith("-") and tokens[0] not in self.commands:
            self._refuse_command(tokens[0])
        options, unknown = super().parse_known_args(tokens, namespace)
        if unknown:
            self.exit_for_unexpected_token(unknown[0])
        return options, []

    def _refuse_command(self, name: str) -> NoReturn:
        near = find_nearest(name, self.commands)
        expected = (
            f"did you mean {near}?" if near else f"expected one of {', '.join(self.commands)}"
        )
        self.error(f"no such {self._kind} {name or repr(name)}; {expected}")

    def _check_options(self, tokens: Sequence[str]) -> None:
        """Refuse the first unknown option, before argparse asks for what may be behind it."""
        awaiting = False
        for token in tokens:
            name, equals, _ = token.partition("=")
            if token == "--":
                return
            if name.startswith("--") and name not in self.own_options and not awaiting:
                self.exit_for_unexpected_token(token)
            awaiting = self.takes_value(name) and not equals


class ShowVersion(argparse.Action):
    """The action of --version, whose `const` is what to print."""

    def __init__(self, option_strings: Sequence[str], dest: str, const: str) -> None:
        about = "show program's version number and exit"
        super().__init__(option_strings, dest, nargs=0, const=const, help=about)

    def __call__(self, *_: Any) -> None:
        """Print the version and end the program."""
        print_or_exit(str(self.const))
        sys.exit(0)


def switch_option(text: str, **settings: Any) -> dict[str, Any]:
    """Return the settings of an option without a value."""
    return {"action": "store_true", "help": text, **settings}


def value_option(metavar: str, text: str, **settings: Any) -> dict[str, Any]:
    """Return the settings of an option with a value."""
    return {"metavar": metavar, "help": text, **settings}


def repeated_option(metavar: str, text: str, **settings: Any) -> dict[str, Any]:
    """Return the settings of an option that may be repeated."""
    more = {"action": "append", "default": [], **settings}
    return value_option(metavar, f"{text}; may be repeated", **more)


def whole_number_converter(
    expected: str = "a whole number", least: int = 0, most: int = 10**18 - 1
) -> Callable[[str], int]:
    """Return the type of an argument that is a whole number; the most that fits is int64's."""

    def parse_whole_number(text: str) -> int:
        is_short = text.isascii() and text.isdigit() and len(text) <= 18
        if is_short and least <= int(text) <= most:
            return int(text)
        raise argparse.ArgumentTypeError(f"'{text}': expected {expected}")

    return parse_whole_number


def choice_converter(choices: Collection[str]) -> Callable[[str], str]:
    """Return the type of an argument; an error names the nearest of the choices."""

    def parse_choice(text: str) -> str:
        if text in choices:
            return text
        near = find_nearest(text, choices)
        suggestion = f"; did you mean {near}?" if near else ""
        message = f"'{text}': expected one of {', '.join(choices)}{suggestion}"
        raise argparse.ArgumentTypeError(message)

    return parse_choice
