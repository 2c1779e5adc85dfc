"""Names of a package that are imported on first use, listed as import statements.

A module of the package has the statements, and nothing else. Type checkers read it as it is; here
its code runs with an `__import__` that imports nothing and notes where each name is from.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class _Module:
    """Stands for a module in a `from` statement; an attribute is the place of a name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> tuple[str, str]:
        return self._name, name


def _placeholder_import(name: str, *_: object) -> _Module:
    return _Module(name)


def collect_import_names(listing: str, path: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the names that a module of import statements has, each with its module and name."""
    # importlib.util.find_spec() does the same, but its module needs more time than all of ours.
    finds = (getattr(finder, "find_spec", None) for finder in sys.meta_path)
    specs = (find(listing, path, None) for find in finds if find)
    loaders: Iterable[Any] = (spec.loader for spec in specs if spec is not None)
    loader = next(
        (each for each in loaders if hasattr(each, "get_code")), None
    )  # pytest's has none
    if loader is None:
        raise ImportError(f"{listing}: can't be read; is {', '.join(path)} complete?", name=listing)
    names: dict[str, tuple[str, str]] = {}
    builtins = {"__import__": _placeholder_import}
    exec(loader.get_code(listing), {"__builtins__": builtins}, names)  # noqa: S102 - our own code
    return {name: place for name, place in names.items() if isinstance(place, tuple)}


def import_name(place: tuple[str, str], package: str) -> object:
    """Return what a name stands for."""
    module, name = place
    if module == package:  # a module: as an attribute, the package would ask here again
        __import__(f"{module}.{name}")
        return sys.modules[f"{module}.{name}"]
    __import__(module)
    return getattr(sys.modules[module], name)
