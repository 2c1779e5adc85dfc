"""The flags of the process for programs that read them by OpenFeature.

    from openfeature import api
    from paddle_flags.openfeature import PaddleFlagsProvider

    api.set_provider(PaddleFlagsProvider())
    api.get_client().get_integer_value("alpha_level", 6)

It needs the extra `openfeature`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from paddle_flags._core.containers import DictType
from paddle_flags._core.history import describe_origin
from paddle_flags._core.missing import optional_import
from paddle_flags._core.registry import find
from paddle_flags._core.status import to_text
from paddle_flags._core.validators import watch
from paddle_flags._core.values import (
    decode_native_value,
    find_python_type,
    get_native_kind,
    read_native_value,
)
from paddle_flags._native import lib
from paddle_flags.errors import FlagError, UndefinedFlagError

with optional_import("paddle_flags.openfeature", "openfeature-sdk", "openfeature"):
    from openfeature.event import ProviderEventDetails
    from openfeature.exception import ErrorCode
    from openfeature.flag_evaluation import FlagResolutionDetails, Reason
    from openfeature.provider import AbstractProvider, Metadata

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openfeature.evaluation_context import EvaluationContext
    from openfeature.flag_evaluation import FlagValueType

    from paddle_flags._core.flag import Flag
    from paddle_flags._core.hooks import Hook
    from paddle_flags._core.types import Type

    Structure = Sequence[FlagValueType] | Mapping[str, FlagValueType]

__all__ = ["PaddleFlagsProvider"]


class PaddleFlagsProvider(AbstractProvider):
    """A provider whose flags are those of the process, whichever module has defined them.

    The key is the name of a flag or an alias; `-` and `_` are the same. The types are strict: an
    integer is no float. Text, enums, paths and dates are strings. Lists and dicts are objects, and
    so are a number with a unit, as `{"value": 90, "unit": "seconds"}`, and the value of a `pf.Type`
    whose `parse` returns a list or a dict. The evaluation context has no effect.

    | case | reason | error code |
    |---|---|---|
    | the value of the process | `STATIC` | |
    | a scoped value of this thread or task | `TARGETING_MATCH` | |
    | an optional flag without a value: the default of the call | `DEFAULT` | |
    | no such flag | `ERROR` | `FLAG_NOT_FOUND` |
    | a flag of another type | `ERROR` | `TYPE_MISMATCH` |
    | a sensitive flag, as OpenFeature hands values to hooks and telemetry | `ERROR` | `GENERAL` |

    The variant of a bool, a number, or a flag with choices is its text. The metadata of a flag
    has its `source`, `type`, `module`, its `place` if it has one, and, once flags were served, the
    `revision` of all of them.

    While it is registered, the provider emits PROVIDER_CONFIGURATION_CHANGED after each change of
    a value, with the name of the flag.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._hook: Hook | None = None

    def get_metadata(self) -> Metadata:
        """Return the name of the provider."""
        return Metadata(name="paddle_flags")

    def initialize(self, evaluation_context: EvaluationContext) -> None:
        """Begin to emit events."""
        with self._lock:
            if self._hook is None:
                self._hook = watch(self._emit_change)

    def shutdown(self) -> None:
        """End that. The provider may be initialized again."""
        with self._lock:
            hook, self._hook = self._hook, None
        if hook is not None:
            hook.remove()

    def _emit_change(self, flag: Flag[Any]) -> None:
        if flag.sensitive:  # whose values nobody gets here
            return
        with suppress(RuntimeError):  # the SDK's threads have ended: the interpreter is ending
            self.emit_provider_configuration_changed(ProviderEventDetails([flag.name]))

    def resolve_boolean_details(
        self,
        flag_key: str,
        default_value: bool,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[bool]:
        """Return the value of a bool flag."""
        return _resolve(flag_key, default_value, _make_scalar_converter(bool))

    def resolve_string_details(
        self,
        flag_key: str,
        default_value: str,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[str]:
        """Return the value of a string flag, or the text of an enum, a path or a date."""
        return _resolve(flag_key, default_value, _make_scalar_converter(str))

    def resolve_integer_details(
        self,
        flag_key: str,
        default_value: int,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[int]:
        """Return the value of an integer flag."""
        return _resolve(flag_key, default_value, _make_scalar_converter(int))

    def resolve_float_details(
        self,
        flag_key: str,
        default_value: float,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[float]:
        """Return the value of a double flag; a duration in seconds."""
        return _resolve(flag_key, default_value, _make_scalar_converter(float))

    def resolve_object_details(
        self,
        flag_key: str,
        default_value: Structure,
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[Structure]:
        """Return a list, a dict, or a number with its unit."""
        return _resolve(flag_key, default_value, _to_structure)


# What a value is in OpenFeature, from the flag and its pd_flag_entry; None: of another type.
_Convert = Callable[["Flag[Any]", Any], Any]


def _resolve(name: str, default: Any, convert: _Convert) -> FlagResolutionDetails[Any]:
    try:
        flag = find(name)
        entry = flag._entry()
        if entry.sensitive:
            why = f"{flag.name} is sensitive: its value is not given to OpenFeature"
            return _error_details(default, ErrorCode.GENERAL, why)
        value = convert(flag, entry)
        if value is None:
            what = f"a list of {flag.items}" if flag.items else flag.type
            return _error_details(default, ErrorCode.TYPE_MISMATCH, f"{flag.name} is {what}")
        return _value_details(flag, entry, default if entry.unset else value)
    except UndefinedFlagError as error:
        return _error_details(default, ErrorCode.FLAG_NOT_FOUND, str(error))
    except FlagError as error:
        return _error_details(default, ErrorCode.GENERAL, str(error))


def _error_details(default: Any, code: ErrorCode, why: str) -> FlagResolutionDetails[Any]:
    return FlagResolutionDetails(default, code, why, Reason.ERROR)


def _value_details(flag: Flag[Any], entry: Any, value: Any) -> FlagResolutionDetails[Any]:
    reason = Reason.DEFAULT if entry.unset else Reason.STATIC
    if entry.origin.source == lib.PD_SOURCE_SCOPE:
        reason = Reason.TARGETING_MATCH
    metadata: dict[str, str | int] = {
        "source": to_text(lib.pd_source_name(entry.origin.source)),
        "type": get_native_kind(entry).name,
        "module": flag.module,
    }
    place = describe_origin(entry.origin)
    if place:
        metadata["place"] = place
    revision = lib.pd_journal_get_revision()
    if revision:
        metadata["revision"] = revision
    variant = None if entry.unset else _format_variant(flag, entry)
    return FlagResolutionDetails(value, None, None, reason, variant, metadata)


def _format_variant(flag: Flag[Any], entry: Any) -> str | None:
    """Return the text of a value, unless it may be long: telemetry counts by variants."""
    value = read_native_value(entry)
    if get_native_kind(entry).item is not None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return value if flag.choices else None
    return str(value)


def _make_scalar_converter(kind: type) -> _Convert:
    def convert(_: Flag[Any], entry: Any) -> Any:
        if get_native_kind(entry).python is not kind:
            return None
        return kind() if entry.unset else read_native_value(entry)

    return convert


def _to_structure(flag: Flag[Any], entry: Any) -> Any:
    kind, type_ = get_native_kind(entry), find_python_type(entry)
    if type_ is not None and kind.python is str and kind.item is None:
        value = None if entry.unset else flag.from_entry(entry)
        return _to_lists_and_dicts(value) if isinstance(value, (Mapping, list, tuple)) else None
    if kind.item is None and flag.unit is None:
        return None
    if entry.unset:
        return {}
    if isinstance(type_, DictType):
        values = flag.from_entry(entry)
        return {str(type_.key.write(k)): _to_json_value(type_.value, v) for k, v in values.items()}
    if kind.item is not None:
        return list(decode_native_value(kind, entry.value))
    return {"value": read_native_value(entry), "unit": flag.unit}


def _to_json_value(type_: Type[Any], value: Any) -> Any:
    """Return a value that JSON can hold: the text of a path or a date."""
    return value if type(value) in (bool, int, float, str) else type_.write(value)


def _to_lists_and_dicts(value: Any) -> Any:
    """Return a value of a Type with lists and dicts in place of other sequences and mappings."""
    if isinstance(value, Mapping):
        return {str(key): _to_lists_and_dicts(each) for key, each in value.items()}
    return (
        [_to_lists_and_dicts(each) for each in value] if isinstance(value, (list, tuple)) else value
    )
