"""What a parser offers to somebody who completes a token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle_flags._completion.answer import Candidate, first_line

if TYPE_CHECKING:
    from paddle_flags.cli.parser import Parser


def commands_of(parser: Parser) -> list[Candidate]:
    """Return the commands, each with what it does."""
    known = parser.commands.items()
    return [Candidate(name, first_line(command.summary)) for name, command in known]


def options_of(parser: Parser) -> list[Candidate]:
    """Return the options, each with its help."""
    known = parser.known_options().items()
    return [Candidate(option, first_line(action.help or "")) for option, action in known]
