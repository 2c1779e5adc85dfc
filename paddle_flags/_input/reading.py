"""What is read from a configuration file: values with their places, and errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from paddle_flags._core.lists import encode
from paddle_flags._core.missing import optional_import
from paddle_flags._core.names import normalize_name
from paddle_flags._core.registry import FLAGS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from typing import NoReturn

DEPTH = 32
"""Tables in tables, and parts of a dotted key."""

_RANKS = ("text", "integer", "number", "bool")  # of what a list can have

_SHOWN = 60  # characters of a user's text in a message
_PROBLEMS = 100  # shown for one file


class Scalar(NamedTuple):
    """A value as its file wrote it."""

    kind: str  # "text", "integer", "number", "bool", "date" or, for no flag, "null"
    text: str
    rewritten: bool = False
    """Whether the file wrote it otherwise, as 1_000 or yes."""


class Place(NamedTuple):
    """A character of a file; both count from 1."""

    line: int
    column: int


class FileValue(NamedTuple):
    """A value for a flag."""

    name: str
    text: str
    kind: str  # of a Scalar; of a list, its items'; or "table", which is an empty one
    is_list: bool
    at: Place
    key: Place | None = None
    rewritten: bool = False
    """As that of a Scalar; of a list, that of any item."""


class Stop(Exception):
    """The rest of the file is not read."""


class Reading:
    """What has been read from one file, or from one table of it: values and errors."""

    def __init__(self, path: str, table: Sequence[str] = (), prefix: str | None = None) -> None:
        self.path = path
        self.table = list(table)
        self.prefix = prefix
        """Of environment variables, for files that hold such."""
        self.has_table = not table
        self.values: list[FileValue] = []
        self.problems: list[str] = []
        self._seen: dict[str, Place] = {}

    def record_problem(self, at: Place | None, why: str) -> None:
        """Record an error; raise Stop if there are too many."""
        where = f"{self.path}:{at.line}:{at.column}" if at else self.path
        self.problems.append(f"{where}: {why}")
        if len(self.problems) == _PROBLEMS:
            self.problems.append(f"{self.path}: more errors aren't shown")
            raise Stop

    def stop(self, at: Place | None, why: str) -> NoReturn:
        """Record an error that makes the rest of the file unreadable, and raise Stop."""
        self.record_problem(at, why)
        raise Stop

    def importing(self, what: str, package: str, extra: str) -> AbstractContextManager[None]:
        """Surround the import of what reads the file; without it, the file is unreadable."""
        return optional_import(what, package, extra, lambda why: self.stop(None, why))

    def note_table(self, keys: Sequence[str]) -> None:
        """Note that the file has the table that the keys lead to."""
        self.has_table |= list(keys) == self.table

    def is_in_table(self, keys: Sequence[str]) -> bool:
        """Return whether the keys lead into the table."""
        depth = len(self.table)
        return depth == 0 or (len(keys) > depth and list(keys[:depth]) == self.table)

    def add_error(self, keys: Sequence[str], at: Place, why: str) -> None:
        """Record an error for a key, if it is wanted."""
        if self.is_in_table(keys):
            self.record_problem(at, f"{format_flag_for_message(keys[len(self.table) :])}: {why}")

    def check_new_key(self, keys: Sequence[str], at: Place) -> bool:
        """Record an error if the file has used the name before; return whether it has not."""
        if not self.is_in_table(keys):
            return True
        first = self._seen.setdefault(_normalized_key(keys), at)
        if first is not at:
            self.add_repeated_key_error(keys, at, first)
        return first is at

    def copy_from(self, other: Reading) -> None:
        """Adopt what another reading of the same file has, which found no error."""
        self.values = other.values
        self.has_table = other.has_table

    def add_repeated_key_error(self, keys: Sequence[str], at: Place, first: Place) -> None:
        """Record an error for a key that was at `first` before."""
        self.add_error(keys, at, f"is given twice, first on line {first.line}")

    def add_empty_table(self, keys: Sequence[str], at: Place) -> None:
        """Add an empty table: the value of a flag if that is a dict."""
        if self.is_in_table(keys):
            name = ".".join(keys[len(self.table) :])
            self.values.append(FileValue(name, "", "table", is_list=False, at=at))

    def add_value(self, keys: Sequence[str], value: Scalar | list[Scalar], at: Place) -> None:
        """Add the value at `at` of a key that was claimed."""
        if not self.is_in_table(keys):
            return
        name = ".".join(keys[len(self.table) :])
        key = self._seen.get(_normalized_key(keys))
        if not name:
            self.record_problem(at, "expected the name of a flag before the value")
            return
        secret = _find_sensitive_prefix(name)
        if secret and not _can_take_tables(secret):
            self.record_problem(key or at, f"--{secret}: expected a value, not a table")
            return
        for scalar in value if isinstance(value, list) else [value]:
            why = _explain_unfit_scalar(scalar, in_list=isinstance(value, list))
            if why:
                self.add_error(keys, at, why)
                return
        if isinstance(value, list):
            text = encode(tuple(scalar.text for scalar in value))
            # Of several kinds, the one that fewest flags take.
            kind = max((scalar.kind for scalar in value), key=_RANKS.index, default="text")
            rewritten = any(scalar.rewritten for scalar in value)
        else:
            kind, text, rewritten = value
        is_list = isinstance(value, list)
        self.values.append(FileValue(name, text, kind, is_list, at, key, rewritten))


def _normalized_key(keys: Sequence[str]) -> str:
    """Return what two keys of the same flag have in common."""
    return normalize_name(".".join(keys))


def shorten_for_message(text: str) -> str:
    """Return text for a message, on one line and not too long."""
    short = text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in short)


def format_flag_for_message(keys: Sequence[str]) -> str:
    """Return the flag that keys lead to, for a message."""
    name = ".".join(keys)
    return "--" + (_find_sensitive_prefix(name) or shorten_for_message(name))


def _find_sensitive_prefix(name: str) -> str | None:
    """Return the sensitive flag that a name begins with: the rest may be its value, in braces."""
    parts = name.split(".")
    if len(parts) == 1 or name in FLAGS:
        return None
    starts = [".".join(parts[:end]) for end in range(1, len(parts))]
    return next((each for each in starts if each in FLAGS and FLAGS[each].sensitive), None)


def _can_take_tables(name: str) -> bool:
    type_ = FLAGS[name]._type
    return type_ is not None and type_.takes_tables


def _explain_unfit_scalar(value: Scalar, *, in_list: bool) -> str | None:
    if value.kind == "null":
        return "null is not a value; to keep the default, leave the name out"
    if value.kind == "date" and in_list:
        return "a date is not an item of a list; to give it as text, quote it"
    if "\0" in value.text:
        return "expected text without a NUL character"
    if not value.text.isascii():
        try:
            value.text.encode()
        except UnicodeEncodeError:
            return "contains half a surrogate pair, expected valid text"
    return None


def number_scalar(kind: str, written: str) -> Scalar:
    """Return a number of TOML or YAML, with the text that C reads."""
    text = _number_text(written)
    return Scalar(kind, text, rewritten=text != written)


def _number_text(text: str) -> str:
    digits = text.replace("_", "").lower()
    sign = "-" if digits.startswith("-") else ""
    digits = digits.lstrip("+-")
    if digits[:2] in ("0o", "0b"):
        return sign + hex(int(digits, 0))
    return sign + digits.replace(".inf", "inf").replace(".nan", "nan")


class Places:
    """Finds the places of characters, in the order of the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1
        self._start = 0  # of the line

    def __call__(self, at: int) -> Place:
        found = self._text.count("\n", self._at, at)
        if found:
            self._line += found
            self._start = self._text.rfind("\n", self._at, at) + 1
        self._at = at
        return Place(self._line, at - self._start + 1)
