"""The normal form: what three YAML files say, as plain data with every default filled in.

All stages after `normal` and all other commands work on it. Two files that
mean the same have equal normal forms: comments, spelling of values and order of keys are
gone, the order of the flags stays. Where things stood in the files is kept beside the
data, in `at`, for messages; it doesn't count when normal forms are compared.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Union

from paddle_flags.extend import C_TYPES, MARK_MEANINGS

FILES = ("flags", "flags_compat", "flags_version")
FORMAT = 1  # of the files, and of what `gen --dump` writes


def _integer_range(name: str, member: str) -> tuple[int, int]:
    """Return the whole range of an integer type."""
    bits = int("".join(filter(str.isdigit, name)))
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if member == "i64" else (0, 2**bits - 1)


MEMBERS = {name: member for name, (_, member) in C_TYPES.items()}
INTEGERS = {
    name: _integer_range(name, member)
    for name, member in MEMBERS.items()
    if member in ("i64", "u64")
}
FLOATING = tuple(name for name, member in MEMBERS.items() if member == "f64")
NUMBERS = (*INTEGERS, *FLOATING)
TYPES = tuple(MEMBERS)
UNITS = ("bytes", "seconds")
ATTRIBUTES = tuple(sorted(MARK_MEANINGS))
CHANGES = ("default", "range", "choices", "type", "unit", "meaning")

Scalar = bool | int | float | str
Value = Union[Scalar, "list[Scalar]"]  # as the type says; a list where there are items


class Place(NamedTuple):
    """Where something stands in a file; line and column count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        """Return it as compilers print it."""
        return f"{self.file}:{self.line}:{self.column}"


Places = dict[str, Place]  # by field; "" for the thing itself; "choices.2" for an item


@dataclass
class Flag:
    """One flag of flags.yaml."""

    name: str
    type: str  # one of TYPES
    items: str | None  # of a string that is a comma list: the type of its items
    default: Value
    help: str
    min: int | float | None  # None: no bound but that of the type
    max: int | float | None
    choices: list[Scalar]  # of a list those of each item; none: all values
    unit: str | None  # one of UNITS
    category: str
    attributes: list[str]  # of ATTRIBUTES, sorted
    owner: str
    since: str  # a version, or ""
    at: Places = field(default_factory=dict, compare=False, repr=False)


@dataclass
class Import:
    """A flag of another module that this one reads."""

    name: str
    type: str
    default: Scalar  # until the flag is defined
    at: Places = field(default_factory=dict, compare=False, repr=False)


@dataclass
class Alias:
    """An alias: another name that works like the flag's own."""

    name: str
    flag: str
    at: Places = field(default_factory=dict, compare=False, repr=False)


@dataclass
class Renamed:
    """An old name, which still works and warns."""

    name: str
    flag: str  # the current name
    version: str
    at: Places = field(default_factory=dict, compare=False, repr=False)


@dataclass
class Retired:
    """A retired flag; values for it are ignored with a warning."""

    name: str
    type: str
    version: str
    replacement: str | None  # a flag
    reason: str
    at: Places = field(default_factory=dict, compare=False, repr=False)


@dataclass
class Deprecated:
    """A deprecated flag."""

    flag: str
    version: str
    replacement: str | None
    reason: str
    at: Places = field(default_factory=dict, compare=False, repr=False)


@dataclass
class Setting:
    """The value that an implication gives to a flag."""

    flag: str
    value: Value
    at: Places = field(default_factory=dict, compare=False, repr=False)


@dataclass
class Implication:
    """While `flag` has `value`, others have those of `sets`."""

    flag: str
    value: Value
    sets: list[Setting]
    at: Places = field(default_factory=dict, compare=False, repr=False)


@dataclass
class Change:
    """What changed about a flag in a version."""

    flag: str
    change: str  # one of CHANGES
    before: Any  # a Value; for a range [min, max] with None for no bound; None for a meaning
    after: Any
    note: str
    at: Places = field(default_factory=dict, compare=False, repr=False)


@dataclass
class Version:
    """One version of the set, with its changes."""

    version: str
    changes: list[Change]
    at: Places = field(default_factory=dict, compare=False, repr=False)


@dataclass
class FlagSet:
    """The whole set: flags.yaml, then flags_compat.yaml, then flags_version.yaml."""

    name: str  # of the generated files and of what is in them
    version: str  # the current one; "" where the set has no versions
    flags: list[Flag] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    aliases: list[Alias] = field(default_factory=list)
    renamed: list[Renamed] = field(default_factory=list)
    retired: list[Retired] = field(default_factory=list)
    deprecated: list[Deprecated] = field(default_factory=list)
    implies: list[Implication] = field(default_factory=list)
    versions: list[Version] = field(default_factory=list)
    at: Places = field(default_factory=dict, compare=False, repr=False)


def to_data(flags: FlagSet) -> dict[str, Any]:
    """Return a normal form as JSON: without places."""

    def without_places(fields: list[tuple[str, Any]]) -> dict[str, Any]:
        return {name: value for name, value in fields if name != "at"}

    return {"format": FORMAT, **dataclasses.asdict(flags, dict_factory=without_places)}


def to_json(flags: FlagSet) -> str:
    """Return a normal form as text: what `gen --dump` writes."""
    return json.dumps(to_data(flags), indent=2, ensure_ascii=False) + "\n"
