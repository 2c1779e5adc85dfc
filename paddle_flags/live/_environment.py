"""`PADDLE_FLAGS_LIVE`: serve a program whose own code doesn't."""

from __future__ import annotations

import os
import warnings
from typing import Any

from paddle_flags.errors import FlagWarning
from paddle_flags.extend import report_unraisable

VARIABLE = "PADDLE_FLAGS_LIVE"
_SETTABLE = "PADDLE_FLAGS_LIVE_SETTABLE"
_AUDIT = "PADDLE_FLAGS_LIVE_AUDIT"
_FSYNC = "PADDLE_FLAGS_LIVE_AUDIT_FSYNC"


def serve_from_environment() -> None:
    """Serve as the environment says; what goes wrong is a warning, as the program isn't to blame.

    Forked children serve too, as children do that inherit the variables.
    """
    value = os.environ.get(VARIABLE, "")
    if value in ("", "0") or _is_privileged():
        return
    try:
        if value != "1" and "/" not in value:
            raise ValueError(f"{value}: expected 1, or the path of a socket, which has a '/'")
        _serve(None if value == "1" else value)
    except Exception as error:  # also of an import
        message = f"environment: {VARIABLE}: the flags are not served: {error}"
        try:
            warnings.warn(FlagWarning(message), stacklevel=2)
        except Warning as raised:  # by a filter: it would end the program at its first import
            report_unraisable(
                raised,
                "Exception ignored while the flags were to be served",
                serve_from_environment,
            )


def _is_privileged() -> bool:
    """Return whether another user may have set the variables; Windows has no such programs."""
    has_users = hasattr(os, "geteuid")
    return has_users and (os.getuid(), os.getgid()) != (os.geteuid(), os.getegid())


def _serve(address: str | None) -> None:
    from paddle_flags.errors import FlagConflictError
    from paddle_flags.live._serve import serve

    settable = [name.strip() for name in os.environ.get(_SETTABLE, "").split(",")]
    options: dict[str, Any] = {
        "settable": [name for name in settable if name],
        "audit": os.environ.get(_AUDIT) or (),
        "fsync": os.environ.get(_FSYNC) == "1",
        "on_fork": "reopen",
    }
    try:
        serve(address, **options)
    except FlagConflictError:  # of a parent, which has the same variable
        serve(f"{address}.{os.getpid()}", **options)
