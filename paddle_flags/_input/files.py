"""Configuration files: from a path to values, with the reader for its format."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from paddle_flags._input.reading import Places, Reading, Stop

if TYPE_CHECKING:
    from typing import Protocol

    class _ReaderModule(Protocol):
        def read(self, text: str, reading: Reading) -> None: ...


LIMIT = 1 << 20
"""The largest size of a file, in bytes: without libyaml, YAML of this size takes ten seconds."""

# Each is read by a module of its own, which needs an extra of that name or nothing.
READERS = {".toml": "toml", ".yaml": "yaml", ".yml": "yaml", ".json": "json"}
FLAGFILES = (".flags", ".flagfile", ".conf")


def read(path: str, shown: str) -> Reading:
    """Read a file of TOML, YAML or JSON, which messages call `shown`."""
    reading = Reading(shown)
    try:
        kind = READERS.get(os.path.splitext(path)[1].lower())
        if kind is None:
            reading.stop(None, f"expected a name that ends in {', '.join([*READERS, *FLAGFILES])}")
        text = _load(path, reading)
        _reader(kind).read(text, reading)
    except Stop:
        pass
    except RecursionError:  # of a library, in spite of DEPTH: little stack was left
        reading.fail(None, "is nested too deeply")
    return reading


def _reader(kind: str) -> _ReaderModule:
    """Return the module that reads a format; few programs need all of them."""
    if kind == "toml":
        from paddle_flags._input import toml_reader  # noqa: PLC0415 - as above

        return toml_reader
    if kind == "yaml":
        from paddle_flags._input import yaml_reader  # noqa: PLC0415 - as above

        return yaml_reader
    from paddle_flags._input import json_reader  # noqa: PLC0415 - as above

    return json_reader


def _load(path: str, reading: Reading) -> str:
    try:
        data = _load_bytes(path)
    except FileNotFoundError:
        reading.stop(None, "no such file")
    except OSError as error:
        reading.stop(None, error.strerror or str(error))
    except ValueError as error:
        reading.stop(None, str(error))
    if len(data) > LIMIT:
        reading.stop(None, f"is too big, expected at most {LIMIT >> 20} MiB")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        reading.stop(None, "is UTF-16, expected UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8-sig")
        why = f"the byte \\x{data[error.start]:02x} is not UTF-8, expected text in UTF-8"
        reading.stop(Places(before)(len(before)), why)


def _load_bytes(path: str) -> bytes:
    """Read up to LIMIT + 1 bytes; never block on a pipe."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    _check_regular(os.stat(path))  # opening a device may have an effect
    with open(path, "rb", opener=lambda name, _: os.open(name, flags)) as file:
        _check_regular(os.fstat(file.fileno()))
        return file.read(LIMIT + 1)


def _check_regular(status: os.stat_result) -> None:
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return
    kinds = {stat.S_IFDIR: "directory", stat.S_IFIFO: "FIFO"}
    kind = kinds.get(stat.S_IFMT(mode), "device or a socket")
    message = f"is a {kind}, expected a regular file"
    raise ValueError(message)
