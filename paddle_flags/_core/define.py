"""Flags that Python code defines."""

from __future__ import annotations

import sys
from _collections_abc import Iterable  # as collections.abc, without what that imports

from paddle_flags._core import lists
from paddle_flags._core.flag import Flag, flag_of, flags_made
from paddle_flags._core.frames import outside, public
from paddle_flags._core.header import MARKS, TEXTS
from paddle_flags._core.status import (
    expect,
    new_error,
    settle,
    shown,
    to_bytes,
    to_switch,
)
from paddle_flags._core.values import (
    BY_NAME,
    LISTS,
    REDACTED,
    ValueType,
    fits,
    plain,
    plain_type,
    to_python,
)
from paddle_flags._fast import define as _define_plain
from paddle_flags._native import ffi, lib
from paddle_flags.errors import FlagTypeError, FlagValueError

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Literal, overload

    from typing_extensions import Unpack

    from paddle_flags._core.header import Attributes, Floating, Integer

    _Unit = Literal["bytes", "seconds"]
else:

    def overload(function: object) -> object:
        return function


_INFERRED = {bool: "bool", int: "int64", float: "double", str: "string"}


class _Definition:
    """A pd_flag_def and the memory it points to."""

    def __init__(self, name: str, kind: ValueType, *, sensitive: bool) -> None:
        self._about = f"definition of {shown(name)}"
        self._kind = kind
        self._sensitive = sensitive
        self._kept: list[Any] = []
        self.pointer = ffi.new("pd_flag_def *")
        lib.pd_flag_def_init(self.pointer, ffi.sizeof("pd_flag_def"), kind.number)
        self.pointer.list = kind.item.number if kind.item else 0
        self.set_switch("sensitive", sensitive)
        self.set_text("name", name)

    def _keep(self, text: str, what: str = "", *, sensitive: bool = False) -> Any:
        kept = ffi.new("char[]", to_bytes(text, what, sensitive=sensitive))
        self._kept.append(kept)
        return kept

    def set_text(self, field: str, text: str) -> None:
        setattr(self.pointer, field, self._keep(text, f"{self._about}: {field}: "))

    def set_switch(self, field: str, value: bool) -> None:
        setattr(self.pointer, field, to_switch(f"{self._about}: {field}", value))

    def set_list(self, field: str, texts: Iterable[object]) -> None:
        if isinstance(texts, str) or not isinstance(texts, Iterable):
            what = type(texts).__name__
            message = f"{self._about}: {field}: {shown(texts)}: expected a list, not {what}"
            raise FlagTypeError(message)
        items = [str(plain(text)) for text in texts]
        for item in items:
            if "|" in item:
                message = f"{self._about}: {field}: {shown(item)}: expected text without '|'"
                raise FlagValueError(message)
        if items:
            self.set_text(field, "|".join(items))

    def set_default(self, default: object) -> None:
        self._set("default", self.pointer.default_value, default)

    def set_bound(self, field: str, bound: object) -> None:
        if bound is None:
            return
        if self._kind.python in (bool, str, tuple):
            what = "list" if self._kind.item else self._kind.name
            message = f"{self._about}: {field}: a {what} has no range, expected a number"
            raise FlagTypeError(message)
        self._set(field, getattr(self.pointer, field), bound)

    def _set(self, field: str, target: Any, value: object) -> None:
        about = f"{self._about}: {field}"
        wanted = to_python(about, self._kind, value, sensitive=self._sensitive)
        if not fits(self._kind, wanted):
            seen = REDACTED if self._sensitive else shown(wanted)
            message = (
                f"{about} {seen}: expected an integer in"
                f" [{self._kind.smallest}, {self._kind.largest}]"
            )
            raise FlagValueError(message)
        if self._kind.member == "str":
            text = lists.encode(wanted) if self._kind.item else wanted
            wanted = self._keep(text, f"{about}=", sensitive=self._sensitive)
        setattr(target, self._kind.member, wanted)

    def set_place(self, frame: FrameType) -> None:
        """Record the module and line of `frame` as the place of the definition."""
        module = str(frame.f_globals.get("__name__", "__main__"))
        file = frame.f_code.co_filename
        self.set_text("module", file if module == "__main__" else module)
        self.set_text("file", file)
        self.pointer.line = frame.f_lineno

    def register(self) -> Flag[Any]:
        handle = ffi.new("pd_flag **")
        err = new_error()
        expect(lib.pd_flag_register(self.pointer, handle, err), err)
        flag = flag_of(handle[0])
        settle(flag)
        return flag


