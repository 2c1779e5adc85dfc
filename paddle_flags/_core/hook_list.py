"""Which module of Python added which hooks: a definition takes those of its module along."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from paddle_flags._core.frames import is_ours

if TYPE_CHECKING:
    from paddle_flags._core.flag import Flag

# The hooks of each flag, by its address: the number and the name of the module.
_by_flag: dict[int, dict[int, str]] = {}

# The addresses of the flags of each hook.
_by_hook: dict[int, tuple[int, ...]] = {}


def calling_module() -> str:
    """Return the name of the module that has called this package."""
    frame = sys._getframe()
    while frame.f_back and is_ours(frame):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__"))


def record_hook(number: int, addresses: tuple[int, ...], module: str) -> None:
    """Remember a hook of some flags that a module has added."""
    _by_hook[number] = addresses
    for address in addresses:
        _by_flag.setdefault(address, {})[number] = module


def forget_hook(number: int) -> None:
    """Forget a hook that is being removed."""
    for address in _by_hook.pop(number, ()):
        _by_flag.get(address, {}).pop(number, None)


def hooks_of(flag: Flag[Any], module: str | None = None) -> list[int]:
    """Return the numbers of the hooks of a flag: all, or those that a module has added."""
    # A copy: hooks may be added on another thread meanwhile.
    found = list(_by_flag.get(flag._address, {}).items())
    return [number for number, added_by in found if module in (None, added_by)]
