"""Types of Python for flags: between the value in Python and the one in C."""

from __future__ import annotations

import datetime as dt
import decimal
import os
import re
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from paddle_flags._core import lists
from paddle_flags._core.frames import hides_internal_frames
from paddle_flags._core.names import suggest_name
from paddle_flags._core.values import BY_NAME, to_plain
from paddle_flags.errors import FlagArgumentError, FlagTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

T = TypeVar("T")

REJECTIONS = (ValueError, TypeError, ArithmeticError, LookupError)
"""What a function may raise for a value that it doesn't take."""


class Unfit(ValueError):
    """A value that a type doesn't take; the message says all that was expected."""


@hides_internal_frames
class Type(Generic[T]):
    """How flags hold values of a type of Python, as `define(..., type=...)` takes it.

        Address = pf.Type(ipaddress.ip_address)
        host = pf.define("host", ipaddress.ip_address("::1"), type=Address)

    `parse` makes a value of text, and raises ValueError for text that is none, with the
    reason: such a value is refused wherever it comes from. `format` makes text of a
    value; it is the text that C sees and that reports show, and `parse` must make an
    equal value of it.

    `native` is the type of C. If it isn't `"string"`, `parse` takes and `format` returns
    a number or a bool in place of text.

    `metavar` stands for a value in help. `expected` says in messages what a value is, as
    in "an address of IPv4 or IPv6". `choices` are the only values, as text.

    A value is parsed once and then shared by all who read the flag, so it should not be
    changed. Both functions may be called on any thread.

    Raises FlagTypeError if `parse` or `format` can't be called, and FlagArgumentError for
    another `native`.
    """

    __slots__ = (
        "choices", "expected", "format", "item", "item_type", "metavar", "native", "parse",
        "python", "takes_tables", "unit",
    )  # fmt: skip

    def __init__(
        self,
        parse: Callable[[Any], T],
        format: Callable[[T], Any] = str,
        native: str = "string",
        *,
        metavar: str | None = None,
        expected: str | None = None,
        choices: Iterable[str] = (),
    ) -> None:
        for function in (parse, format):
            if not callable(function):
                raise FlagTypeError(f"Type: {function!r}: expected a function")
        if native not in BY_NAME:
            message = f"Type: native {native!r}: expected one of {', '.join(BY_NAME)}"
            raise FlagArgumentError(message)
        name = getattr(parse, "__name__", None) or type(parse).__name__
        if name == "<lambda>":
            name = ""
        self.parse = parse
        self.format = format
        self.native = native
        self.metavar = metavar or name.upper() or "VALUE"
        self.expected = expected or (f"a value that {name} takes" if name else "a valid value")
        self.choices = tuple(choices)
        self.python: Any = parse if isinstance(parse, type) else None
        self.item: Type[Any] | None = None  # of a list or dict
        self.item_type: str | None = None  # in C, of a list
        self.unit: str | None = None
        self.takes_tables = False  # of files

    def __repr__(self) -> str:
        return f"<Type {self.metavar}: {self.native}>"

    def read(self, value: Any) -> T:
        """Return the value of one in C; raise Unfit."""
        try:
            return self.parse(value)
        except REJECTIONS as error:
            raise self._to_unfit(error) from error

    def write(self, value: T) -> Any:
        """Return what C gets for a value; raise Unfit."""
        try:
            native = self.format(value)
        except REJECTIONS as error:
            raise self._to_unfit(error) from error
        kind = BY_NAME[self.native].python
        if not isinstance(native, kind):
            raise FlagTypeError(
                f"{self.metavar}: format returned {type(native).__name__}, expected {kind.__name__}"
            )
        return to_plain(native)

    def canonical(self, value: Any) -> Any:
        """Return the form in which C keeps a value of C; raise Unfit."""
        return self.write(self.read(value))

    def accepts(self, value: object) -> bool:
        """Return whether a value of Python may be a value of this type."""
        return self.python is None or isinstance(value, self.python)

    def reads(self, value: object) -> bool:
        """Return whether a value of Python is text to be read, as on a command line."""
        if not isinstance(value, str) or self.native != "string":
            return False
        return self.python is str or not self.accepts(value)

    @property
    def is_number(self) -> bool:
        """Whether the values are numbers or bools, which a file may write in several ways."""
        return self.python in (bool, int, float, decimal.Decimal)

    def _to_unfit(self, error: Exception) -> Unfit:
        if isinstance(error, Unfit):
            return error
        reason = error.args[0] if isinstance(error, KeyError) and error.args else error
        return Unfit(f"expected {self.expected}" + (f": {reason}" if str(reason) else ""))


def make_type(
    python: Any,
    parse: Callable[[Any], Any],
    format: Callable[[Any], Any],
    metavar: str,
    expected: str,
    *,
    native: str = "string",
) -> Type[Any]:
    """Return a type of this package, whose parser says by Unfit or by None what it refuses."""

    def parse_or_raise(value: Any) -> Any:
        try:
            result = parse(value)
        except Unfit:
            raise
        except REJECTIONS:
            result = None
        if result is None:
            raise Unfit(f"expected {expected}")
        return result

    type_ = Type(parse_or_raise, format, native, metavar=metavar, expected=expected)
    type_.python = python
    return type_


# ---- Scalars: also the items of lists and dicts ----

_INTEGER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)")


