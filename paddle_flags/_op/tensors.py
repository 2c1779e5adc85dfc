"""Arrays with a shape, which cross as DLPack's DLTensor (https://dmlc.github.io/dlpack)."""

from __future__ import annotations

import re
from typing import Any

from paddle_flags._core.status import new_error, to_text
from paddle_flags._native import ffi, lib
from paddle_flags._op.codes import POINTER, STRUCT
from paddle_flags._op.converters import Unfit, class_with_article

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import Sequence

_VERSIONED = 32  # offset of the DLTensor in a DLManagedTensorVersioned, whose flags are before it
_FLAGS, _READ_ONLY, _COPIED = 24, 1, 2


def is_tensor_parameter(code: int, text: str) -> bool:
    """Return whether a parameter is a DLTensor *."""
    return code % POINTER == STRUCT and re.search(r"\bDLTensor\b", text) is not None


class Array:
    """An argument that exports DLPack; its memory stays where it is while this lives."""

    def __init__(self, value: Any, *, constant: bool) -> None:
        if not hasattr(type(value), "__dlpack__"):
            raise Unfit(f"is {class_with_article(value)}, expected an array (__dlpack__)")
        self._capsule = _export_dlpack(value)
        self.address = _tensor_address(self._capsule, constant=constant)


def _export_dlpack(value: Any) -> Any:
    try:
        try:
            return value.__dlpack__(max_version=(1, 0))
        except TypeError:  # of an older version
            return value.__dlpack__()
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise Unfit(
            f"is {class_with_article(value)} that doesn't export its memory: {error}"
        ) from error


def _tensor_address(capsule: Any, *, constant: bool) -> int:
    import ctypes

    api = ctypes.pythonapi
    api.PyCapsule_IsValid.argtypes = [ctypes.py_object, ctypes.c_char_p]
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    if api.PyCapsule_IsValid(capsule, b"dltensor"):
        return int(api.PyCapsule_GetPointer(capsule, b"dltensor"))
    if not api.PyCapsule_IsValid(capsule, b"dltensor_versioned"):
        raise Unfit("exports a capsule of an unknown kind, expected one of DLPack 1")
    address = int(api.PyCapsule_GetPointer(capsule, b"dltensor_versioned"))
    version = ffi.cast("uint32_t *", address)[0]
    if version != 1:
        raise Unfit(f"exports version {version} of DLPack, expected version 1")
    flags = ffi.cast("uint64_t *", address + _FLAGS)[0]
    if flags & (_READ_ONLY | _COPIED) and not constant:
        what = "is read-only" if flags & _READ_ONLY else "exports a copy"
        raise Unfit(f"{what}, expected a writable array")
    return address + _VERSIONED


def check_arrays(op: Any, arrays: Sequence[Array]) -> None:
    """Check arrays against what the definition of the operation says of them."""
    err = new_error()
    pointers = ffi.new("void *[]", [ffi.cast("void *", each.address) for each in arrays])
    if lib.pd_op_check_arrays(op, pointers, len(arrays), err) != lib.PD_OK:
        raise Unfit(to_text(err.message))
