"""What a command line is to change: names and values, with all that is wrong with them."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from paddle_flags._core.names import normalize_name
from paddle_flags._core.status import quote_value
from paddle_flags._input import files
from paddle_flags._input.reading import Reading
from paddle_flags.errors import FlagArgumentError, FlagError, FlagFileError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Collection, Iterable, Sequence


class Batch(NamedTuple):
    """Changes of one command, which happen together or not at all."""

    values: dict[str, str | None]
    """None takes back what was set."""
    expect: dict[str, str]
    revision: int | None
    """What `--expect` says if it isn't NAME=VALUE."""


def parse_change_batch(options: argparse.Namespace, *, by_revision: bool = False) -> Batch:
    """Return the changes on a command line; raise FlagArgumentError with all that is wrong."""
    problems: list[str] = []
    values: dict[str, str | None] = {}
    pairs = [] if options.file is None else _load_pairs(options.file)
    pairs += _parse_pairs(options.pairs, "", problems)
    _add_pairs(values, pairs, problems)
    _add_pairs(values, [(name, None) for name in options.unset], problems)
    # Of digits that fit an int64.
    numbers = [each for each in options.expect if by_revision and re.fullmatch("[0-9]{1,18}", each)]
    texts = [each for each in options.expect if each not in numbers]
    expect: dict[str, str] = {}
    _add_pairs(expect, _parse_pairs(texts, "--expect: ", problems), problems)
    if len(numbers) > 1:
        problems.append("--expect: expected one revision")
    if not values and not problems:
        problems.append("expected NAME=VALUE, --unset NAME or --file FILE")
    raise_together(FlagArgumentError, problems)
    return Batch(values, expect, int(numbers[0]) if numbers else None)


def _parse_pairs(texts: Iterable[str], option: str, problems: list[str]) -> list[tuple[str, str]]:
    """Return names and values of NAME=VALUE."""
    found = []
    for text in texts:
        name, equals, value = text.partition("=")
        if name and equals:
            found.append((name, value))
        else:
            problems.append(f"{option}{text or quote_value(text)}: expected NAME=VALUE")
    return found


def _add_pairs(
    found: dict[str, str] | dict[str, str | None],
    pairs: Iterable[tuple[str, str | None]],
    problems: list[str],
) -> None:
    known = {normalize_name(name) for name in found}
    for name, value in pairs:
        if normalize_name(name) in known:
            problems.append(f"{name}: is given twice")
        known.add(normalize_name(name))
        found[name] = value  # type: ignore[assignment]


def raise_together(kind: Callable[[str], FlagError], problems: Sequence[str]) -> None:
    """Raise an exception with all problems, if there are any."""
    if problems:
        error = kind(problems[0])
        error._errors = tuple(map(kind, problems))
        raise error


# ---- Names and values ----


def is_selected(name: str, patterns: Collection[str]) -> bool:
    """Return whether a name is among the patterns; without any, each name is."""
    return not patterns or any(
        fnmatchcase(normalize_name(name), normalize_name(each)) for each in patterns
    )


def is_pattern(text: str) -> bool:
    """Return whether a text stands for more than one name."""
    return any(sign in text for sign in "*?[")


def format_value_or_none(text: str | None) -> str:
    """Return the text of a value."""
    return "none" if text is None else text or '""'


# ---- Files ----


def _load_pairs(path: str) -> list[tuple[str, str]]:
    """Return names and values of a file."""
    if files.suffix_of(path) in files.FLAGFILES:
        return _load_flagfile(path)
    reading = files.read_config_file(path, Reading(path))
    raise_together(FlagFileError, reading.problems)
    return [(value.name, value.text) for value in reading.values]


def _load_flagfile(path: str) -> list[tuple[str, str]]:
    """Return the lines --NAME=VALUE of a flagfile; others are errors."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise FlagFileError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    found = []
    problems = []
    for number, line in enumerate(map(str.strip, lines), 1):
        name, equals, value = line.lstrip("-").partition("=")
        if line.startswith("-") and name and equals:
            found.append((name, value))
        elif line and not line.startswith("#"):
            problems.append(f"{path}:{number}: {line}: expected --NAME=VALUE")
    raise_together(FlagFileError, problems)
    return found
