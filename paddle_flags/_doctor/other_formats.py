"""The flags of PE and Mach-O files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from paddle_flags._doctor.binary import NOTE_COPY, NOTE_MODULE, NOTE_NAME, Binary
from paddle_flags._doctor.markers import find_marker

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMPATIBLE = ("gflags", "c10", "Paddle")  # have headers in compat/


def binary_from_pe(path: str, parsed: Any) -> Binary:
    """Return what a PE file that LIEF has parsed has to do with flags.

    It doesn't say where the list of definitions ends, so their number is unknown.
    """
    types = _read_note_types(parsed, ".pdflags")
    names = [str(symbol.name) for symbol in parsed.symbols]
    return _make_binary(
        path,
        "PE",
        types,
        None,
        map(str, parsed.libraries),
        _find_other_flag_libraries(types, names, ()),
    )


def binary_from_macho(path: str, parsed: Any) -> Binary:
    """Return what a Mach-O file that LIEF has parsed has to do with flags."""
    types = _read_note_types(parsed, "__pd_flags")
    content = _section_content(parsed, "__pd_flag_defs")
    # The header puts null pointers between those to definitions.
    count = sum(any(content[at : at + 8]) for at in range(0, len(content), 8))
    names = [str(symbol.name)[1:] for symbol in parsed.symbols]
    needed = {str(symbol.name)[1:] for symbol in parsed.imported_symbols}
    libraries = (str(library.name) for library in parsed.libraries)
    return _make_binary(
        path, "MACHO", types, count, libraries, _find_other_flag_libraries(types, names, needed)
    )


def _make_binary(
    path: str, kind: str, types: set[int], count: int | None, libraries: Any, others: dict[str, str]
) -> Binary:
    joins = NOTE_MODULE in types
    links = any("pd_flags" in os.path.basename(library) for library in libraries)
    return Binary(path, kind, joins, count if joins else None, NOTE_COPY in types, links, others)


def _section_content(parsed: Any, name: str) -> bytes:
    named = [each for each in parsed.sections if str(each.name).rstrip("\0") == name]
    return b"".join(bytes(each.content) for each in named)


def _read_note_types(parsed: Any, section: str) -> set[int]:
    """Read notes as docs/reference/abi.md has them: eight letters and a number, 8 bytes aligned."""
    content = _section_content(parsed, section)
    return {
        int.from_bytes(content[at + 8 : at + 12], "little")
        for at in range(0, len(content), 8)
        if content[at : at + 8] == NOTE_NAME.encode()
    }


def _find_other_flag_libraries(types: set[int], names: list[str], needed: Any) -> dict[str, str]:
    """Return the other flag libraries.

    A file that joins may have been built with our headers of these libraries, whose functions
    look like a copy here: only names that our headers don't have count then.
    """
    found: dict[str, str] = {}
    for name, marker in _find_markers(names):
        if name in needed:
            found.setdefault(marker.origin, "user")
        elif marker.inner or not (NOTE_MODULE in types and marker.origin in _COMPATIBLE):
            found[marker.origin] = "copy"
    return found


def _find_markers(names: list[str]) -> Iterator[tuple[str, Any]]:
    return ((name, marker) for name in names if (marker := find_marker(name)))
