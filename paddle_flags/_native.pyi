# The extension module that cffi makes from csrc/include/pd_flags.h.

from typing import Any

ffi: Any
lib: Any
