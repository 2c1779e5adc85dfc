"""Completion behind a verb: options, targets, and the flags of a target."""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from paddle_flags._completion.answer import (
    NOTHING,
    Answer,
    Candidate,
    offer_candidates,
    offer_files,
    offer_matches,
    short_description,
)
from paddle_flags._core.names import normalize_name
from paddle_flags.cli.completion import list_option_candidates
from paddle_flags.cli.resolve import resolve_target
from paddle_flags.cli.verbs import VERBS, put_options_first
from paddle_flags.errors import FlagError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paddle_flags.cli.parser import Parser

    Flags = list[Mapping[str, Any]]

_PATIENCE = 0.5  # seconds: somebody waits at a prompt
_WITH_NAMES = ("--unset", "--confirm", "--expect")
_CHOICES = {"--role": "role", "--host": "host", "--member": "name"}


def complete(parser: Parser, before: list[str], token: str) -> Answer:
    """Complete a token behind a verb, with what stands before it."""
    if before and parser.takes_value(before[-1]):
        return _complete_value(before[-1], "", token, _parse_so_far(parser, before[:-1]))
    options = _parse_so_far(parser, before)
    if token.startswith("-"):
        option, equals, typed = token.partition("=")
        if equals and parser.takes_value(option):
            return _complete_value(option, option + equals, typed, options)
        return offer_matches(list_option_candidates(parser), token)
    return _complete_argument(options, token)


def _complete_argument(options: argparse.Namespace, token: str) -> Answer:
    """Complete a target, or what follows it."""
    has_target = options.target is not None or options.attach is not None
    kind = VERBS[options.verb].argument_kind
    if kind == "TARGET" and (options.arguments or "://" in (options.target or "")):
        kind = "PATTERN"
    if not has_target or kind == "TARGET":
        return (
            offer_files(token) if "/" in token else offer_matches(_list_process_candidates(), token)
        )
    if kind == "NAME=VALUE":
        return _complete_assignment(_fetch_target_flags(options), token)
    return (
        offer_matches(_list_name_candidates(_fetch_target_flags(options)), token)
        if kind in ("NAME", "PATTERN")
        else NOTHING
    )


def _parse_so_far(parser: Parser, tokens: list[str]) -> argparse.Namespace:
    """Return what a line says so far; nothing is wrong with it yet."""
    options = argparse.Namespace(verb=parser.get_default("verb"), token_file=None)
    for action in parser.own_options.values():
        setattr(options, action.dest, action.default)
    ordered = put_options_first(parser, tokens)
    at = ordered.index("--") if "--" in ordered else len(ordered)
    for token in ordered[:at]:
        name, _, value = token.partition("=")
        if name in ("--attach", "--token-file"):
            setattr(options, parser.own_options[name].dest, value)
    options.arguments = ordered[at + 1 :]
    options.target = None
    if options.arguments and options.attach is None:
        options.target, *options.arguments = options.arguments
    return options


def _complete_value(option: str, prefix: str, typed: str, options: argparse.Namespace) -> Answer:
    """Complete the value of an option."""
    if option in ("--token-file", "--file"):
        return offer_files(typed, prefix)
    if option == "--attach":
        return offer_candidates(prefix, typed, _list_process_candidates())
    if option in _WITH_NAMES:
        names = _list_name_candidates(_fetch_target_flags(options), "=" * (option == "--expect"))
        return offer_candidates(prefix, typed, names)
    if option in _CHOICES:
        return offer_candidates(prefix, typed, _list_member_candidates(options, _CHOICES[option]))
    return NOTHING


def _list_process_candidates() -> list[Candidate]:
    """Return the PIDs of the processes that serve, each with its program, and the programs."""
    from paddle_flags.live._find import find_processes

    with suppress(FlagError):
        found = [each.process for each in find_processes() if each.process]
        programs = [each["program"] for each in found]
        pids = [Candidate(str(each["pid"]), short_description(each["program"])) for each in found]
        names = [Candidate(each["program"], f"pid {each['pid']}") for each in found]
        return pids + [each for each in names if programs.count(each.text) == 1]
    return []


def _fetch_target_flags(options: argparse.Namespace) -> Flags:
    """Return the flags of the target that the line names."""
    options.timeout = _PATIENCE
    with suppress(FlagError):
        if options.target is not None or options.attach is not None:
            return resolve_target(options).completion_candidates()
    return []


def _list_member_candidates(options: argparse.Namespace, key: str) -> list[Candidate]:
    """Return the roles, hosts or names of the members of a fleet."""
    from paddle_flags.fleet._fleet import Fleet

    with suppress(FlagError), Fleet(options.target, timeout=_PATIENCE, create=False) as fleet:
        found = {str(each[key]) for each in fleet.members().values() if each.get(key)}
        return [Candidate(each) for each in sorted(found)]
    return []


def _list_name_candidates(flags: Flags, end: str = "") -> list[Candidate]:
    return [
        Candidate(each["name"] + end, short_description(each.get("help", ""))) for each in flags
    ]


def _complete_assignment(flags: Flags, token: str) -> Answer:
    """Complete NAME=VALUE."""
    name, equals, typed = token.partition("=")
    if not equals:
        return offer_matches(
            _list_name_candidates([each for each in flags if each["settable"]], "="), token
        )
    flag = next((each for each in flags if each["name"] == normalize_name(name)), None)
    if flag is None:
        return NOTHING
    values = ["true", "false"] if flag.get("type") == "bool" else flag.get("choices", [])
    return offer_candidates(f"{name}=", typed, map(Candidate, values))
