"""What defines one flag: a pd_flag_def, and the type that its default or a type of Python means."""

from __future__ import annotations

from _collections_abc import Iterable  # as collections.abc, without what that imports
from _weakref import ref  # as weakref, without what that imports

from paddle_flags._core import lists
from paddle_flags._core.flag import Flag, flag_of
from paddle_flags._core.flag_definition import split_bar_separated
from paddle_flags._core.header import MARKS, TEXTS
from paddle_flags._core.status import (
    check_bool,
    check_status,
    new_error,
    quote_value,
    raise_deferred,
    to_bytes,
    to_exception,
)
from paddle_flags._core.values import (
    BY_NAME,
    LISTS,
    REDACTED,
    ValueType,
    coerce_to_kind,
    encode_choice,
    find_plain_class,
    fits_native_type,
    make_typed_kind,
    to_plain,
)
from paddle_flags._fast import call_holding_environment
from paddle_flags._native import ffi, lib
from paddle_flags.errors import FlagTypeError, FlagValueError

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from paddle_flags._core.type_table import Meaning
    from paddle_flags._core.types import Type

    Place = tuple[str, str, int]  # module, file and line

_INFERRED = {bool: "bool", int: "int64", float: "double", str: "string"}


def converter_module() -> Any:
    """Return the module of the converters."""
    from paddle_flags._core import converter

    return converter


