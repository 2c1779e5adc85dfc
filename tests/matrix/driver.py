"""One case of the matrix in a Python process: arguments as in driver.c.

A seventh argument is a library that is linked with both plugins.
"""

from __future__ import annotations

import _ctypes
import ctypes
import os
import sys
from typing import Any

import paddle_flags as pf

MODES = {"local": 0, "global": os.RTLD_GLOBAL, "deepbind": os.RTLD_DEEPBIND}
GIVEN = ["--a_level=3", "--b_level=4", "--a_mode=am", "--b_mode=bm", "--common_n=5"]
FEW_CHOICES = {"native": 1}  # none of b's
CHOICES = {"native": 1, "common,*": 3, "?other,better,native": 2, "-native,*": 2, "*": 2}


class Module:
    """One of the two plugins, with its own functions."""

    def __init__(self, name: str, path: str, mode: str, *, by_us: bool) -> None:
        self.name = name
        self.path = path
        self.mode = mode
        self.by_us = by_us
        self.load()

    def load(self) -> None:
        """Bring the library in by load_plugin, or past it by dlopen."""
        if self.by_us:
            self.plugin = pf.load_plugin(self.path)
        self.image = ctypes.CDLL(self.path, mode=MODES.get(self.mode, 0))

    def unload(self) -> None:
        """Let it go by both ways."""
        _ctypes.dlclose(self.image._handle)
        if self.by_us:
            self.plugin.unload()

    def is_loaded(self) -> bool:
        """Tell whether something else keeps it."""
        try:
            handle = ctypes.CDLL(self.path, mode=os.RTLD_NOLOAD)._handle
        except OSError:
            return False
        _ctypes.dlclose(handle)
        return True

    def call(self, name: str, *arguments: int, kind: Any = ctypes.c_int) -> Any:
        """Call one of its functions."""
        function = self.image[f"{self.name}_{name}"]
        function.restype = kind
        return function(*arguments)


def check(a: Module, b: Module, wanted: dict[str, Any]) -> None:
    """Compare what both plugins and Python read with what was set."""
    found = {
        "a_level": {a.call("own_level"), b.call("other_level"), pf.get("a_level")},
        "b_level": {b.call("own_level"), a.call("other_level"), pf.get("b_level")},
        "common_n": {a.call("common"), b.call("common"), pf.get("common_n")},
        "a_mode": {a.call("own_mode", kind=ctypes.c_char_p).decode(), pf.get("a_mode")},
        "b_mode": {b.call("own_mode", kind=ctypes.c_char_p).decode(), pf.get("b_mode")},
    }
    for name, values in found.items():
        if values != {wanted[name]}:
            sys.exit(f"{name}: {values}, expected {wanted[name]!r}")


def operate(a: Module, b: Module, choices: dict[str, int]) -> None:
    """Choose implementations, and call the operation in both plugins."""
    for choice, added in choices.items():
        pf.set("impl.a_step", choice.split(","))
        found = [module.call("step", 10) for module in (a, b)]
        if found != [10 + added] * 2:
            sys.exit(f"a_step with {choice!r}: {found}, expected {10 + added} in both")


def main(mode: str, order: str, when: str, unload: str, *paths: str) -> None:
    """Run the case."""
    if when == "before":
        pf.parse(["driver", *GIVEN], allow_pending=True, exit=False)
    by_us = mode == "local"
    if unload == "1":
        os.environ["MATRIX_UNLOADS"] = "1"
    for linked_with_both in paths[2:]:
        pf.load_plugin(linked_with_both)
    places = dict(zip("ab", paths))
    modules = {name: Module(name, places[name], mode, by_us=by_us) for name in order}
    a, b = modules["a"], modules["b"]
    if when == "after":
        pf.parse(["driver", *GIVEN], exit=False)
    check(a, b, {"a_level": 3, "b_level": 4, "common_n": 5, "a_mode": "am", "b_mode": "bm"})
    wanted = {"a_level": 7, "b_level": 8, "common_n": 9, "a_mode": "am2", "b_mode": "bm2"}
    pf.FLAGS.update(wanted)
    check(a, b, wanted)
    operate(a, b, FEW_CHOICES if unload == "1" else CHOICES)
    if unload == "1":
        b.unload()
        if a.call("step", 10) != 11:
            sys.exit("a lost its operation with b")
        if a.call("own_level") != 7:
            sys.exit("a lost its level with b")
        left = b.is_loaded()
        os.environ["MATRIX_UNLOADS"] = ""
        b.load()
        check(a, b, wanted)
        operate(a, b, FEW_CHOICES if left else CHOICES)


if __name__ == "__main__":
    main(*sys.argv[1:])
