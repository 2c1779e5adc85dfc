"""Conversion of Python values to C values and back. No conversion loses anything."""

from __future__ import annotations

from operator import index

from paddle_flags._core import lists
from paddle_flags._core.header import C_TYPES
from paddle_flags._core.status import address_of, quote_value, to_bytes, to_text
from paddle_flags._native import ffi
from paddle_flags.errors import FlagTypeError, FlagValueError

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from paddle_flags._core.flag import Flag
    from paddle_flags._core.types import Type

    _T = TypeVar("_T")


class FormerDefinitionError(FlagValueError):
    """A value is of a definition that the flag no longer has: read it again."""


def retry_if_redefined(read: Callable[[], _T]) -> _T:
    """Return what `read` returns once no other thread has defined the flag again meanwhile."""
    while True:
        try:
            return read()
        except FormerDefinitionError:
            pass


class ValueType:
    """One of the types of C, or a list of one."""

    smallest: int | None = None  # of an integer; None for other types
    largest: int | None = None
    item: ValueType | None = None  # of a list
    via: Type[Any] | None = None  # that makes values of those in C

    def __init__(
        self,
        number: int,
        name: str,  # as in C: "int32"
        python: type,
        pointer: str,  # C type of a cell's address
        member: str,  # of pd_value
        decode: Callable[[Any], Any] | None = None,  # from what C holds; None: it is the value
    ) -> None:
        self.number = number
        self.name = name
        self.python = python
        self.pointer = pointer
        self.member = member
        self.decode = decode
        self.state = number  # as pd_flag_get_state returns


_PYTHON: dict[str, type] = {"b": bool, "i64": int, "u64": int, "f64": float, "str": str}


def _make_scalar_type(number: int, name: str) -> ValueType:
    ctype, member = C_TYPES[name]
    decode = to_text if member == "str" else None
    kind = ValueType(number, name, _PYTHON[member], f"{ctype} *", member, decode)
    if kind.python is int:
        bits = ffi.sizeof(ctype) * 8
        kind.smallest = -(2 ** (bits - 1)) if member == "i64" else 0
        kind.largest = kind.smallest + 2**bits - 1
    return kind


_SCALARS = [
    _make_scalar_type(number, constant[len("PD_TYPE_") :])
    for number, constant in sorted(ffi.typeof("pd_type").elements.items())
]
BY_NAME: dict[str, ValueType] = {kind.name: kind for kind in _SCALARS}


def _make_list_type(item: ValueType) -> ValueType:
    def decode(pointer: Any) -> tuple[Any, ...]:
        return lists.parse_list(item.python, to_text(pointer))

    text = BY_NAME["string"]
    kind = ValueType(text.number, text.name, tuple, text.pointer, text.member, decode)
    kind.item = item
    kind.state = text.number | item.number << 4
    return kind


LISTS: dict[str, ValueType] = {kind.name: _make_list_type(kind) for kind in _SCALARS}
_BY_STATE = {kind.state: kind for kind in (*_SCALARS, *LISTS.values())}


def get_native_kind(info_or_entry: Any) -> ValueType:
    """Return the type in C of the flag that a pd_flag_info or pd_flag_entry is about."""
    return _BY_STATE[info_or_entry.type | info_or_entry.list << 4]


# The Types of definitions, by the `context` that each has: C says which definition a value is
# of, so no thread takes the Type of another one.
types_of_contexts: dict[int, Type[Any]] = {}

# The contexts of definitions that have gone.
former_contexts: set[int] = set()

# The contexts of the definitions with a Type that a flag has or has just had, by its address.
contexts_of_flags: dict[int, set[int]] = {}


def find_python_type(info_or_entry: Any) -> Type[Any] | None:
    """Return the Type of the definition that a pd_flag_info or pd_flag_entry is about, or None.

    Raises FormerDefinitionError if the flag has another definition by now.
    """
    if not info_or_entry.context:
        return None
    context = address_of(info_or_entry.context)
    type_ = types_of_contexts.get(context)
    if type_ is None and context in former_contexts:
        raise FormerDefinitionError
    return type_  # None, too, if another interpreter has it


