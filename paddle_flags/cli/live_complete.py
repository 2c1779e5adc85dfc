"""Completion behind live: commands, options, processes, and flags of the process."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from paddle_flags._completion.answer import (
    NOTHING,
    Answer,
    Candidate,
    files,
    first_line,
    match,
    with_candidates,
)
from paddle_flags.cli.candidates import commands_of, options_of
from paddle_flags.cli.remote import in_order
from paddle_flags.errors import FlagError
from paddle_flags.live._client import Client, token_from
from paddle_flags.live._find import sockets

if TYPE_CHECKING:
    from paddle_flags.cli.parser import Parser

_PATIENCE = 0.5  # seconds: somebody waits at a prompt
_MOST = 20  # processes that are asked what they are
_WITH_NAMES = ("list", "get", "set", "watch", "diff")
_PAIRS = ("--expect",)
_NAMES = ("--unset", "--confirm")


def complete(parser: Parser, tokens: list[str], token: str) -> Answer:
    """Complete a token behind `live`."""
    first = tokens[0] if tokens else ""
    command = parser.commands.get(first)
    if not tokens and not token.startswith("-"):
        return match([*commands_of(parser), *_processes()], token)
    known = command or parser.commands["list"]
    before = tokens[1:] if command else tokens
    if before and known.takes_value(before[-1]):
        return _value(before[-1], "", token, _arguments(known, before[:-1]))
    option, equals, typed = token.partition("=")
    if token.startswith("-"):
        if equals and known.takes_value(option):
            return _value(option, option + equals, typed, _arguments(known, before))
        return match(options_of(known), token)
    return _argument(first if command else "list", _arguments(known, before), token)


def _arguments(parser: Parser, tokens: list[str]) -> list[str]:
    """Return the tokens that are no options."""
    ordered = in_order(parser, tokens)
    return ordered[ordered.index("--") + 1 :] if "--" in ordered else []


def _argument(command: str, before: list[str], token: str) -> Answer:
    """Complete a target, or what follows it."""
    targets = 2 if command in ("diff", "open") else 1
    if len(before) < targets:
        return files(token) if "/" in token else match(_processes(), token)
    if command not in _WITH_NAMES:
        return NOTHING
    flags = _flags(before[0])
    if command != "set":
        return match(_names(flags), token)
    name, equals, typed = token.partition("=")
    if equals:
        return _new_value(flags, name, typed)
    return match(_names([each for each in flags if each["settable"]], "="), token)


def _value(option: str, kept: str, typed: str, before: list[str]) -> Answer:
    """Complete the value of an option."""
    if option == "--token-file":
        return files(typed, kept)
    if not before or option not in (*_PAIRS, *_NAMES):
        return NOTHING
    return with_candidates(kept, typed, _names(_flags(before[0]), "=" * (option in _PAIRS)))


def _processes() -> list[Candidate]:
    """Return the PIDs of the processes that serve, each with its program."""
    found = []
    for path in sockets()[:_MOST]:
        with suppress(FlagError):
            process = Client(path, timeout=_PATIENCE).process()
            found.append(Candidate(str(process["pid"]), first_line(process["program"])))
    return found


def _flags(target: str) -> list[Any]:
    with suppress(FlagError):
        found = Client(target, token=token_from(None), timeout=_PATIENCE).flags()
        return [each for each in found["flags"] if "hidden" not in each.get("marks", ())]
    return []


def _names(flags: list[Any], end: str = "") -> list[Candidate]:
    return [Candidate(each["name"] + end, first_line(each.get("help", ""))) for each in flags]


def _new_value(flags: list[Any], name: str, typed: str) -> Answer:
    """Complete the value of NAME=."""
    flag = next((each for each in flags if each["name"] == name.replace("-", "_")), None)
    if flag is None:
        return NOTHING
    values = ["true", "false"] if flag["type"] == "bool" else flag.get("choices", [])
    return with_candidates(f"{name}=", typed, map(Candidate, values))
