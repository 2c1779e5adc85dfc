"""One YAML file as a tree in which every node knows its place.

It reads the events of ruamel.yaml, with libyaml if it is installed; nothing is constructed.
Features that make a small file a large or surprising document (anchors, aliases, tags,
merge keys, several documents) are refused where they begin.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from paddle_flags.gen.model import Place
from paddle_flags.gen.problems import GenerateError, Problems, importing_for_gen, quote_for_message

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import NoReturn, Self

PURE = False  # whether libyaml is ignored even if it is installed
MOST_BYTES = 32 * 2**20
DEEPEST = 16  # levels; the files need 6
MOST_ITEMS = 20_000  # of a list: nobody writes a longer one by hand
_LONGEST_KEY = 1000


class Scalar(str):
    """Text, and whether it was written without quotes."""

    __slots__ = ("place", "plain")
    plain: bool
    place: Place

    def __new__(cls, text: str, *, plain: bool, place: Place) -> Self:
        """Make one."""
        made = super().__new__(cls, text)
        made.plain, made.place = plain, place
        return made


class Sequence(list["Node"]):
    """A list."""

    def __init__(self, items: Iterable[Node], place: Place) -> None:
        super().__init__(items)
        self.place = place


class Mapping(dict[str, "Node"]):
    """Values by their keys, which have places of their own."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.key_places: dict[str, Place] = {}

    def add(self, key: str, place: Place, value: Node) -> None:
        """Add a value."""
        self[key], self.key_places[key] = value, place


Node = Scalar | Sequence | Mapping

