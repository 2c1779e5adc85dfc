"""The file with the last values of a fleet, for a start without the engine."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress

from paddle_flags.errors import FlagFileError
from paddle_flags.fleet._state import State, from_json, to_json

_SAFE = os.O_NOFOLLOW | os.O_CLOEXEC


def read_snapshot(path: str) -> State | None:
    """Return the state of a file; None if there is no file.

    Raises FlagFileError for a file that somebody else may have put there.
    """
    try:
        file = os.fdopen(os.open(path, os.O_RDONLY | _SAFE), "rb")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _error(path, error.strerror) from None
    with file:
        owner = os.fstat(file.fileno()).st_uid
        if owner not in (0, os.geteuid()):
            raise _error(path, f"belongs to user {owner}: expected a file of this user")
        return from_json(file.read(), path)


def write_snapshot(path: str, state: State) -> None:
    """Replace a file, whole or not at all."""
    made = f"{path}.{secrets.token_hex(8)}"
    try:
        file = os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE, 0o600), "wb")
    except OSError as error:  # also if somebody else has put something there, which stays
        raise _error(path, error.strerror) from None
    try:
        with file:
            file.write(to_json(state))
            file.flush()
            os.fsync(file.fileno())
        os.replace(made, path)
    except OSError as error:
        with suppress(OSError):
            os.unlink(made)
        raise _error(path, error.strerror) from None


def _error(path: str, what: str | None) -> FlagFileError:
    from paddle_flags._report.facts import one_line  # noqa: PLC0415 - seldom used

    return FlagFileError(one_line(f"{path}: {what}"))
