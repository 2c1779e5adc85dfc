"""The last stage: files that changed are written, all or none."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from contextlib import suppress
from typing import TYPE_CHECKING

from paddle_flags.gen.problems import GenerateError
from paddle_flags.gen.render import NOTE

if TYPE_CHECKING:
    from collections.abc import Mapping


def find_outdated(files: Mapping[str, str], directory: str) -> list[str]:
    """Return the names of the files that are missing or have another text."""
    return [name for name, text in files.items() if _read(directory, name) != text.encode()]


def find_obsolete_sources(files: Mapping[str, str], directory: str) -> list[str]:
    """Return sources of an earlier run that no longer belong to this set."""
    stems = {name[: -len(".h")] for name in files if name.endswith(".h")}
    ours = re.compile("|".join(rf"{stem}(_[0-9]+|_implies)\.c" for stem in stems) or "(?!)")
    there = os.listdir(directory) if os.path.isdir(directory) else []
    return sorted(
        name
        for name in there
        if ours.fullmatch(name)
        and name not in files
        and NOTE.encode() in (_read(directory, name) or b"")[:200]
    )


def _read(directory: str, name: str) -> bytes | None:
    try:
        with open(os.path.join(directory, name), "rb") as file:
            return file.read()
    except OSError:
        return None


def write_and_prune(files: Mapping[str, str], directory: str) -> list[str]:
    """Write the files that changed and remove outdated ones; returns the names of both."""
    written, removed = find_outdated(files, directory), find_obsolete_sources(files, directory)
    made: dict[str, str] = {}
    try:
        os.makedirs(directory, exist_ok=True)
        for name in written:
            made[name] = _write_beside(directory, name, files[name].encode())
        for name in written:
            os.replace(made[name], os.path.join(directory, name))
            del made[name]
        for name in removed:
            os.unlink(os.path.join(directory, name))
    except OSError as error:
        path = error.filename2 or error.filename or directory
        raise GenerateError(f"{path}: {os.strerror(error.errno or 0)}") from error
    finally:
        for path in made.values():
            with suppress(OSError):
                os.unlink(path)
    return [*written, *removed]


def _write_beside(directory: str, name: str, data: bytes) -> str:
    """Write a new file next to its destination; returns its path."""
    if os.path.isdir(os.path.join(directory, name)):
        raise IsADirectoryError(errno.EISDIR, "", os.path.join(directory, name))
    handle, path = tempfile.mkstemp(prefix=f".{name}.", dir=directory)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(path, 0o666 & ~mask)
    except BaseException:
        os.unlink(path)
        raise
    return path