class Definition:
    """A pd_flag_def and the memory it points to."""

    def __init__(self, name: str, kind: ValueType, *, sensitive: bool) -> None:
        self._about = f"definition of {quote_value(name)}"
        self._name = name
        self._kind = kind
        self._sensitive = sensitive
        self._kept: list[Any] = []
        self.pointer = ffi.new("pd_flag_def *")
        lib.pd_flag_def_init(self.pointer, ffi.sizeof("pd_flag_def"), kind.number)
        item = kind.item
        if kind.via is not None and kind.via.item_type:
            item = BY_NAME[kind.via.item_type]
        self.pointer.list = item.number if item else 0
        self.set_bool_field("sensitive", sensitive)
        self.set_text("name", name)

    def _retain_text(self, text: str, what: str = "", *, sensitive: bool = False) -> Any:
        # C borrows the text until the definition is registered.
        kept = ffi.new("char[]", to_bytes(text, what, sensitive=sensitive))
        self._kept.append(kept)
        return kept

    def set_text(self, field: str, text: str) -> None:
        setattr(self.pointer, field, self._retain_text(text, f"{self._about}: {field}: "))

    def set_bool_field(self, field: str, value: bool) -> None:
        setattr(self.pointer, field, check_bool(f"{self._about}: {field}", value))

    def set_list(self, field: str, texts: Iterable[object]) -> None:
        if isinstance(texts, str) or not isinstance(texts, Iterable):
            what = type(texts).__name__
            message = f"{self._about}: {field}: {quote_value(texts)}: expected a list, not {what}"
            raise FlagTypeError(message)
        items = [self._format_list_item(field, each) for each in texts]
        for item in items:
            if "|" in item:
                message = f"{self._about}: {field}: {quote_value(item)}: expected text without '|'"
                raise FlagValueError(message)
        if items:
            self.set_text(field, "|".join(items))

    def _format_list_item(self, field: str, value: object) -> str:
        if field != "choices":
            return str(to_plain(value))
        about = f"{self._about}: choices"
        return encode_choice(about, self._kind, value, sensitive=self._sensitive)

    def set_default(self, default: object) -> None:
        if default is None and self.pointer.optional:
            if self._kind.member == "str":
                self.pointer.default_value.str = self._retain_text("")
            return
        self._set_value("default", self.pointer.default_value, default)

    def set_bound(self, field: str, bound: object) -> None:
        if bound is None:
            return
        if self._kind.python in (bool, str, tuple):
            via = self._kind.via
            what = via.metavar if via else "list" if self._kind.item else self._kind.name
            raise FlagTypeError(f"{self._about}: {field}: a {what} has no range, expected a number")
        self._set_value(field, getattr(self.pointer, field), bound)

    def _set_value(self, field: str, target: Any, value: object) -> None:
        about = f"{self._about}: {field}"
        wanted = coerce_to_kind(about, self._kind, value, sensitive=self._sensitive)
        if not fits_native_type(self._kind, wanted):
            seen = REDACTED if self._sensitive else quote_value(wanted)
            raise FlagValueError(
                f"{about} {seen}: expected an integer in"
                f" [{self._kind.smallest}, {self._kind.largest}]"
            )
        if self._kind.member == "str":
            text = lists.encode(wanted) if self._kind.item else wanted
            wanted = self._retain_text(text, f"{about}=", sensitive=self._sensitive)
        setattr(target, self._kind.member, wanted)

    def set_place(self, place: Place) -> None:
        """Record the place of the definition."""
        module, file, self.pointer.line = place
        self.set_text("module", module)
        self.set_text("file", file)

    def register(self, frame: FrameType | None, *, replace: bool) -> Flag[Any]:
        """Define the flag, for the code of `frame`, which may do it again; None for nobody's."""
        context = self._add_type_hook()
        refused: list[str] = []
        via = self._kind.via
        if via is not None and via.takes_tables:
            from paddle_flags._core.pending_values import join_pending_tables

            refused = join_pending_tables(self._all_names(), via)
            if refused and self._sensitive:
                refused = [f"{self._name}={REDACTED}: expected {via.expected}"]
        handle = ffi.new("pd_flag **")
        try:
            flag = self._register_or_redefine(handle, frame, context, replace=replace)
        finally:
            if context and not handle[0]:
                converter_module().drop_converter(context)
        if refused:
            raise FlagValueError("; ".join(refused))
        return flag

    def _register_or_redefine(
        self, handle: Any, frame: FrameType | None, context: int, *, replace: bool
    ) -> Flag[Any]:
        err = new_error()
        status = lib.PD_ERR_CONFLICT
        before = _find_generation(self.pointer.name) if context else 0
        if replace:
            from paddle_flags._core.redefine import is_shared_with_library

            replace = not is_shared_with_library(self.pointer)
        if not replace:
            status = call_holding_environment(lib.pd_flag_register, self.pointer, handle, err)
        mine = frame is None or (
            bool(handle[0]) and _match_or_set_definer(flag_of(handle[0]), frame)
        )
        if frame and not mine and status in (lib.PD_OK, lib.PD_ERR_CONFLICT):
            from paddle_flags._core.redefine import add_redefinition_hint, redefine

            def attach_type(flag: Flag[Any]) -> None:
                self._attach_type(flag, context)

            again = redefine(self.pointer, handle, frame, attach_type, replace_requested=replace)
            if again is not None:
                return again
            if status == lib.PD_ERR_CONFLICT:
                raise add_redefinition_hint(to_exception(err), self.pointer)
        if not handle[0]:
            raise to_exception(err)
        flag = flag_of(handle[0])
        self._attach_type(flag, context, before)
        check_status(status, err)
        raise_deferred(flag)
        return flag

    def _all_names(self) -> list[str]:
        others = self.pointer.aliases, self.pointer.old_names
        return [
            self._name,
            *(name for names in others if names for name in split_bar_separated(names)),
        ]

    def _add_type_hook(self) -> int:
        via = self._kind.via
        if via is None:
            return 0
        context: int = converter_module().attach_type_to_definition(
            self.pointer, self._name, via, sensitive=self._sensitive
        )
        return context

    def _attach_type(self, flag: Flag[Any], context: int, before: int | None = None) -> None:
        """Let the Type of this definition check the value that the flag has.

        `before` is the generation of a definition that may be the same; None if this one
        replaces it.
        """
        info = flag._read_info() if context else None
        if info is None:
            return
        if info.generation == before:
            converter_module().adopt_redefined_type(flag, info, context)
            return
        converter_module().follow_definition_change(flag, context)
        if info.context != self.pointer.context:
            return  # it is already another one
        if self._kind.member != "str":
            converter_module().add_type_validator(flag, self._kind.via)
        elif before is None:
            converter_module().check_or_reset_value(flag)


def _find_generation(name: Any) -> int:
    """Return the number of the definition that a name has; 0 if it has none."""
    handle = ffi.new("pd_flag **")
    if lib.pd_flag_find(name, handle, ffi.NULL) != lib.PD_OK:
        return 0
    return int(lib.pd_flag_get_generation(handle[0])[0])


def _match_or_set_definer(flag: Flag[Any], frame: FrameType) -> bool:
    """Return whether the code of `frame` defined the flag, or did so now, as nobody else has."""
    if flag._code is None:
        flag._code = ref(frame.f_code)
    return flag._code() is frame.f_code


def _infer_list_kind(about: str, seen: str, default: object, items: type | str | None) -> ValueType:
    """Return the type of a list whose items are `items`, or as those of the default."""
    if isinstance(items, str) and items in LISTS:
        return LISTS[items]
    if items is not None:
        if isinstance(items, type) and items in _INFERRED:
            return LISTS[_INFERRED[items]]
        message = f"{about}: items {quote_value(items)}: expected bool, int, float or str"
        raise FlagTypeError(message)
    kinds = {find_plain_class(item) or type(item) for item in lists.items_of(default) or ()} or {
        str
    }
    if kinds == {int, float}:
        kinds = {float}
    kind = kinds.pop()
    if kinds or kind not in _INFERRED:
        message = f"{about}: default {seen}: expected items that are all bool, int, float or str"
        raise FlagTypeError(message)
    return LISTS[_INFERRED[kind]]


