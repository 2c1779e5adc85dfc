"""The lists of pd_flags.h, as Python has them. Made by tools/lists.py: `make lists`."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, whose import is slow
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal, TypedDict

    Integer = Literal["int32", "uint32", "int64", "uint64"]
    Floating = Literal["double"]

    class MostAttributes(TypedDict, total=False):
        """The attributes that every definition may have, but `optional`."""

        hidden: bool
        read_only: bool
        startup_only: bool
        sensitive: bool
        experimental: bool
        required: bool
        multi: bool
        scoped: bool
        runtime: bool
        unsafe: bool
        per_process: bool
        count: bool
        merge: bool
        category: str | None
        aliases: Iterable[str]
        deprecated: str | None
        retired: str | None
        old_names: Iterable[str]
        metavar: str | None
        replace: bool  # this one is of the call of define()

    class Attributes(MostAttributes, total=False):
        """The attributes that every definition may have."""

        optional: bool  # if it is known to be true, the value may be None


# Attributes that are true or false: their names in reports, and their meanings.
MARKS = {
    "hidden": "hidden",
    "read_only": "read-only",
    "startup_only": "startup only",
    "sensitive": "sensitive",
    "experimental": "experimental",
    "required": "required",
    "optional": "optional",
    "multi": "multi",
    "scoped": "scoped",
    "runtime": "runtime",
    "unsafe": "unsafe",
    "per_process": "per process",
    "count": "count",
    "merge": "merge",
}
MARK_MEANINGS = {
    "hidden": "left out of listings and help",
    "read_only": "keeps its default",
    "startup_only": "keeps its value once a command line was parsed",
    "sensitive": "its values never appear in messages and reports",
    "experimental": "may change or go",
    "required": "a command line without a value for it is an error",
    "optional": "its default stands for no value",
    "multi": "a list to which each use on a command line adds",
    "scoped": "may have a value of its own in a thread or task",
    "runtime": "may be changed in the running process from outside",
    "unsafe": "a change from outside needs a confirmation",
    "per_process": "each process has its own value, never compared",
    "count": "an integer to which each use without a value adds one",
    "merge": "a list that adds to what files and variables give",
}

# Attributes that are text, and whether that is a list of names separated by |.
TEXTS = {
    "choices": True,
    "category": False,
    "aliases": True,
    "unit": False,
    "deprecated": False,
    "retired": False,
    "old_names": True,
    "metavar": False,
}

# Types: the C type of a variable, and the member of pd_value.
C_TYPES = {
    "bool": ("bool", "b"),
    "int32": ("int32_t", "i64"),
    "uint32": ("uint32_t", "u64"),
    "int64": ("int64_t", "i64"),
    "uint64": ("uint64_t", "u64"),
    "double": ("double", "f64"),
    "string": ("const char *", "str"),
}
