"""The native modules: kernels, which are plugins, and the runtime, through its C interface."""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char_p, c_double, c_int32, c_int64, c_size_t, c_void_p
from functools import cache
from pathlib import Path

import paddle_flags as pf

BUILD = Path(os.environ.get("FLUID_BUILD", Path(__file__).parents[3] / "build" / "fluid"))
KERNELS = ("libkernels.so", "libblocked.so")


class Error(ctypes.Structure):
    _fields_ = (
        ("message", ctypes.c_char * 2000),
        ("not_finite", c_int32),
        ("of_host", c_int32),
        ("op", c_int32),
        ("variable", ctypes.c_char * 128),
        ("row", c_int64),
        ("column", c_int64),
    )


class Tensor(ctypes.Structure):
    _fields_ = (("data", c_void_p), ("rows", c_int64), ("columns", c_int64), ("is_f64", c_int32))


Host = ctypes.CFUNCTYPE(c_int32, c_int32, c_void_p)

FUNCTIONS: dict[str, tuple[object, ...]] = {  # the result, then the parameters, as in fluid.h
    "scope_new": (c_void_p, c_void_p),
    "scope_free": (None, c_void_p),
    "scope_find": (c_int32, c_void_p, c_char_p, POINTER(Tensor)),
    "scope_var": (
        *(c_int32, c_void_p, c_char_p, c_char_p, c_int64, c_int64),
        *(POINTER(Tensor), POINTER(Error)),
    ),
    "program_new": (c_void_p,),
    "program_free": (None, c_void_p),
    "program_block": (c_int32, c_void_p, c_int32),
    "program_var": (None, c_void_p, c_int32, c_char_p, c_char_p, c_int64, c_int64, c_int32),
    "program_op": (
        *(None, c_void_p, c_int32, c_char_p, c_char_p),
        *(POINTER(c_char_p), c_size_t, c_size_t, POINTER(c_double), c_size_t),
    ),
    "executor_new": (c_void_p, c_void_p, c_int32, c_char_p, Host, POINTER(Error)),
    "executor_free": (None, c_void_p),
    "executor_run": (c_int32, c_void_p, c_void_p, c_int64, POINTER(Error)),
}


class Runtime:
    """The functions of fluid.h, without their prefix."""

    def __init__(self, path: Path) -> None:
        # load_plugin reads the module's flags, CDLL then finds it loaded.
        library = ctypes.CDLL(pf.load_plugin(path).path)
        for name, (result, *parameters) in FUNCTIONS.items():
            function = library[f"fluid_{name}"]
            function.restype, function.argtypes = result, parameters
            setattr(self, name, function)


@cache
def load_kernels() -> None:
    for name in KERNELS:
        pf.load_plugin(BUILD / name)


@cache
def runtime(name: str = "libfluid.so") -> Runtime:
    load_kernels()
    return Runtime(BUILD / name)
