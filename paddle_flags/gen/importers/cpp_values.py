"""Constants of C++ in the defaults of flags, computed exactly as C++ does or not at all."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from paddle_flags.gen.importers.cpp_tokens import Token, string_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Constant = bool | int | float | str


class NoConstant(Exception):
    """The expression isn't a constant that can be computed."""

    def __init__(self, token: Token | None, found: str, expected: str) -> None:
        super().__init__(found)
        self.token, self.found, self.expected = token, found, expected


_EXPECTED = "a literal, or an expression of literals"
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|0[bB][01]+|0[0-7]*|[1-9][0-9]*)([uUlLzZ]*)")
_FLOAT = re.compile(
    r"((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|0[xX][0-9a-fA-F.]+[pP][-+]?[0-9]+)([fFlL]?)"
)
_LONGEST = 100  # characters of an integer; more than any type takes
# Binary operators by precedence.
_LEVELS = (("|",), ("^",), ("&",), ("<<", ">>"), ("+", "-"), ("*", "/", "%"))
_INT, _LONG, _UNSIGNED, _UNSIGNED_LONG = range(4)
_BITS = {_INT: 31, _LONG: 63, _UNSIGNED: 32, _UNSIGNED_LONG: 64}


@dataclass
class _Integer:
    """An integer with its type in C++."""

    value: int
    kind: int

    def fits(self) -> bool:
        low = 0 if self.kind in (_UNSIGNED, _UNSIGNED_LONG) else -(2 ** _BITS[self.kind])
        high: int = 2 ** _BITS[self.kind]
        return low <= self.value < high


_Value = bool | _Integer | float | str


def constant(tokens: Sequence[Token]) -> Constant:
    """Return the value of an expression; raises NoConstant."""
    if not tokens:
        raise NoConstant(None, "nothing", _EXPECTED)
    reader = _Reader(tokens)
    try:
        value = reader.binary(0)
    except RecursionError:
        raise NoConstant(tokens[0], "brackets nested too deeply", _EXPECTED) from None
    if reader.token is not None:
        raise NoConstant(reader.token, f"'{reader.token.text}'", "the end of the argument")
    return value.value if isinstance(value, _Integer) else value


def text(tokens: Sequence[Token]) -> str:
    """Return the text of adjacent string literals; raises NoConstant."""
    made = ""
    for token in tokens:
        if token.kind != "string":
            what = "the name" if token.kind == "name" else token.kind
            raise NoConstant(token, f"{what} '{token.text}'", "only string literals")
        value = string_value(token.text)
        if value is None:
            raise NoConstant(token, token.text, "a string literal of UTF-8 text")
        made += value
    if not tokens:
        raise NoConstant(None, "nothing", "a string literal")
    return made


