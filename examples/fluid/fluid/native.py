"""The native modules: kernels, which are plugins, and the runtime, through its C interface."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import Any

from cffi import FFI

import paddle_flags as pf

BUILD = Path(os.environ.get("FLUID_BUILD", Path(__file__).parents[3] / "build" / "fluid"))
HEADER = (Path(__file__).parents[1] / "runtime" / "fluid.h").read_text()

ffi: Any = FFI()
ffi.cdef(re.sub(r'^(#.*|extern "C" \{|\})$', "", HEADER, flags=re.MULTILINE))


@cache
def load_kernels() -> None:
    for name in ("libkernels.so", "libblocked.so"):
        pf.load_plugin(BUILD / name)


@cache
def runtime(name: str = "libfluid.so") -> Any:  # noqa: ANN401 - cffi's
    """The functions of fluid.h. load_plugin reads the module's flags, dlopen finds it loaded."""
    load_kernels()
    return ffi.dlopen(pf.load_plugin(BUILD / name).path)
