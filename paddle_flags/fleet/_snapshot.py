"""The file with the last values of a fleet, for a start without the engine."""

from __future__ import annotations

from pathlib import Path

from paddle_flags.errors import FlagFileError
from paddle_flags.fleet._files import is_own_or_root, read_with_status, replace_file
from paddle_flags.fleet._state import State, from_json, to_json


def read_snapshot(path: str) -> State | None:
    """Return the state of a file; None if there is no file.

    Raises FlagFileError for a file that somebody else may have put there.
    """
    try:
        data, status = read_with_status(Path(path), -1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _error(path, error.strerror) from None
    if not is_own_or_root(status):
        raise _error(path, f"belongs to user {status.st_uid}: expected a file of this user")
    return from_json(data, path)


def write_snapshot(path: str, state: State) -> None:
    """Replace a file, whole or not at all."""
    try:
        replace_file(Path(path), to_json(state), mode=0o600)
    except OSError as error:
        raise _error(path, error.strerror) from None


def _error(path: str, what: str | None) -> FlagFileError:
    from paddle_flags.extend import escape_controls

    return FlagFileError(escape_controls(f"{path}: {what}"))
