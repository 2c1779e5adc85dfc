"""The flags that an ELF file defines, as docs/reference/abi.md has them."""

from __future__ import annotations

import re
import sys
from array import array
from typing import TYPE_CHECKING, NamedTuple

from paddle_flags._doctor.elf import SHT_DYNSYM, SHT_RELA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from paddle_flags._doctor.elf import Elf, Section

_FLAGS_MAX = 1 << 16
_RELOCATIONS_MAX = 1 << 28  # bytes of a section
_TABLES_MAX = 4  # sections of relocations

_NAME = re.compile(rb"[A-Za-z_][\w.-]{0,254}\Z")

# Offsets of pd_flag_def: type, kind, name, default_value, cell, by the size of a pointer.
_TYPE, _KIND = 8, 9
_FIELDS = {8: (16, 80, 72), 4: (16, 48, 44)}
_STRING = 7
_DEFINE = 0


class FileFlag(NamedTuple):
    """A flag that a file defines."""

    name: str
    text: str | None
    """The default of a string."""
    cell: int
    """The address of the variable, before the file is loaded."""


def flag_lists(elf: Elf) -> list[Section]:
    """Return the sections that list the definitions."""
    return [section for section in elf.sections if section.name == b"pd_flags"][:1]


def flags_in(elf: Elf) -> list[FileFlag]:
    """Read the definitions that a file lists; imports are none."""
    size = elf.pointer_size
    places = [
        section.address + at
        for section in flag_lists(elf)
        for at in range(0, min(section.size, _FLAGS_MAX * size), size)
    ]
    if not places:
        return []
    low, high = places[0], places[-1] + size
    pointers = _pointers(elf, lambda address: low <= address < high)
    defs = [_pointer(elf, pointers, place) for place in places]
    fields = {at + field for at in defs for field in _FIELDS[size]}
    pointers = _pointers(elf, fields.__contains__)
    return [flag for at in defs for flag in _flags(elf, pointers, at)]


def _flags(elf: Elf, pointers: dict[int, int], at: int) -> Iterator[FileFlag]:
    """Return the flag of a definition, or none."""
    name_at, default_at, cell_at = (at + field for field in _FIELDS[elf.pointer_size])
    head = elf.read_at(at, 16)
    name = elf.text_at(_pointer(elf, pointers, name_at))
    if len(head) == 16 and head[_KIND] == _DEFINE and name and _NAME.match(name):
        text = None
        if head[_TYPE] == _STRING:
            default = elf.text_at(_pointer(elf, pointers, default_at))
            text = None if default is None else default.decode("utf-8", "replace")
        yield FileFlag(name.decode(), text, _pointer(elf, pointers, cell_at))


def _pointer(elf: Elf, pointers: dict[int, int], address: int) -> int:
    """Return the pointer at an address: by a relocation, or as the file has it."""
    if address in pointers:
        return pointers[address]
    data = elf.read_at(address, elf.pointer_size)
    layout = "Q" if elf.wide else "I"
    return elf.unpack(layout, data)[0] if len(data) == elf.pointer_size else 0


def _pointers(elf: Elf, is_wanted: Callable[[int], bool]) -> dict[int, int]:
    """Return the pointers that relocations with addends write to the wanted addresses."""
    kind, word = ("Q", 8) if elf.wide else ("I", 4)
    symbols = next((s for s in elf.sections if s.type == SHT_DYNSYM), None)
    tables = dict.fromkeys((s.offset, s.size) for s in elf.sections if s.type == SHT_RELA)
    found: dict[int, int] = {}
    for offset, size in list(tables)[:_TABLES_MAX]:
        for _, piece in elf.source.chunks(offset, min(size, _RELOCATIONS_MAX)):
            numbers = array(kind, piece[: len(piece) // (3 * word) * 3 * word])
            if (elf.order == ">") != (sys.byteorder == "big"):
                numbers.byteswap()
            for index in [i for i, at in enumerate(numbers[::3]) if is_wanted(at)]:
                at, info, addend = numbers[3 * index : 3 * index + 3]
                symbol = info >> (32 if elf.wide else 8)
                value = _symbol_value(elf, symbols, symbol) if symbol else 0
                found[at] = value + addend & (1 << 8 * word) - 1
                if len(found) > 4 * _FLAGS_MAX:
                    return found
    return found


def _symbol_value(elf: Elf, table: Section | None, index: int) -> int:
    """Return the value of a symbol of the loader's table."""
    step, at, layout = (24, 8, "Q") if elf.wide else (16, 4, "I")
    if table is None or (index + 1) * step > table.size:
        return 0
    data = elf.source.read(table.offset + index * step + at, elf.pointer_size)
    return elf.unpack(layout, data)[0] if len(data) == elf.pointer_size else 0
