"""The flags of a running process, from outside: a server in the process, and its clients."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from paddle_flags.live._audit_file import AuditFile
    from paddle_flags.live._client import Client
    from paddle_flags.live._documents import Event
    from paddle_flags.live._errors import LiveConnectionError, LiveError, Problem
    from paddle_flags.live._serve import Server, serve
    from paddle_flags.live._tokens import Token, User
    from paddle_flags.live._wsgi import app


def __getattr__(name: str) -> object:
    """Import the module of a name on first use: a client needs no server, and the reverse."""
    # ruff: noqa: PLC0415
    module: object = None
    if name in ("Server", "serve"):
        from paddle_flags.live import _serve as module
    elif name == "AuditFile":
        from paddle_flags.live import _audit_file as module
    elif name in ("Token", "User"):
        from paddle_flags.live import _tokens as module
    elif name == "app":
        from paddle_flags.live import _wsgi as module
    elif name == "Client":
        from paddle_flags.live import _client as module
    elif name == "Event":
        from paddle_flags.live import _documents as module
    elif name in ("LiveConnectionError", "LiveError", "Problem"):
        from paddle_flags.live import _errors as module
    if module is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    found: object = getattr(module, name)
    globals()[name] = found
    return found


__all__ = [
    "AuditFile",
    "Client",
    "Event",
    "LiveConnectionError",
    "LiveError",
    "Problem",
    "Server",
    "Token",
    "User",
    "app",
    "serve",
]