class _Reader:
    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def token(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _next(self) -> Token:
        token = self.token
        if token is None:
            raise NoConstant(self._tokens[-1], "the end of the argument", _EXPECTED)
        self._at += 1
        return token

    def binary(self, level: int) -> _Value:
        if level == len(_LEVELS):
            return self._unary()
        left = self.binary(level + 1)
        while self.token is not None and self.token.text in _LEVELS[level]:
            operator = self._next()
            left = _combine(operator, left, self.binary(level + 1))
        return left

    def _unary(self) -> _Value:
        token = self._next()
        if token.kind == "sign" and token.text in ("-", "+", "~"):
            return _signed(token, self._unary())
        if token.text == "(" and token.kind == "sign":
            value = self.binary(0)
            closing = self._next()
            if closing.text != ")":
                raise NoConstant(closing, f"'{closing.text}'", "')'")
            return value
        return self._literal(token)

    def _literal(self, token: Token) -> _Value:
        if token.kind == "number":
            return _number(token)
        if token.kind == "string":
            self._at -= 1
            end = self._at
            while end < len(self._tokens) and self._tokens[end].kind == "string":
                end += 1
            literals, self._at = self._tokens[self._at : end], end
            return text(literals)
        if token.kind == "name" and token.text in ("true", "false"):
            return token.text == "true"
        what = "the name " if token.kind == "name" else ""
        raise NoConstant(token, f"{what}'{token.text}'", _EXPECTED)


def _number(token: Token) -> _Value:
    said = token.text.replace("'", "")
    match = _INTEGER.fullmatch(said)
    if match and len(said) < _LONGEST:
        return _integer(token, match[1], match[2].lower())
    match = _FLOAT.fullmatch(said)
    if match is None or match[1].isdigit():  # 09 looks like an octal number and isn't one
        raise NoConstant(token, f"'{token.text}'", "a number")
    try:
        value = float.fromhex(match[1]) if match[1][:2].lower() == "0x" else float(match[1])
    except (OverflowError, ValueError) as error:
        raise NoConstant(token, f"'{token.text}'", "a number in the range of a double") from error
    if match[2].lower() == "f":  # a float is converted to a double exactly
        value = _as_float(token, value)
    return value


def _as_float(token: Token, value: float) -> float:
    try:
        narrow: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError as error:
        raise NoConstant(token, f"'{token.text}'", "a number in the range of a float") from error
    return narrow


def _integer(token: Token, digits: str, suffix: str) -> _Integer:
    prefix = digits[:2].lower()
    base = {"0x": 16, "0b": 2}.get(prefix, 8 if digits[0] == "0" else 10)
    value = int(digits[2:] if base in (16, 2) else digits, base)
    kinds = [_INT, _UNSIGNED, _LONG, _UNSIGNED_LONG]
    if "u" in suffix:
        kinds = [_UNSIGNED, _UNSIGNED_LONG]
    elif base == 10:  # decimal literals never become unsigned by themselves
        kinds = [_INT, _LONG]
    if "l" in suffix or "z" in suffix:
        kinds = [kind for kind in kinds if kind in (_LONG, _UNSIGNED_LONG)]
    for kind in kinds:
        made = _Integer(value, kind)
        if made.fits():
            return made
    raise NoConstant(token, f"'{token.text}'", "an integer of at most 64 bits")


def _signed(token: Token, value: _Value) -> _Value:
    if isinstance(value, float) and token.text != "~":
        return -value if token.text == "-" else value
    number = _promoted(token, value)
    results = {"-": -number.value, "+": number.value, "~": ~number.value}
    return _checked(token, _Integer(results[token.text], number.kind))


def _promoted(token: Token, value: _Value) -> _Integer:
    if isinstance(value, _Integer):
        return value
    if isinstance(value, bool):
        return _Integer(int(value), _INT)
    raise NoConstant(token, f"'{token.text}' of {type(value).__name__}", "integers")


def _checked(token: Token, made: _Integer) -> _Integer:
    if not made.fits():
        found = f"'{token.text}' that gives {made.value}"
        raise NoConstant(token, found, "a result in the range of its C++ type")
    return made


def _combine(token: Token, left: _Value, right: _Value) -> _Value:
    if isinstance(left, float) or isinstance(right, float):
        return _combine_floats(token, left, right)
    a, b = _promoted(token, left), _promoted(token, right)
    kind = a.kind if token.text in ("<<", ">>") else max(a.kind, b.kind)
    if kind == _UNSIGNED and _LONG in (a.kind, b.kind) and token.text not in ("<<", ">>"):
        kind = _LONG  # which holds all of the unsigned
    function = _INTEGERS[token.text]
    if token.text in ("/", "%") and b.value == 0:
        raise NoConstant(token, "a division by 0", _EXPECTED)
    if token.text in ("<<", ">>") and not (0 <= b.value < 64 and a.value >= 0):
        raise NoConstant(
            token, f"a shift by {b.value}", "a shift by less than the width of the type"
        )
    return _checked(token, _Integer(function(a.value, b.value), kind))


def _truncated(a: int, b: int) -> int:
    """Divide as C++ does: towards 0."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


_INTEGERS: dict[str, Callable[[int, int], int]] = {
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _truncated,
    "%": lambda a, b: a - b * _truncated(a, b),
}


def _combine_floats(token: Token, left: _Value, right: _Value) -> float:
    operands = [
        each if isinstance(each, float) else float(_promoted(token, each).value)
        for each in (left, right)
    ]
    if token.text not in ("+", "-", "*", "/") or (token.text == "/" and operands[1] == 0):
        raise NoConstant(token, f"'{token.text}' of numbers with a point", _EXPECTED)
    a, b = operands
    return {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else 0.0}[token.text]