def get_typed_kind(info_or_entry: Any) -> ValueType:
    """Return the type of the flag that a pd_flag_info or pd_flag_entry is about."""
    kind, type_ = get_native_kind(info_or_entry), find_python_type(info_or_entry)
    return make_typed_kind(kind, type_) if type_ else kind


def read_native_value(entry: Any) -> Any:
    """Return the value of a pd_flag_entry as C holds it; None if it stands for no value."""
    if entry.unset:
        return None
    kind = get_native_kind(entry)
    return decode_native_value(BY_NAME[kind.name] if find_python_type(entry) else kind, entry.value)


def make_typed_kind(base: ValueType, type_: Type[Any]) -> ValueType:
    """Return the type of flags whose values `type_` makes of those in C."""
    plain = BY_NAME[base.name]

    def decode(member: Any) -> Any:
        return type_.read(plain.decode(member) if plain.decode else member)

    kind = ValueType(base.number, base.name, plain.python, base.pointer, base.member, decode)
    kind.smallest, kind.largest = base.smallest, base.largest
    kind.state = base.state
    kind.via = type_
    return kind


def to_native(flag: Flag[Any], value: Any) -> Any:
    """Return what C holds for a value of the flag; None if that is no value."""
    type_ = flag._type
    if value is None or type_ is None or not type_.accepts(value):
        return value  # which may be of a former definition
    return type_.write(value)


def format_argument(value: Any, flag: Flag[Any] | None = None) -> str:
    """Return a value as a command line reads it.

    Text that a list or `flag` reads as that value; without a flag, of a bool, a number, text or a
    tuple of them.
    """
    if flag is not None:
        value = to_native(flag, value)
    if isinstance(value, tuple):
        return lists.encode(value)
    if isinstance(value, bool):
        return str(value).lower()
    return lists.number_text(value) if isinstance(value, (int, float)) else str(value)


def decode_list(state: int, text: str) -> tuple[Any, ...]:
    """Return the values in the text of a list flag in this state."""
    item = _BY_STATE[state].item
    assert item  # that of a list
    return lists.parse_list(item.python, text)


def decode_native_value(kind: ValueType, value: Any) -> Any:
    """Return the Python value of a pd_value."""
    member = getattr(value, kind.member)
    return kind.decode(member) if kind.decode else member


# For subclasses, whatever they override: str() of a member of a mixed Enum is its name.
_EXACT: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (bool, bool),
    (int, int.__int__),
    (float, float.__float__),
    (str, str.__str__),
)


def find_plain_class(value: object) -> type | None:
    """Return bool, int, float or str, of which `value` is an instance, or None."""
    for kind, _ in _EXACT:
        if isinstance(value, kind):
            return kind
    return None


def to_plain(value: object) -> Any:
    """Return `value` as the bool, int, float or str that it is; anything else unchanged."""
    for kind, exact in _EXACT:
        if isinstance(value, kind):
            return exact(value)
    return value


