"""What the commands of live and fleet share: names, patterns, and how they print."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from paddle_flags._report.facts import one_line
from paddle_flags.cli.output import print_text
from paddle_flags.errors import FlagArgumentError

if TYPE_CHECKING:
    from collections.abc import Collection

_WIDEST = 60  # letters of a value in a table


def plain(name: str) -> str:
    """Return a name with the dashes that the registry takes for underscores."""
    return name.replace("-", "_")


def matches(name: str, patterns: Collection[str]) -> bool:
    """Return whether a name is among the patterns; without any, each name is."""
    return not patterns or any(fnmatchcase(plain(name), plain(each)) for each in patterns)


def is_pattern(text: str) -> bool:
    """Return whether a text stands for more than one name."""
    return any(sign in text for sign in "*?[")


def pair(text: str, option: str = "") -> tuple[str, str]:
    """Return name and value of NAME=VALUE."""
    name, equals, value = text.partition("=")
    if name and equals:
        return name, value
    message = f"{option}{one_line(text) or repr(text)}: expected NAME=VALUE"
    raise FlagArgumentError(message)


def print_json(document: object) -> None:
    """Print a document for programs."""
    print_text(json.dumps(document, indent=2))


def cut(text: str) -> str:
    """Cut a text that is too long for a table."""
    return text if len(text) <= _WIDEST else text[: _WIDEST - 3] + "..."
