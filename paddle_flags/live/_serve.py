"""`serve`: the flags of this process, served by a library that answers without Python."""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import sys
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from paddle_flags.errors import FlagArgumentError, FlagTypeError, FlagUnsupportedError
from paddle_flags.extend import (
    check_status,
    ffi,
    hides_internal_frames,
    new_error,
    new_text_callback,
    quote_value,
    report_unraisable,
    to_argument,
)
from paddle_flags.live._log import log_event, warn_change_at_exit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Literal

    Listener = Callable[[dict[str, Any]], object]
    Audit = str | os.PathLike[str] | Listener

LIBRARY = Path(__file__).parents[1] / "lib" / "libpd_flags_live.so"
"""Comes with the package; C programs link it, or preload it."""


class _Options(ctypes.Structure):
    """pd_live_server_options, as in pd_flags/live.h."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("address", ctypes.c_char_p),
        ("program", ctypes.c_char_p),
        ("settable", ctypes.c_char_p),
        ("audit_path", ctypes.c_char_p),
        ("audit_fsync", ctypes.c_bool),
        ("audit", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("on_fork", ctypes.c_uint32),
    )


class _Changed(ctypes.Structure):
    """pd_live_changed."""

    _fields_ = tuple((name, ctypes.c_char_p) for name in ("name", "old_text", "new_text"))


class _Change(ctypes.Structure):
    """pd_live_change."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("by", ctypes.c_char_p),
        ("fleet", ctypes.c_char_p),
        ("reason", ctypes.c_char_p),
        ("until", ctypes.c_int64),
        ("flags", ctypes.POINTER(_Changed)),
        ("count", ctypes.c_size_t),
    )


def _call_library(name: str, *arguments: object) -> None:
    """Call a function of the library that returns a status."""
    error = new_error()
    place = ctypes.c_void_p(int(ffi.cast("uintptr_t", error)))
    check_status(getattr(_load_library(), name)(*arguments, place), error)


@cache
def _load_library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(LIBRARY))
    except OSError as error:
        why = error if LIBRARY.exists() else f"there is no {LIBRARY}"
        raise FlagUnsupportedError(f"serve: works on Linux only: {why}") from None
    library.pd_live_stop.argtypes = [ctypes.c_void_p]
    library.pd_live_stop.restype = None
    library.pd_live_get_address.argtypes = [ctypes.c_void_p]
    library.pd_live_get_address.restype = ctypes.c_char_p
    library.pd_live_count_temporary.restype = ctypes.c_size_t
    return library


_servers: list[Server] = []  # that are open in this process, or its parent


