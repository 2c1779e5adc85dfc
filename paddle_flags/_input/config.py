"""The configuration files of a command line: from their paths to the library's pd_config."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Union

from paddle_flags import errors
from paddle_flags._core.status import (
    ErrorList,
    expect,
    new_error,
    shown,
    to_argument,
    to_bytes,
)
from paddle_flags._input import files
from paddle_flags._native import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Sequence

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

# How a file wrote a value, as pd_config_add wants it.
_LITERALS = {
    "text": 0,
    "integer": lib.PD_TYPE_int64,
    "number": lib.PD_TYPE_double,
    "bool": lib.PD_TYPE_bool,
}


class ConfigFiles:
    """The configuration files of one `parse`, which `reload` reads again."""

    def __init__(self, config: Path | Sequence[Path], program: str, *, allow_pending: bool) -> None:
        self.program = program
        self.allow_pending = allow_pending
        # The program may change its directory before it reads them again.
        self._files = [(path, os.path.abspath(path)) for path in _paths(config)]

    def read(self) -> Any:
        """Read the files; return a `pd_config *` with their values and errors."""
        config = ffi.gc(lib.pd_config_new(), lib.pd_config_free)
        for given, path in self._files:
            suffix = os.path.splitext(path)[1].lower()
            if suffix in files.FLAGFILES:
                here = given if os.path.abspath(given) == path else path
                self._read_flagfile(config, here)
            else:
                _read_file(config, path, given)
        return config

    def _read_flagfile(self, config: Any, path: str) -> None:
        found = ErrorList()
        err = new_error()
        status = lib.pd_config_add_flagfile(
            config, to_bytes(path), to_bytes(self.program), found.pointer, err
        )
        if status == lib.PD_OK:
            return
        count = lib.pd_error_list_count(found.pointer)
        for error in [lib.pd_error_list_at(found.pointer, i) for i in range(count)] or [err]:
            _call(lib.pd_config_fail, config, error)


_last: ConfigFiles | None = None


def last() -> ConfigFiles | None:
    """Return the files of the last command line that had any."""
    return _last


def remember(files: ConfigFiles | None) -> None:
    """Let `reload` read these files."""
    global _last  # noqa: PLW0603 - one command line, one process
    _last = files


def _read_file(config: Any, path: str, shown: str) -> None:
    reading = files.read(path, shown)
    place = ffi.new("char[]", to_bytes(reading.path))
    origin = ffi.new("pd_origin *", {"source": lib.PD_SOURCE_FILE, "place": place})
    for value in reading.values:
        origin.line, origin.column = value.at
        literal = _LITERALS[value.kind]
        if value.is_list:
            literal = lib.PD_TYPE_string + 16 * literal
        name, text = to_bytes(value.name), to_bytes(value.text)
        _call(lib.pd_config_add, config, name, text, literal, origin)
    error = new_error()
    error.status = lib.PD_ERR_FILE
    for problem in reading.problems:
        error.message = to_bytes(problem)[: ffi.sizeof(error.message) - 1]
        _call(lib.pd_config_fail, config, error)


def _call(function: Any, *arguments: Any) -> None:
    err = new_error()
    expect(function(*arguments, err), err)


def _paths(config: Path | Sequence[Path]) -> list[str]:
    every = [config] if isinstance(config, (str, bytes, os.PathLike)) else config
    expected = "expected the path of a file, or a list of paths"
    try:
        paths = [os.fsdecode(path) for path in every]
    except TypeError:
        message = f"config is {shown(config)}: {expected}"
        raise errors.FlagTypeError(message) from None
    for path in paths:
        to_argument("config", path)
    if "" in paths:
        message = f"config has an empty path: {expected}"
        raise errors.FlagArgumentError(message)
    return paths