def _list_kind(about: str, seen: str, default: object, items: type | str | None) -> ValueType:
    """Return the type of a list whose items are `items`, or as those of the default."""
    if isinstance(items, str) and items in LISTS:
        return LISTS[items]
    if items is not None:
        if isinstance(items, type) and items in _INFERRED:
            return LISTS[_INFERRED[items]]
        message = f"{about}: items {shown(items)}: expected bool, int, float or str"
        raise FlagTypeError(message)
    kinds = {plain_type(item) or type(item) for item in lists.items_of(default) or ()} or {str}
    if kinds == {int, float}:
        kinds = {float}
    kind = kinds.pop()
    if kinds or kind not in _INFERRED:
        message = f"{about}: default {seen}: expected items that are all bool, int, float or str"
        raise FlagTypeError(message)
    return LISTS[_INFERRED[kind]]


def _kind_of(
    about: str, seen: str, default: object, type_name: str | None, items: type | str | None
) -> ValueType:
    """Return the type of a flag; messages show its default as `seen`."""
    if type_name is not None and not (isinstance(type_name, str) and type_name in BY_NAME):
        message = f"{about}: type {shown(type_name)}: expected one of {', '.join(BY_NAME)}"
        raise FlagTypeError(message)
    if items is not None or (type_name is None and lists.items_of(default) is not None):
        if type_name in (None, "string"):
            return _list_kind(about, seen, default, items)
        message = (
            f"{about}: type {shown(type_name)}: a list has the type 'string', and its items `items`"
        )
        raise FlagTypeError(message)
    inferred = type_name or _INFERRED.get(plain_type(default) or type(default))
    if inferred is None:
        message = (
            f"{about}: default {seen}: expected bool, int, float, str or a sequence of them,"
            f" not {type(default).__name__}"
        )
        raise FlagTypeError(message)
    return BY_NAME[inferred]


def _define_with(
    name: str,
    default: Any,
    help: str = "",
    *,
    type: str | None = None,
    items: type | str | None = None,
    unit: str | None = None,
    min: Any = None,
    max: Any = None,
    choices: Iterable[Any] | None = None,
    # parameters: made by tools/lists.py
    hidden: bool = False,
    read_only: bool = False,
    startup_only: bool = False,
    sensitive: bool = False,
    experimental: bool = False,
    required: bool = False,
    category: str | None = None,
    aliases: Iterable[str] = (),
    deprecated: str | None = None,
    retired: str | None = None,
    old_names: Iterable[str] = (),
    # end of parameters
) -> Flag[Any]:
    choices = () if choices is None else choices
    # attributes: made by tools/lists.py
    marks = (
        hidden, read_only, startup_only, sensitive, experimental, required,
    )  # fmt: skip
    texts: tuple[Any, ...] = (
        choices, category, aliases, unit, deprecated, retired, old_names,
    )  # fmt: skip
    # end of attributes
    frame = outside(sys._getframe(2))  # noqa: SLF001 - the documented way
    flag = _define_plain(
        flags_made, frame, name, default, help, type, items, min, max, *marks, *texts
    )
    if flag is not None:  # it was plain
        return flag  # type: ignore[no-any-return]
    about = f"definition of {shown(name)}"
    seen = REDACTED if sensitive else shown(default)
    made = _Definition(name, _kind_of(about, seen, default, type, items), sensitive=sensitive)
    made.set_default(default)
    made.set_bound("min", min)
    made.set_bound("max", max)
    made.set_text("help", help)
    for (field, is_list), text in zip(TEXTS.items(), texts):
        if is_list:
            made.set_list(field, text)
        elif text is not None:
            made.set_text(field, text)
    for field, mark in zip(MARKS, marks):
        made.set_switch(field, mark)
    made.set_place(frame)
    return made.register()


