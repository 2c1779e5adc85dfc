"""The file with the last values of a fleet, for a start without the engine."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress

from paddle_flags.errors import FlagFileError
from paddle_flags.fleet._state import State, from_json, to_json


class Snapshot:
    """A snapshot file, which may be None."""

    def __init__(self, path: str | None) -> None:
        self._path = None if path is None else os.path.abspath(path)

    def read(self) -> State | None:
        """Return the state of the file; None if there is no file.

        Raises FlagFileError for a file that somebody else may have put there.
        """
        if self._path is None:
            return None
        try:
            file = os.fdopen(os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._error(error.strerror) from None
        with file:
            owner = os.fstat(file.fileno()).st_uid
            if owner not in (0, os.geteuid()):
                raise self._error(f"belongs to user {owner}: expected a file of this user")
            return from_json(file.read(), self._path)

    def write(self, state: State) -> None:
        """Replace the file, whole or not at all."""
        if self._path is None:
            return
        made = f"{self._path}.{secrets.token_hex(8)}"
        new = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            file = os.fdopen(os.open(made, new, 0o600), "wb")
        except OSError as error:
            raise self._error(error.strerror) from None
        try:
            with file:
                file.write(to_json(state))
                file.flush()
                os.fsync(file.fileno())
            os.replace(made, self._path)
        except OSError as error:
            with suppress(OSError):
                os.unlink(made)
            raise self._error(error.strerror) from None

    def _error(self, what: str | None) -> FlagFileError:
        from paddle_flags._report.facts import one_line  # noqa: PLC0415 - seldom used

        return FlagFileError(one_line(f"{self._path}: {what}"))
