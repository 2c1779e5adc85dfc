"""Reading libraries and programs, by LIEF.

LIEF is an optional dependency, of the extra `doctor`. Without it the report has a
note about the files that weren't read.
"""

from __future__ import annotations

import os
import stat
from typing import Any

from paddle_flags._doctor.binary import Binary
from paddle_flags._doctor.elf import binary_from_elf
from paddle_flags._doctor.other_formats import binary_from_macho, binary_from_pe
from paddle_flags.errors import FlagArgumentError
from paddle_flags.extend import optional_import

# Largest files that are read, in bytes: LIEF is slow for PE and Mach-O.
_SIZES_MAX = {"ELF": 1 << 32, "PE": 1 << 26, "MACHO": 1 << 26}
_SIZE_MIN = 52  # bytes of the smallest header

# The first bytes of the formats; Mach-O of 64 bits, of 32 bits, and of several machines.
_MAGICS = {b"\x7fELF": "ELF", b"MZ": "PE"} | dict.fromkeys(
    (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe"), "MACHO"
)
_CONVERTERS = {"ELF": binary_from_elf, "PE": binary_from_pe, "MACHO": binary_from_macho}


def read_binary(path: str) -> Binary:
    """Read a file; FlagArgumentError where it is none of the formats."""
    magic, size = _read_magic_and_size(path)
    kinds = (kind for begin, kind in _MAGICS.items() if magic.startswith(begin))
    kind = next(kinds, "") if size >= _SIZE_MIN else ""
    if kind and size > _SIZES_MAX[kind]:
        limit = f"{path}: a file of more than {_SIZES_MAX[kind] >> 20} MiB isn't read"
        return Binary(path, kind, notes=(limit,))
    try:
        parsed = _parse_with_lief(path, kind) if kind else None
    except ImportError as error:
        return Binary(path, kind, notes=(str(error),))
    if parsed is None:
        raise FlagArgumentError(f"{path}: expected a library or program in ELF, PE or Mach-O")
    try:
        return _CONVERTERS[kind](path, parsed)
    except Exception as error:  # LIEF finds out about some damage only when it is asked
        raise FlagArgumentError(f"{path}: is damaged: {error}") from error


def _parse_with_lief(path: str, kind: str) -> Any:
    """Return LIEF's object for a file, or None where the file is of no use."""
    with optional_import(f"{path}: reading the file", "LIEF", "doctor"):
        import lief
    lief.logging.disable()
    if kind == "ELF":
        config = lief.ELF.ParserConfig()
        config.parse_symbol_versions = config.parse_overlay = False
        return lief.ELF.parse(path, config)
    parsed = lief.parse(path)
    return parsed if str(getattr(parsed, "format", "")).endswith(kind) else None


def _read_magic_and_size(path: str) -> tuple[bytes, int]:
    """Return the first bytes of a regular file, and its size."""
    check_is_file(path)
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            return file.read(4) if size else b"", size
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no such file"  # a NUL in the path
        raise FlagArgumentError(f"{path}: can't be read: {reason}") from None


def check_is_file(path: str) -> None:
    """Raise FlagArgumentError for a path of no regular file: opening it may take forever."""
    if not path:
        raise FlagArgumentError("expected the path of a library or program, not an empty argument")
    expected = "expected a library or program"
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        problem = "no such file"
    except (OSError, ValueError) as error:
        problem = f"can't be read: {getattr(error, 'strerror', error)}"
    else:
        if stat.S_ISREG(mode):
            return
        kind = "a directory" if stat.S_ISDIR(mode) else "not a regular file"
        problem = f"is {kind}, {expected}"
    raise FlagArgumentError(f"{path}: {problem}")
