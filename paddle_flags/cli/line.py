"""Our own command line: which tokens are options of a command, flags, or a program to run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle_flags import errors
from paddle_flags._completion.flags import is_flag, is_followed_by_value, is_known_option
from paddle_flags._core.names import find_nearest
from paddle_flags._core.registry import FLAGS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from paddle_flags.cli.parser import Parser

_HELP = ("-h", "--help")
_PLUGIN = ("-p", "--plugin")


class Line:
    """The tokens behind a command, sorted."""

    def __init__(self) -> None:
        self.own: list[str] = []
        """The options of the command, with their values."""
        self.rest: list[str] = []
        """Flags with their values, and names."""
        self.program: list[str] = []
        """What `run` is to run: a script or -m, and everything behind it."""
        self.open_option = ""
        """The option at the end whose value is missing."""
        self.cuts: dict[int, str] = {}
        """Options that stood in front of rest[i], or behind it all: what is around
        one does not belong together."""

    def flags(self) -> Iterator[tuple[int, str]]:
        """Yield the index and the text of each token of `rest` that names a flag."""
        awaiting = False
        for at, token in enumerate(self.rest):
            if token == "--":
                return
            is_value = awaiting and at not in self.cuts
            awaiting = not is_value and is_followed_by_value(token)
            if not is_value and is_flag(token):
                yield at, token

    def check_flag_values(self) -> None:
        """Raise FlagArgumentError if an option stands where the value of a flag should be."""
        for at, token in self.flags():
            if at + 1 in self.cuts and is_followed_by_value(token):
                raise errors.FlagArgumentError(
                    f"{token}: expected a value before {self.cuts[at + 1]}, as in {token}=VALUE"
                )

    def check_spelling(self, parser: Parser) -> None:
        """Raise FlagArgumentError for an unknown flag whose nearest name is an option."""
        for _, token in self.flags():
            name = token.partition("=")[0]
            if name == "--undefok":
                return
            if name.startswith("--") and not is_known_option(name):
                near = find_nearest(name, [*parser.own_options, *(f"--{flag}" for flag in FLAGS)])
                if near in parser.own_options:
                    raise errors.FlagArgumentError(f"no such option {name}; did you mean {near}?")


def _parse_own_option(token: str, parser: Parser) -> tuple[str, str | None] | None:
    """Return an option and the value attached to it; None: the token is no option."""
    name, equals, value = token.partition("=")
    if name in parser.own_options:
        return name, value if equals else None
    short = token[:2]
    if not token.startswith("--") and parser.takes_value(short) and token[2:]:
        return short, token[2:]
    return None


def split_line(
    tokens: Sequence[str],
    parser: Parser,
    load: Callable[[str], object] | None = None,
    *,
    has_program: bool = False,
) -> Line:
    """Sort the tokens behind a command; its options may stand anywhere.

    With `has_program` the first token that is no option and no part of a flag begins the
    program to run, and so does -m. `load` is called with each plugin at once, so that its
    flags are known by then.
    """
    line = Line()
    at = 0
    awaiting = False  # the value of the flag in the token before
    while at < len(tokens):
        token = tokens[at]
        option = _parse_own_option(token, parser)
        if token in _HELP and any(True for _ in line.flags()):
            option = None  # it asks for the help of the flags
        if token == "--" or (has_program and token == "-m" and option is None):
            _sort_remaining_tokens(line, tokens[at:], has_program=has_program)
            break
        if option is None:
            if has_program and not awaiting and not is_flag(token):
                line.program = list(tokens[at:])
                break
            awaiting = not awaiting and is_followed_by_value(token)
            line.rest.append(token)
            at += 1
            continue
        name, value = option
        line.own.append(token)
        line.cuts[len(line.rest)] = name
        awaiting = False
        at += 1
        if parser.takes_value(name) and value is None:
            if at == len(tokens):
                line.open_option = name
                break
            value = tokens[at]
            line.own.append(value)
            at += 1
        if name in _PLUGIN and load:
            load(value or "")
    return line


def _sort_remaining_tokens(line: Line, tokens: Sequence[str], *, has_program: bool) -> None:
    """Sort what begins with -- or -m."""
    if not has_program:
        line.rest += tokens
    elif tokens[0] == "-m":
        line.cuts[len(line.rest)] = "-m"
        line.program = list(tokens)
    else:
        line.program = list(tokens[1:])