def _parse_integer(text: str) -> int | None:
    if not _INTEGER.fullmatch(text):
        return None
    return int(text, 16) if "x" in text.lower() else int(text)


def _parse_float(text: str) -> float | None:
    if text != text.strip() or "_" in text or not text.isascii():
        return None
    return float.fromhex(text) if "x" in text.lower() else float(text)


def _parse_decimal(text: str) -> decimal.Decimal | None:
    if text != text.strip() or "_" in text or not text.isascii():
        return None
    value = decimal.Decimal(text)
    return None if value.is_snan() else value


BOOL = make_type(bool, lambda text: lists.BOOLS[text.lower()], lambda v: str(v).lower(), "BOOL",
            lists.BOOL_EXPECTED)  # fmt: skip
INT = make_type(int, _parse_integer, lists.integer_text, "INT", "an integer")
FLOAT = make_type(float, _parse_float, repr, "FLOAT", "a number")
TEXT = make_type(str, str, str, "TEXT", "text")
DECIMAL = make_type(decimal.Decimal, _parse_decimal, str, "DECIMAL", "a decimal number, as in 0.10")


def path_type(python: type[os.PathLike[str]]) -> Type[Any]:
    """Return the type of paths of a class of pathlib."""
    return make_type(python, cast("Any", python), os.fspath, "PATH", "a path")


# ---- Dates and times ----

_DATE = r"\d{4}-\d\d-\d\d"
_TIME = (
    r"([01]\d|2[0-3]):\d\d(:\d\d(\.\d{1,6})?)?"
    r" ?([Zz]|[+-]\d\d(:?[0-5]\d(:?[0-5]\d(\.\d{6})?)?)?)?"
)


def _iso_reader(python: Any, pattern: str) -> Callable[[str], Any]:
    """Return what reads the usual ones of the forms that `fromisoformat` takes."""
    form = re.compile(pattern, re.ASCII)

    def read(text: str) -> Any:
        plain = re.sub(r" (?=[Zz+-])", "", text).upper()  # "12:30 +01:00", as databases write it
        return python.fromisoformat(plain) if form.fullmatch(text) else None

    return read


def _date_text(value: dt.date) -> str:
    if isinstance(value, dt.datetime):
        raise Unfit("expected a date, not a datetime, whose time would be lost")
    return value.isoformat()


def _time_text(value: dt.time) -> str:
    if value.tzinfo and value.utcoffset() is None:
        raise Unfit("expected a time whose zone has one offset on all dates")
    return value.isoformat()


DATE_TIME = make_type(
    dt.datetime,
    _iso_reader(dt.datetime, f"{_DATE}([Tt ]{_TIME})?"),
    dt.datetime.isoformat,
    "DATETIME",
    "a date and time, as in 2026-01-31T12:30 or 2026-01-31T12:30:00Z",
)
DATE = make_type(
    dt.date, _iso_reader(dt.date, _DATE), _date_text, "DATE", "a date, as in 2026-01-31"
)
TIME = make_type(dt.time, _iso_reader(dt.time, _TIME), _time_text, "TIME", "a time, as in 12:30")


def _to_seconds(value: dt.timedelta) -> float:
    seconds = value.total_seconds()
    if _from_seconds(seconds) != value:
        raise Unfit("expected a duration whose microseconds a double of seconds can hold")
    return seconds


def _from_seconds(seconds: float) -> dt.timedelta:
    return dt.timedelta(seconds=seconds)


DURATION = make_type(
    dt.timedelta,
    _from_seconds,
    _to_seconds,
    "DURATION",
    "a duration of less than 10**9 days",
    native="double",
)
DURATION.unit = "seconds"


# ---- One of several ----


def _join_names(names: Iterable[str]) -> str:
    text = ""
    for name in names:
        if len(text) > 200:  # a line or two
            return text + ", ..."
        text += (", " if text else "") + (name or '""')
    return text


def _casefold_texts(texts: Mapping[str, Any], choices: Mapping[str, Any]) -> dict[str, Any]:
    folded: dict[str, Any] = {}
    for text, value in texts.items():
        if text in choices or text.casefold() not in folded:
            other = folded.setdefault(text.casefold(), value)
            if other != value and text in choices:
                raise FlagArgumentError(f"choices {text!r} and others differ only in case")
    return folded


def choice_type(
    python: Any,
    choices: Mapping[str, Any],
    also: Mapping[str, Any],
    *,
    case_sensitive: bool = True,
) -> Type[Any]:
    """Return a type whose values have these names; `also` has other texts for them."""
    expected = f"one of {_join_names(choices)}"
    texts = {**also, **choices}
    folded = {} if case_sensitive else _casefold_texts(texts, choices)

    def parse(text: str) -> Any:
        if text in texts:
            return texts[text]
        if not case_sensitive and text.casefold() in folded:
            return folded[text.casefold()]
        raise Unfit(f"expected {expected}{suggest_name(text, choices)}")

    names = [(value, name) for name, value in choices.items()]

    def name_of(value: Any) -> str:
        for other, name in names:
            if other is value or (type(other) is type(value) and other == value):
                return name
        if isinstance(value, str):  # read as on a command line
            return name_of(parse(str.__str__(value)))
        raise Unfit(f"expected {expected}")

    shown = () if any("|" in name or not name for name in choices) else choices
    made_type: Type[Any] = Type(parse, name_of, choices=shown, expected=expected)
    made_type.metavar = ""
    made_type.python = python
    return made_type
