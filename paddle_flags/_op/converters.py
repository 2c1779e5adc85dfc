"""Arguments of operations: whether a value fits a parameter, and what C gets for it."""

from __future__ import annotations

import math
import numbers
import sys
from typing import Any

from paddle_flags._native import ffi
from paddle_flags._op import codes
from paddle_flags._op.codes import CONST_POINTER, POINTER

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import Callable

    Converter = Callable[[Any], Any]
    """Returns what C gets for a value; raises Unfit."""


class Unfit(Exception):
    """An argument doesn't fit; the text says why."""


class WrongType(Unfit):
    """No value of the argument's class fits."""


class OutOfRange(Unfit):
    """A number doesn't fit, although others of its class do."""


def class_with_article(value: object) -> str:
    """Return a value's class, with its article."""
    name = type(value).__name__ or "class without a name"
    return f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def _wrong_type(value: object, what: str) -> WrongType:
    return WrongType(f"is {class_with_article(value)}, expected {what}")


def _unfit_value(value: object, what: str) -> Unfit:
    """As `_wrong_type`, where other values of the class may fit."""
    return Unfit(f"is {class_with_article(value)}, expected {what}")


# ---- Numbers ----


def _convert_bool(value: Any) -> bool:
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    raise _wrong_type(value, "a bool")


def range_of_type(code: int) -> tuple[Any, Any] | None:
    """Return the least and the greatest value of a type; None for others than numbers."""
    if code == codes.DOUBLE:
        return -sys.float_info.max, sys.float_info.max
    if not codes.INT8 <= code <= codes.UINT64:
        return None
    bits = 8 << ((code - codes.INT8) // 2)
    low = -(1 << (bits - 1)) if (code - codes.INT8) % 2 == 0 else 0
    return low, low + (1 << bits) - 1


def _make_integer_converter(code: int) -> Converter:
    low, high = range_of_type(code) or (0, 0)

    def convert(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, numbers.Integral):
            raise _wrong_type(value, "an integer")
        number = int(value)
        if not low <= number <= high:
            message = f"is out of range, expected {codes.C_NAMES[code]}, from {low} to {high}"
            raise OutOfRange(message)
        return number

    return convert


_LARGEST_FLOAT = 3.4028235677973366e38  # what rounds to infinity as a float in C, and above


def _make_real_converter(code: int) -> Converter:
    def convert(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise _wrong_type(value, "a real number")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        else:
            if code != codes.FLOAT or abs(number) < _LARGEST_FLOAT or not math.isfinite(number):
                return number
        raise OutOfRange(f"is out of range, expected a {codes.C_NAMES[code]}")

    return convert


def _convert_character(value: Any) -> bytes:
    if isinstance(value, bytes) and len(value) == 1:
        return value
    raise _unfit_value(value, "bytes of length 1")


# ---- Memory ----

_NATIVE_ORDER = "@=<" if sys.byteorder == "little" else "@=>!"
_FORMATS = {
    codes.BOOL: "?",
    codes.CHAR: "cbB",
    codes.FLOAT: "f",
    codes.DOUBLE: "d",
    **dict.fromkeys((codes.INT8, codes.INT16, codes.INT32, codes.INT64), "bhilqn"),
    **dict.fromkeys((codes.UINT8, codes.UINT16, codes.UINT32, codes.UINT64), "BHILQN"),
}


def _check_items(view: memoryview, item: int) -> None:
    form = view.format.lstrip(_NATIVE_ORDER)
    size = ffi.sizeof(codes.C_NAMES[item])
    if len(form) != 1 or form not in _FORMATS[item] or view.itemsize != size:
        name = codes.C_NAMES[item].lstrip("_")
        raise Unfit(f"has items of format {view.format!r}, expected {name}")


def _make_buffer_converter(code: int) -> Converter:
    constant = code > CONST_POINTER
    item = code - (CONST_POINTER if constant else POINTER)
    name = codes.C_NAMES[item]
    array = "char[]" if item == codes.VOID else f"{name}[]"

    def convert(value: Any) -> Any:
        if isinstance(value, ffi.CData):
            return _convert_pointer(value)
        try:
            view = memoryview(value)
        except TypeError:
            raise _wrong_type(value, f"a buffer of {name.lstrip('_')}") from None
        except (ValueError, BufferError) as error:
            raise Unfit(f"has no buffer: {error}") from error
        if item != codes.VOID:
            _check_items(view, item)
        if not view.c_contiguous:
            raise Unfit("is not contiguous, expected a contiguous buffer")
        if view.readonly and not constant:
            raise Unfit("is read-only, expected a writable buffer")
        return ffi.from_buffer(array, value, require_writable=not constant)

    return convert


_convert_bytes = _make_buffer_converter(codes.TEXT)


def _convert_text(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value = value.encode()
        except UnicodeEncodeError:
            raise Unfit("contains a lone surrogate, expected valid text") from None
    if not isinstance(value, bytes):
        return _convert_bytes(value)
    if b"\0" in value:
        raise Unfit("contains a NUL character, expected text without it")
    return ffi.new("char[]", value)


def _convert_pointer(value: Any) -> Any:
    if isinstance(value, ffi.CData):
        kind = ffi.typeof(value).kind
        if kind in ("pointer", "array"):
            return ffi.cast("void *", value)
    raise _unfit_value(value, "a pointer of cffi")


def make_argument_converter(code: int) -> Converter:
    """Return what checks and converts an argument for a parameter of this code."""
    if codes.INT8 <= code <= codes.UINT64:
        return _make_integer_converter(code)
    if code in (codes.FLOAT, codes.DOUBLE):
        return _make_real_converter(code)
    if code % POINTER == codes.STRUCT:
        return _convert_pointer
    return _OTHERS.get(code) or _make_buffer_converter(code)


_OTHERS = {codes.BOOL: _convert_bool, codes.CHAR: _convert_character, codes.TEXT: _convert_text}


def is_decided_by_class(classes: tuple[type, ...]) -> bool:
    """Return whether the class of a value alone says if it is an instance of one of these."""
    return all(type(each).__instancecheck__ is type.__instancecheck__ for each in classes)


def make_object_converter(classes: tuple[type, ...]) -> Converter:
    """Return what checks that an argument is an instance of one of the classes."""
    names = " or ".join(each.__name__ for each in classes)
    wrong = _wrong_type if is_decided_by_class(classes) else _unfit_value

    def convert(value: Any) -> Any:
        if classes and not isinstance(value, classes):
            raise wrong(value, names)
        return value

    return convert


def make_result_converter(code: int) -> Callable[[Any], Any] | None:
    """Return what converts the result of a call; None: cffi has done so."""
    if code == codes.TEXT:
        return lambda text: ffi.string(text).decode("utf-8", "surrogateescape") if text else None
    return None