class _Redacted(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


REDACTED = _Redacted("<redacted>")
"""What is shown in place of a sensitive value."""


def _type_error(what: str, expected: str, value: object, *, sensitive: bool) -> FlagTypeError:
    seen = REDACTED if sensitive else quote_value(value)
    error = FlagTypeError(f"{what}{seen}: expected {expected}, not {type(value).__name__}")
    error.status = "PD_ERR_TYPE"
    return error


def coerce_to_kind(name: str, kind: ValueType, value: object, *, sensitive: bool = False) -> Any:
    """Return `value` as the Python type of `kind`, or raise FlagTypeError.

    Integers may be any object with `__index__`, and all values scalars of NumPy, PyTorch
    and the like, which have `item()`, or instances of subclasses, such as members of an
    Enum with str as its mixin. A bool is not a number here. A list may be any sequence
    except text, or an array of NumPy or PyTorch.
    """
    if kind.via is not None:
        return _to_native_by_type(name, kind.via, value, sensitive=sensitive)
    if kind.item is None:
        expected = f"{kind.python.__name__} for a flag of type {kind.name}"
        return _coerce_scalar(f"{name}=", kind, value, expected, sensitive=sensitive)
    items = lists.items_of(value)
    expected = kind.item.python.__name__
    if items is None:
        expected = f"a sequence of {expected} for a list of {kind.item.name}"
        if isinstance(value, str) and not sensitive:
            expected += f", as in [{quote_value(value)}]"
        raise _type_error(f"{name}=", expected, value, sensitive=sensitive)
    return tuple(
        _coerce_scalar(f"{name}: item {number}: ", kind.item, item, expected, sensitive=sensitive)
        for number, item in enumerate(items, 1)
    )


def encode_choice(name: str, kind: ValueType, choice: object, *, sensitive: bool) -> str:
    """Return the text in C of a choice, which is a value or text."""
    if kind.via is None:
        return str(to_plain(choice))
    type_ = kind.via.item or kind.via
    if not isinstance(choice, str) or type_.native == "string":
        is_text = isinstance(choice, str) and type_.python is None
        choice = _to_native_by_type(name, type_, choice, sensitive=sensitive, is_text=is_text)
    if isinstance(choice, float):
        return repr(choice).removesuffix(".0")
    return lists.encode((choice,)) if isinstance(choice, bool) else str(to_plain(choice))


def _to_native_by_type(
    name: str, type_: Type[Any], value: object, *, sensitive: bool, is_text: bool = False
) -> Any:
    """Return what C gets for a value. Text for another type is read as on a command line.

    The error for a sensitive value has no cause and no context: they may quote the value.
    """
    try:
        if is_text or type_.reads(value):
            return type_.canonical(to_plain(value))
        if type_.accepts(value):
            return type_.write(value)
    except Exception as error:
        if not sensitive and not isinstance(error, ValueError):  # Unfit is one
            raise
        reason = f"expected {type_.expected}" if sensitive else str(error)
        cause = None if sensitive else error.__cause__
    else:
        raise _type_error(f"{name}=", type_.expected, value, sensitive=sensitive)
    refused = FlagValueError(f"{name}={REDACTED if sensitive else quote_value(value)}: {reason}")
    refused.status = "PD_ERR_VALUE"
    raise refused from cause


def _coerce_scalar(
    what: str, kind: ValueType, value: object, expected: str, *, sensitive: bool
) -> Any:
    if type(value) is kind.python:
        return value
    item: Callable[[], object] | None = getattr(value, "item", None)
    if item and not isinstance(value, (int, float, str)):
        try:
            value = item()
        except (TypeError, ValueError, RuntimeError):  # not one value but several
            raise _type_error(what, expected, value, sensitive=sensitive) from None
    if isinstance(value, bool) != (kind.python is bool):
        raise _type_error(what, expected, value, sensitive=sensitive)
    if isinstance(value, kind.python):
        return to_plain(value)
    try:
        if kind.python in (int, float):
            return kind.python(index(to_plain(value)))  # raises TypeError
    except TypeError:
        pass
    except OverflowError:
        message = f"{what.rstrip(' =:')}: expected a number that a double can hold"
        raise FlagValueError(message) from None
    raise _type_error(what, expected, value, sensitive=sensitive)


def fits_native_type(kind: ValueType, value: Any) -> bool:
    """Return whether an integer fits its type in C; other values always do."""
    return kind.smallest is None or kind.smallest <= value <= (kind.largest or 0)


class Assignments:
    """An array of pd_assignment and the memory it points to."""

    def __init__(self, size: int) -> None:
        self.items = ffi.new("pd_assignment[]", size)
        self._texts: list[Any] = []

    def fill(
        self,
        position: int,
        name: str,
        kind: ValueType,
        value: object,
        *,
        sensitive: bool,
        optional: bool = False,
    ) -> None:
        """Let item `position`, whose flag is set, assign `value` to it."""
        item = self.items[position]
        if value is None and optional:
            return  # which means: no value
        item.type = kind.number
        wanted = coerce_to_kind(name, kind, value, sensitive=sensitive)
        if not fits_native_type(kind, wanted):
            item.text = self._retain_text(lists.integer_text(wanted))  # C says what is expected
        elif kind.member == "str":
            text = lists.encode(wanted) if kind.item else wanted
            item.value.str = self._retain_text(text, f"{name}=", sensitive=sensitive)
        else:
            setattr(item.value, kind.member, wanted)

    def _retain_text(self, text: str, what: str = "", *, sensitive: bool = False) -> Any:
        kept = ffi.new("char[]", to_bytes(text, what, sensitive=sensitive))
        self._texts.append(kept)
        return kept
