"""Flags as other parsers offer them: spellings and help of an option."""

from __future__ import annotations

import os
import sys
from _collections_abc import Iterable  # as collections.abc, without what that imports
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from paddle_flags import FLAGS
from paddle_flags.errors import FlagTypeError
from paddle_flags.extend import FlagSnapshot, for_each, format_value, group_by_heading, quote_value

if TYPE_CHECKING:
    Only = str | Iterable[str] | None


class Option:
    """A flag, and what stands for it on a command line."""

    def __init__(self, flag: FlagSnapshot) -> None:
        self.flag = flag
        self.hidden = flag.hidden or flag.retired is not None
        self.is_bool = flag.type == "bool"
        self.counts = "count" in flag.marks
        self.metavar = flag.placeholder
        names = [flag.name, *flag.aliases, *flag.flag.old_names]
        self.letters = [f"-{name}" for name in names if len(name) == 1]
        self.name = f"--{flag.name}"
        self.no = f"--no{flag.name}" if self.is_bool else ""
        words = [word for name in names for word in _spellings(name)]
        self.others = [f"--{word}" for word in words if f"--{word}" != self.name]
        denials = [f"--no{dash}{word}" for word in words for dash in ("", "-")] * self.is_bool
        self.other_denials = [word for word in denials if word != self.no]
        spellings = (self.letters, self.name, self.no, self.others, self.other_denials)
        self.form = (spellings, flag.module, flag.category)  # what options are made by

    @property
    def help(self) -> str:
        """The help with notes in brackets, as that of `parse` has it."""
        flag = self.flag
        notes = flag.notes
        if "required" not in notes:
            notes.append(f"default: {format_value(flag, flag.default)}")
        return " ".join([flag.help, *(f"[{note}]" for note in notes)]).strip()

    def text_of_value(self, spelling: str, value: str | None) -> str | None:
        """Return the text of a value that was given behind a spelling of the option.

        None: it has none, and counts.
        """
        if self.counts:
            return None
        if not self.is_bool or value is not None:
            return value or ""
        return "false" if spelling == self.no or spelling in self.other_denials else "true"


def _spellings(name: str) -> list[str]:
    """Return a name of more than one letter as it may be written: with _ or with -."""
    if len(name) == 1:
        return []
    return list(dict.fromkeys([name, name.replace("_", "-")]))


def list_options(wanted: list[str] | None) -> dict[str, list[Option]]:
    """Return the flags under the headings of help: all, or those that a pattern matches."""
    flags = [
        flag
        for flag in for_each(FLAGS.values(), FlagSnapshot)
        if wanted is None or any(fnmatchcase(flag.name, pattern) for pattern in wanted)
    ]
    program = os.path.basename(sys.argv[0]) if sys.argv else ""
    grouped = group_by_heading(flags, program)
    return {heading: [Option(flag) for flag in flags] for heading, flags in grouped.items()}


def check_patterns(only: Only) -> list[str] | None:
    """Return patterns of names, or None for all.

    Raises UndefinedFlagError for a name without a wildcard that no flag has.
    """
    if only is None:
        return None
    if not isinstance(only, Iterable):
        message = f"only: {quote_value(only)}: expected names of flags, not {type(only).__name__}"
        raise FlagTypeError(message)
    names = [only] if isinstance(only, str) else list(only)
    return [_check_pattern(name) for name in names]


def _check_pattern(name: str) -> str:
    if not isinstance(name, str):
        raise FlagTypeError(
            f"only: {quote_value(name)}: expected the name of a flag, not {type(name).__name__}"
        )
    return name if any(character in name for character in "*?[") else FLAGS[name].name
