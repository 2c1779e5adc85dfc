"""A plugin with scoped flags, and helpers for the tests of scopes."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from pathlib import Path

import paddle_flags as pf

PLUGIN = """
#include <pd_flags.h>
PD_DEFINE_SCOPED_int32(scoped_level, 6, "Compression level", .min = 1, .max = 9);
PD_DEFINE_SCOPED_string(scoped_mode, "fast", "How to search", .choices = "fast|best");
int native_level(void);
int native_level(void) { return PD_SCOPED(scoped_level); }
"""


class Native:
    """The flags of the plugin, as its own code sees them."""

    def __init__(self, path: Path) -> None:
        self.plugin = pf.load_plugin(path)
        self.level = ctypes.CDLL(str(path)).native_level


def both(native: Native) -> int:
    """Return the level, which Python and native code must see alike."""
    seen = pf.FLAGS.scoped_level
    assert seen == native.level() == pf.FLAGS["scoped_level"].value
    return seen


def elsewhere(function):
    """Call a function on a thread of its own, which inherits no context, and so no scopes."""
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(Context().run, function).result()
