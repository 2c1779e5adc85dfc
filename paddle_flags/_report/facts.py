"""The parts of reports about a flag, as text."""

from __future__ import annotations

import math
import os
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar, Union

from paddle_flags._core.flag_definition import read_bound, split_bar_separated
from paddle_flags._core.header import MARKS
from paddle_flags._core.lists import number_text
from paddle_flags._core.registry import all_flags, for_each
from paddle_flags._core.status import to_text
from paddle_flags._core.values import (
    REDACTED,
    decode_native_value,
    format_argument,
    get_native_kind,
    to_native,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from paddle_flags._core.flag import Flag

T = TypeVar("T")


class FlagSnapshot:
    """The properties of a flag that reports use, at one moment: C is asked once for all."""

    def __init__(self, flag: Flag[Any]) -> None:
        info = flag._read_info()
        kind = get_native_kind(info)
        self.flag = flag
        self.name = flag.name
        self.type = kind.name
        self.items = kind.item.name if kind.item else None
        self.default = None if info.optional else decode_native_value(kind, info.default_value)
        self.min = read_bound(kind, info.min, kind.smallest)
        self.max = read_bound(kind, info.max, kind.largest)
        self.metavar = to_text(info.metavar) or None
        self.unit = to_text(info.unit) or None
        self.choices = split_bar_separated(info.choices) or None
        self.help = to_text(info.help)
        self.category = to_text(info.category)
        self.aliases = split_bar_separated(info.aliases)
        self.deprecated = to_text(info.deprecated) or None
        self.retired = to_text(info.retired) or None
        self.module = to_text(info.module)
        self.hidden = bool(info.hidden)
        self.sensitive = bool(info.sensitive)
        marks = [words for mark, words in MARKS.items() if getattr(info, mark)]
        self.marks = sorted(marks, key=lambda words: words != "required")
        """The names of the marks that are set, the most important first."""

    @property
    def type_text(self) -> str:
        """The type with its items and unit."""
        kind = f"list of {self.items}" if self.items else self.type
        return f"{kind}, {self.unit}" if self.unit else kind

    @property
    def option_names(self) -> list[str]:
        """The names as options, those of one letter first."""
        letters = [name for name in (self.name, *self.aliases) if len(name) == 1]
        own = [self.name] if len(self.name) > 1 else []
        no = "[no]" if self.type == "bool" else ""
        return [f"-{name}" for name in letters] + [f"--{no}{name}" for name in own]

    @property
    def placeholder(self) -> str:
        """What stands for the value behind a name: "INT32"; "" where a value isn't needed."""
        if self.type == "bool" or "count" in self.marks:
            return ""
        if self.metavar:
            return self.metavar
        item = (self.unit or self.items or self.type).upper()
        choices = self.choices
        if choices and len("|".join(choices)) <= _WIDEST_CHOICES:
            item = "{" + ",".join(choices) + "}"
        return item + (",..." if self.items else "")

    @property
    def range_text(self) -> str:
        """The range as text, or ""."""
        if self.min is not None and self.max is not None:
            return f"{_quantity_text(self.min, self.unit)} to {_quantity_text(self.max, self.unit)}"
        if self.min is not None:
            return f"at least {_quantity_text(self.min, self.unit)}"
        return f"at most {_quantity_text(self.max, self.unit)}" if self.max is not None else ""

    @property
    def notes(self) -> list[str]:
        """The notes in brackets behind the help, except the values."""
        found = [
            mark
            for mark in self.marks
            if mark not in ("hidden", "sensitive", "optional", "multi", "count")
        ]
        choices = self.choices
        if choices and not self.placeholder.startswith("{"):
            found.append("one of: " + ", ".join(choice or '""' for choice in choices))
        found += [self.range_text] * bool(self.range_text)
        others = [f"--{alias}" for alias in self.aliases if len(alias) > 1]
        found += [f"also: {', '.join(others)}"] * bool(others)
        found += [f"deprecated: {self.deprecated}"] * bool(self.deprecated)
        return found

    @property
    def heading(self) -> str:
        """The heading that the flag stands under."""
        module = escape_controls(os.path.basename(self.module)) or "other"
        return f"{module}, {escape_controls(self.category)}" if self.category else module


Described = Union["Flag[Any]", FlagSnapshot]

_WIDEST_CHOICES = 30  # that stand in the place of a value


def escape_controls(text: str) -> str:
    """Return text as it can stand in a line: control and stray bytes escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _bytes_text(value: int) -> str:
    for power, name in enumerate(("EiB", "PiB", "TiB", "GiB", "MiB", "KiB")):
        size = 1 << 10 * (6 - power)
        if value >= size and value % (size // 4) == 0:
            quarters = ("", ".25", ".5", ".75")
            return f"{value // size}{quarters[value % size * 4 // size]}{name}"
    return str(value)


def _seconds_text(value: int, fraction: str = "") -> str:
    """Give whole seconds, with the digits of a fraction behind its point."""
    parts = []
    for size, name in ((86400, "d"), (3600, "h"), (60, "m")):
        parts += [f"{value // size}{name}"] * (value >= size)
        value %= size
    last = f"{value}{fraction}s" if value or fraction else ""
    return "".join(parts) + last or "0"


def _fractional_seconds_text(value: float) -> str:
    """Give seconds that aren't whole, with the digits of the plain number."""
    digits = Decimal(number_text(value))
    if value >= 1:
        return _seconds_text(int(digits), f"{digits % 1:f}"[1:])
    for power, name in enumerate(("ms", "us", "ns"), start=1):
        part = digits.scaleb(3 * power)
        if part >= 1:
            return f"{part:f}{name}"
    return number_text(value)


_MOST_WHOLE = 9e15  # a greater float has more digits before the point than people read


def _quantity_text(value: float, unit: str | None) -> str:
    """Write a number with its unit, as C's help does: 64MiB, 1m30.5s."""
    real = isinstance(value, float)
    if unit not in ("bytes", "seconds") or (real and not abs(value) < _MOST_WHOLE):
        return number_text(value)
    sign = "-" * (math.copysign(1, value) < 0)
    if int(value) != value:
        return (
            sign + _fractional_seconds_text(abs(value)) if unit == "seconds" else number_text(value)
        )
    return sign + (_bytes_text if unit == "bytes" else _seconds_text)(abs(int(value)))


def format_value(flag: Described, value: Any) -> str:
    """Return a value of the flag, or one of C, for people, on one line."""
    if flag.sensitive:
        return REDACTED
    if value is not None and not isinstance(flag, FlagSnapshot):
        value = to_native(flag, value)
    return format_native_value(value, flag.unit)


def format_native_value(value: Any, unit: str | None = None) -> str:
    """Return a value as C has it for people, on one line."""
    if value is None:
        return "none"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _quantity_text(value, unit)
    return escape_controls(format_argument(value)) or '""'


def group_by_heading(flags: Iterable[FlagSnapshot], program: str) -> dict[str, list[FlagSnapshot]]:
    """Group flags by module and category, as the help written in C does.

    The program's own flags come first, and in a module those without a category.
    """
    modules: dict[str, dict[str, list[FlagSnapshot]]] = {}
    for flag in sorted(flags, key=lambda flag: os.path.basename(flag.module) != program):
        modules.setdefault(flag.module, {"": []}).setdefault(flag.category, []).append(flag)
    found: dict[str, list[FlagSnapshot]] = {}
    for categories in modules.values():
        for members in categories.values():
            if members:
                found.setdefault(members[0].heading, []).extend(members)
    return found


def listed_flags(*, hidden: bool) -> list[FlagSnapshot]:
    """Return the flags that listings show."""
    flags = for_each(all_flags(), FlagSnapshot)
    return [flag for flag in flags if (hidden or not flag.hidden) and not flag.retired]
