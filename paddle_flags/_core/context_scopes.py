"""From CPython 3.14 on, scopes follow Python's contexts, and so the tasks of a thread."""

from __future__ import annotations

import sys

from paddle_flags._fast import scopes_follow_contexts, scopes_opening

_NEEDS = (
    "PyContext_AddWatcher", "PyContext_ClearWatcher", "PyContextVar_Get", "PyContextVar_Set",
)  # fmt: skip
_untried = [sys.version_info >= (3, 14)]


def follow_contexts() -> bool:
    """Call this before the scopes here change; return whether they follow contexts.

    They do from the first call on, in the main interpreter.
    """
    return scopes_opening() or (_untried[0] and _install_context_watcher())


def _install_context_watcher() -> bool:
    """Have CPython tell the extension module of each switch."""
    import ctypes
    from contextvars import Context, ContextVar

    # The stable ABI lacks these functions, so the extension module gets their addresses.
    addresses = [ctypes.cast(ctypes.pythonapi[name], ctypes.c_void_p).value or 0 for name in _NEEDS]
    variable: ContextVar[object] = ContextVar("paddle_flags scopes")
    scopes_follow_contexts(variable, lambda: Context().run(int), *addresses)
    _untried[0] = False  # now, as another thread may be here, too
    return scopes_opening()
