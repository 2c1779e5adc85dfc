"""Definitions that are removed or replaced, saved for code that restores them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from paddle_flags._core.values import contexts_of_flags, get_native_kind
from paddle_flags._fast import call_holding_environment
from paddle_flags._native import ffi, lib

if TYPE_CHECKING:
    from typing import Protocol

    from paddle_flags._core.flag import Flag

    class DefinitionSaver(Protocol):
        """An object that is called before a definition is removed."""

        def save_definition(self, flag: Flag[Any]) -> None:
            """Save the definition of the flag if it will be restored."""

        def mark_module_reloaded(self, module: str) -> None:
            """Note that a module is reloaded: what it defines stays."""


savers: WeakSet[DefinitionSaver] = WeakSet()


def call_definition_savers(flag: Flag[Any]) -> None:
    """Call the savers before a definition is removed, unless a module has it."""
    if savers and flag.defined and not flag._read_info().owner:
        for saver in list(savers):
            saver.save_definition(flag)


def notify_module_reloaded(module: str) -> None:
    """Call the savers when a module is reloaded."""
    for saver in list(savers):
        saver.mark_module_reloaded(module)


class DefinitionListener:
    """An object that is called after a definition was removed or restored.

    A subclass calls `listen`, and is called for as long as it lives.
    """

    def listen(self) -> None:
        """Begin to listen."""
        _listeners.add(self)

    @property
    def may_be_restored(self) -> bool:
        """Whether a definition that is removed now may be restored."""
        return bool(savers)

    def on_definition_removed(self, flag: Flag[Any]) -> None:
        """A definition is no longer that of the flag."""

    def on_definition_restored(self, flag: Flag[Any]) -> None:
        """A flag has a former definition again."""


_listeners: WeakSet[DefinitionListener] = WeakSet()


def _converter_module() -> Any:
    from paddle_flags._core import converter

    return converter


def notify_definition_removed(flag: Flag[Any]) -> None:
    """Release the type of a removed definition, and call the listeners."""
    if flag._address in contexts_of_flags:
        _converter_module().follow_definition_change(flag)
    for each in list(_listeners):
        each.on_definition_removed(flag)


# What a pd_flag_def and a pd_flag_info have in common.
_VALUES = ("default_value", "min", "max")
_FIELDS = {
    name
    for name, _ in ffi.typeof("pd_flag_def").fields
    if name not in ("size", "reserved", "context", *_VALUES)
} & {name for name, _ in ffi.typeof("pd_flag_info").fields}


class SavedDefinition:
    """The definition that a flag has now, and its type of Python."""

    def __init__(self, flag: Flag[Any]) -> None:
        info, kind = flag._info_and_type()
        self._kept: list[Any] = []
        self._name = flag.name
        self._sensitive = bool(info.sensitive)
        self._type = kind.via
        self._code = flag._code
        self._definition = ffi.new("pd_flag_def *")
        lib.pd_flag_def_init(self._definition, ffi.sizeof("pd_flag_def"), info.type)
        for field in sorted(_FIELDS):
            value = getattr(info, field)
            if not isinstance(value, ffi.CData):
                setattr(self._definition, field, value)
            elif value and (ffi.string(value) or field in ("name", "help")):
                setattr(self._definition, field, self._copy_text(value))
        for field in _VALUES:
            setattr(self._definition, field, getattr(info, field))
        # The text belongs to the definition, which is about to be removed.
        if info.type == lib.PD_TYPE_string:
            self._definition.default_value.str = self._copy_text(info.default_value.str)

    def _copy_text(self, text: Any) -> Any:
        made = ffi.new("char[]", ffi.string(text))
        self._kept.append(made)
        return made

    def is_definition_of(self, flag: Flag[Any]) -> bool:
        """Return whether the flag has this definition; its code may have run again."""
        return (
            flag.defined
            and SavedDefinition(flag).list_comparable_fields() == self.list_comparable_fields()
        )

    def list_comparable_fields(self) -> list[Any]:
        """Return all that the definition says."""
        kind = get_native_kind(self._definition)
        found = [getattr(self._definition, field) for field in sorted(_FIELDS)]
        values = _VALUES if kind.member != "str" else _VALUES[:1]  # text has no range
        found += [getattr(getattr(self._definition, field), kind.member) for field in values]
        return [
            ffi.string(each) if isinstance(each, ffi.CData) and each else repr(each)
            for each in found
        ]

    def restore(self, flag: Flag[Any]) -> None:
        """Define the flag again, in place of what it is now, if no other flag has its names."""
        converter = _converter_module()
        context = 0
        if self._type is not None:
            context = converter.attach_type_to_definition(
                self._definition, self._name, self._type, sensitive=self._sensitive
            )
        handle = ffi.new("pd_flag **")
        call_holding_environment(
            lib.pd_flag_replace, self._definition, ffi.NULL, 0, handle, ffi.NULL
        )
        if not handle[0]:
            if context:
                converter.drop_converter(context)
            return
        flag._code = self._code
        if context or flag._address in contexts_of_flags:
            converter.follow_definition_change(flag, context)
        for each in list(_listeners):
            each.on_definition_restored(flag)
