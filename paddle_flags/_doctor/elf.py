"""Reading ELF files: sections, segments and notes, within bounds.

A damaged or hostile file gives less, never an exception, and takes no longer than a sound one
of its size: tables are cut at the end of the file and at the bounds below.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from paddle_flags._doctor.source import Source

MAGIC = b"\x7fELF"

HEADERS_MAX = 1 << 16  # entries of the tables of sections and of segments
_NOTES_MAX = 1 << 20  # bytes, in all notes of a file
_NAMES_MAX = 1 << 24  # bytes of the names of sections
_DYNAMIC_MAX = 1 << 16  # entries
_TEXT_MAX = 4096  # bytes of a text

SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_NOTE, SHT_NOBITS, SHT_DYNSYM = 2, 3, 4, 7, 8, 11
_PT_LOAD, _PT_DYNAMIC, _PT_NOTE = 1, 2, 4
DT_NEEDED, DT_STRTAB, DT_SYMTAB, DT_STRSZ = 1, 5, 6, 10


class Section(NamedTuple):
    """A part of the file, as the section table has it."""

    name: bytes
    type: int
    address: int
    offset: int
    size: int
    link: int


class Segment(NamedTuple):
    """A part of the file, as the program headers have it."""

    type: int
    offset: int
    address: int
    file_size: int
    size: int
    """In memory, bytes."""


class Elf:
    """An ELF file that is open."""

    def __init__(self, source: Source) -> None:
        self.source = source
        head = source.read(0, 64).ljust(64, b"\0")
        self.wide = head[4] == 2  # ELFCLASS64
        self.order = ">" if head[5] == 2 else "<"  # ELFDATA2MSB
        self.pointer_size = 8 if self.wide else 4
        layout = "16xHHIQQQIHHHHHH" if self.wide else "16xHHIIIIIHHHHHH"
        (_, _, _, _, self._segments_at, self._sections_at, *_, segment_size, segments) = (
            self.unpack(layout, head)[:10]
        )
        section_size, sections, names = self.unpack(layout, head)[10:]
        self.segments = list(self._read_segments(segment_size, segments))
        self.sections = self._read_sections(section_size, sections, names)
        loads = sorted((s.address, s) for s in self.segments if s.type == _PT_LOAD)
        self._loads = [segment for _, segment in loads]
        self._starts = [address for address, _ in loads]
        self.dynamic = list(self._read_dynamic())
        # What the file takes for the address of its first byte.
        self.origin = next((s.address for s in self._loads if s.offset == 0), 0)

    def unpack(self, layout: str, data: bytes) -> tuple[int, ...]:
        """Unpack the numbers at the beginning of data."""
        return struct.unpack_from(self.order + layout, data)

    def _table(self, layout: str, offset: int, size: int, count: int) -> Iterable[tuple[int, ...]]:
        """Return the entries of a table of headers."""
        step = struct.calcsize(self.order + layout)
        if size != step:  # as in every sound file
            return
        data = self.source.read(offset, min(count, HEADERS_MAX) * step)
        yield from struct.iter_unpack(self.order + layout, data[: len(data) // step * step])

    def _read_segments(self, size: int, count: int) -> Iterator[Segment]:
        layout = "IIQQQQQQ" if self.wide else "IIIIIIII"
        for row in self._table(layout, self._segments_at, size, count):
            if self.wide:
                kind, _, offset, address, _, file_size, in_memory, _ = row
            else:
                kind, offset, address, _, file_size, in_memory, _, _ = row
            yield Segment(kind, offset, address, file_size, in_memory)

    def _read_sections(self, size: int, count: int, names_at: int) -> list[Section]:
        layout = "IIQQQQIIQQ" if self.wide else "IIIIIIIIII"
        first = next(iter(self._table(layout, self._sections_at, size, 1)), None)
        if first is None:
            return []
        rows = list(self._table(layout, self._sections_at, size, count or first[5]))
        names_at = first[6] if names_at == 0xFFFF else names_at  # SHN_XINDEX
        names = b""
        if names_at < len(rows):
            names = self.source.read(rows[names_at][4], min(rows[names_at][5], _NAMES_MAX))
        return [
            Section(names[name : name + 32].partition(b"\0")[0], kind, address, at, length, link)
            for name, kind, _, address, at, length, link, *_ in rows
        ]

    def _read_dynamic(self) -> Iterator[tuple[int, int]]:
        layout = self.order + ("QQ" if self.wide else "II")
        for segment in self.segments:
            if segment.type == _PT_DYNAMIC:
                step = struct.calcsize(layout)
                count = min(segment.file_size // step, _DYNAMIC_MAX)
                data = self.source.read(segment.offset, count * step)
                for tag, value in struct.iter_unpack(layout, data[: len(data) // step * step]):
                    if tag == 0:
                        return
                    yield tag, value
                return

    def offset_of(self, address: int) -> int | None:
        """Return where the file has what is at an address of memory; None if it hasn't it."""
        at = bisect_right(self._starts, address) - 1
        if at < 0:
            return None
        segment = self._loads[at]
        inside = address - segment.address
        return segment.offset + inside if inside < segment.file_size else None

    def read_at(self, address: int, count: int) -> bytes:
        """Read what will be at an address of memory, without relocations."""
        offset = self.offset_of(address)
        return b"" if offset is None else self.source.read(offset, count)

    def text_at(self, address: int) -> bytes | None:
        """Return the text at an address; None if there is none with an end."""
        text, end, _ = self.read_at(address, _TEXT_MAX).partition(b"\0")
        return text if end else None

    def libraries(self) -> Iterator[str]:
        """Return the names of the libraries that the file needs."""
        table = next((value for tag, value in self.dynamic if tag == DT_STRTAB), None)
        for tag, value in self.dynamic:
            if tag == DT_NEEDED and table is not None:
                yield (self.text_at(table + value) or b"").decode("utf-8", "surrogateescape")

    def note_types(self, name: bytes) -> set[int]:
        """Return the types of the notes with a name."""
        parts = [(s.offset, s.file_size) for s in self.segments if s.type == _PT_NOTE]
        if not parts:  # an object file
            parts = [(s.offset, s.size) for s in self.sections if s.type == SHT_NOTE]
        found: set[int] = set()
        left = _NOTES_MAX
        for offset, size in dict.fromkeys(parts):
            data = self.source.read(offset, min(size, left))
            left -= len(data)
            found.update(kind for each, kind in self._notes(data) if each == name)
            if left <= 0:
                break
        return found

    def _notes(self, data: bytes) -> Iterator[tuple[bytes, int]]:
        at = 0
        while at + 12 <= len(data):
            name_size, size, kind = struct.unpack_from(self.order + "III", data, at)
            body = at + 12 + (name_size + 3 & ~3)
            if body + size > len(data):
                return
            yield data[at + 12 : at + 12 + min(name_size, 64)].rstrip(b"\0"), kind
            at = body + (size + 3 & ~3)
