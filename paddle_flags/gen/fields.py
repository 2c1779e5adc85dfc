"""The keys of the three files: models for the reader and for editors."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import Field

from paddle_flags.gen.kinds import Expect, Record, Schema, Value, read_record
from paddle_flags.gen.model import ATTRIBUTES, CHANGES, FILES, TYPES, UNITS
from paddle_flags.gen.problems import Problems, format_alternatives
from paddle_flags.gen.tree import MOST_ITEMS, Mapping

_NUMBER = "(0|[1-9][0-9]{0,8})"
_BOUNDS = "[smallest, largest], with null where there is no bound"


def _expect_word(words: tuple[str, ...]) -> Expect:
    return Expect(format_alternatives(words), words)


def _expect_text(expected: str) -> Expect:
    return Expect(expected, in_quotes=True)


Name = Annotated[
    str,
    Field(pattern="^[A-Za-z_][A-Za-z0-9_]{0,254}$"),
    _expect_text("a name of letters, digits and _ that begins with a letter or _"),
]
OtherName = Annotated[
    str,
    Field(pattern="^[A-Za-z_][A-Za-z0-9_.-]{0,254}$"),
    _expect_text("a name of letters, digits, _ . - that begins with a letter or _"),
]
Number = Annotated[
    str,
    Field(pattern=rf"^{_NUMBER}\.{_NUMBER}\.{_NUMBER}$"),
    _expect_text("a version such as 1.2.0"),
]
Words = Annotated[str, Field(pattern=r"\S"), _expect_text("text")]
Line = Annotated[str, Field(pattern=r"^[^\n]*\S[^\n]*$"), _expect_text("text on one line")]
Type = Annotated[str, _expect_word(TYPES)]
Plain = Annotated[Any, Value(), Expect("a bool, a number or text")]
ValueOrList = Annotated[list[Plain], Value(items=True), Expect("a value or a list of values")]
OrNull = Annotated[Any, Value(nothing=True), Expect("a bool, a number, text or null")]
Side = Annotated[
    list[OrNull], Value(nothing=True, items=True), Expect("a value or a list of values")
]


def _constrain_default_by_type(made: Schema) -> None:
    """Let an editor mark a default that is of another type."""
    number = {"type": ["number", "string"]}  # text: a quantity
    by_type: dict[str, Schema] = dict.fromkeys(TYPES, number)
    by_type |= {"bool": {"type": "boolean"}, "string": {"type": ["string", "array"]}}
    made["allOf"] = [
        {
            "if": {"properties": {"type": {"const": each}}, "required": ["type"]},
            "then": {"properties": {"default": wanted}},
        }
        for each, wanted in by_type.items()
    ]


class Flag(Record, title="a flag", json_schema_extra=_constrain_default_by_type):
    """A flag."""

    name: Name = Field(description="The name: FLAGS_<name> in C, --<name> on a command line.")
    type: Type = Field(description="The type of the values.")
    items: Type = Field(
        "", description="For a string that holds a comma-separated list: the type of an item."
    )
    default: ValueOrList = Field(description="The default value.")
    help: Words = Field(description="What the flag is for.")
    range: Annotated[
        list[Annotated[Any, Value(nothing=True), Expect("a number or null")]],
        Field(min_length=2, max_length=2),
        Expect(_BOUNDS),
    ] = Field([], description=f"For a number: {_BOUNDS}.")
    choices: Annotated[
        list[Plain], Field(min_length=1), Expect("a list of values", unique=True)
    ] = Field([], description="The allowed values; for a list, the allowed items.")
    unit: Annotated[str, _expect_word(UNITS)] = Field(
        "", description="For a number: its text may be a quantity such as 64MiB or 1m30s."
    )
    category: Line = Field("", description="The heading in lists and help.")
    attributes: Annotated[
        list[Annotated[str, _expect_word(ATTRIBUTES)]], Expect("a list of attributes", unique=True)
    ] = Field([], description="Further properties.")
    owner: Line = Field(
        "", description="Who is responsible for the flag; shown in the reference only."
    )
    since: Number = Field("", description="The version that introduced it.")


class Import(Record, title="an import", json_schema_extra=_constrain_default_by_type):
    """An import."""

    name: Name = Field(description="The flag of another module.")
    type: Type = Field(description="The type of the values.")
    default: Plain = Field(description="The value until that module is loaded.")


class Alias(Record, title="an alias"):
    """An alias."""

    flag: Name = Field(description="The flag.")
    names: Annotated[
        list[OtherName], Field(min_length=1), Expect("a list of names", unique=True)
    ] = Field(description="Other names of the flag.")


class Renamed(Record, title="an old name"):
    """An old name."""

    name: OtherName = Field(alias="from", description="The old name, which still works and warns.")
    flag: Name = Field(alias="to", description="The current name of the flag.")
    version: Number = Field(description="The version that renamed it.")


class Retired(Record, title="a retired flag"):
    """A retired flag."""

    name: Name = Field(description="The retired flag; values for it are ignored with a warning.")
    type: Type = Field(description="The type of the values.")
    version: Number = Field(description="The version that removed it.")
    reason: Line = Field(description="Why it was removed.")
    replacement: Name = Field("", description="The flag to use instead.")


class Deprecated(Record, title="a deprecated flag"):
    """A deprecated flag."""

    flag: Name = Field(description="The deprecated flag.")
    version: Number = Field(description="The version that deprecated it.")
    reason: Line = Field(description="Why.")
    replacement: Name = Field("", description="The flag to use instead.")


class Implies(Record, title="an implication"):
    """An implication."""

    flag: Name = Field(description="The flag that implies values of other flags.")
    value: ValueOrList = Field(description="The value of the flag that triggers the implication.")
    sets: Annotated[
        dict[Name, ValueOrList], Field(min_length=1), Expect("a mapping of flags to values")
    ] = Field(
        description="The values that other flags have while the flag has this value.",
        json_schema_extra={"additionalProperties": False},
    )


class Change(Record, title="a change"):
    """A change."""

    flag: Name = Field(description="The flag that changed.")
    change: Annotated[str, _expect_word(CHANGES)] = Field(description="What kind of change it is.")
    before: Side = Field([], alias="from", description="The old value.")
    after: Side = Field([], alias="to", description="The new value.")
    note: Words = Field("", description="What users need to know.")


class VersionChanges(Record, title="a version"):
    """A version."""

    version: Number = Field(description="The version.")
    changes: Annotated[list[Change], Field(min_length=1), Expect("a list of changes")] = Field(
        description="What changed."
    )


_MOST = Field(max_length=MOST_ITEMS)


class Flags(Record, title="a file of flags"):
    """A file of flags."""

    name: Name = Field(description="The name of the set, and of the generated files.")
    version: Number = Field("", description="The current version of the set.")
    flags: Annotated[list[Flag], _MOST, Expect("a list of flags")] = Field(
        description="The flags, in the order in which help lists them."
    )
    imports: Annotated[list[Import], _MOST, Expect("a list of imports")] = Field(
        [], description="Flags of other modules that this one reads."
    )


class Compat(Record, title="a file of compatibility"):
    """A file of compatibility."""

    aliases: Annotated[list[Alias], _MOST, Expect("a list of aliases")] = Field(
        [], description="Other names of flags."
    )
    renamed: Annotated[list[Renamed], _MOST, Expect("a list of renamed flags")] = Field(
        [], description="Old names of flags."
    )
    retired: Annotated[list[Retired], _MOST, Expect("a list of retired flags")] = Field(
        [], description="Retired flags."
    )
    deprecated: Annotated[list[Deprecated], _MOST, Expect("a list of deprecated flags")] = Field(
        [], description="Deprecated flags."
    )
    implies: Annotated[list[Implies], _MOST, Expect("a list of implications")] = Field(
        [], description="Flags that set other flags."
    )


class Versions(Record, title="a file of versions"):
    """A file of versions."""

    versions: Annotated[list[VersionChanges], _MOST, Expect("a list of versions")] = Field(
        description="The versions, oldest first."
    )


_MODELS: dict[str, type[Record]] = dict(zip(FILES, (Flags, Compat, Versions)))


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of one of model.FILES."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{name}.yaml of paddle_flags",
        **_MODELS[name].model_json_schema(),
    }


def schema_text(name: str) -> str:
    """Return the JSON Schema of one of model.FILES as text."""
    return json.dumps(schema(name), indent=1) + "\n"


def read_file_record(name: str, tree: Mapping, problems: Problems) -> Any:
    """Return the record that one of model.FILES holds, or None if problems were reported."""
    return read_record(_MODELS[name], tree, problems)
