"""Python values as C values, and back. Conversions are strict: none loses anything."""

from __future__ import annotations

import operator
from typing import Any, Callable, NamedTuple

from paddle_flags._native import ffi, lib
from paddle_flags._status import to_bytes, to_text
from paddle_flags.errors import FlagTypeError, FlagValueError


class ValueType(NamedTuple):
    """One of the seven types."""

    number: int
    name: str  # as in C: "int32"
    python: type
    pointer: str  # C type that pd_flag_get_<name> writes to
    member: str  # of pd_value
    get: Callable[..., int]
    smallest: int | None  # of an integer; None for other types
    largest: int | None


def _value_type(number: int, name: str) -> ValueType:
    get = getattr(lib, f"pd_flag_get_{name}")
    if name == "bool":
        return ValueType(number, name, bool, "bool *", "b", get, None, None)
    if name == "double":
        return ValueType(number, name, float, "double *", "f64", get, None, None)
    if name == "string":
        return ValueType(number, name, str, "const char **", "str", get, None, None)
    bits = ffi.sizeof(f"{name}_t") * 8
    if name.startswith("u"):
        return ValueType(number, name, int, f"{name}_t *", "u64", get, 0, 2**bits - 1)
    half = 2 ** (bits - 1)
    return ValueType(number, name, int, f"{name}_t *", "i64", get, -half, half - 1)


TYPES: dict[int, ValueType] = {
    number: _value_type(number, constant[len("PD_TYPE_") :])
    for number, constant in sorted(ffi.typeof("pd_type").elements.items())
}
BY_NAME: dict[str, ValueType] = {kind.name: kind for kind in TYPES.values()}


def from_c(kind: ValueType, value: Any) -> Any:
    """Give the Python value of a pd_value."""
    member = getattr(value, kind.member)
    return to_text(member) if kind.python is str else member


def _refuse(name: str, kind: ValueType, value: object) -> FlagTypeError:
    error = FlagTypeError(
        f"{name}={value!r}: expected {kind.python.__name__} for a flag of type {kind.name},"
        f" not {type(value).__name__}"
    )
    error.status = "PD_ERR_TYPE"
    return error


def to_python(name: str, kind: ValueType, value: object) -> Any:
    """Give `value` as the Python type of `kind`, or raise FlagTypeError.

    Integers are taken from anything with `__index__`, and all values from the
    scalars of NumPy, PyTorch and their like, which give a Python object by
    `item()`. bool is no number here.
    """
    if type(value) is kind.python:
        return value
    item: Callable[[], object] | None = getattr(value, "item", None)
    if item and not isinstance(value, (int, float, str)):
        try:
            value = item()
        except (TypeError, ValueError, RuntimeError):  # not one value but several
            raise _refuse(name, kind, value) from None
    if isinstance(value, bool) != (kind.python is bool):
        raise _refuse(name, kind, value)
    if isinstance(value, kind.python):
        return kind.python(value)
    try:
        if kind.python in (int, float):
            return kind.python(operator.index(value))  # type: ignore[arg-type]  # raises TypeError
    except TypeError:
        pass
    except OverflowError:
        message = f"{name}: expected a number that a double can hold"
        raise FlagValueError(message) from None
    raise _refuse(name, kind, value)


def fits(kind: ValueType, value: Any) -> bool:
    """Tell whether C can hold an integer at all; other values always fit."""
    return kind.smallest is None or kind.smallest <= value <= (kind.largest or 0)


class Assignments:
    """An array of pd_assignment with the memory that it points at."""

    def __init__(self, size: int) -> None:
        self.items = ffi.new("pd_assignment[]", size)
        self._texts: list[Any] = []

    def fill(self, index: int, handle: Any, name: str, kind: ValueType, value: object) -> None:
        """Let item `index` assign `value` to the flag `handle`."""
        item = self.items[index]
        item.flag = handle
        item.type = kind.number
        wanted = to_python(name, kind, value)
        if not fits(kind, wanted):
            # C says what is expected. Hexadecimal has no limit on its digits.
            item.text = self._keep(hex(wanted) if abs(wanted) >> 128 else str(wanted))
        elif kind.python is str:
            try:
                item.value.str = self._keep(wanted)
            except FlagValueError as error:
                message = f"{name}={error}"
                raise FlagValueError(message) from None
        else:
            setattr(item.value, kind.member, wanted)

    def _keep(self, text: str) -> Any:
        kept = ffi.new("char[]", to_bytes(text))
        self._texts.append(kept)
        return kept
