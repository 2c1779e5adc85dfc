"""What the metadata of `Annotated[...]` demands of a value.

That of annotated_types and of other libraries is known by its attributes. Types of pydantic are
checked by pydantic, which is there if they are. Metadata that may be a constraint, and that nothing
here can enforce, is refused.
"""

from __future__ import annotations

import copy
import datetime as dt
import re
import sys
from typing import TYPE_CHECKING, Any

from paddle_flags._core.status import quote_value
from paddle_flags._core.types import REJECTIONS, Type, Unfit
from paddle_flags._core.values import BY_NAME, coerce_to_kind, to_plain
from paddle_flags.errors import FlagTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Check = Callable[[Any], Any]  # returns the value, or another one in its place; raises Unfit


def _is_multiple(value: Any, unit: Any) -> bool:
    if isinstance(value, float) or isinstance(unit, float):
        return bool(abs(round(value / unit) - value / unit) < 1e-9)
    return bool(value % unit == 0)


def _has_zone(value: Any, zone: Any) -> bool:
    """Return whether a time has a zone: any if it is True or ..., none if it is None or False."""
    own = value.tzinfo
    if zone in (..., True):
        return own is not None
    if zone in (None, False):
        return own is None
    if isinstance(zone, dt.tzinfo):
        return bool(own == zone)
    return zone in (str(own), getattr(own, "key", None))


_BOUNDS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "gt": ("> {}", lambda value, bound: value > bound),
    "ge": (">= {}", lambda value, bound: value >= bound),
    "lt": ("< {}", lambda value, bound: value < bound),
    "le": ("<= {}", lambda value, bound: value <= bound),
    "multiple_of": ("that is a multiple of {}", _is_multiple),
    "min_length": ("of length >= {}", lambda value, bound: len(value) >= bound),
    "max_length": ("of length <= {}", lambda value, bound: len(value) <= bound),
    "pattern": ("that matches {}", lambda value, sign: re.search(sign, value) is not None),
    "tz": ("with the time zone {}", _has_zone),
    "func": ("that {} accepts", lambda value, function: function(value)),
}
_GROUP = "__is_annotated_types_grouped_metadata__"
_NOTES = ("Unit", "Doc", "DocInfo")  # classes of metadata that constrain nothing
_COMMAND_LINES = ("typer", "click", "tyro", "cyclopts")  # libraries that annotate parameters


def is_of_pydantic(what: object) -> bool:
    """Return whether a class, or the class of an object, is pydantic's."""
    kind = what if isinstance(what, type) else type(what)
    return kind.__module__.partition(".")[0] == "pydantic"


def constrained_type(base: Type[Any], hint: Any, noun: str | None = None) -> Type[Any]:
    """Return a type whose values are those of `base` that the metadata of `hint` allows.

    `noun` says what a value is, as in "a list"; None: as `base` says.
    """
    metadata = list(_flatten_metadata(hint.__metadata__))
    if any(is_of_pydantic(each) for each in metadata):
        return _copy_type_with_check(base, _make_pydantic_check(base, hint), base.expected)
    found = [demand for each in metadata for demand in _extract_constraints(hint, each)]
    if not found:
        return base
    texts = [text for text, _ in found]
    expected = f"{noun or base.expected} {' and '.join(texts)}"

    def check(value: Any) -> Any:
        for _, holds in found:
            try:
                allowed = bool(holds(value))
            except REJECTIONS:
                allowed = False
            if not allowed:
                raise Unfit(f"expected {expected}")
        return value

    return _copy_type_with_check(base, check, expected)


def _flatten_metadata(metadata: Iterable[Any]) -> Iterator[Any]:
    for each in metadata:
        if getattr(each, _GROUP, False) is True:
            yield from _flatten_metadata(each)
        else:
            yield each


def _extract_constraints(hint: Any, metadata: Any) -> list[tuple[str, Callable[[Any], bool]]]:
    """Return what one object demands: the words for it, and whether a value meets it."""
    if isinstance(metadata, slice):  # as annotated_types had lengths once
        low, high = metadata.start or 0, metadata.stop
        top = [] if high is None else [_make_constraint("max_length", high)]
        return [_make_constraint("min_length", low), *top]
    kind = metadata if isinstance(metadata, type) else type(metadata)
    module = kind.__module__.partition(".")[0]
    if module == "builtins" or kind.__name__ in _NOTES or module in _COMMAND_LINES:
        return []
    fields = [name for name in _BOUNDS if hasattr(metadata, name)]
    if not fields:
        name = getattr(hint, "__name__", None) or quote_value(hint)
        raise FlagTypeError(
            f"type {name}: {quote_value(metadata)} can't be enforced; expected constraints of"
            " annotated_types or pydantic, or a Type that checks its values"
        )
    given = [(name, getattr(metadata, name)) for name in fields]
    is_zone = fields == ["tz"]  # of which None means something
    return [_make_constraint(name, bound) for name, bound in given if is_zone or bound is not None]


def _make_constraint(name: str, bound: Any) -> tuple[str, Callable[[Any], bool]]:
    text, holds = _BOUNDS[name]
    seen = getattr(bound, "__qualname__", None) or str(bound)
    return text.format("any" if bound is ... else seen), lambda value: holds(value, bound)


def _make_pydantic_check(base: Type[Any], hint: Any) -> Check:
    """Return what lets pydantic check a value."""
    try:
        adapter = sys.modules["pydantic"].TypeAdapter(hint)
    except Exception as error:
        message = f"type {quote_value(hint)}: pydantic can't check its values: {error}"
        raise FlagTypeError(message) from error

    def check(value: Any) -> Any:
        try:
            result = adapter.validate_python(list(value) if isinstance(value, tuple) else value)
        except ValueError as error:
            reasons = "; ".join(each["msg"] for each in error.errors())  # type: ignore[attr-defined]
            raise Unfit(f"expected {base.expected}: {reasons}") from None
        return tuple(result) if isinstance(value, tuple) else result

    return check


def _copy_type_with_check(base: Type[Any], check: Check, expected: str) -> Type[Any]:
    made = copy.copy(base)
    native = BY_NAME[base.native].python

    def parse(value: Any) -> Any:
        return check(base.parse(value))

    def text_of(value: Any) -> Any:
        text = base.format(value)
        return base.format(parse(to_plain(text))) if isinstance(text, native) else text

    made.parse, made.format, made.expected = parse, text_of, expected
    return made


def make_pydantic_type(python: Any) -> Type[Any]:
    """Return the type of a class of pydantic whose values are written as their text."""
    found: Type[Any] = Type(str, str, metavar=python.__name__.upper(), expected="text")
    found.expected = f"a value that {python.__name__} takes"
    made = _copy_type_with_check(found, _make_pydantic_check(found, python), found.expected)
    made.python = None
    return made


class _PlainType(Type[Any]):
    """The values of C as they are, of which a constraint refuses some."""

    __slots__ = ()

    def accepts(self, value: object) -> bool:
        try:
            coerce_to_kind("", BY_NAME[self.native], value)
        except FlagTypeError:
            return False
        return True


_NOUNS = {bool: "true or false", int: "an integer", float: "a number", str: "text"}


def plain_type(native: str) -> Type[Any]:
    """Return the type of the values of a type in C."""
    kind = BY_NAME[native]
    made = _PlainType(
        lambda value: value,
        lambda value: coerce_to_kind("", kind, value),
        native,
        expected=_NOUNS[kind.python],
    )
    made.metavar = ""
    made.python = kind.python
    return made
