"""The parts of reports about a flag, as text."""

from __future__ import annotations

import math
import os
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar, Union

from paddle_flags._core.flag import Flag, bound, names_in
from paddle_flags._core.header import MARKS
from paddle_flags._core.lists import encode
from paddle_flags._core.registry import all_flags, for_each
from paddle_flags._core.status import to_text
from paddle_flags._core.values import REDACTED, from_c, kind_of, native

if TYPE_CHECKING:
    from collections.abc import Iterable

T = TypeVar("T")


class Snapshot:
    """The properties of a flag that reports use, at one moment: C is asked once for all."""

    def __init__(self, flag: Flag[Any]) -> None:
        info = flag._info()
        kind = kind_of(info)
        self.flag = flag
        self.name = flag.name
        self.type = kind.name
        self.items = kind.item.name if kind.item else None
        self.default = None if info.optional else from_c(kind, info.default_value)
        self.min = bound(kind, info.min, kind.smallest)
        self.max = bound(kind, info.max, kind.largest)
        self.metavar = to_text(info.metavar) or None
        self.unit = to_text(info.unit) or None
        self.choices = names_in(info.choices) or None
        self.help = to_text(info.help)
        self.category = to_text(info.category)
        self.aliases = names_in(info.aliases)
        self.deprecated = to_text(info.deprecated) or None
        self.retired = to_text(info.retired) or None
        self.module = to_text(info.module)
        self.hidden = bool(info.hidden)
        self.sensitive = bool(info.sensitive)
        self.marks = [words for mark, words in MARKS.items() if getattr(info, mark)]


Described = Union["Flag[Any]", Snapshot]

_WIDEST_CHOICES = 30  # that stand in the place of a value


def one_line(text: str) -> str:
    """Return text as it can stand in a line: control and stray bytes escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _number(value: float) -> str:
    """Return a number as C writes it, of as few digits as read back equal."""
    if isinstance(value, int):
        return str(value)
    texts = (f"{value:.{digits}g}" for digits in (15, 16, 17))
    return next((text for text in texts if float(text) == value), "nan")


def argument_text(value: Any) -> str:
    """Return a value as text that a command line reads."""
    if isinstance(value, tuple):
        return encode(value)
    if isinstance(value, bool):
        return str(value).lower()
    return _number(value) if isinstance(value, (int, float)) else str(value)


def _bytes(value: int) -> str:
    for power, name in enumerate(("EiB", "PiB", "TiB", "GiB", "MiB", "KiB")):
        size = 1 << 10 * (6 - power)
        if value >= size and value % (size // 4) == 0:
            quarters = ("", ".25", ".5", ".75")
            return f"{value // size}{quarters[value % size * 4 // size]}{name}"
    return str(value)


def _seconds(value: int, fraction: str = "") -> str:
    """Give whole seconds, with the digits of a fraction behind its point."""
    parts = []
    for size, name in ((86400, "d"), (3600, "h"), (60, "m")):
        parts += [f"{value // size}{name}"] * (value >= size)
        value %= size
    last = f"{value}{fraction}s" if value or fraction else ""
    return "".join(parts) + last or "0"


def _fraction(value: float) -> str:
    """Give seconds that aren't whole, with the digits of the plain number."""
    digits = Decimal(_number(value))
    if value >= 1:
        return _seconds(int(digits), f"{digits % 1:f}"[1:])
    for power, name in enumerate(("ms", "us", "ns"), start=1):
        part = digits.scaleb(3 * power)
        if part >= 1:
            return f"{part:f}{name}"
    return _number(value)


_MOST_WHOLE = 9e15  # a greater float has more digits before the point than people read


def _quantity(value: float, unit: str | None) -> str:
    """Write a number with its unit, as C's help does: 64MiB, 1m30.5s."""
    real = isinstance(value, float)
    if unit not in ("bytes", "seconds") or (real and not abs(value) < _MOST_WHOLE):
        return _number(value)
    sign = "-" * (math.copysign(1, value) < 0)
    if int(value) != value:
        return sign + _fraction(abs(value)) if unit == "seconds" else _number(value)
    return sign + (_bytes if unit == "bytes" else _seconds)(abs(int(value)))


