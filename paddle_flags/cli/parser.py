"""The parser of our command lines: argparse with nearest names, and our own printing."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from paddle_flags.cli.output import print_error, print_text
from paddle_flags.cli.suggestions import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence


class Parser(argparse.ArgumentParser):
    """A parser that prints as the rest of the package does, and suggests names."""

    failed = 2
    """The exit status of a wrong command line."""

    advice = ""
    """What a message about an unknown option ends with."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if message:
            (print_text if file is sys.stdout else print_error)(message, end="")

    def error(self, message: str) -> NoReturn:
        """End the program with a message about the command line."""
        print_error(f"{self.format_usage()}{self.prog}: error: {message}")
        sys.exit(self.failed)

    def refuse(self, token: str) -> NoReturn:
        """End the program: there is no such option, or one argument too many."""
        name = token.partition("=")[0]
        if not token.startswith("-"):
            self.error(f"unexpected argument {token or repr(token)}")
        near = nearest(name, own_options(self))
        suggestion = f"; did you mean {near}?" if near else ""
        self.error(f"no such option {name}{suggestion or self.advice}")

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse tokens, all of which must be known; the parser of a subcommand names its own."""
        tokens = list(sys.argv[1:] if args is None else args)
        if self._subparsers is None:
            self._check_options(tokens)
        options, unknown = super().parse_known_args(tokens, namespace)
        if unknown:
            self.refuse(unknown[0])
        return options, []

    def _check_options(self, tokens: Sequence[str]) -> None:
        """Refuse the first unknown option, before argparse asks for what may be behind it."""
        takes_value = own_options(self)
        awaiting = False
        for token in tokens:
            name, equals, _ = token.partition("=")
            if token == "--":
                return
            if name.startswith("--") and name not in takes_value and not awaiting:
                self.refuse(token)
            awaiting = takes_value.get(name, False) and not equals

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        near = nearest(str(value), [*action.choices])
        message = f"'{value}': expected one of {', '.join(action.choices)}"
        message += f"; did you mean {near}?" if near else ""
        raise argparse.ArgumentError(action, message)


def own_options(parser: argparse.ArgumentParser) -> dict[str, bool]:
    """Return the options of a command, and whether each takes a value."""
    return {
        option: action.nargs != 0
        for action in parser._actions  # noqa: SLF001 - argparse has no public list
        for option in action.option_strings
    }
