"""Flags that Python code defines."""

from __future__ import annotations

import sys

from paddle_flags._core.definition import (
    Definition,
    add_type_attributes,
    derive_value_type,
    infer_plain_kind,
    locate_frame,
)
from paddle_flags._core.flag import Flag, flags_made
from paddle_flags._core.frames import (
    first_user_frame,
    frame_above,
    hides_internal_frames,
    make_native_frame,
)
from paddle_flags._core.header import MARKS, TEXTS
from paddle_flags._core.status import (
    check_bool,
    quote_value,
)
from paddle_flags._core.values import (
    REDACTED,
)
from paddle_flags._fast import define as _define_plain

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    import datetime as dt
    import uuid
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet
    from decimal import Decimal
    from enum import Enum
    from pathlib import PurePath
    from types import FunctionType, UnionType
    from typing import Any, Generic, Literal, TypeVar, TypeVarTuple, Unpack, _SpecialForm, overload

    from paddle_flags._core.header import Attributes, Floating, Integer, MostAttributes
    from paddle_flags._core.types import Type

    _Unit = Literal["bytes", "seconds"]
    _Value = PurePath | dt.date | dt.time | dt.timedelta | Decimal | uuid.UUID
    _T = TypeVar("_T")
    _Ts = TypeVarTuple("_Ts")
    _K = TypeVar("_K")
    _E = TypeVar("_E", bound=Enum)
    _V = TypeVar("_V", bound=_Value)

    class _Chosen(Attributes, Generic[_T], total=False):
        """The attributes of a flag whose values, or items, may be few."""

        choices: Iterable[_T | str] | None
        case_sensitive: bool

    class _Ranged(_Chosen[_T], total=False):
        """The attributes of a flag whose values are ordered."""

        min: _T | None
        max: _T | None

    # What Literal[...] and Optional[...], and to pyright a NewType, are as arguments.
    _Form = _SpecialForm | UnionType | FunctionType
else:

    def overload(function: object) -> object:
        return function


def _define_with_attributes(
    name: str,
    default: Any,
    help: str = "",
    *,
    type: Any = None,
    items: Any = None,
    unit: str | None = None,
    min: Any = None,
    max: Any = None,
    choices: Iterable[Any] | None = None,
    case_sensitive: bool = True,
    # parameters: made by tools/lists.py
    hidden: bool = False,
    read_only: bool = False,
    startup_only: bool = False,
    sensitive: bool = False,
    experimental: bool = False,
    required: bool = False,
    optional: bool = False,
    multi: bool = False,
    scoped: bool = False,
    runtime: bool = False,
    unsafe: bool = False,
    per_process: bool = False,
    count: bool = False,
    merge: bool = False,
    category: str | None = None,
    aliases: Iterable[str] = (),
    deprecated: str | None = None,
    retired: str | None = None,
    old_names: Iterable[str] = (),
    metavar: str | None = None,
    # end of parameters
    replace: bool = False,
) -> Flag[Any]:
    choices = () if choices is None else choices
    # attributes: made by tools/lists.py
    marks: tuple[bool, ...] = (
        hidden, read_only, startup_only, sensitive, experimental, required, optional, multi, scoped,
        runtime, unsafe, per_process, count, merge,
    )  # fmt: skip
    texts: tuple[Any, ...] = (
        choices, category, aliases, unit, deprecated, retired, old_names, metavar,
    )  # fmt: skip
    # end of attributes
    frame = first_user_frame(frame_above(2))
    if case_sensitive is True and not check_bool("replace", replace):
        flag = _define_plain(
            flags_made, frame, name, default, help, type, items, min, max, *marks, *texts
        )
        if flag is not None:  # it was plain
            return flag  # type: ignore[no-any-return]
    default = _unbox_scalar(default)
    about = f"definition of {quote_value(name)}"
    seen = REDACTED if sensitive else quote_value(default)
    check_bool(f"{about}: case_sensitive", case_sensitive)
    kind = infer_plain_kind(about, seen, default, type, items) if case_sensitive else None
    if kind is None:
        from paddle_flags._core import type_table

        what = default if type is None and items is None else None
        about_type = f"{about}: default {seen}" if what is not None else about
        meaning = type_table.resolve_definition_type(
            about_type, what, type, items, choices, case_sensitive=case_sensitive
        )
        kind = derive_value_type(meaning)
        marks, texts = add_type_attributes(meaning, default, marks, texts)
    made = Definition(name, kind, sensitive=sensitive)
    for field, mark in zip(MARKS, marks):
        made.set_bool_field(field, mark)
    made.set_default(default)
    made.set_bound("min", min)
    made.set_bound("max", max)
    made.set_text("help", help)
    for (field, is_list), text in zip(TEXTS.items(), texts):
        if is_list:
            made.set_list(field, text)
        elif text is not None:
            made.set_text(field, text)
    made.set_place(locate_frame(frame))
    return made.register(frame, replace=replace)