def value_text(flag: Described, value: Any) -> str:
    """Return a value of the flag, or one of C, for people, on one line."""
    if flag.sensitive:
        return REDACTED
    if value is not None and not isinstance(flag, Snapshot):
        value = native(flag, value)
    return plain_text(value, flag.unit)


def plain_text(value: Any, unit: str | None = None) -> str:
    """Return a value as C has it for people, on one line."""
    if value is None:
        return "none"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _quantity(value, unit)
    return one_line(argument_text(value)) or '""'


def type_of(flag: Described) -> str:
    """Return the type as text, with items and unit."""
    kind = f"list of {flag.items}" if flag.items else flag.type
    return f"{kind}, {flag.unit}" if flag.unit else kind


def names(flag: Described) -> list[str]:
    """Return the names that stand before the help, those of one letter first."""
    letters = [name for name in (flag.name, *flag.aliases) if len(name) == 1]
    own = [flag.name] if len(flag.name) > 1 else []
    no = "[no]" if flag.type == "bool" else ""
    return [f"-{name}" for name in letters] + [f"--{no}{name}" for name in own]


def holder(flag: Described) -> str:
    """Return what stands for the value behind a name: "INT32"; nothing where none is needed."""
    if flag.type == "bool" or "count" in marks(flag):
        return ""
    if flag.metavar:
        return flag.metavar
    item = (flag.unit or flag.items or flag.type).upper()
    choices = flag.choices
    if choices and len("|".join(choices)) <= _WIDEST_CHOICES:
        item = "{" + ",".join(choices) + "}"
    return item + (",..." if flag.items else "")


def limits(flag: Described) -> str:
    """Return the range as text, or ""."""
    if flag.min is not None and flag.max is not None:
        return f"{_quantity(flag.min, flag.unit)} to {_quantity(flag.max, flag.unit)}"
    if flag.min is not None:
        return f"at least {_quantity(flag.min, flag.unit)}"
    return f"at most {_quantity(flag.max, flag.unit)}" if flag.max is not None else ""


def marks(flag: Described) -> list[str]:
    """Return the names of the marks that are set, the most important first."""
    if isinstance(flag, Snapshot):
        found = flag.marks
    else:
        found = [words for mark, words in MARKS.items() if getattr(flag, mark)]
    return sorted(found, key=lambda words: words != "required")


def notes(flag: Described) -> list[str]:
    """Return the notes in brackets behind the help, except the values."""
    found = [
        mark
        for mark in marks(flag)
        if mark not in ("hidden", "sensitive", "optional", "multi", "count")
    ]
    choices = flag.choices
    if choices and not holder(flag).startswith("{"):
        found.append("one of: " + ", ".join(choice or '""' for choice in choices))
    found += [limits(flag)] * bool(limits(flag))
    others = [f"--{alias}" for alias in flag.aliases if len(alias) > 1]
    found += [f"also: {', '.join(others)}"] * bool(others)
    found += [f"deprecated: {flag.deprecated}"] * bool(flag.deprecated)
    return found


def heading(flag: Described) -> str:
    """Return the heading that a flag stands under."""
    module = one_line(os.path.basename(flag.module)) or "other"
    return f"{module}, {one_line(flag.category)}" if flag.category else module


def groups(flags: Iterable[Snapshot], program: str) -> dict[str, list[Snapshot]]:
    """Group flags by module and category, as the help written in C does.

    The program's own flags come first, and in a module those without a category.
    """
    modules: dict[str, dict[str, list[Snapshot]]] = {}
    for flag in sorted(flags, key=lambda flag: os.path.basename(flag.module) != program):
        modules.setdefault(flag.module, {"": []}).setdefault(flag.category, []).append(flag)
    found: dict[str, list[Snapshot]] = {}
    for categories in modules.values():
        for members in categories.values():
            if members:
                found.setdefault(heading(members[0]), []).extend(members)
    return found


def listed(*, hidden: bool) -> list[Snapshot]:
    """Return the flags that listings show."""
    flags = for_each(all_flags(), Snapshot)
    return [flag for flag in flags if (hidden or not flag.hidden) and not flag.retired]
