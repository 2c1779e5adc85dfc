"""The keys of the three files: one table for the reader and for editors."""

from __future__ import annotations

import json
from typing import Any

from paddle_flags.gen.kinds import (
    Either,
    Field,
    Items,
    Kind,
    Named,
    Needed,
    Record,
    Schema,
    Text,
    Value,
    Word,
)
from paddle_flags.gen.model import ATTRIBUTES, CHANGES, TYPES, UNITS
from paddle_flags.gen.tree import MOST_ITEMS

_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]{0,254}"
_NAME = Text("a name of letters, digits and _ that begins with a letter or _", _IDENTIFIER)
_OTHER_NAME = Text(
    "a name of letters, digits, _ . - that begins with a letter or _",
    "[A-Za-z_][A-Za-z0-9_.-]{0,254}",
)
_NUMBER = "(0|[1-9][0-9]{0,8})"
_VERSION = Text("a version such as 1.2.0", rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}")
_WORDS = Text("text")
_LINE = Text("text on one line", r"[^\n]*\S[^\n]*")
_ANY = Value()
_LIST = Items(_ANY, "a list of values")
_ANY_OR_LIST = Either(Value("a value or a list of values"), _LIST)
_BOUNDS = "[smallest, largest], with null where there is no bound"
_RANGE = Items(Value("a number or null", nothing=True), _BOUNDS, least=2, most=2)


def _types_of_defaults() -> Schema:
    """Let an editor mark a default that is of another type."""
    number = {"type": ["number", "string"]}  # text: a quantity
    by_type: dict[str, Schema] = dict.fromkeys(TYPES, number)
    by_type |= {"bool": {"type": "boolean"}, "string": {"type": ["string", "array"]}}
    return {
        "allOf": [
            {
                "if": {"properties": {"type": {"const": each}}, "required": ["type"]},
                "then": {"properties": {"default": wanted}},
            }
            for each, wanted in by_type.items()
        ]
    }


_FLAG = Record(
    "a flag",
    {
        "name": Needed(_NAME, "The name: FLAGS_<name> in C, --<name> on a command line."),
        "type": Needed(Word(TYPES), "The type of the values."),
        "items": Field(
            Word(TYPES), "For a string that holds a comma-separated list: the type of an item."
        ),
        "default": Needed(_ANY_OR_LIST, "The default value."),
        "help": Needed(_WORDS, "What the flag is for."),
        "range": Field(_RANGE, f"For a number: {_BOUNDS}."),
        "choices": Field(
            Items(_ANY, "a list of values", least=1, unique=True),
            "The allowed values; for a list, the allowed items.",
        ),
        "unit": Field(
            Word(UNITS), "For a number: its text may be a quantity such as 64MiB or 1m30s."
        ),
        "category": Field(_LINE, "The heading in lists and help."),
        "attributes": Field(
            Items(Word(ATTRIBUTES), "a list of attributes", unique=True), "Further properties."
        ),
        "owner": Field(_LINE, "Who is responsible for the flag; shown in the reference only."),
        "since": Field(_VERSION, "The version that introduced it."),
    },
    extra=_types_of_defaults(),
)

_IMPORT = Record(
    "an import",
    {
        "name": Needed(_NAME, "The flag of another module."),
        "type": Needed(Word(TYPES), "The type of the values."),
        "default": Needed(_ANY, "The value until that module is loaded."),
    },
    extra=_types_of_defaults(),
)

_ALIAS = Record(
    "an alias",
    {
        "flag": Needed(_NAME, "The flag."),
        "names": Needed(
            Items(_OTHER_NAME, "a list of names", least=1, unique=True), "Other names of the flag."
        ),
    },
)

_RENAMED = Record(
    "an old name",
    {
        "from": Needed(_OTHER_NAME, "The old name, which still works and warns."),
        "to": Needed(_NAME, "The current name of the flag."),
        "version": Needed(_VERSION, "The version that renamed it."),
    },
)

_RETIRED = Record(
    "a retired flag",
    {
        "name": Needed(_NAME, "The retired flag; values for it are ignored with a warning."),
        "type": Needed(Word(TYPES), "The type of the values."),
        "version": Needed(_VERSION, "The version that removed it."),
        "reason": Needed(_LINE, "Why it was removed."),
        "replacement": Field(_NAME, "The flag to use instead."),
    },
)

_DEPRECATED = Record(
    "a deprecated flag",
    {
        "flag": Needed(_NAME, "The deprecated flag."),
        "version": Needed(_VERSION, "The version that deprecated it."),
        "reason": Needed(_LINE, "Why."),
        "replacement": Field(_NAME, "The flag to use instead."),
    },
)

_IMPLIES = Record(
    "an implication",
    {
        "flag": Needed(_NAME, "The flag that implies values of other flags."),
        "value": Needed(_ANY_OR_LIST, "The value of the flag that triggers the implication."),
        "sets": Needed(
            Named(_NAME, _ANY_OR_LIST, "a mapping of flags to values"),
            "The values that other flags have while the flag has this value.",
        ),
    },
)

_CHANGE = Record(
    "a change",
    {
        "flag": Needed(_NAME, "The flag that changed."),
        "change": Needed(Word(CHANGES), "What kind of change it is."),
        "from": Field(
            Either(Value(nothing=True), Items(Value(nothing=True), "a list")), "The old value."
        ),
        "to": Field(
            Either(Value(nothing=True), Items(Value(nothing=True), "a list")), "The new value."
        ),
        "note": Field(_WORDS, "What users need to know."),
    },
)

_VERSIONS = Record(
    "a version",
    {
        "version": Needed(_VERSION, "The version."),
        "changes": Needed(Items(_CHANGE, "a list of changes", least=1), "What changed."),
    },
)


def _many(kind: Kind, what: str) -> Items:
    return Items(kind, f"a list of {what}", most=MOST_ITEMS)


FLAGS = Record(
    "a file of flags",
    {
        "name": Needed(_NAME, "The name of the set, and of the generated files."),
        "version": Field(_VERSION, "The current version of the set."),
        "flags": Needed(_many(_FLAG, "flags"), "The flags, in the order in which help lists them."),
        "imports": Field(_many(_IMPORT, "imports"), "Flags of other modules that this one reads."),
    },
)

COMPAT = Record(
    "a file of compatibility",
    {
        "aliases": Field(_many(_ALIAS, "aliases"), "Other names of flags."),
        "renamed": Field(_many(_RENAMED, "renamed flags"), "Old names of flags."),
        "retired": Field(_many(_RETIRED, "retired flags"), "Retired flags."),
        "deprecated": Field(_many(_DEPRECATED, "deprecated flags"), "Deprecated flags."),
        "implies": Field(_many(_IMPLIES, "implications"), "Flags that set other flags."),
    },
)

VERSION = Record(
    "a file of versions",
    {"versions": Needed(_many(_VERSIONS, "versions"), "The versions, oldest first.")},
)

FILES = {"flags": FLAGS, "flags_compat": COMPAT, "flags_version": VERSION}


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of one of FILES."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{name}.yaml of paddle_flags",
        **FILES[name].schema(),
    }


def schema_text(name: str) -> str:
    """Return the JSON Schema of one of FILES as text."""
    return json.dumps(schema(name), indent=1) + "\n"
