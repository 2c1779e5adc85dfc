"""Types of Python as converters in the registry: it refuses bad text wherever that comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle_flags._core.hooks import (
    CALLED,
    CONVERT,
    add_validator,
    can_raise_to_caller,
    format_function_name,
    held,
)
from paddle_flags._core.status import address_of, new_struct, store_callback_error, to_text
from paddle_flags._core.types import Unfit
from paddle_flags._core.unraisable import report_unraisable
from paddle_flags._core.values import (
    BY_NAME,
    FormerDefinitionError,
    contexts_of_flags,
    find_python_type,
    former_contexts,
    read_native_value,
    types_of_contexts,
)
from paddle_flags._fast import free_unadded_hook, new_hook
from paddle_flags._native import ffi, lib
from paddle_flags.errors import FlagConflictError, FlagValueError

if TYPE_CHECKING:
    from paddle_flags._core.flag import Flag
    from paddle_flags._core.types import Type


class _Converter:
    def __init__(self, name: str, type_: Type[Any], *, sensitive: bool) -> None:
        self._name = name
        self._type = type_
        self._sensitive = sensitive

    def convert_text(self, address: int, native: bool) -> tuple[bool, bytes] | None:  # from C
        """Return None to leave the text as it is; True and other text; or False and why not."""
        text = to_text(ffi.cast("char *", address))
        accepted = True
        try:
            result = self._type.canonical(text)
        except Unfit as error:
            accepted = False
            result = self._describe_expected_value() if self._sensitive else str(error)
        except BaseException as error:  # raised again where C was called
            accepted = False
            result = self._report_failure(error, native=native)
        if accepted and result == text:
            return None
        return accepted, result.replace("\0", " ").encode("utf-8", "surrogateescape")

    def _describe_expected_value(self) -> str:
        return f"expected {self._type.expected}"

    def _report_failure(self, error: BaseException, *, native: bool) -> str:
        if self._sensitive and isinstance(error, Exception):
            return self._describe_expected_value()
        function = self._type.parse
        if can_raise_to_caller(native=native):
            store_callback_error(error)
        else:
            report_unraisable(
                error, f"Exception ignored in the type of flag {self._name!r}", function
            )
        failure = ": ".join(filter(None, [type(error).__name__, str(error)]))
        return f"its type {format_function_name(function)} failed: {failure}"


CALLED.add(_Converter.convert_text.__code__)


def attach_type_to_definition(
    definition: Any, name: str, type_: Type[Any], *, sensitive: bool
) -> int:
    """Give a `pd_flag_def *` its Type, and a converter if it is of text; return its context.

    Once the library has the definition, call `follow_definition_change`.
    """
    context = new_hook()
    held[context] = _Converter(name, type_, sensitive=sensitive).convert_text
    types_of_contexts[context] = type_
    if definition.type == lib.PD_TYPE_string:
        definition.convert = CONVERT
    definition.context = ffi.cast("void *", context)
    return context


def check_or_reset_value(flag: Flag[Any]) -> None:
    """Reset a flag whose value is from a former definition and not one of this type."""
    entry = flag._entry()
    try:
        flag.from_entry(entry)
    except FormerDefinitionError:
        return
    except FlagValueError:
        flag.reset()
        raise


def add_type_validator(flag: Flag[Any], type_: Type[Any]) -> None:
    """Let a type whose values C holds as numbers refuse those that it doesn't take."""
    add_validator([flag], lambda _: True, f"expected {type_.expected}", _read_entry)
    check_or_reset_value(flag)  # it may be from before the validator was there


def _read_entry(entry: Any) -> Any:
    value, type_ = read_native_value(entry), find_python_type(entry)
    return value if value is None or type_ is None else type_.read(value)


def adopt_redefined_type(flag: Flag[Any], info: Any, context: int) -> None:
    """Let the flag of a `pd_flag_info *` have the Type of a second definition that is the same.

    It may be of a class that is defined anew.
    """
    first = address_of(info.context)
    if not first:
        message = f"{flag.name!r} is already defined, without the type of this definition"
        raise FlagConflictError(message)
    types_of_contexts[first] = types_of_contexts[context]
    if first in held:  # it isn't if another interpreter has it
        held[first] = held[context]
    drop_converter(context)
    flag._refresh_definition()


def follow_definition_change(flag: Flag[Any], context: int = 0) -> None:
    """Release the Types of definitions that the flag has no more; its new one has `context`.

    Another thread may be reading a value of a former definition: it reads it again. If it is
    about to ask the former converter, the library asks the one of the current definition, too.
    """
    contexts = contexts_of_flags.setdefault(flag._address, set())
    if context:
        contexts.add(context)
    info = new_struct("pd_flag_info")
    defined = lib.pd_flag_get_info(flag.handle, info, ffi.NULL) == lib.PD_OK
    current = address_of(info.context) if defined else 0
    for each in [each for each in contexts if each != current]:
        contexts.discard(each)
        former_contexts.add(each)
        types_of_contexts.pop(each, None)
        held.pop(each, None)
    if defined:
        flag._refresh_definition()
    else:
        flag._know(0, BY_NAME["string"], None, flag._sensitive, False)


def drop_converter(context: int) -> None:
    """Forget a converter that the library doesn't have."""
    del held[context], types_of_contexts[context]
    free_unadded_hook(context)
