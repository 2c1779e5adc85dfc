"""Tokens of C++ with their places; comments, joined lines and directives are handled.

It is not a preprocessor: macros stay names, and of the branches of #if only those of
`#if 0` are left out.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from typing import NamedTuple

from paddle_flags.gen.model import Place


class Token(NamedTuple):
    """A name, number, string, character or sign."""

    kind: str  # "name", "number", "string", "character", "sign"
    text: str  # of a string: its value's source, with quotes and prefix
    place: Place
    condition: str  # the innermost #if around it, or ""


@dataclass
class Source:
    """What a file holds."""

    tokens: list[Token] = field(default_factory=list)
    macros: dict[str, tuple[Place, str]] = field(default_factory=dict)  # with their definitions
    problems: list[tuple[Place, str, str]] = field(default_factory=list)  # found, expected


_TOKEN = re.compile(
    r"""
    (?P<blank>[ \t\v\f\r]+)
    | (?P<newline>\n)
    | (?P<comment>//[^\n]*|/\*.*?\*/)
    | (?P<open>/\*)
    | (?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\()
    | (?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*")
    | (?P<character>(?:u8|[uUL])?'(?:[^'\\\n]|\\.)+')
    | (?P<number>\.?[0-9](?:[eEpP][-+]|'?[0-9A-Za-z_]|\.)*)
    | (?P<name>[^\W\d]\w*)
    | (?P<sign><<|>>|::|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_OFF, _OVER = "off", "over"  # a branch that is never compiled; one after a branch that always is
_FALSE, _TRUE = ("0", "false"), ("#if 1", "#if true")
_SPLICE = re.compile(r"\\[ \t]*\r?\n")


class _Text:
    """The text with joined lines, and the original place of each character."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.original = text
        self._lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self._ends: list[int] = []  # of the pieces between joints, in the joined text
        self._shifts: list[int] = []  # what was left out before each piece
        pieces: list[str] = []
        at = 0
        for match in _SPLICE.finditer(text):
            self._add(pieces, text[at : match.start()], at)
            at = match.end()
        self._add(pieces, text[at:], at)
        self.joined = "".join(pieces)

    def _add(self, pieces: list[str], piece: str, at: int) -> None:
        start = self._ends[-1] if self._ends else 0
        pieces.append(piece)
        self._ends.append(start + len(piece))
        self._shifts.append(at - start)

    def to_original(self, position: int) -> int:
        index = bisect_left(self._ends, position + 1)
        return position + self._shifts[min(index, len(self._shifts) - 1)]

    def to_joined(self, original: int) -> int:
        for end, shift in zip(self._ends, self._shifts):
            if original <= end + shift:
                return original - shift
        return len(self.joined)

    def place(self, position: int) -> Place:
        at = self.to_original(position)
        line = bisect_left(self._lines, at + 1)
        return Place(self.path, line, at - self._lines[line - 1] + 1)


def tokenise(path: str, text: str) -> Source:
    """Return the tokens of a source."""
    return _Tokeniser(_Text(path, text)).run()


class _Tokeniser:
    def __init__(self, text: _Text) -> None:
        self._text = text
        self._source = Source()
        self._conditions: list[str] = []  # of the open #if; _OFF, _OVER: left out
        self._at = 0
        self._fresh = True  # only blanks so far on this line

    def run(self) -> Source:
        joined = self._text.joined
        while self._at < len(joined):
            match = _TOKEN.match(joined, self._at)
            assert match is not None  # any character is a sign
            kind = match.lastgroup or ""
            kind = "raw" if match["raw"] else kind
            if match["sign"] == "#" and self._fresh:
                self._directive(match.end())
            elif kind == "raw":
                self._raw(match)
            else:
                self._plain(match, kind)
        return self._source

    def _plain(self, match: re.Match[str], kind: str) -> None:
        self._at = match.end()
        if kind == "open" or match[0] in ('"', "'"):
            what = "an unterminated comment" if kind == "open" else f"a lone {match[0]}"
            self._problem(match.start(), what, "C++")
            self._at = len(self._text.joined) if kind == "open" else self._at
        elif kind == "newline":
            self._fresh = True
        elif kind not in ("blank", "comment"):
            self._add(kind, match[0], match.start())

    def _problem(self, position: int, found: str, expected: str) -> None:
        if self._is_on():
            self._source.problems.append((self._text.place(position), found, expected))

    def _is_on(self) -> bool:
        return not {_OFF, _OVER} & {*self._conditions}

    def _add(self, kind: str, text: str, position: int) -> None:
        self._fresh = False
        if self._is_on():
            condition = next(filter(None, reversed(self._conditions)), "")
            token = Token(kind, text, self._text.place(position), condition)
            self._source.tokens.append(token)

    def _raw(self, match: re.Match[str]) -> None:
        """Read a raw string, in which no lines are joined."""
        text = self._text
        start, inside = text.to_original(match.start()), text.to_original(match.end() - 1) + 1
        end = text.original.find(f'){match["mark"]}"', inside)
        if end < 0:
            self._problem(match.start(), "an unterminated raw string", "C++")
            self._at = len(text.joined)
            return
        end += len(match["mark"]) + 2
        self._add("string", text.original[start:end], match.start())
        self._at = text.to_joined(end)

    # ---- directives ----

    def _directive(self, start: int) -> None:
        """Read a directive up to the end of its line; comments in it may continue."""
        joined, at = self._text.joined, start
        words: list[str] = []
        while at < len(joined):
            match = _TOKEN.match(joined, at)
            assert match is not None
            if match["newline"]:
                break
            words.append(" " if match["comment"] or match["blank"] else match[0])
            at = match.end()
        self._at = at
        self._obey("".join(words).strip(), start - 1)

    def _obey(self, line: str, position: int) -> None:
        match = re.match(r"(\w+)\s*(.*)", line, re.DOTALL)
        word, rest = match.groups() if match else ("", "")
        if word in ("if", "ifdef", "ifndef"):
            off = word == "if" and rest in _FALSE
            self._conditions.append(_OFF if off else f"#{word} {rest}")
        elif word in ("elif", "elifdef", "elifndef", "else") and self._conditions:
            self._branch(word, rest)
        elif word == "endif" and self._conditions:
            self._conditions.pop()
        elif word == "define" and self._is_on():
            self._define(rest, position)

    def _branch(self, word: str, rest: str) -> None:
        """Continue with another branch of the innermost #if."""
        last = self._conditions.pop()
        if last in (_OVER, *_TRUE):
            self._conditions.append(_OVER)
        elif last == _OFF:
            self._conditions.append("" if word == "else" else f"#{word} {rest}")
        elif word == "else":
            self._conditions.append(f"#else of {last}")
        else:
            self._conditions.append(f"#{word} {rest}")

    def _define(self, rest: str, position: int) -> None:
        match = re.match(r"(\w+)(\([^)]*\))?\s*", rest)
        if match is None:
            return
        self._source.macros[match[1]] = (self._text.place(position), rest[match.end() :])
        if self._conditions[-1:] == [f"#ifndef {match[1]}"]:  # an include guard
            self._conditions[-1] = ""


# ---- literals ----

_SIMPLE = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11, "0": 0}
_SIMPLE |= {sign: ord(sign) for sign in "\\'\"?"}
_ESCAPE = re.compile(
    r"\\(?:(?P<octal>[0-7]{1,3})|x(?P<hex>[0-9a-fA-F]+)"
    r"|u(?P<u4>[0-9a-fA-F]{4})|U(?P<u8>[0-9a-fA-F]{8})|(?P<simple>.))",
    re.DOTALL,
)


def string_value(literal: str) -> str | None:
    """Return the value of a string literal; None for one that isn't UTF-8."""
    prefix, _, rest = literal.partition('"')
    if prefix.rstrip("R") not in ("", "u8"):
        return None
    if prefix.endswith("R"):
        opening = rest.index("(")
        return rest[opening + 1 : len(rest) - opening - 2]
    made, at = b"", 0
    inside = rest[:-1]
    for match in _ESCAPE.finditer(inside):
        bytes_ = _escaped(match)
        if bytes_ is None:
            return None
        made += inside[at : match.start()].encode("utf-8", "surrogateescape") + bytes_
        at = match.end()
    made += inside[at:].encode("utf-8", "surrogateescape")
    try:
        return made.decode()
    except UnicodeDecodeError:
        return None


def _escaped(match: re.Match[str]) -> bytes | None:
    if match["simple"]:
        code = _SIMPLE.get(match["simple"])
        return None if code is None else bytes([code])
    if match["octal"] or match["hex"]:
        code = int(match["octal"], 8) if match["octal"] else int(match["hex"], 16)
        return bytes([code]) if code < 256 else None
    try:
        return chr(int(match["u4"] or match["u8"], 16)).encode()
    except (ValueError, OverflowError, UnicodeEncodeError):
        return None
