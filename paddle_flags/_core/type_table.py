"""Which type of flags a type of Python is: the one place that decides."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import pathlib
import uuid
from collections.abc import Mapping, MutableMapping, MutableSequence, MutableSet, Sequence
from collections.abc import Set as AbstractSet
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NewType, Union, get_args, get_origin

from paddle_flags._core import types
from paddle_flags._core.constraints import constrained_type, make_pydantic_type, plain_type
from paddle_flags._core.containers import (
    make_dict_type,
    make_list_type,
    make_set_type,
    make_tuple_type,
)
from paddle_flags._core.enums import enum_type
from paddle_flags._core.lists import items_of
from paddle_flags._core.nested import (
    make_dict_converter,
    make_list_converter,
    make_scalar_converter,
    nested_type,
)
from paddle_flags._core.status import quote_value
from paddle_flags._core.types import Type
from paddle_flags._core.values import find_plain_class
from paddle_flags.errors import FlagTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable

_UNIONS = (Union, UnionType)
_LISTS = (list, tuple, Sequence, MutableSequence)
_SETS = (set, frozenset, AbstractSet, MutableSet)
_DICTS = (dict, Mapping, MutableMapping)

_NATIVE = {bool: "bool", int: "int64", float: "double", str: "string"}
_CLASSES: dict[Any, Type[Any]] = {
    dt.datetime: types.DATE_TIME,
    dt.date: types.DATE,
    dt.time: types.TIME,
    dt.timedelta: types.DURATION,
    decimal.Decimal: types.DECIMAL,
    uuid.UUID: types.make_type(uuid.UUID, uuid.UUID, str, "UUID", "a UUID"),
}
_BY_NATIVE = {
    "bool": types.BOOL, "int64": types.INT, "double": types.FLOAT, "string": types.TEXT,
}  # fmt: skip
_SCALARS = {bool: types.BOOL, int: types.INT, float: types.FLOAT, str: types.TEXT}

_EXPECTED = (
    "bool, int, float, str, an Enum, Path, Decimal, datetime, date, time, timedelta,"
    " UUID, Literal, Optional, a list, set, tuple or dict of these, or a Type"
)


class Meaning(NamedTuple):
    """What a type of Python is as a flag."""

    native: str  # type in C
    item: str | None = None  # type in C of a list's items
    type: Type[Any] | None = None  # None: the values are those of C
    choices: tuple[Any, ...] = ()
    optional: bool = False  # it includes None


def resolve_type_hint(hint: Any, *, case_sensitive: bool = True) -> Meaning:
    """Return what a type means; raise FlagTypeError if it is none of a flag."""
    hint = _without_new_type(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if hasattr(hint, "__metadata__"):  # Annotated
        return _resolve_annotated_hint(hint, case_sensitive=case_sensitive)
    if origin in _UNIONS:
        return _resolve_optional_hint(hint, arguments, case_sensitive=case_sensitive)
    if origin is Literal:
        return _resolve_literal_hint(arguments, case_sensitive=case_sensitive)
    if _is_one_of(origin or hint, _LISTS):
        return _resolve_list_hint(hint, arguments, case_sensitive=case_sensitive)
    if _is_one_of(origin or hint, _SETS):
        return _make_type_meaning(make_set_type(scalar_type(arguments[0] if arguments else str)))
    if _is_one_of(origin or hint, _DICTS):
        key, value = arguments or (str, str)
        if _is_container(value):
            return _make_type_meaning(nested_type(_maker_from_json(hint), '{"a": [1]}'))
        return _make_type_meaning(
            make_dict_type(scalar_type(key), scalar_type(value, case_sensitive=case_sensitive))
        )
    if isinstance(hint, type) and hint in _NATIVE:
        return Meaning(_NATIVE[hint])
    return _make_type_meaning(_type_of_class(hint, case_sensitive=case_sensitive))


def _resolve_annotated_hint(hint: Any, *, case_sensitive: bool) -> Meaning:
    meaning = resolve_type_hint(hint.__origin__, case_sensitive=case_sensitive)
    if meaning.type is not None:
        base, noun = meaning.type, "a list" if meaning.item else None
    elif meaning.item is not None:
        base, noun = _native_list_type(_BY_NATIVE[meaning.item], meaning.item), "a list"
    else:
        base, noun = plain_type(meaning.native), None
    made = constrained_type(base, hint, noun)
    return meaning if made is base else meaning._replace(type=made)


def _native_list_type(item: Type[Any], native: str) -> Type[Any]:
    """Return the type of a list whose items are numbers or bools in C too."""
    made = make_list_type(item)
    made.item_type = native
    return made


def _without_new_type(hint: Any) -> Any:
    while isinstance(hint, NewType):
        hint = hint.__supertype__
    return hint


def _is_container(hint: Any) -> bool:
    return _is_one_of(get_origin(_without_new_type(hint)) or hint, (*_LISTS, *_DICTS, *_SETS))


def _maker_from_json(hint: Any) -> Any:
    """Return what makes values of a hint of what JSON has."""
    hint = _without_new_type(hint)
    origin, arguments = get_origin(hint) or hint, get_args(hint)
    is_fixed = origin is tuple and arguments and arguments[1:] != (...,)
    if _is_one_of(origin, _LISTS) and not is_fixed:
        return make_list_converter(_maker_from_json(arguments[0] if arguments else str))
    if _is_one_of(origin, _DICTS):
        key, value = arguments or (str, str)
        if key is str:
            return make_dict_converter(_maker_from_json(value))
    if _is_one_of(hint, (bool, int, float, str)):
        return make_scalar_converter(_SCALARS[hint])
    name = getattr(hint, "__name__", None) or quote_value(hint)
    message = f"type {name} in a list or dict of lists or dicts: expected bool, int, float or str"
    raise FlagTypeError(message)


def _is_one_of(hint: object, classes: tuple[Any, ...]) -> bool:
    """Return whether the hint is one of the classes, without asking it: its == may be anything."""
    return any(hint is each for each in classes)


def scalar_type(hint: Any, *, case_sensitive: bool = True) -> Type[Any]:
    """Return the Type of a value that is text in C, as an item of a list or dict is."""
    hint = _without_new_type(hint)
    if isinstance(hint, type) and hint in _SCALARS:
        return _SCALARS[hint]
    if hasattr(hint, "__metadata__"):
        return constrained_type(scalar_type(hint.__origin__, case_sensitive=case_sensitive), hint)
    meaning = resolve_type_hint(hint, case_sensitive=case_sensitive)
    if meaning.optional or meaning.item:
        raise _unsupported_type_error(hint)
    if meaning.type:
        return meaning.type
    values = {str(choice): choice for choice in meaning.choices}
    return types.choice_type(None, values, {}, case_sensitive=case_sensitive)


def _type_of_class(hint: Any, *, case_sensitive: bool) -> Type[Any]:
    if isinstance(hint, Type):
        return hint
    if isinstance(hint, type) and hint in _CLASSES:
        return _CLASSES[hint]
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return enum_type(hint, case_sensitive=case_sensitive)
    if isinstance(hint, type) and issubclass(hint, pathlib.PurePath):
        return types.path_type(hint)
    if isinstance(hint, type) and hint.__module__ == "pydantic.networks":
        return make_pydantic_type(hint)
    raise _unsupported_type_error(hint)


def _make_type_meaning(type_: Type[Any]) -> Meaning:
    return Meaning(type_.native, type_.item_type, type_, type_.choices)


def _unsupported_type_error(hint: Any) -> FlagTypeError:
    name = hint.__name__ if isinstance(hint, type) else quote_value(hint)
    return FlagTypeError(f"type {name}: expected {_EXPECTED}")


def _resolve_optional_hint(
    hint: Any, arguments: tuple[Any, ...], *, case_sensitive: bool
) -> Meaning:
    others = [each for each in arguments if each is not type(None)]
    if len(others) != 1 or len(others) == len(arguments):
        raise _unsupported_type_error(hint)
    return resolve_type_hint(others[0], case_sensitive=case_sensitive)._replace(optional=True)


def _resolve_literal_hint(values: tuple[Any, ...], *, case_sensitive: bool) -> Meaning:
    optional = None in values
    some = tuple(value for value in values if value is not None)
    kinds = {type(value) for value in some}
    texts = {_text_of(value): value for value in some}
    if len(texts) < len(some) or not some:
        message = f"type Literal{list(values)}: expected values of which each has another text"
        raise FlagTypeError(message)
    native = _NATIVE.get(next(iter(kinds)), "") if len(kinds) == 1 else ""
    if native in ("int64", "string") and case_sensitive and "|" not in "".join(texts):
        return Meaning(native, choices=some, optional=optional)
    type_ = types.choice_type(object, texts, {}, case_sensitive=case_sensitive)
    return _make_type_meaning(type_)._replace(optional=optional)


def _text_of(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, str)):
        return str(value)
    message = f"type Literal: {value!r}: expected text, an integer, a bool or a member of an Enum"
    raise FlagTypeError(message)


def _resolve_list_hint(hint: Any, arguments: tuple[Any, ...], *, case_sensitive: bool) -> Meaning:
    item = _without_new_type(arguments[0]) if arguments else str
    if get_origin(hint) is tuple and arguments[1:] != (...,):
        return _make_type_meaning(make_tuple_type(tuple(map(scalar_type, arguments))))
    if _is_container(item):
        return _make_type_meaning(nested_type(_maker_from_json(hint), "[[1, 2], [3]]"))
    return resolve_list_of_items(item, case_sensitive=case_sensitive)


def resolve_list_of_items(item: Any, *, case_sensitive: bool = True) -> Meaning:
    """Return what a list of a type means."""
    if isinstance(item, type) and item in _NATIVE:
        return Meaning("string", _NATIVE[item])
    inner = resolve_type_hint(item, case_sensitive=case_sensitive)
    if inner.optional or inner.item:
        raise _unsupported_type_error(item)
    if inner.type and inner.native != "string" and inner.type.python in _SCALARS:
        checked = scalar_type(item, case_sensitive=case_sensitive)
        return Meaning("string", inner.native, _native_list_type(checked, inner.native))
    if inner.type is None:
        return Meaning("string", inner.native, None, inner.choices)
    return _make_type_meaning(make_list_type(inner.type))


# ---- Types of defaults ----


def infer_non_plain_hint(default: object) -> Any:
    """Return the type of a default that isn't plain; raise FlagTypeError if there is none."""
    if isinstance(default, enum.Enum):
        return type(default)
    if isinstance(default, pathlib.PurePath):
        return pathlib.Path if isinstance(default, pathlib.Path) else type(default)
    for python in _CLASSES:  # datetime before date, of which it is a subclass
        if isinstance(default, python):
            return python
    if isinstance(default, Mapping):
        key, value = _common_hint(default), _common_hint(default.values())
        return dict[key, value]  # type: ignore[valid-type]
    if isinstance(default, AbstractSet):
        return set[_common_hint(default)]  # type: ignore[misc]
    items = items_of(default)
    if items is not None:
        return list[_common_hint(items)]  # type: ignore[misc]
    raise FlagTypeError(f"expected {_EXPECTED}, not {type(default).__name__}")


