"""The kinds of values in the files: checked by the reader, and described to editors.

Each kind turns a node of the tree into plain data, and into its JSON Schema; the two are
side by side, since they must agree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from paddle_flags.gen.problems import Odd, near, one_of, shown
from paddle_flags.gen.tree import Mapping, Node, Scalar, Sequence, describe

if TYPE_CHECKING:
    from paddle_flags.gen.model import Place, Places
    from paddle_flags.gen.problems import Problems

Schema = dict[str, Any]

_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_LONGEST = 100  # digits; more than any type takes
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
# What YAML 1.1 or 1.2 read as something other than text.
_NO_TEXT = re.compile(
    r"(~|null|y|n|yes|no|on|off|true|false|[-+]?\.inf|\.nan|=|<<|)"
    r"|[-+]?[0-9][0-9_,]*(:[0-5]?[0-9])*(\.[0-9_]*)?(e[-+]?[0-9]+)?|[-+]?\.[0-9_]+(e[-+]?[0-9]+)?"
    r"|[-+]?0(b[01_]+|o?[0-7_]+|x[0-9a-f_]+)"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([t \t].*)?",
    re.IGNORECASE,
)


class WrongShape(Exception):  # noqa: N818 - never leaves the reader
    """A value is refused; the problem has been reported."""


class Kind:
    """A kind of value."""

    def read(self, node: Node, what: str, problems: Problems) -> Any:
        """Return the plain value, or report what is wrong and raise WrongShape."""
        raise NotImplementedError

    def schema(self) -> Schema:
        """Return the JSON Schema of such values."""
        raise NotImplementedError


def refuse(node: Node, what: str, expected: str, problems: Problems, found: str = "") -> WrongShape:
    """Report a problem; returns what to raise."""
    problems.add(node.place, what, found or describe(node), expected)
    return WrongShape()


@dataclass
class Text(Kind):
    """Text that matches a pattern, which is anchored at both ends."""

    expected: str
    pattern: str = r"[\s\S]*\S[\s\S]*"

    def __post_init__(self) -> None:  # noqa: D105 - dataclasses call it
        self._match = re.compile(self.pattern).fullmatch

    def read(self, node: Node, what: str, problems: Problems) -> str:
        """Return the text."""
        if not isinstance(node, Scalar):
            raise refuse(node, what, self.expected, problems)
        if node.plain and _NO_TEXT.fullmatch(node.text):
            expected = f"{self.expected}, in quotes" if node.text else self.expected
            raise refuse(node, what, expected, problems, shown(Odd(node.text)))
        if not self._match(node.text):
            raise refuse(node, what, self.expected, problems)
        return node.text

    def schema(self) -> Schema:
        """Return a schema with the pattern."""
        return {"type": "string", "pattern": f"^(?:{self.pattern})$"}


@dataclass
class Word(Kind):
    """One of a few names."""

    words: tuple[str, ...]

    def read(self, node: Node, what: str, problems: Problems) -> str:
        """Return the word."""
        if not isinstance(node, Scalar) or node.text not in self.words:
            hint = near(node.text, self.words) if isinstance(node, Scalar) else ""
            raise refuse(node, what, one_of(self.words) + hint, problems)
        return node.text

    def schema(self) -> Schema:
        """Return the words."""
        return {"enum": list(self.words)}


class Written(float):
    """A number as it was written, for messages."""

    text: str

    def __str__(self) -> str:  # noqa: D105 - told by the class
        return self.text


@dataclass
class Value(Kind):
    """A value of a flag: a bool, a number or text; or null, where that has a meaning."""

    expected: str = "a bool, a number or text"
    nothing: bool = False

    def read(self, node: Node, what: str, problems: Problems) -> Any:
        """Return a bool, a number or text; a number in quotes is text."""
        if not isinstance(node, Scalar):
            raise refuse(node, what, self.expected, problems)
        if not node.plain:
            return node.text
        if self.nothing and node.text in ("null", "Null", "NULL", "~", ""):
            return None
        if _BOOL.fullmatch(node.text):
            return node.text.lower() == "true"
        if _INTEGER.fullmatch(node.text):
            return int(node.text) if len(node.text) < _LONGEST else _written(node.text)
        if _FLOAT.fullmatch(node.text):
            return _written(node.text)
        if not node.text:
            raise refuse(node, what, self.expected, problems)
        return Odd(node.text) if _NO_TEXT.fullmatch(node.text) else node.text

    def schema(self) -> Schema:
        """Return all scalars."""
        return {"type": ["boolean", "number", "string", *(["null"] if self.nothing else [])]}


def _written(text: str) -> Written:
    made = Written(text)
    made.text = text
    return made


@dataclass
class Items(Kind):
    """A list of one kind."""

    of: Kind
    expected: str
    least: int = 0
    most: int | None = None
    unique: bool = False

    def read(self, node: Node, what: str, problems: Problems) -> list[Any]:
        """Return the list; the problems of all items are reported."""
        if not isinstance(node, Sequence):
            raise refuse(node, what, self.expected, problems)
        count = len(node.items)
        if count < self.least or (self.most is not None and count > self.most):
            found = f"a list of {count}" if count else "an empty list"
            raise refuse(node, what, self.expected, problems, found)
        values: list[Any] = []
        seen: set[Any] = set()
        wrong = False
        for index, item in enumerate(node.items):
            try:
                value = self.of.read(item, f"{what}[{index}]", problems)
            except WrongShape:
                wrong = True
                continue
            known = (type(value), value)
            if self.unique and known in seen:
                refuse(item, what, "each item once", problems, f"{shown(value)} again")
                wrong = True
            seen |= {known} if self.unique else set()
            values.append(value)
        if wrong:
            raise WrongShape
        return values

    def schema(self) -> Schema:
        """Return an array."""
        made: Schema = {"type": "array", "items": self.of.schema()}
        made |= {"minItems": self.least} if self.least else {}
        made |= {"maxItems": self.most} if self.most is not None else {}
        return made | ({"uniqueItems": True} if self.unique else {})


@dataclass
class Either(Kind):
    """A list of a kind, or one scalar."""

    one: Kind
    many: Items

    def read(self, node: Node, what: str, problems: Problems) -> Any:
        """Return whichever it is."""
        kind = self.many if isinstance(node, Sequence) else self.one
        return kind.read(node, what, problems)

    def schema(self) -> Schema:
        """Return both."""
        return {"anyOf": [self.one.schema(), self.many.schema()]}


@dataclass
class Field:
    """A key of a record: its kind, its purpose, and whether it is required."""

    kind: Kind
    help: str
    required: bool = False


@dataclass
class Needed(Field):
    """A required key."""

    required: bool = True


@dataclass
class Read:
    """The contents of a record, with the places of its keys and list items."""

    values: dict[str, Any]
    at: Places = field(default_factory=dict)


@dataclass
class Record(Kind):
    """A mapping with known keys."""

    what: str  # "a flag"
    fields: dict[str, Field]
    extra: Schema = field(default_factory=dict)

    def read(self, node: Node, what: str, problems: Problems) -> Read:
        """Return the values; the problems of all keys are reported."""
        if not isinstance(node, Mapping):
            expected = f"{self.what}: a mapping with {', '.join(self._required())}"
            raise refuse(node, what, expected, problems)
        made = Read({}, {"": node.place})
        what = (what and self._name(node)) or what
        wrong = self._lacks(node, what, problems)
        for key, (place, value) in node.entries.items():
            kind = self._kind(key, place, problems)
            if kind is None:
                wrong = True
                continue
            try:
                made.values[key] = kind.read(value, f"{what}: {key}" if what else key, problems)
            except WrongShape:
                wrong = True
            made.at[key] = value.place
            if isinstance(value, Sequence):
                made.at |= {f"{key}.{index}": item.place for index, item in enumerate(value.items)}
        if wrong:
            raise WrongShape
        return made

    def _required(self) -> list[str]:
        return [key for key, each in self.fields.items() if each.required]

    def _name(self, node: Mapping) -> str:
        """Return what messages call a record: its name, if it has a valid one."""
        key = next(iter(self.fields))
        if key not in ("name", "flag", "version"):
            return ""
        value = node.entries.get(key, (None, None))[1]
        good = isinstance(value, Scalar) and value.text.isprintable()
        return value.text[:_LONGEST] if good and isinstance(value, Scalar) else ""

    def _lacks(self, node: Mapping, what: str, problems: Problems) -> bool:
        lacking = [key for key in self._required() if key not in node.entries]
        for key in lacking:
            refuse(node, what, f"{self.what} with '{key}'", problems, f"no '{key}'")
        return bool(lacking)

    def _kind(self, key: str, place: Place, problems: Problems) -> Kind | None:
        known = self.fields.get(key)
        if known is not None:
            return known.kind
        expected = one_of(list(self.fields)) + near(key, self.fields)
        problems.add(place, "", f"the key {shown(key)}", expected)
        return None

    def schema(self) -> Schema:
        """Return a closed object."""
        properties = {
            key: {"description": each.help, **each.kind.schema()}
            for key, each in self.fields.items()
        }
        made = {"type": "object", "properties": properties, "additionalProperties": False}
        required = self._required()
        return made | ({"required": required} if required else {}) | self.extra


@dataclass
class Named(Kind):
    """A mapping of any number of names to values of one kind."""

    key: Text
    of: Kind
    expected: str

    def read(self, node: Node, what: str, problems: Problems) -> list[tuple[str, Any, Places]]:
        """Return names, values and places."""
        if not isinstance(node, Mapping):
            raise refuse(node, what, self.expected, problems)
        if not node.entries:
            raise refuse(node, what, self.expected, problems, "an empty mapping")
        found, wrong = [], False
        for name, (place, value) in node.entries.items():
            try:
                self.key.read(Scalar(name, plain=False, place=place), what, problems)
                at = {"": place, "flag": place, "value": value.place}
                found.append((name, self.of.read(value, f"{what}.{name}", problems), at))
            except WrongShape:
                wrong = True
        if wrong:
            raise WrongShape
        return found

    def schema(self) -> Schema:
        """Return an open object."""
        names = {"pattern": self.key.schema()["pattern"]}
        made = {"type": "object", "propertyNames": names, "minProperties": 1}
        return made | {"additionalProperties": self.of.schema()}
