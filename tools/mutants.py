"""Small changes of C sources, each of which some test should notice.

A source is read as tokens; comments, strings and preprocessor lines stay as they are. The changes:
a statement is deleted, a condition is negated, one operand of && or || is dropped, < becomes <= and
the like, + 1 and - 1 vanish, ++ becomes --, and another bool or status is returned.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\''
    r"|\w+|->|\+\+|--|<<=?|>>=?|[-+*/%&|^<>=!]=|&&|\|\||[^\s\w]",
    re.DOTALL | re.MULTILINE,
)
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
RETURNED = {"true": "false", "false": "true", "PD_OK": "PD_ERR_ARGUMENT"}
# Statements that begin so declare something, or leave nothing to compile.
DECLARED = re.compile(
    r"(const|static|extern|typedef|struct|union|enum|unsigned)\b|PD__[A-Z_]*OPERATION\("
    r"|\w+ +\*{0,2}\w+( *=|;|,|\[)"
)
KEYWORDS = {"case", "default", "do", "else", "for", "goto", "if", "return", "switch", "while"}


class Token(NamedTuple):
    """A token, and where it stands."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """Give the offset behind it."""
        return self.start + len(self.text)


class Mutant(NamedTuple):
    """One change: text[start:end] becomes `put`."""

    start: int
    end: int
    put: str
    what: str

    def apply(self, text: str) -> str:
        """Return the changed source. It has as many lines as before."""
        lines = text.count("\n", self.start, self.end) - self.put.count("\n")
        return text[: self.start] + self.put + "\n" * lines + text[self.end :]

    def line(self, text: str) -> int:
        """Give the line of the change, from 1."""
        return text.count("\n", 0, self.start) + 1


def find_mutants(text: str) -> list[Mutant]:
    """List all changes of a source."""
    skipped = ("//", "/*", "#")
    tokens = [
        Token(found[0], found.start())
        for found in TOKEN.finditer(text)
        if not found[0].lstrip().startswith(skipped)
    ]
    pairs = match_brackets(tokens)
    inside = mark_bodies(tokens, pairs)
    found: list[Mutant] = []
    for at, token in enumerate(tokens):
        if not inside[at]:
            continue
        if token.text in COMPARISONS:
            put = COMPARISONS[token.text]
            found.append(Mutant(token.start, token.end, put, f"{token.text} to {put}"))
        elif token.text in ("&&", "||"):
            found += drop_operands(text, tokens, pairs, at)
        elif token.text in ("if", "while") and tokens[at + 1].text == "(":
            found += negate(text, tokens, pairs, at)
        elif token.text in ("++", "--"):
            put = "--" if token.text == "++" else "++"
            found.append(Mutant(token.start, token.end, put, f"{token.text} to {put}"))
        elif token.text in ("+", "-") and tokens[at + 1].text == "1" and is_operand(tokens[at - 1]):
            found.append(Mutant(token.start, tokens[at + 1].end, "", f"{token.text} 1 dropped"))
        elif token.text == "return" and tokens[at + 2].text == ";":
            found += change_returned(tokens[at + 1])
    return sorted({*found, *delete_statements(text, tokens, pairs, inside)})


def match_brackets(tokens: list[Token]) -> dict[int, int]:
    """Map each bracket to the one that belongs to it."""
    pairs: dict[int, int] = {}
    stack: list[int] = []
    for at, token in enumerate(tokens):
        if token.text in "([{":
            stack.append(at)
        elif token.text in ")]}":
            pairs[at] = stack.pop()
            pairs[pairs[at]] = at
    return pairs


def mark_bodies(tokens: list[Token], pairs: dict[int, int]) -> list[bool]:
    """Tell of each token whether it is in the body of a function."""
    inside = [False] * len(tokens)
    at = 0
    while at < len(tokens):
        if tokens[at].text == "{" and tokens[at - 1].text == ")":
            inside[at + 1 : pairs[at]] = [True] * (pairs[at] - at - 1)
        at = pairs[at] + 1 if tokens[at].text == "{" else at + 1
    return inside


def is_operand(token: Token) -> bool:
    """Tell whether an operator behind the token is binary."""
    return bool(re.fullmatch(r"\w+|[)\]]", token.text)) and token.text != "return"


def change_returned(value: Token) -> Iterator[Mutant]:
    """Return the other bool, or a status of failure."""
    if value.text in RETURNED:
        put = RETURNED[value.text]
        yield Mutant(value.start, value.end, put, f"return {put}")


def negate(text: str, tokens: list[Token], pairs: dict[int, int], at: int) -> Iterator[Mutant]:
    """Negate the condition of an `if` or `while`."""
    start, end = tokens[at + 1].end, tokens[pairs[at + 1]].start
    yield Mutant(start, end, f"!({text[start:end]})", f"{tokens[at].text} negated")


def drop_operands(
    text: str, tokens: list[Token], pairs: dict[int, int], at: int
) -> Iterator[Mutant]:
    """Leave one side of && or ||, up to an operator that binds less."""
    ends = {",", ";", "?", ":", "=", "return", "|=", "&=", "+=", "{", "}"}
    ends |= {"||"} if tokens[at].text == "&&" else set()
    first, last = at - 1, at + 1
    while tokens[first].text not in ends and tokens[first].text not in "([":
        first = pairs[first] - 1 if tokens[first].text in ")]" else first - 1
    stops = ends | {tokens[at].text}
    while tokens[last].text not in stops and tokens[last].text not in ")]":
        last = pairs[last] + 1 if tokens[last].text in "([" else last + 1
    left, right = tokens[first + 1].start, tokens[last - 1].end
    dropped = " ".join(text[tokens[at].start : right].split())
    yield Mutant(tokens[at - 1].end, right, "", f"dropped: {dropped}")
    if not any(token.text == tokens[at].text for token in tokens[first + 1 : at]):
        dropped = " ".join(text[left : tokens[at].end].split())
        yield Mutant(left, tokens[at + 1].start, "", f"dropped: {dropped}")


def delete_statements(
    text: str, tokens: list[Token], pairs: dict[int, int], inside: list[bool]
) -> Iterator[Mutant]:
    """Delete what stands between two ends of statements, unless it declares a variable."""
    for at, token in enumerate(tokens):
        if not inside[at] or token.text != ";" or is_in_parentheses(tokens, pairs, at):
            continue
        first = at - 1
        while not is_border(tokens, pairs, first):
            first = pairs[first] - 1 if tokens[first].text in ")]}" else first - 1
        start, end = tokens[first + 1].start, token.end
        statement = text[start:end]
        whole = statement.startswith("if") or tokens[first + 1].text not in KEYWORDS
        if at == first + 1 or not whole or DECLARED.match(statement):
            continue
        yield Mutant(start, end, ";", f"deleted: {' '.join(statement.split())}")


def is_in_parentheses(tokens: list[Token], pairs: dict[int, int], at: int) -> bool:
    """Tell whether the token is a part of a `for (`."""
    while tokens[at].text not in ("(", "{"):
        at = pairs[at] - 1 if tokens[at].text in ")]}" else at - 1
    return tokens[at].text == "("


def is_border(tokens: list[Token], pairs: dict[int, int], at: int) -> bool:
    """Tell whether a statement may begin behind the token."""
    text = tokens[at].text
    if text == ":":
        return tokens[at - 1].text == "default" or tokens[at - 2].text == "case"
    if text == "}":  # of a block, not of a value
        return tokens[pairs[at] - 1].text in (")", "else", "do", "{", "}", ";")
    return text in ("{", ";", "else", "do")
