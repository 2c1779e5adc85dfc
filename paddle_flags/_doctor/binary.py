"""What a library or program has inside, read from its file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags._doctor.elf import MAGIC, Elf
from paddle_flags._doctor.elf_flags import FileFlag, flag_lists, flags_in
from paddle_flags._doctor.elf_symbols import read_symbols
from paddle_flags._doctor.other_formats import read_other
from paddle_flags._doctor.source import Source
from paddle_flags.errors import FlagArgumentError

if TYPE_CHECKING:
    from paddle_flags._doctor.markers import Variable

_NOTE_NAME = b"pd_flags"
NOTE_MODULE = 1
NOTE_COPY = 2


class Binary(NamedTuple):
    """What a file has to do with flags."""

    path: str
    format: str
    """`"ELF"`, `"PE"` or `"MACHO"`."""
    joins: bool = False
    """Has a module record."""
    definitions: int | None = None
    """How many flags it defines or imports; None where the file doesn't say."""
    copy: bool = False
    """Can host the registry."""
    links: bool = False
    """Needs the shared library."""
    others: dict[str, str] = {}  # noqa: RUF012 - nobody writes it
    """Other flag libraries: name to `"copy"` or `"user"`."""
    flags: tuple[FileFlag, ...] = ()
    """The flags that it defines; none outside of ELF."""
    variables: dict[Variable, int] = {}  # noqa: RUF012 - as above
    """The flags of other libraries that it defines, to addresses of variables."""
    entries: frozenset[str] = frozenset()
    """The libraries whose copies in it `bridge` finds."""
    origin: int = 0
    """What the file takes for the address of its first byte."""
    notes: tuple[str, ...] = ()
    """What couldn't be looked at, and why."""

    def to_report(self) -> dict[str, Any]:
        """Return what the report says of the file."""
        report = {name: getattr(self, name) for name in self._fields[:7]}
        report["flags"] = [flag.name for flag in self.flags]
        return report


def read_binary(path: str) -> Binary:
    """Read a file; FlagArgumentError where it is none of the formats."""
    with Source(path) as source:
        magic = source.read(0, 4)
        if magic != MAGIC:
            return _read_other(source, magic)
        if source.size < _ELF_MIN:
            message = f"{path}: ends within the header of an ELF file"
            raise FlagArgumentError(message)
        return _read_elf(path, Elf(source))


_ELF_MIN = 52  # bytes, of the header of a 32-bit file


def _read_elf(path: str, elf: Elf) -> Binary:
    types = elf.note_types(_NOTE_NAME)
    joins = NOTE_MODULE in types
    symbols = read_symbols(elf)
    lists = flag_lists(elf)
    cut = f"{path}: has more symbols than are searched for other flag libraries"
    return Binary(
        path,
        "ELF",
        joins,
        sum(min(each.size, elf.source.size) for each in lists) // elf.pointer_size
        if joins
        else None,
        NOTE_COPY in types,
        any("pd_flags" in os.path.basename(library) for library in elf.libraries()),
        symbols.others,
        tuple(flags_in(elf)) if joins else (),
        symbols.variables,
        symbols.entries,
        elf.origin,
        (cut,) if symbols.cut else (),
    )


def _read_other(source: Source, magic: bytes) -> Binary:
    found = read_other(source, magic)
    return Binary(
        source.path,
        found.format,
        NOTE_MODULE in found.notes,
        found.definitions if NOTE_MODULE in found.notes else None,
        NOTE_COPY in found.notes,
        any("pd_flags" in os.path.basename(library) for library in found.libraries),
        found.others,
        notes=found.remarks,
    )
