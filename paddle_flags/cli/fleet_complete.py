"""Completion behind fleet: commands, options, and flags that the fleet has or members use."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from paddle_flags._completion.answer import (
    NOTHING,
    Answer,
    Candidate,
    files,
    match,
    with_candidates,
)
from paddle_flags.cli.candidates import commands_of, options_of
from paddle_flags.errors import FlagError
from paddle_flags.fleet._fleet import Fleet

if TYPE_CHECKING:
    from paddle_flags.cli.parser import Parser

_PATIENCE = 0.5  # seconds: somebody waits at a prompt
_WITH_NAMES = {"get": "", "diff": "", "unset": "", "set": "="}


def complete(parser: Parser, tokens: list[str], token: str) -> Answer:
    """Complete a token behind `fleet`."""
    url, *rest = tokens or [""]
    if url and not rest and not token.startswith("-"):
        return match(commands_of(parser), token)
    command = parser.commands.get(rest[0] if rest else "status")
    if not url or command is None:
        return NOTHING
    if rest and command.takes_value(rest[-1]):
        return _value(url, rest[-1], "", token)
    if token.startswith("-"):
        return _option(command, url, token)
    end = _WITH_NAMES.get(rest[0] if rest else "")
    return NOTHING if end is None or "=" in token else match(_names(url, end), token)


def _option(command: Parser, url: str, token: str) -> Answer:
    option, equals, typed = token.partition("=")
    if equals:
        return _value(url, option, option + equals, typed)
    return match(options_of(command), token)


def _value(url: str, option: str, kept: str, typed: str) -> Answer:
    if option == "--file":
        return files(typed, kept)
    key = {"--role": "role", "--host": "host", "--member": "name"}.get(option)
    if key is None:
        return NOTHING
    with suppress(FlagError), Fleet(url, timeout=_PATIENCE, create=False) as fleet:
        found = {str(each[key]) for each in fleet.members().values() if each.get(key)}
        return with_candidates(kept, typed, [Candidate(each, "") for each in sorted(found)])
    return NOTHING


def _names(url: str, end: str) -> list[Candidate]:
    with suppress(FlagError), Fleet(url, timeout=_PATIENCE, create=False) as fleet:
        names = {name for table in fleet.tables().values() for name in table}
        for each in fleet.members().values():
            names.update(each.get("values", {}))
        return [Candidate(name + end, "") for name in sorted(names)]
    return []
