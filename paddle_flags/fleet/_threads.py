"""Threads of the system, also where gevent has put its own in their place.

They begin without the contexts, and so the scopes, of the code that starts them: a free-threaded
Python would hand these on.
"""

from __future__ import annotations

import _thread
import sys
import threading
from concurrent.futures import Future
from contextvars import Context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def _get_unpatched(module: str, name: str, current: Any) -> Any:
    """Return a name of a module as it was before gevent's monkey.patch_all()."""
    monkey: Any = sys.modules.get("gevent.monkey")
    if monkey is None or not monkey.is_module_patched(module):
        return current
    return monkey.get_original(module, name)


def allocate_lock() -> Any:
    """Return a lock between threads of the system."""
    return _get_unpatched("_thread", "allocate_lock", _thread.allocate_lock)()


def allocate_reentrant_lock() -> Any:
    """Return such a lock that a signal handler may take again in the thread that has it."""
    return _get_unpatched("_thread", "RLock", _thread.RLock)()


def start_thread(function: Callable[[], object], name: str) -> None:
    """Start a thread that doesn't keep the program from ending."""
    start = _get_unpatched("_thread", "start_new_thread", None)
    if start is None:
        _start_python_thread(function, name)
    else:
        start(function, ())


def _start_python_thread(function: Callable[[], object], name: str) -> None:
    threading.Thread(target=Context().run, args=(function,), name=name, daemon=True).start()


def call_in_thread(function: Callable[[], Any], name: str) -> Future[Any]:
    """Call a function in its own thread. Who waits for the result may give it up."""
    future: Future[Any] = Future()

    def complete_future() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # the caller gets it
            future.set_exception(error)

    _start_python_thread(complete_future, name)
    return future
