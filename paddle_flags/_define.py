"""Definitions made in Python."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Literal, overload

from paddle_flags._flag import Flag, flag_of
from paddle_flags._native import ffi, lib
from paddle_flags._status import check, new_error, to_bytes
from paddle_flags._values import BY_NAME, ValueType, fits, to_python
from paddle_flags.errors import FlagTypeError, FlagValueError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType


class _Definition:
    """A pd_flag_def with the memory that it points at."""

    def __init__(self, name: str, kind: ValueType) -> None:
        self._about = f"definition of {name!r}"
        self._kind = kind
        self._kept: list[Any] = []
        self.pointer = ffi.new("pd_flag_def *")
        lib.pd_flag_def_init(self.pointer, ffi.sizeof("pd_flag_def"), kind.number)
        self.set_text("name", name)

    def _keep(self, text: str) -> Any:
        kept = ffi.new("char[]", to_bytes(text))
        self._kept.append(kept)
        return kept

    def set_text(self, field: str, text: str) -> None:
        setattr(self.pointer, field, self._keep(text))

    def set_list(self, field: str, texts: Iterable[object]) -> None:
        if isinstance(texts, str):
            message = f"{self._about}: {field}: {texts!r}: expected a list, not str"
            raise FlagTypeError(message)
        items = [str(text) for text in texts]
        for item in items:
            if "|" in item:
                message = f"{self._about}: {field}: {item!r}: expected text without '|'"
                raise FlagValueError(message)
        if items:
            self.set_text(field, "|".join(items))

    def set_default(self, default: object) -> None:
        self._set("default", self.pointer.default_value, default)

    def set_bound(self, field: str, bound: object) -> None:
        if bound is None:
            return
        if self._kind.python in (bool, str):
            message = f"{self._about}: {field}: a {self._kind.name} has no range"
            raise FlagTypeError(message)
        self._set(field, getattr(self.pointer, field), bound)

    def _set(self, field: str, target: Any, value: object) -> None:
        wanted = to_python(f"{self._about}: {field}", self._kind, value)
        if not fits(self._kind, wanted):
            message = (
                f"{self._about}: {field} {wanted}: expected an integer in"
                f" [{self._kind.smallest}, {self._kind.largest}]"
            )
            raise FlagValueError(message)
        is_text = self._kind.python is str
        setattr(target, self._kind.member, self._keep(wanted) if is_text else wanted)

    def set_place(self, frame: FrameType) -> None:
        """Let the definition stand in the module and line of `frame`."""
        module = str(frame.f_globals.get("__name__", "__main__"))
        file = frame.f_code.co_filename
        self.set_text("module", file if module == "__main__" else module)
        self.set_text("file", file)
        self.pointer.line = frame.f_lineno

    def register(self) -> Flag[Any]:
        handle = ffi.new("pd_flag **")
        err = new_error()
        check(lib.pd_flag_register(self.pointer, handle, err), err)
        return flag_of(handle[0])


def _kind_of(name: str, default: object, type_name: str | None) -> ValueType:
    if type_name is not None:
        if type_name not in BY_NAME:
            expected = ", ".join(BY_NAME)
            message = f"definition of {name!r}: type {type_name!r}: expected one of {expected}"
            raise FlagTypeError(message)
        return BY_NAME[type_name]
    inferred = {bool: "bool", int: "int64", float: "double", str: "string"}.get(type(default))
    if inferred is None:
        message = (
            f"definition of {name!r}: default {default!r}: expected bool, int, float or str,"
            f" not {type(default).__name__}"
        )
        raise FlagTypeError(message)
    return BY_NAME[inferred]


@overload
def define(  # pyright: ignore[reportOverlappingOverload] - a bool is an int, but met first
    name: str,
    default: bool,
    help: str = ...,
    *,
    type: Literal["bool"] | None = ...,
    category: str | None = ...,
    aliases: Iterable[str] = ...,
    hidden: bool = ...,
    read_only: bool = ...,
    startup_only: bool = ...,
) -> Flag[bool]: ...
@overload
def define(
    name: str,
    default: int,
    help: str = ...,
    *,
    type: Literal["int32", "uint32", "int64", "uint64"] | None = ...,
    min: int | None = ...,
    max: int | None = ...,
    choices: Iterable[int] | None = ...,
    category: str | None = ...,
    aliases: Iterable[str] = ...,
    hidden: bool = ...,
    read_only: bool = ...,
    startup_only: bool = ...,
) -> Flag[int]: ...
@overload
def define(
    name: str,
    default: float,
    help: str = ...,
    *,
    type: Literal["double"] | None = ...,
    min: float | None = ...,
    max: float | None = ...,
    choices: Iterable[float] | None = ...,
    category: str | None = ...,
    aliases: Iterable[str] = ...,
    hidden: bool = ...,
    read_only: bool = ...,
    startup_only: bool = ...,
) -> Flag[float]: ...
@overload
def define(
    name: str,
    default: str,
    help: str = ...,
    *,
    type: Literal["string"] | None = ...,
    choices: Iterable[str] | None = ...,
    category: str | None = ...,
    aliases: Iterable[str] = ...,
    hidden: bool = ...,
    read_only: bool = ...,
    startup_only: bool = ...,
) -> Flag[str]: ...
def define(
    name: str,
    default: Any,
    help: str = "",
    *,
    type: str | None = None,
    min: Any = None,
    max: Any = None,
    choices: Iterable[Any] | None = None,
    category: str | None = None,
    aliases: Iterable[str] = (),
    hidden: bool = False,
    read_only: bool = False,
    startup_only: bool = False,
) -> Flag[Any]:
    """Define a flag for the process, and give it.

    `type` is one of C's seven names; without it, it follows from the default:
    bool, int64, double or string. Native code reads the flag by `PD_IMPORT` of
    the same type. The same definition again (from the same source file) gives
    the same flag. A value from the environment is applied at once.

    Raises FlagNameError, FlagTypeError (also where a module imports the name as
    another type), FlagValueError (default, range, choices) or FlagConflictError
    (the name is taken, or is `help`, or `no<name>` of a bool would be ambiguous):
    nothing is defined then. A value
    from the environment that is refused raises FlagValueError too, but the flag
    is defined, with its default.
    """
    made = _Definition(name, _kind_of(name, default, type))
    made.set_default(default)
    made.set_bound("min", min)
    made.set_bound("max", max)
    made.set_list("choices", choices or ())
    made.set_list("aliases", aliases)
    made.set_text("help", help)
    made.set_text("category", category or "")
    made.pointer.hidden = hidden
    made.pointer.read_only = read_only
    made.pointer.startup_only = startup_only
    made.set_place(sys._getframe(1))  # noqa: SLF001 - the documented way
    return made.register()