# Those with `optional=True` are met first.
@overload
def define(  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
    name: str,
    default: tuple[_T, ...] | list[_T],
    help: str = ...,
    *,
    optional: Literal[True],
    type: type[list[_T] | tuple[_T, ...]] | None = ...,
    items: type[_T] | Type[_T] | None = ...,
    choices: Iterable[_T | str] | None = ...,
    case_sensitive: bool = ...,
    **attributes: Unpack[MostAttributes],
) -> Flag[tuple[_T, ...] | None]: ...
@overload
def define(  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
    name: str,
    default: Mapping[_K, _T],
    help: str = ...,
    *,
    optional: Literal[True],
    type: type[dict[_K, _T]] | None = ...,
    **attributes: Unpack[MostAttributes],
) -> Flag[dict[_K, _T] | None]: ...
@overload
def define(  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
    name: str,
    default: float,
    help: str = ...,
    *,
    optional: Literal[True],
    type: Floating | type[float],
    unit: _Unit | None = ...,
    min: float | None = ...,
    max: float | None = ...,
    choices: Iterable[float] | None = ...,
    **attributes: Unpack[MostAttributes],
) -> Flag[float | None]: ...
@overload
def define(  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
    name: str,
    default: _T,
    help: str = ...,
    *,
    optional: Literal[True],
    type: Integer | Literal["bool", "string"] | type[_T] | Type[_T] | None = ...,
    unit: _Unit | None = ...,
    min: _T | None = ...,
    max: _T | None = ...,
    choices: Iterable[_T | str] | None = ...,
    case_sensitive: bool = ...,
    **attributes: Unpack[MostAttributes],
) -> Flag[_T | None]: ...
@overload
def define(  # pyright: ignore[reportOverlappingOverload] - met first
    name: str,
    default: _E,
    help: str = ...,
    *,
    type: type[_E] | None = ...,
    **attributes: Unpack[_Chosen[_E]],
) -> Flag[_E]: ...
@overload
def define(  # pyright: ignore[reportOverlappingOverload] - met first
    name: str,
    default: bool,
    help: str = ...,
    *,
    type: Literal["bool"] | type[bool] | None = ...,
    **attributes: Unpack[Attributes],
) -> Flag[bool]: ...
@overload
def define(
    name: str,
    default: int,
    help: str = ...,
    *,
    type: Integer | type[int] | None = ...,
    unit: _Unit | None = ...,
    **attributes: Unpack[_Ranged[int]],
) -> Flag[int]: ...
@overload
def define(
    name: str,
    default: float,
    help: str = ...,
    *,
    type: Floating | type[float] | None = ...,
    unit: _Unit | None = ...,
    **attributes: Unpack[_Ranged[float]],
) -> Flag[float]: ...
@overload
def define(
    name: str,
    default: str,
    help: str = ...,
    *,
    type: Literal["string"] | type[str] | None = ...,
    **attributes: Unpack[_Chosen[str]],
) -> Flag[str]: ...
@overload
def define(
    name: str,
    default: _V,
    help: str = ...,
    *,
    type: type[_V] | None = ...,
    **attributes: Unpack[_Ranged[_V]],
) -> Flag[_V]: ...
@overload
def define(  # type: ignore[overload-overlap]  # it is met first
    name: str,
    default: tuple[*_Ts],
    help: str = ...,
    *,
    type: type[tuple[*_Ts]],
    **attributes: Unpack[Attributes],
) -> Flag[tuple[*_Ts]]: ...
@overload
def define(
    name: str,
    default: None,
    help: str = ...,
    *,
    type: type[tuple[*_Ts]],
    **attributes: Unpack[Attributes],
) -> Flag[tuple[*_Ts] | None]: ...
@overload
def define(
    name: str,
    default: tuple[str, ...] | list[str],
    help: str = ...,
    *,
    type: type[list[str] | tuple[str, ...]] | None = ...,
    items: type[str] | None = ...,
    **attributes: Unpack[_Chosen[str]],
) -> Flag[tuple[str, ...]]: ...
@overload
def define(
    name: str,
    default: tuple[()],
    help: str = ...,
    *,
    items: type[_T] | Type[_T],
    **attributes: Unpack[_Chosen[_T]],
) -> Flag[tuple[_T, ...]]: ...
@overload
def define(
    name: str,
    default: tuple[_T, ...] | list[_T],
    help: str = ...,
    *,
    type: type[list[_T] | tuple[_T, ...]] | None = ...,
    items: type[_T] | Type[_T] | None = ...,
    **attributes: Unpack[_Chosen[_T]],
) -> Flag[tuple[_T, ...]]: ...
@overload
def define(
    name: str,
    default: AbstractSet[_T],
    help: str = ...,
    *,
    type: type[set[_T] | frozenset[_T]] | None = ...,
    **attributes: Unpack[_Chosen[_T]],
) -> Flag[frozenset[_T]]: ...
@overload
def define(
    name: str,
    default: None,
    help: str = ...,
    *,
    type: type[set[_T] | frozenset[_T]],
    **attributes: Unpack[_Chosen[_T]],
) -> Flag[frozenset[_T] | None]: ...
@overload
def define(
    name: str,
    default: Mapping[_K, _T],
    help: str = ...,
    *,
    type: type[dict[_K, _T]] | None = ...,
    **attributes: Unpack[Attributes],
) -> Flag[dict[_K, _T]]: ...
@overload
def define(  # pyright: ignore[reportOverlappingOverload] - met first
    name: str,
    default: None,
    help: str = ...,
    *,
    type: Literal["bool"] | type[bool],
    **attributes: Unpack[Attributes],
) -> Flag[bool | None]: ...
@overload
def define(
    name: str,
    default: None,
    help: str = ...,
    *,
    type: Integer | type[int],
    unit: _Unit | None = ...,
    **attributes: Unpack[_Ranged[int]],
) -> Flag[int | None]: ...
@overload
def define(
    name: str,
    default: None,
    help: str = ...,
    *,
    type: Floating | type[float],
    unit: _Unit | None = ...,
    **attributes: Unpack[_Ranged[float]],
) -> Flag[float | None]: ...
@overload
def define(
    name: str,
    default: None,
    help: str = ...,
    *,
    type: Literal["string"] | type[str],
    **attributes: Unpack[_Chosen[str]],
) -> Flag[str | None]: ...
@overload
def define(
    name: str,
    default: None,
    help: str = ...,
    *,
    type: type[list[_T] | tuple[_T, ...]],
    **attributes: Unpack[_Chosen[_T]],
) -> Flag[tuple[_T, ...] | None]: ...
@overload
def define(
    name: str,
    default: None,
    help: str = ...,
    *,
    type: type[_T] | Type[_T],
    **attributes: Unpack[_Chosen[_T]],
) -> Flag[_T | None]: ...
@overload
def define(
    name: str,
    default: None,
    help: str = ...,
    *,
    type: _Form,
    **attributes: Unpack[_Chosen[object]],
) -> Flag[Any]: ...
@overload
def define(
    name: str,
    default: _T,
    help: str = ...,
    *,
    type: Type[_T],
    **attributes: Unpack[_Chosen[_T]],
) -> Flag[_T]: ...
@overload
def define(
    name: str,
    default: _T,
    help: str = ...,
    *,
    type: type[_T] | _Form,
    **attributes: Unpack[_Chosen[object]],
) -> Flag[_T]: ...
@hides_internal_frames
def define(name: str, default: Any, help: str = "", **attributes: Any) -> Flag[Any]:
    """Define a flag for the whole process, and return it.

    `type` is a type of Python: bool, int, float, str, an Enum, Path, datetime, date,
    time, timedelta, Decimal, UUID, `Literal[...]`, a list, a set, a tuple or a dict of these,
    `Optional[...]` of one, or a `Type` for any other. Or it is one of C: `"bool"`, `"int32"`,
    `"uint32"`, `"int64"`, `"uint64"`, `"double"` or `"string"`. If omitted, the default
    decides. Native code reads the flag with `PD_IMPORT` and the type of C: int64, double
    or string; Enums, paths, dates and decimals are strings, and a timedelta is a double
    of seconds. If this definition was made before, from the same source file, the
    existing flag is returned. A value from the environment or a pending value takes
    effect at once.

    If the default is None, the flag has no value until one is given, and reads as None;
    so it does with `optional`, whatever default native code sees.

    If the default is a tuple or a list, the flag is a list: its values are tuples, and
    their text is `1,2`. All items have one type, that of the default's items, or
    `items`. With `multi`, each use on a command line adds to the list; the first one
    replaces the default. With `merge`, a list or dict from a command line or a variable adds
    to what files give, and keeps other keys; the default is replaced. With `count`, each use
    of an integer flag without a value adds one, as in `-vvv` if `v` is a name of it.

    `min` and `max` are inclusive. `choices` are the only values allowed, in a list the
    only items. `unit="bytes"` lets users write `64MiB`, and `unit="seconds"` `1m30s`;
    the value is still a plain number of bytes or seconds. With `case_sensitive=False`,
    choices and names of an Enum are recognized in any case, and kept as they are defined.
    `metavar` stands for the value in help.

    `aliases` are other names; `old_names` are other names that warn when they are used.
    With `replace=True`, a flag of the name that Python code or a C program defined is
    defined again: it keeps its Flag and the values that were given to it, except those that
    the new definition rejects. Validators, watchers and rules that the module of the old
    definition has added are removed; those of other modules stay. Lines of a REPL, cells of
    a notebook and modules that are reloaded define their flags again without it.

    `deprecated` says why the flag should no longer be used and what to use instead,
    `retired` why its values are now ignored. Values of a `sensitive` flag are shown as
    `<redacted>`. A command line without a value for a `required` flag is an error.

    Raises FlagNameError; FlagTypeError, also if a module has imported the name with
    another type; FlagValueError for the default, range or choices; FlagArgumentError
    if attributes do not go together; FlagConflictError if the name is taken, has a
    meaning on the command line such as `help`, or makes `no<name>` of a bool ambiguous.
    The flag is not defined then, or its old definition stays. FlagValueError is also
    raised if a value from the environment, a pending value or one from before is rejected;
    the flag is then defined, with its default. Any thread may call this.
    """
    if attributes:
        return _define_with_attributes(name, default, help, **attributes)
    try:
        frame = sys._getframe(1)
    except ValueError:
        frame = make_native_frame()
    flag = _define_plain(flags_made, frame, name, default, help)
    return _define_with_attributes(name, default, help) if flag is None else flag


# Keywords that are not given take time, so define() itself has none. Its signature and the
# errors about its arguments come from _define_with_attributes().
define.__wrapped__ = _define_with_attributes  # type: ignore[attr-defined]
_define_with_attributes.__qualname__ = "define"


def _unbox_scalar(value: Any) -> Any:
    """Return the value of Python that a scalar of numpy, or of the like, stands for."""
    is_scalar = getattr(value, "shape", None) == () and hasattr(value, "dtype")
    return value.item() if is_scalar and hasattr(value, "item") else value
