"""Configuration files in TOML.

The reader of Python checks a file and returns its values, but not their places. So a
walk over the text, which accepts more than TOML, finds the places first.
"""

from __future__ import annotations

import itertools
import re
import tomllib
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags._input.reading import DEPTH, Place, Places, Reading, Scalar, number_scalar

if TYPE_CHECKING:
    from collections.abc import Iterator

_BASIC = r'"(?:\\.|[^"\\\n])*"'
_PART = rf"(?:[A-Za-z0-9_-]+|{_BASIC}|'[^'\n]*')"
_KEY = rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*"
_BASIC_LINES = r'"""(?:\\.|[^\\])*?"""(?:""?(?!"))?'
_LITERAL_LINES = r"'''.*?'''(?:''?(?!'))?"
_STRING = rf"{_BASIC_LINES}|{_BASIC}|{_LITERAL_LINES}|'[^'\n]*'"

_PARTS = re.compile(_PART)
_PAIR = re.compile(rf"({_KEY})[ \t]*=[ \t]*")
_HEADER = re.compile(rf"\[[ \t]*({_KEY})[ \t]*\]")
_ARRAY_HEADER = re.compile(rf"\[\[[ \t]*({_KEY})[ \t]*\]\]")
_BLANK = re.compile(r"(?:[ \t\n]+|#[^\n]*)*")
_BARE = re.compile(r"""[^,\[\]{}#"'\n]+""")
_IN_ARRAY = re.compile(rf"""{_STRING}|[^\[\]{{}}#"']+|#[^\n]*|[\[\]{{}}]""", re.DOTALL)
_VALUE = re.compile(rf"{_STRING}|{_BARE.pattern}", re.DOTALL)
_LONG = re.compile(r"\w{1000}")  # no number is; converting one takes very long
_FINER = re.compile(r"(?<=\.\d{6})\d+")  # than a microsecond: TOML lets readers drop it
_POSITION = re.compile(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", re.DOTALL)


class _Found(NamedTuple):
    keys: list[str]
    key: Place
    value: Place
    raw: str  # the beginning of the value, or all of a number
    items: list[str]  # the same of the items of an array, filled when the walk is behind it
    is_header: bool = False


class _Lost(Exception):
    """Here is no TOML."""


class _Number(str):
    """A float of the file, not read yet."""

    __slots__ = ()


def read(text: str, reading: Reading) -> None:
    """Read the text of a file."""
    text = text.replace("\r\n", "\n")
    found: list[_Found] = []
    lost = False
    try:
        found.extend(_Walk(text, reading).iter_wanted_entries())
    except _Lost:
        lost = True
    if sum(not (one.is_header or reading.check_new_key(one.keys, one.key)) for one in found):
        return  # TOML forbids it too, but says it less well
    try:
        data = tomllib.loads(text, parse_float=_Number)
    except tomllib.TOMLDecodeError as error:
        reading.stop(*_locate_error(text, str(error)))
    if lost:
        reading.stop(None, "is valid TOML, but paddle_flags cannot read it")
    if isinstance(_value_at(data, reading.table), dict):
        reading.note_table(reading.table)
    for one in found:
        _add_value_or_error(reading, one, _value_at(data, one.keys))


def _value_at(data: Any, keys: list[str]) -> Any:
    """Return what the keys lead to; None: a table that they name is missing."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def _locate_error(text: str, message: str) -> tuple[Place, str]:
    parts = _POSITION.fullmatch(message)
    if parts and parts[2]:
        return Place(int(parts[2]), int(parts[3])), f"not TOML: {parts[1]}"
    why = parts[1] if parts else message
    return Places(text)(len(text)), f"not TOML: {why} at the end of the file"


def _add_value_or_error(reading: Reading, one: _Found, value: Any) -> None:
    if isinstance(value, dict):
        if not value:  # otherwise its own keys are there too
            reading.add_empty_table(one.keys, one.value)
        return
    if not isinstance(value, list):
        reading.add_value(one.keys, _to_scalar(value, one.raw), one.value)
    elif any(isinstance(item, (list, dict)) for item in value):
        reading.add_error(one.keys, one.value, "expected a list of plain values")
    else:
        pairs = itertools.zip_longest(value, one.items)
        reading.add_value(one.keys, [_to_scalar(item, raw) for item, raw in pairs], one.value)


def _to_scalar(value: Any, raw: str) -> Scalar:
    if isinstance(value, bool):
        return Scalar("bool", str(value).lower())
    if isinstance(value, int):
        return number_scalar("integer", raw)
    if isinstance(value, _Number):
        return number_scalar("number", value)
    if isinstance(value, str):
        return Scalar("text", value)
    return Scalar("date", _FINER.sub("", raw))


def _split_items(part: str) -> list[str]:
    """Return the items that a string, a comment or the text between them has."""
    if part[0] in "\"'":
        return [part]
    return [] if part[0] == "#" else [item.strip() for item in part.split(",") if item.strip()]


class _Walk:
    def __init__(self, text: str, reading: Reading) -> None:
        self._text = text
        self._reading = reading
        self._place = Places(text)
        self._at = 0

    def iter_wanted_entries(self) -> Iterator[_Found]:
        """Return the wanted keys that have values, and headers; raise _Lost."""
        tables: list[list[str]] = [[]]  # of the last header, then inline ones
        while True:
            self._consume_pattern(_BLANK)
            mark = self._text[self._at : self._at + 1]
            if not mark:
                return
            if mark == "[":
                at = self._place(self._at)
                tables = [self._read_header()]
                if self._reading.is_in_table(tables[0]):
                    yield _Found(tables[0], at, at, "", [], is_header=True)
            elif mark == "}" and len(tables) > 1:
                tables.pop()
                self._at += 1
            elif mark == "," and len(tables) > 1:
                self._at += 1
            else:
                one = self._read_key_before_value(tables[-1])
                if self._reading.is_in_table(one.keys):
                    yield one
                if self._skip_value_or_enter_table(one.items):
                    tables.append(one.keys)

    def _consume_pattern(self, pattern: re.Pattern[str]) -> re.Match[str]:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise _Lost
        self._at = match.end()
        return match

    def _read_header(self) -> list[str]:
        if not self._text.startswith("[[", self._at):
            return self._read_keys(self._consume_pattern(_HEADER))
        at = self._at
        keys = self._read_keys(self._consume_pattern(_ARRAY_HEADER))
        depth = min(len(keys), len(self._reading.table))
        if keys[:depth] == self._reading.table[:depth]:
            why = "[[...]] is an array of tables, expected a table: [name]"
            self._reading.stop(self._place(at), why)
        return keys

    def _read_key_before_value(self, table: list[str]) -> _Found:
        """Go to the value behind a key."""
        match = self._consume_pattern(_PAIR)
        keys = [*table, *self._read_keys(match)]
        raw = _BARE.match(self._text, self._at)
        key, value = self._place(match.start()), self._place(self._at)
        if len(keys) > DEPTH:
            self._reading.stop(key, f"has {len(keys)} nested names, expected at most {DEPTH}")
        return _Found(keys, key, value, raw[0].rstrip() if raw else "", [])

    def _read_keys(self, match: re.Match[str]) -> list[str]:
        parts = _PARTS.findall(match[1])
        if len(parts) > DEPTH:
            why = f"has {len(parts)} nested names, expected at most {DEPTH}"
            self._reading.stop(self._place(match.start()), why)
        return [self._unquote_key(part) for part in parts]

    def _unquote_key(self, part: str) -> str:
        if "\\" not in part or part[0] != '"':
            return part[1:-1] if part[0] in "\"'" else part
        try:
            (key,) = tomllib.loads(f"{part}=0")
        except tomllib.TOMLDecodeError:
            raise _Lost from None
        return str(key)

    def _skip_value_or_enter_table(self, items: list[str]) -> bool:
        """Go behind a value, or into an inline table and say so; add the items of an array."""
        mark = self._text[self._at : self._at + 1]
        if mark == "{":
            self._at += 1
            return True
        if mark == "[":
            self._read_array_items(items)
        else:
            self._check_number_length(self._consume_pattern(_VALUE))
        return False

    def _read_array_items(self, items: list[str]) -> None:
        depth = 0
        while True:
            match = self._consume_pattern(_IN_ARRAY)
            if match[0] in ("[", "{"):
                depth += 1
            elif match[0] in ("]", "}"):
                depth -= 1
            else:
                self._check_number_length(match)
                items += _split_items(match[0])
            if depth == 0:
                return
            if depth > DEPTH:
                self._reading.stop(self._place(match.start()), "is nested too deeply")

    def _check_number_length(self, match: re.Match[str]) -> None:
        if match[0][0] not in "\"'#" and _LONG.search(match[0]):
            self._reading.stop(self._place(match.start()), "is too long for a number")