def infer_plain_kind(
    about: str, seen: str, default: object, type_name: Any, items: Any
) -> ValueType | None:
    """Return the type of a flag that has the values of C; None if a type of Python decides.

    Messages show its default as `seen`.
    """
    if type_name is not None and not isinstance(type_name, str):
        return None
    if type_name is not None and type_name not in BY_NAME:
        message = f"{about}: type {quote_value(type_name)}: expected one of {', '.join(BY_NAME)}"
        raise FlagTypeError(message)
    known = isinstance(items, str) or (isinstance(items, type) and items in _INFERRED)
    if items is not None and not known:
        return None
    values = lists.items_of(default)
    if items is None and any(
        _is_enum(item) or find_plain_class(item) is None for item in values or ()
    ):
        return None
    if items is not None or (type_name is None and values is not None):
        if type_name in (None, "string"):
            return _infer_list_kind(about, seen, default, items)
        raise FlagTypeError(
            f"{about}: type {quote_value(type_name)}: a list has the type 'string', and its items"
            " `items`"
        )
    if type_name:
        return None if default is None else BY_NAME[type_name]
    inferred = None if _is_enum(default) else find_plain_class(default) or type(default)
    return BY_NAME[_INFERRED[inferred]] if inferred in _INFERRED else None


def derive_value_type(meaning: Meaning) -> ValueType:
    """Return the type of flags with this meaning."""
    base = LISTS[meaning.item] if meaning.item and meaning.type is None else BY_NAME[meaning.native]
    return base if meaning.type is None else make_typed_kind(base, meaning.type)


def add_type_attributes(
    meaning: Meaning, default: object, marks: tuple[bool, ...], texts: tuple[Any, ...]
) -> tuple[tuple[bool, ...], tuple[Any, ...]]:
    """Return the attributes with those that the type brings."""
    mark_of, text_of = dict(zip(MARKS, marks)), dict(zip(TEXTS, texts))
    if default is None:
        mark_of["optional"] = True
    text_of["choices"] = text_of["choices"] or meaning.choices
    if meaning.type is not None:
        text_of["metavar"] = text_of["metavar"] or meaning.type.metavar or None
        text_of["unit"] = text_of["unit"] or meaning.type.unit
    return tuple(mark_of.values()), tuple(text_of.values())


def _is_enum(value: object) -> bool:
    return hasattr(type(value), "__members__")  # without the module enum


def locate_frame(frame: FrameType) -> Place:
    """Return module, file and line of the code that a frame runs."""
    module = str(frame.f_globals.get("__name__", "__main__"))
    file = frame.f_code.co_filename
    return file if module == "__main__" else module, file, frame.f_lineno


def define_at(
    place: Place | FrameType,
    name: str,
    default: Any,
    help: str,
    *,
    items: str | None = None,
    min: Any = None,
    max: Any = None,
    choices: Iterable[object] = (),
    category: str = "",
    aliases: Iterable[str] = (),
    hidden: bool = False,
    required: bool = False,
    multi: bool = False,
    count: bool = False,
    via: Type[Any] | None = None,
    frame: FrameType | None = None,
    replace: bool = False,
) -> Flag[Any]:
    """Define a flag as `define` does, for a definition that is written elsewhere.

    `place` is where: module, file and line, or the frame of its code. `items` is the type in C of
    the items of a list. `via` makes the values of those in C. The code of `frame` may define the
    flag again; with `replace`, the definition takes the place of another one.
    """
    about = f"definition of {quote_value(name)}"
    kind = infer_plain_kind(about, quote_value(default), default, None, items)
    if kind is None:
        raise FlagTypeError(
            f"{about}: default {quote_value(default)}: expected bool, int, float, str or a list"
        )
    if via is not None:
        kind = make_typed_kind(kind, via)
    made = Definition(name, kind, sensitive=False)
    made.set_default(default)
    made.set_bound("min", min)
    made.set_bound("max", max)
    made.set_text("help", help)
    made.set_list("choices", choices)
    made.set_list("aliases", aliases)
    if category:
        made.set_text("category", category)
    made.set_bool_field("hidden", hidden)
    made.set_bool_field("required", required)
    made.set_bool_field("multi", multi)
    made.set_bool_field("count", count)
    made.set_place(place if isinstance(place, tuple) else locate_frame(place))
    return made.register(frame, replace=replace)
