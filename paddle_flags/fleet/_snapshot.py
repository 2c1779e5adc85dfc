"""The file with the last values of a fleet, for a start without the engine."""

from __future__ import annotations

import os

from paddle_flags.errors import FlagFileError
from paddle_flags.fleet._state import State, from_json, to_json


class Snapshot:
    """A snapshot file, which may be None."""

    def __init__(self, path: str | None) -> None:
        self._path = None if path is None else os.path.abspath(path)

    def read(self) -> State | None:
        """Return the state of the file; None if there is no file."""
        if self._path is None:
            return None
        try:
            with open(self._path, "rb") as file:
                data = file.read()
        except FileNotFoundError:
            return None
        except OSError as error:
            message = f"{self._path}: {error.strerror}"
            raise FlagFileError(message) from None
        return from_json(data, self._path)

    def write(self, state: State) -> None:
        """Replace the file, whole or not at all."""
        if self._path is None:
            return
        data = to_json(state.tables, state.revision, state.fleet)
        made = f"{self._path}.{os.getpid()}"
        try:
            with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(made, self._path)
        except OSError as error:
            message = f"{self._path}: {error.strerror}"
            raise FlagFileError(message) from None
