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
READERS = {".toml": "toml", ".yaml": "yaml", ".yml": "yaml", ".json": "json", ".env": "dotenv"}
FLAGFILES = (".flags", ".flagfile", ".conf")


def suffix_of(path: str) -> str:
    """Return the suffix that says the format: also of `.env` and `.env.local`."""
    name = os.path.basename(path).lower()
    return ".env" if name == ".env" or name.startswith(".env.") else os.path.splitext(name)[1]


def read_config_file(path: str, reading: Reading) -> Reading:
    """Read a file of TOML, YAML, JSON or variables; `reading` has what messages call it."""
    try:
        kind = READERS.get(suffix_of(path))
        if kind is None:
            reading.stop(None, f"expected a name that ends in {', '.join([*READERS, *FLAGFILES])}")
        if os.path.basename(path) == "pyproject.toml" and not reading.table:
            reading.stop(None, f"expected one of its tables, as in {reading.path}#tool.NAME")
        text = _load_text(path, reading)
        _reader_module(kind).read(text, reading)
    except Stop:
        pass
    except RecursionError:  # of a library, in spite of DEPTH: little stack was left
        reading.record_problem(None, "is nested too deeply")
    return reading


def _reader_module(kind: str) -> _ReaderModule:
    """Return the module that reads a format; few programs need all of them."""
    if kind == "toml":
        from paddle_flags._input import toml_reader

        return toml_reader
    if kind == "yaml":
        from paddle_flags._input import yaml_reader

        return yaml_reader
    if kind == "dotenv":
        from paddle_flags._input import dotenv_reader

        return dotenv_reader
    from paddle_flags._input import json_reader

    return json_reader


def _load_text(path: str, reading: Reading) -> str:
    try:
        data = _load_bytes(path)
    except FileNotFoundError:
        reading.stop(None, f"no such file{suggest_file(path, reading.path)}")
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


def suggest_file(path: str, shown: str) -> str:
    """Return "; did you mean 'x'?" if a file with nearly that name is there, else ""."""
    import difflib

    folder, name = os.path.split(path)
    try:
        present = [each for each in os.listdir(folder or ".") if each != name]
    except OSError:
        return ""
    near = difflib.get_close_matches(name, present, n=1, cutoff=0.7)
    return f"; did you mean '{os.path.join(os.path.dirname(shown), near[0])}'?" if near else ""


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
    raise ValueError(f"is a {kind}, expected a regular file")
