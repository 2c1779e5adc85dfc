"""The command live diff: the flags that two processes don't have in common."""

from __future__ import annotations

import json
import os
import stat
import sys
from typing import TYPE_CHECKING, Any

from paddle_flags._report.facts import one_line
from paddle_flags._report.table import table
from paddle_flags.cli.live_common import check_names, client_of, is_sensitive, value_of
from paddle_flags.cli.output import print_error, print_text
from paddle_flags.cli.remote_common import matches, print_json
from paddle_flags.errors import FlagFileError
from paddle_flags.live._documents import check_flags
from paddle_flags.live._errors import LiveError

if TYPE_CHECKING:
    import argparse

_SIDES = ("a", "b")


def run(options: argparse.Namespace) -> int:
    """Print the flags that differ; return 1 if there are any, as diff does."""
    documents = [_read(target, options) for target in (options.target, options.other)]
    sides = [{flag["name"]: flag for flag in document["flags"]} for document in documents]
    check_names(options.patterns, [*sides[0].values(), *sides[1].values()])
    names = [name for name in {**sides[0], **sides[1]} if matches(name, options.patterns)]
    pairs = {name: (sides[0].get(name), sides[1].get(name)) for name in names}
    sensitive = [name for name, both in pairs.items() if _is_secret(*both)]
    different = {
        name: both
        for name, both in pairs.items()
        if name not in sensitive and _text(both[0]) != _text(both[1])
    }
    if options.json:
        _print_json(documents, different, sensitive)
    elif different:
        print_text(_table(different, [options.target, options.other]))
    if sensitive and not options.json:
        print_error(f"not compared, as they are sensitive: {one_line(', '.join(sensitive))}")
    return 1 if different else 0


def _is_secret(a: dict[str, Any] | None, b: dict[str, Any] | None) -> bool:
    """Return whether both have the flag, and its values aren't known."""
    return a is not None and b is not None and (is_sensitive(a) or is_sensitive(b))


def _text(flag: dict[str, Any] | None) -> object:
    """Return what is compared: the exact text, or that there is none."""
    if flag is None:
        return None
    return (flag.get("text"), flag.get("value") is None)


def _read(target: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return the flags of a process, or those in a file."""
    if target == "-" or _is_file(target):
        return _load(target)
    client = client_of(options, target)
    return {"process": client.process(), **client.flags()}


def _is_file(target: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(target).st_mode) and not target.isdigit()
    except (OSError, ValueError):
        return False


def _load(path: str) -> dict[str, Any]:
    try:
        if path == "-":
            document = json.load(sys.stdin)
        else:
            with open(path, encoding="utf-8") as file:
                document = json.load(file)
        return dict(check_flags(document))
    except OSError as error:
        message = f"{path}: {error.strerror}"
        raise FlagFileError(message) from None
    except (ValueError, RecursionError, LiveError):
        message = f"{path}: expected what 'live list --json' writes"
        raise FlagFileError(message) from None


def _table(different: dict[str, Any], targets: list[str]) -> str:
    rows: list[tuple[str, ...]] = []
    for name, both in different.items():
        row = [one_line(name)]
        for flag in both:
            row += ["", "not defined"] if flag is None else [value_of(flag), _origin(flag)]
        rows.append(tuple(row))
    a, b = map(one_line, targets)
    return table(("flag", a, "source", b, "source"), rows)


def _origin(flag: dict[str, Any]) -> str:
    place = f", {flag['place']}" if flag.get("place") else ""
    return one_line(flag["source"] + place)


def _print_json(
    documents: list[dict[str, Any]], different: dict[str, Any], sensitive: list[str]
) -> None:
    keys = ("value", "text", "source", "place")
    listed = [
        {
            "name": name,
            **{
                side: None if flag is None else {key: flag[key] for key in keys if key in flag}
                for side, flag in zip(_SIDES, both)
            },
        }
        for name, both in different.items()
    ]
    processes = {side: each.get("process") for side, each in zip(_SIDES, documents)}
    print_json({**processes, "different": listed, "sensitive": sensitive})
