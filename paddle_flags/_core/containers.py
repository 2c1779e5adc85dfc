"""Lists and dicts of types of Python, as types of flags: in C they are lists of text."""

from __future__ import annotations

from _collections_abc import Mapping, Set
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn

from paddle_flags._core import lists
from paddle_flags._core.types import REJECTIONS, Type, Unfit, make_type
from paddle_flags._core.values import to_plain
from paddle_flags._fast import split_list
from paddle_flags.errors import FlagTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class _ListType(Type[Any]):
    """Tuples of values of one type."""

    __slots__ = ()
    item: Type[Any]

    def __init__(self, item: Type[Any]) -> None:
        super().__init__(self._parse, self._text, expected=item.expected, choices=item.choices)
        self.item = item  # pyright: ignore[reportIncompatibleVariableOverride]
        self.item_type = "string"
        self.metavar = f"{item.metavar},..." if item.metavar else ""

    def _parse(self, text: str) -> tuple[Any, ...]:
        return _convert_items(self.item.read, split_list(text))

    def _text(self, values: Any) -> str:
        items = values if isinstance(values, tuple) else lists.items_of(values) or ()
        return lists.encode(_convert_items(self._item_text, items))

    def _item_text(self, value: Any) -> str:
        if self.item.reads(value):
            return str(self.item.canonical(to_plain(value)))
        if not self.item.accepts(value):
            raise Unfit(f"expected {self.item.expected}, not {type(value).__name__}")
        return str(self.item.write(value))

    def accepts(self, value: object) -> bool:
        """Return whether it is a sequence other than text."""
        return lists.items_of(value) is not None


class TupleType(_ListType):
    """Tuples of a fixed length, each of whose items has a type of its own."""

    __slots__ = ("items",)

    def __init__(self, items: tuple[Type[Any], ...]) -> None:
        super().__init__(items[0])
        self.items = items
        self.choices = ()
        self.metavar = ",".join(item.metavar or "VALUE" for item in items)
        self.expected = f"{self.metavar}: {', '.join(item.expected for item in items)}"
        self.item = make_type(str, str, str, "", self.expected)

    def _parse(self, text: str) -> tuple[Any, ...]:
        texts = self._check_length(split_list(text))
        return tuple(
            _convert_item(number, item.read, each)
            for number, (item, each) in enumerate(zip(self.items, texts), 1)
        )

    def _text(self, values: Any) -> str:
        found = self._check_length(lists.items_of(values) or ())
        texts = [
            _convert_item(number, partial(_format_checked_scalar, item), each)
            for number, (item, each) in enumerate(zip(self.items, found), 1)
        ]
        return lists.encode(tuple(texts))

    def _check_length(self, values: Any) -> Any:
        if len(values) != len(self.items):
            raise Unfit(f"expected {len(self.items)} items, not {len(values)}")
        return values


class SetType(_ListType):
    """Sets of values of one type, whose text is in the order of their texts."""

    __slots__ = ()

    def _parse(self, text: str) -> Any:
        return frozenset(super()._parse(text))

    def _text(self, values: Any) -> str:
        return lists.encode(tuple(sorted({*_convert_items(self._item_text, values)})))

    def accepts(self, value: object) -> bool:
        """Return whether it is a set, or a sequence other than text."""
        return isinstance(value, Set) or super().accepts(value)


def _convert_items(function: Callable[[Any], Any], values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(_convert_item(number, function, each) for number, each in enumerate(values, 1))


def _convert_item(number: int, function: Callable[[Any], Any], value: Any) -> Any:
    try:
        return function(value)
    except REJECTIONS as error:
        raise Unfit(f"item {number}: {error}") from error


def make_tuple_type(items: tuple[Type[Any], ...]) -> Type[Any]:
    """Return the type of tuples whose items have these types."""
    for item in items:
        make_list_type(item)  # raises the error about an item
    return TupleType(items)


def make_set_type(item: Type[Any]) -> Type[Any]:
    """Return the type of sets whose items have a type that is a string in C."""
    make_list_type(item)
    return SetType(item)


def make_list_type(item: Type[Any]) -> Type[Any]:
    """Return the type of lists whose items have a type that is a string in C."""
    if item.native != "string" or item.item_type:
        raise FlagTypeError(
            f"a list of {item.metavar}: expected items that are text in C, and these are"
            f" {'a list' if item.item_type else item.native}"
        )
    return _ListType(item)


class FrozenDict(dict[str, Any]):
    """The value of a flag, which all readers share: it can't be changed."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("the value of a flag can't be changed: assign another dict to the flag")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse  # pyright: ignore[reportAssignmentType]

    def __reduce__(self) -> tuple[type, tuple[dict[str, Any]]]:
        return dict, (dict(self),)

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    def __deepcopy__(self, memo: object) -> dict[str, Any]:
        return dict(self)  # of scalars


class DictType(Type[Any]):
    """Dicts of scalars; their text is `a=1,b=2`."""

    __slots__ = ("key", "value")

    def __init__(self, key: Type[Any], value: Type[Any]) -> None:
        expected = f"KEY=VALUE, and each value {value.expected}"
        super().__init__(self._parse, self._text, expected=expected)
        self.key = key
        self.value = value
        self.item = make_type(tuple, self._parse_pair, self._item_text, "KEY=VALUE", expected)
        self.item_type = "string"
        self.metavar = f"KEY={value.metavar or 'VALUE'},..."
        self.takes_tables = True

    def _parse(self, text: str) -> FrozenDict:
        return FrozenDict(_convert_items(self._parse_pair, split_list(text)))

    def _parse_pair(self, text: str) -> tuple[Any, Any]:
        key, equals, value = text.partition("=")
        if not equals:
            raise Unfit(f"expected {self.metavar.partition(',')[0]}")
        return self.key.read(key), self.value.read(value)

    def _text(self, values: Mapping[Any, Any]) -> str:
        return lists.encode(_convert_items(self._item_text, values.items()))

    def _item_text(self, pair: tuple[Any, Any]) -> str:
        key = _format_checked_scalar(self.key, pair[0])
        if "=" in key:
            raise Unfit(f"expected a key without '=', not {key!r}")
        return f"{key}={_format_checked_scalar(self.value, pair[1])}"

    def accepts(self, value: object) -> bool:
        """Return whether it is a mapping."""
        return isinstance(value, Mapping)


def _format_checked_scalar(kind: Type[Any], value: Any) -> str:
    if kind.reads(value) and kind.python not in (bool, int, float):
        return str(kind.canonical(to_plain(value)))
    exact = not isinstance(value, bool) or kind.python is bool
    if kind.python is float and isinstance(value, int) and exact:
        value = float(value)
    if not exact or not kind.accepts(value):
        raise Unfit(f"expected {kind.expected}, not {type(value).__name__}")
    return str(kind.write(value))


def make_dict_type(key: Type[Any], value: Type[Any]) -> Type[Any]:
    """Return the type of dicts with such keys and values."""
    for each in (key, value):
        if each.native != "string" or each.item_type:
            message = f"a dict of {each.metavar}: expected keys and values that are text in C"
            raise FlagTypeError(message)
    return DictType(key, value)