@overload
def define(  # pyright: ignore[reportOverlappingOverload] - a bool is an int, but met first
    name: str,
    default: bool,
    help: str = ...,
    *,
    type: Literal["bool"] | None = ...,
    **attributes: Unpack[Attributes],
) -> Flag[bool]: ...
@overload
def define(
    name: str,
    default: int,
    help: str = ...,
    *,
    type: Integer | None = ...,
    unit: _Unit | None = ...,
    min: int | None = ...,
    max: int | None = ...,
    choices: Iterable[int] | None = ...,
    **attributes: Unpack[Attributes],
) -> Flag[int]: ...
@overload
def define(
    name: str,
    default: float,
    help: str = ...,
    *,
    type: Floating | None = ...,
    unit: _Unit | None = ...,
    min: float | None = ...,
    max: float | None = ...,
    choices: Iterable[float] | None = ...,
    **attributes: Unpack[Attributes],
) -> Flag[float]: ...
@overload
def define(
    name: str,
    default: str,
    help: str = ...,
    *,
    type: Literal["string"] | None = ...,
    choices: Iterable[str] | None = ...,
    **attributes: Unpack[Attributes],
) -> Flag[str]: ...
@overload
def define(
    name: str,
    default: tuple[str, ...] | list[str],
    help: str = ...,
    *,
    items: type[str] | None = ...,
    choices: Iterable[str] | None = ...,
    **attributes: Unpack[Attributes],
) -> Flag[tuple[str, ...]]: ...
@overload
def define(  # pyright: ignore[reportOverlappingOverload] - as above
    name: str,
    default: tuple[bool, ...] | list[bool],
    help: str = ...,
    *,
    items: type[bool] | None = ...,
    choices: Iterable[bool] | None = ...,
    **attributes: Unpack[Attributes],
) -> Flag[tuple[bool, ...]]: ...
@overload
def define(
    name: str,
    default: tuple[int, ...] | list[int],
    help: str = ...,
    *,
    items: type[int] | None = ...,
    choices: Iterable[int] | None = ...,
    **attributes: Unpack[Attributes],
) -> Flag[tuple[int, ...]]: ...
@overload
def define(
    name: str,
    default: tuple[float, ...] | list[float],
    help: str = ...,
    *,
    items: type[float] | None = ...,
    choices: Iterable[float] | None = ...,
    **attributes: Unpack[Attributes],
) -> Flag[tuple[float, ...]]: ...
@public
def define(name: str, default: Any, help: str = "", **attributes: Any) -> Flag[Any]:
    """Define a flag for the whole process, and return it.

    `type` is a type of C: `"bool"`, `"int32"`, `"uint32"`, `"int64"`, `"uint64"`,
    `"double"` or `"string"`. If omitted, the default decides: bool, int64, double or
    string. Native code reads the flag with `PD_IMPORT` and the same type. If this
    definition was made before, from the same source file, the existing flag is
    returned. A value from the environment or a pending value takes effect at once.

    If the default is a tuple or a list, the flag is a list: its values are tuples, and
    their text is `1,2`. All items have one type, bool, int (as int64), float or str:
    that of the default's items, or `items`.

    `min` and `max` are inclusive. `choices` are the only values allowed, in a list the
    only items. `unit="bytes"` lets users write `64MiB`, and `unit="seconds"` `1m30s`;
    the value is still a plain number of bytes or seconds.

    `aliases` are other names; `old_names` are other names that warn when they are used.
    `deprecated` says why the flag should no longer be used and what to use instead,
    `retired` why its values are now ignored. Values of a `sensitive` flag are shown as
    `<redacted>`. A command line without a value for a `required` flag is an error.

    Raises FlagNameError; FlagTypeError, also if a module has imported the name with
    another type; FlagValueError for the default, range or choices; FlagArgumentError
    if attributes do not go together; FlagConflictError if the name is taken, has a
    meaning on the command line such as `help`, or makes `no<name>` of a bool ambiguous.
    The flag is not defined then. FlagValueError is also raised if a value from the
    environment or a pending value is rejected; the flag is then defined, with its
    default. Any thread may call this.
    """
    if attributes:
        return _define_with(name, default, help, **attributes)
    frame = sys._getframe(1)  # noqa: SLF001 - the documented way
    flag = _define_plain(flags_made, frame, name, default, help)
    return _define_with(name, default, help) if flag is None else flag


# Keywords that are not given take time, so define() itself has none. Its signature and the
# errors about its arguments come from _define_with().
define.__wrapped__ = _define_with  # type: ignore[attr-defined]
_define_with.__qualname__ = "define"
_define_with.__code__ = _define_with.__code__.replace(co_name="define")  # Python 3.9 reads that