def _common_hint(values: Iterable[object]) -> Any:
    hints = {_infer_value_hint(value) for value in values} or {str}
    if hints == {int, float}:
        return float
    if len(hints) > 1:
        raise FlagTypeError("expected items of one type")
    return hints.pop()


def _infer_value_hint(value: object) -> Any:
    own = None if isinstance(value, enum.Enum) else find_plain_class(value)
    return own or infer_non_plain_hint(value)


# ---- Definitions ----


def resolve_definition_type(
    about: str,
    default: object,
    hint: Any,
    items: Any,
    choices: Iterable[Any],
    *,
    case_sensitive: bool,
) -> Meaning:
    """Return what the type of a definition means, or that of the items or of the default."""
    try:
        if isinstance(hint, str):
            meaning = Meaning(hint)
        elif items is not None:
            meaning = resolve_list_of_items(items, case_sensitive=case_sensitive)
        elif hint is not None or default is not None:
            wanted = _infer_value_hint(default) if hint is None else hint
            meaning = resolve_type_hint(wanted, case_sensitive=case_sensitive)
        else:
            raise FlagTypeError("expected `type`, as the default is None")
        return meaning if case_sensitive or meaning.type else _ignore_case(meaning, choices)
    except FlagTypeError as error:
        told = str(error) if items is None else str(error).replace("type ", "items ", 1)
        raise FlagTypeError(f"{about}: {told}") from None


def _ignore_case(meaning: Meaning, choices: Iterable[Any]) -> Meaning:
    if meaning.native != "string" or meaning.item not in (None, "string") or not choices:
        raise FlagTypeError("case_sensitive: expected a flag of text with choices")
    names = [str(choice) for choice in choices]
    type_ = types.choice_type(str, dict(zip(names, names)), {}, case_sensitive=False)
    if meaning.item:
        type_ = make_list_type(type_)
    return meaning._replace(type=type_, item=type_.item_type)