@hides_internal_frames
class Server:
    """A server of the flags of this process, until `close`, the end of a `with` block, or exit."""

    def __init__(self, options: _Options, listeners: list[Listener]) -> None:
        self._listeners = listeners
        self._handle = ctypes.c_void_p()
        self._closed = threading.Event()
        options.audit, options.context = new_text_callback(self._handle_event)
        _call_library("pd_live_serve", ctypes.byref(options), ctypes.byref(self._handle))
        _servers.append(self)
        _register_child_exit_closing(self)

    def _handle_event(self, event: bytes) -> None:
        """Hand over an event, on a thread of the library."""
        for listener in (log_event, *self._listeners):
            try:
                listener(json.loads(event))  # its own: it may change it
            except BaseException as error:  # the change has happened
                report_unraisable(error, "Exception ignored in an audit of changes", listener)

    @property
    def address(self) -> str:
        """The path of the socket; "" in a forked child that isn't served, and after `close`."""
        if not self._handle.value:
            return ""
        return os.fsdecode(_load_library().pd_live_get_address(self._handle))

    def close(self) -> None:
        """Close all connections and remove the socket; temporary changes still end on time.

        Closing again does nothing.
        """
        handle, self._handle = self._handle, ctypes.c_void_p()
        if self in _servers:
            _servers.remove(self)
        if handle.value:
            _load_library().pd_live_stop(handle)
            self._closed.set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the server is closed; return False if it isn't after `timeout` seconds."""
        return self._closed.wait(timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Server {self.address or 'closed'}>"


@hides_internal_frames
def serve(
    address: str | os.PathLike[str] | None = None,
    *,
    settable: str | Iterable[str] = (),
    audit: Audit | Iterable[Audit] = (),
    fsync: bool = False,
    on_fork: Literal["close", "reopen"] = "close",
) -> Server:
    """Serve the flags of this process on a Unix socket, from threads that need no Python.

    `address` is the path of the socket. Left out, it is where `paddle-flags` finds it, by the
    number of the process. Only processes of the same user and of root may connect. For browsers
    and other machines, there is `paddle-flags gateway`.

    `settable` has names and patterns of flags that clients may change besides those with the
    attribute `runtime`. Each change is an event for the logger `paddle_flags.live` and for `audit`:
    the path of a file, a function that takes the event as a dictionary, or a list of functions
    with at most one path. With `fsync`, clients get their answers when the event is on disk.

    A forked child isn't served, or with `on_fork="reopen"` on its own socket.

    Raises FlagArgumentError, FlagFileError, FlagConflictError if a process serves there already.
    """
    if on_fork not in ("close", "reopen"):
        raise FlagArgumentError(f"on_fork: {quote_value(on_fork)}: expected 'close' or 'reopen'")
    options = _Options(size=ctypes.sizeof(_Options), audit_fsync=bool(fsync))
    options.on_fork = ("close", "reopen").index(on_fork)
    options.address = None if address is None else _check_address(address)
    options.program = _program_name()
    options.settable = _join_patterns(settable) or None
    listeners = _list_audits(audit)
    paths = [each for each in listeners if isinstance(each, (str, os.PathLike))]
    if len(paths) > 1:
        raise FlagArgumentError("audit: expected one path, and any number of functions")
    options.audit_path = to_argument("audit", os.fspath(paths[0])) if paths else None
    return Server(options, [each for each in listeners if callable(each)])


def _join_patterns(settable: str | Iterable[str]) -> bytes:
    """Return names and patterns of flags as the library takes them."""
    each = [settable] if isinstance(settable, str) else list(settable)
    return b",".join(to_argument("settable", pattern) for pattern in each)


def _list_audits(audit: Audit | Iterable[Audit]) -> list[Audit]:
    several = isinstance(audit, (list, tuple, set, frozenset))
    found: list[Any] = [*audit] if several else [audit]  # type: ignore[misc]
    for each in found:
        if not (callable(each) or isinstance(each, (str, os.PathLike))):
            raise FlagTypeError(f"audit: expected a path or a function, not {type(each).__name__}")
    return found


def _check_address(address: str | os.PathLike[str]) -> bytes:
    text = os.fspath(address)
    if isinstance(text, str) and "/" in text and "://" not in text:
        return to_argument("address", text)
    raise FlagArgumentError(
        f"address: {quote_value(address)}: expected the path of a socket, which has a '/';"
        " 'paddle-flags gateway' listens on TCP"
    )


def _program_name() -> bytes | None:
    """Return the name of the program; None where the system knows it best."""
    place, name = os.path.split(sys.argv[0] if sys.argv else "")
    if name == "__main__.py":
        name = os.path.basename(place)
    return os.fsencode(name) if name not in ("", "-c", "-m") and "\0" not in name else None


def list_open_servers() -> list[Server]:
    """Return the servers that are open in this process."""
    return [each for each in _servers if each.address]


def _encode(text: str | None) -> bytes | None:
    return None if text is None else os.fsencode(text)


def report_fleet_change(
    flags: Sequence[tuple[str, str | None, str | None]],
    *,
    by: str,
    fleet: str,
    reason: str,
    until: float,
) -> None:
    """Add a change that a fleet has made to the audits and the list of changes.

    `flags` has names with texts before and after; `until` is in seconds since 1970, or 0.
    """
    changed = (_Changed * len(flags))(*(_Changed(*map(_encode, flag)) for flag in flags))
    change = _Change(
        ctypes.sizeof(_Change),
        *map(_encode, (by or None, fleet, reason or None)),
        int(until * 1000),
        changed,
        len(flags),
    )
    _call_library("pd_live_report", ctypes.byref(change))


def count_temporary_changes() -> int:
    """Return how many temporary changes are on in this process."""
    return int(_load_library().pd_live_count_temporary())


def _register_child_exit_closing(*servers: Server) -> None:
    """Close the servers when a child of multiprocessing ends, which it does without atexit."""
    util: Any = sys.modules.get("multiprocessing.util")
    for server in servers if util else ():
        util.register_after_fork(server, _register_closing_finalizer)


def _register_closing_finalizer(server: Server) -> None:
    util: Any = sys.modules["multiprocessing.util"]
    util.Finalize(server, server.close, exitpriority=0)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _register_child_exit_closing(*_servers))


@atexit.register
def _close_all() -> None:
    if sys.is_finalizing():  # in an interpreter that was left, where waiting would end this thread
        return
    if _servers and count_temporary_changes():
        _warn_temporary_changes()
    while _servers:
        _servers[0].close()


def _warn_temporary_changes() -> None:
    """Warn of temporary changes that are on when the program ends."""
    from paddle_flags.live._client import Client

    try:
        for change in Client(_servers[0].address).changes():
            if change["state"] == "on":
                warn_change_at_exit(change)
    except Exception as error:  # the program ends in any case
        report_unraisable(
            error, "Exception ignored while temporary changes were listed", _warn_temporary_changes
        )
