"""From CPython 3.14 on, scopes follow Python's contexts, and so the tasks of a thread.

A `contextvars.Context` in which a scope was opened has a Box; a copy of that context begins with
the scopes that the original had then. All other contexts of a thread share one Box. `arrive` is
called whenever the thread has come to another context, by a watcher of CPython.
"""

from __future__ import annotations

import sys
from _thread import _local
from contextvars import Context, ContextVar

from paddle_flags._core.status import expect, new_error
from paddle_flags._native import ffi, lib

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from typing import Any


def captured() -> Any:
    """Return the scopes of this thread, which the caller then owns."""
    found, err = ffi.new("pd_scope_context **"), new_error()
    expect(lib.pd_scope_capture(found, err), err)
    return found[0]


def switch(context: Any) -> Any:
    """Give this thread `context`, which is given away; return the one it had."""
    former, err = ffi.new("pd_scope_context **"), new_error()
    expect(lib.pd_scope_switch(context, former, err), err)
    return former[0]


class Box:
    """The scopes of a context while its thread is elsewhere."""

    __slots__ = ("_away", "_copies", "owner")

    def __init__(self, owner: int, copies: Any = ffi.NULL) -> None:
        self.owner = owner  # the address of the context; 0: of those without a box
        self._copies = copies  # what copies of the context begin with
        self._away = ffi.NULL  # owned

    def keep(self, scopes: Any) -> None:
        """Keep the scopes, which are given away, until `take`."""
        lib.pd_scope_release(self.take())
        self._away = scopes

    def take(self) -> Any:
        scopes, self._away = self._away, ffi.NULL
        return scopes

    def copy(self, owner: int) -> Box:
        """Return the box of a copy of the context; its thread is elsewhere."""
        made = Box(owner, self._copies)
        outer = captured()
        number, err = ffi.new("pd_scope *"), new_error()
        lib.pd_scope_release(outer)
        expect(lib.pd_scope_attach(self._copies, number, err), err)
        made.keep(captured())
        expect(lib.pd_scope_detach(number[0], err), err)
        return made

    def __del__(self) -> None:
        if self._away:
            lib.pd_scope_release(self._away)


class Here(_local):
    """Of each thread."""

    def __init__(self) -> None:
        self.others = Box(0)  # of all contexts that have none
        self.box = self.others
        self.context = 0  # the address of the current one; 0: not known yet


current = Here()
_box: ContextVar[Box | None] = ContextVar("paddle_flags scopes", default=None)
watching: list[Any] = []  # the callback, which must live on


def arrive(context: int) -> None:
    """Exchange the scopes of this thread, which has come to the context at this address."""
    here = current
    here.context = context
    box = _box.get() or here.others
    if box is here.box:
        return
    if box is not here.others and box.owner != context:
        box = box.copy(context)
        _box.set(box)
    here.box.keep(switch(box.take()))
    here.box = box


def before() -> None:
    """Call this before the scopes of the current context change."""
    if watching and current.box is current.others:
        current.others.keep(captured())


def after() -> None:
    """Call this when they have changed."""
    if not watching:
        return
    here = current
    if not here.context:
        _learn_context()
    scopes = captured()
    here.box = Box(here.context, ffi.gc(scopes, lib.pd_scope_release) if scopes else ffi.NULL)
    _box.set(here.box)


def _learn_context() -> None:
    """Have the watcher called for the current context, by leaving it and coming back."""
    _box.set(None)  # there is a context from now on
    Context().run(int)


def _arrived(_event: int, context: int | None) -> int:
    arrive(context or 0)
    return 0


def follow() -> bool:
    """Begin to follow contexts, if this interpreter can; return whether it is followed."""
    if watching or sys.version_info < (3, 14):
        return bool(watching)
    import atexit  # noqa: PLC0415 - of new versions
    import ctypes  # noqa: PLC0415

    callback = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)(_arrived)
    number = ctypes.pythonapi.PyContext_AddWatcher(callback)
    atexit.register(ctypes.pythonapi.PyContext_ClearWatcher, number)
    watching.append(callback)
    return True
