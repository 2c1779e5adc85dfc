"""The flags of a running process, from outside: a server in the process, and its clients."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from paddle_flags.gateway.mount import asgi
    from paddle_flags.gateway.users import User
    from paddle_flags.live._client import Client
    from paddle_flags.live._documents import Event
    from paddle_flags.live._errors import LiveConnectionError, LiveError, Problem
    from paddle_flags.live._serve import Server

# The module of each name, imported on first use: a client needs no server, and the reverse.
_MODULES = {
    "Client": "paddle_flags.live._client",
    "Event": "paddle_flags.live._documents",
    "LiveConnectionError": "paddle_flags.live._errors",
    "LiveError": "paddle_flags.live._errors",
    "Problem": "paddle_flags.live._errors",
    "Server": "paddle_flags.live._serve",
    "User": "paddle_flags.gateway.users",
    "asgi": "paddle_flags.gateway.mount",
}


def __getattr__(name: str) -> object:
    """Import the module of a name."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(_MODULES[name]), name)
    globals()[name] = found
    return found


__all__ = [
    "Client",
    "Event",
    "LiveConnectionError",
    "LiveError",
    "Problem",
    "Server",
    "User",
    "asgi",
]
