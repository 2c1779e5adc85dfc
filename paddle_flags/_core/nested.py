"""Lists and dicts in lists and dicts, as types of flags: their text is JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from paddle_flags._core.containers import FrozenDict
from paddle_flags._core.lists import items_of
from paddle_flags._core.types import Type, Unfit, make_type

if TYPE_CHECKING:
    from collections.abc import Callable

    Make = Callable[[Any], Any]  # a value of what JSON has, or of a value; raises Unfit


def nested_type(make: Make, metavar: str) -> Type[Any]:
    """Return the type whose values `make` makes of what JSON has, and of values."""
    expected = f"JSON, as in {metavar}"

    def parse(text: str) -> Any:
        try:
            found = json.loads(text, object_pairs_hook=_dict_of_unique_keys)
        except ValueError as error:
            raise Unfit(f"expected {expected}: {error}") from None
        return make(found)

    def text_of(value: Any) -> str:
        return json.dumps(make(value), ensure_ascii=False)

    type_ = make_type(None, parse, text_of, "JSON", expected)
    type_.python = (list, tuple, dict)
    return type_


def _dict_of_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # json.loads would silently let the last of equal keys win.
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def make_list_converter(item: Make) -> Make:
    """Return what makes a tuple of a list."""

    def make_list(value: Any) -> Any:
        items = items_of(value)
        if items is None:
            raise Unfit(f"expected a list, not {type(value).__name__}")
        return tuple(
            _make_with_location(f"item {number}", item, each)
            for number, each in enumerate(items, 1)
        )

    return make_list


def make_dict_converter(value: Make) -> Make:
    """Return what makes a dict of one whose keys are text."""

    def make_dict(found: Any) -> Any:
        if not isinstance(found, dict) or not all(isinstance(key, str) for key in found):
            raise Unfit(f"expected a dict with keys of text, not {type(found).__name__}")
        return FrozenDict(
            (key, _make_with_location(key, value, each)) for key, each in found.items()
        )

    return make_dict


def make_scalar_converter(kind: Type[Any]) -> Make:
    """Return what makes a bool, a number or text."""

    def make_scalar(value: Any) -> Any:
        # bool is a subclass of int: True is no number here.
        is_exact = isinstance(value, bool) == (kind.python is bool)
        if kind.python is float and isinstance(value, int) and is_exact:
            value = float(value)
        if not is_exact or not isinstance(value, kind.python):
            raise Unfit(f"expected {kind.expected}, not {type(value).__name__}")
        return kind.read(kind.write(value))

    return make_scalar


def _make_with_location(where: str, make: Make, value: Any) -> Any:
    try:
        return make(value)
    except Unfit as error:
        raise Unfit(f"{where}: {error}") from None