_MARKS = {
    b"\xff\xfe\0\0": "UTF-32",
    b"\0\0\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
# Characters that YAML forbids, and those that some readers take for the end of a line.
_BAD = re.compile(
    "[\0-\b\v\f\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]|\r(?!\n)|\ufeff"
)
_SURROGATE = re.compile("[\ud800-\udfff]")  # which \\u can write
_TAB = re.compile(r"^ *(\t)", re.MULTILINE)
_DIRECTIVE = re.compile(r"^%", re.MULTILINE)


def read_tree(path: str) -> Mapping:
    """Read a file; raises GenerateError for the first error in it."""
    text = _decode(path, _read_bytes(path))
    for pattern, what, expected in (
        (_BAD, "the character", "text; write such characters as \\u or \\x in double quotes"),
        (_TAB, "a tab at the beginning of a line:", "blanks"),
        (_DIRECTIVE, "a directive:", "a document without directives"),
    ):
        match = pattern.search(text)
        if match:
            at = match.start(match.lastindex or 0)
            _refuse(_place_at(path, text, at), f"{what} {quote_for_message(text[at])}", expected)
    return _TreeReader(path, text).read()


def _refuse(place: Place | None, found: str, expected: str, what: str = "") -> NoReturn:
    problems = Problems()
    problems.add(place, what, found, expected)
    problems.raise_if_any()
    raise AssertionError  # raise_if_any() raises


def _place_at(path: str, text: str, position: int) -> Place:
    line = text.count("\n", 0, position)
    return Place(path, line + 1, position - text.rfind("\n", 0, position))


def _read_bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise GenerateError(f"{path}: {os.strerror(error.errno or 0)}") from error
    if len(data) > MOST_BYTES:
        _refuse(Place(path, 1, 1), f"more than {MOST_BYTES} bytes", f"at most {MOST_BYTES}")
    return data


def _decode(path: str, data: bytes) -> str:
    start = data[:4]
    found = next((name for mark, name in _MARKS.items() if start.startswith(mark)), "")
    if found or start.count(0) > 1:
        _refuse(Place(path, 1, 1), f"{found or 'UTF-16 or UTF-32'} text", "UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode("utf-8-sig")
        byte = error.object[error.start]
        _refuse(_place_at(path, before, len(before)), f"the byte 0x{byte:02x}", "UTF-8")


class _TreeReader:
    def __init__(self, path: str, text: str) -> None:
        with importing_for_gen("reading YAML", "ruamel.yaml"):
            import ruamel.yaml.error
            import ruamel.yaml.events
        self._yaml = ruamel.yaml
        self._events = ruamel.yaml.events
        self._path = path
        self._text = text

    def read(self) -> Mapping:
        node = None
        documents = 0
        events = self._iter_events(pure=PURE)
        for event in events:
            if isinstance(event, self._events.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    _refuse(self._place_of(event), "a second document", "one document in a file")
                node = self._read_node(next(events), events, 1)
        start = Place(self._path, 1, 1)
        if node is None or (isinstance(node, Scalar) and not node):
            _refuse(start, "an empty file", "a mapping with the keys of this file")
        if not isinstance(node, Mapping):
            _refuse(node.place, describe_node_kind(node), "a mapping with the keys of this file")
        return node

    def _iter_events(self, *, pure: bool) -> Iterator[Any]:
        library = self._yaml
        try:
            for event in library.YAML(typ="safe", pure=pure).parse(self._text):
                text = getattr(event, "value", "")
                if not text.isascii() and _SURROGATE.search(text):
                    _refuse(
                        self._place_of(event),
                        "half of a surrogate pair such as \\ud800",
                        "a whole character",
                    )
                yield event
        except GenerateError:  # a ValueError, too
            raise
        except (library.error.YAMLError, ValueError) as error:
            if not pure:  # libyaml's messages differ
                for _ in self._iter_events(pure=True):
                    pass
            mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
            line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
            said = _error_text(error)
            expected = "YAML 1.2"
            if "mapping values are not allowed" in said:
                expected += ", one key on each line, and text with ': ' in quotes"
            found = f"text that isn't YAML ({said})"
            _refuse(Place(self._path, line, column), found, expected)

    def _place_of(self, event: Any) -> Place:
        mark = event.start_mark
        return Place(self._path, mark.line + 1, mark.column + 1)

    def _read_node(self, event: Any, events: Iterator[Any], depth: int) -> Node:
        place = self._place_of(event)
        if isinstance(event, self._events.AliasEvent):
            _refuse(place, f"the alias *{event.anchor}", "the value itself")
        if event.anchor:
            _refuse(place, f"the anchor &{event.anchor}", "a value without an anchor")
        if event.tag:
            _refuse(place, f"the tag {quote_for_message(str(event.tag))}", "a value without a tag")
        if isinstance(event, self._events.ScalarEvent):
            return Scalar(event.value, plain=event.implicit[0], place=place)
        if depth > DEEPEST:
            _refuse(place, f"more than {DEEPEST} levels", f"at most {DEEPEST}")
        if isinstance(event, self._events.SequenceStartEvent):
            return Sequence(self._read_items(events, depth + 1), place)
        return self._read_mapping(Mapping(place), events, depth + 1)

    def _read_items(self, events: Iterator[Any], depth: int) -> Iterator[Node]:
        for count, event in enumerate(events):
            if isinstance(event, self._events.SequenceEndEvent):
                return
            if count == MOST_ITEMS:
                found = f"a list of more than {MOST_ITEMS} items"
                _refuse(self._place_of(event), found, f"at most {MOST_ITEMS}")
            yield self._read_node(event, events, depth)

    def _read_mapping(self, made: Mapping, events: Iterator[Any], depth: int) -> Mapping:
        for event in events:
            if isinstance(event, self._events.MappingEndEvent):
                break
            key = self._read_node(event, events, depth)
            if not isinstance(key, Scalar):
                _refuse(key.place, f"{describe_node_kind(key)} as a key", "a name")
            if key.plain and key == "<<":
                _refuse(key.place, "a merge key <<", "the values themselves")
            if len(key) > _LONGEST_KEY:
                _refuse(key.place, f"a key of {len(key)} characters", "a name")
            if key in made:
                first = made.key_places[key]
                again = f"the key {quote_for_message(str(key))} again"
                _refuse(key.place, again, f"each key once; it is on line {first.line} already")
            value = self._read_node(next(events), events, depth)
            if isinstance(value, Scalar) and value.plain and not value:
                value.place = key.place  # readers disagree about the place of an empty node
            made.add(str(key), key.place, value)
        return made


def _error_text(error: Exception) -> str:
    """Return the message of the YAML reader, on one line."""
    parts = [getattr(error, "context", None), getattr(error, "problem", None)]
    said = ", ".join(" ".join(str(part).split()) for part in parts if part)
    return said or " ".join(str(error).split())


def describe_node_kind(node: Node | str) -> str:
    """Return the kind of a node, as messages call it."""
    if isinstance(node, str):
        return (
            quote_for_message(str(node)) if node or not getattr(node, "plain", False) else "nothing"
        )
    kind = "list" if isinstance(node, Sequence) else "mapping"
    if not node:
        return f"an empty {kind}"
    return f"a list of {len(node)}" if isinstance(node, Sequence) else "a mapping"
