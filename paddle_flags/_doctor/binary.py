"""What a library or program has inside, read from its file by LIEF.

LIEF is an optional dependency: `pip install paddle_flags[doctor]`.
"""

from __future__ import annotations

import os
import re
from typing import Any, NamedTuple

from paddle_flags.errors import FlagArgumentError

# A symbol that each copy of another flag library defines, and its users need.
# From gflags 2.2, abseil 20220623, LLVM 14, PyTorch 2 and Paddle 3.
MARKERS = {
    "gflags": re.compile(r"_ZN6(google|gflags)(21ParseCommandLineFlagsE|14FlagRegistererC)"),
    "abseil": re.compile(r"_ZN4absl.*14flags_internal23RegisterCommandLineFlagE"),
    "LLVM": re.compile(r"_ZN4llvm2cl6Option11addArgumentEv"),
    "c10": re.compile(r"_ZN3c1016C10FlagsRegistry"),
    "Paddle": re.compile(r"_ZN6paddle5flags(21ParseCommandLineFlagsE|14FlagRegistererC)"),
}

_NOTE_NAME = "pd_flags"
_NOTE_MODULE = 1
_NOTE_COPY = 2


class Binary(NamedTuple):
    """What a file has to do with flags."""

    path: str
    format: str
    """`"ELF"`, `"PE"` or `"MACHO"`."""
    joins: bool
    """Has a module record."""
    definitions: int | None
    """How many flags it defines or imports; None where the file doesn't tell."""
    copy: bool
    """Can host the registry."""
    links: bool
    """Needs the shared library."""
    others: dict[str, str]
    """Other flag libraries: name to `"copy"` or `"user"`."""


def can_read() -> bool:
    """Tell whether LIEF is there."""
    try:
        import lief  # noqa: F401, PLC0415 - asks for an extra
    except ImportError:
        return False
    return True


def read_binary(path: str) -> Binary:
    """Read a file; FlagArgumentError where it is none of the formats."""
    if not os.path.isfile(path):
        message = f"{path}: no such file"
        raise FlagArgumentError(message)
    try:
        import lief  # noqa: PLC0415 - an extra
    except ImportError:
        message = "reading files needs LIEF: pip install 'paddle_flags[doctor]'"
        raise FlagArgumentError(message) from None
    lief.logging.disable()
    parsed: Any = lief.parse(path)
    if parsed is None:
        message = f"{path}: expected a library or program in ELF, PE or Mach-O"
        raise FlagArgumentError(message)
    kind = str(parsed.format).rpartition(".")[2]
    joins, copy = _records(parsed, kind)
    libraries = [str(library) for library in _libraries(parsed, kind)]
    return Binary(
        path,
        kind,
        joins,
        _definitions(parsed, kind) if joins else None,
        copy,
        any("pd_flags" in os.path.basename(library) for library in libraries),
        _others(parsed, kind),
    )


def _libraries(parsed: Any, kind: str) -> list[Any]:
    if kind == "MACHO":
        return [library.name for library in parsed.libraries]
    return list(parsed.libraries)


def _records(parsed: Any, kind: str) -> tuple[bool, bool]:
    """Tell whether there are notes of a module record and of a registry copy."""
    if kind == "ELF":
        notes = [note for note in parsed.notes if note.name.rstrip("\0") == _NOTE_NAME]
        types = {int(note.original_type) for note in notes}
    else:
        types = {kind_ for section in _sections(parsed, kind) for kind_ in _note_types(section)}
    return _NOTE_MODULE in types, _NOTE_COPY in types


def _sections(parsed: Any, kind: str) -> list[bytes]:
    """Give the contents of the sections that hold notes, outside of ELF."""
    name = {"PE": ".pdflags", "MACHO": "__pd_flags"}[kind]
    return [
        bytes(section.content)
        for section in parsed.sections
        if str(section.name).rstrip("\0") == name
    ]


def _note_types(content: bytes) -> list[int]:
    """Read notes as docs/abi.md has them: eight letters and a number, 8 bytes aligned."""
    mark = _NOTE_NAME.encode()
    return [
        int.from_bytes(content[at + 8 : at + 12], "little")
        for at in range(0, len(content), 8)
        if content[at : at + 8] == mark
    ]


def _definitions(parsed: Any, kind: str) -> int | None:
    """Count the pointers to definitions; nobody can tell their end in PE."""
    name = {"ELF": "pd_flags", "MACHO": "__pd_flag_defs"}.get(kind)
    if name is None:
        return None
    lists = [s for s in parsed.sections if str(s.name).rstrip("\0") == name]
    if kind == "MACHO":  # the header puts null pointers in between
        content = b"".join(bytes(each.content) for each in lists)
        return sum(any(content[at : at + 8]) for at in range(0, len(content), 8))
    sizes = [int(each.size) for each in lists]
    narrow = kind == "ELF" and "32" in str(parsed.header.identity_class)
    return sum(sizes) // (4 if narrow else 8)


def _others(parsed: Any, kind: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for symbol in parsed.symbols:
        name = str(symbol.name)
        for library, marker in MARKERS.items():
            if marker.match(name):
                defined = kind != "ELF" or symbol.shndx != 0
                if defined or library not in found:
                    found[library] = "copy" if defined else "user"
    return found
