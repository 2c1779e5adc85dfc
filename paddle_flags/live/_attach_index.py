"""The index of the host in the memory of a process: where its flags are, and how they are laid out.

docs/reference/abi.md describes the notes that lead to it, and the index itself.
"""

from __future__ import annotations

import struct
import sys
from typing import TYPE_CHECKING, NamedTuple

from paddle_flags.live._attach_memory import AttachError, Unreadable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from paddle_flags.live._attach_memory import Memory, Region

POINTER = struct.calcsize("P")
_ABI = 1
_NOTE_COPY = 2
_NOTE_NAME = b"pd_flags\0"
_RECORD = struct.Struct("=IIQQI4xQ" if POINTER == 8 else "=IIIIII")
_RECORD_LEAST = _RECORD.size - POINTER  # a record without an index

# ---- Images ----

_MAGIC = b"\x7fELF"
_SEGMENTS_MAX = 256
_NOTES_MAX = 1 << 16  # bytes, of one segment
_PT_LOAD, _PT_NOTE = 1, 4
_ET_EXEC = 2
_READ, _WRITE = 4, 2
_MACHINES = {3: "i386", 40: "arm", 62: "x86-64", 183: "aarch64", 243: "riscv", 21: "ppc64"}


class _Image(NamedTuple):
    """A loaded file: the program or a library."""

    start: int | None
    """Where the file's first byte is; None if its addresses are fixed."""
    base: int
    segments: tuple[tuple[int, int, int, int, int], ...]
    """Type, access, address, size and alignment, as the program headers have them."""

    def contains(self, address: int, size: int, access: int) -> bool:
        """Return whether loaded memory of the image is there."""
        return any(
            kind == _PT_LOAD
            and allowed & access == access
            and self.base + at <= address
            and address + size <= self.base + at + length
            for kind, allowed, at, length, _ in self.segments
        )


def _own_elf_kind() -> bytes:
    """Return class, byte order and machine of the programs that we can read: those like ours."""
    with open("/proc/self/exe", "rb") as file:
        head = file.read(20)
    return head[4:6] + head[18:20]


def _elf_kind_text(head: bytes) -> str:
    order = "little" if head[5] == 1 else "big"
    number = int.from_bytes(head[18:20], "little" if head[5] == 1 else "big")
    bits = {1: "32", 2: "64"}.get(head[4], "?")
    return f"{bits}-bit {_MACHINES.get(number, f'machine {number}')}, {order}-endian"


def _is_file_start(region: Region) -> bool:
    return region.offset == 0 and region.access[:1] == "r" and region.path[:1] not in ("", "[")


def _iter_images(memory: Memory) -> Iterator[_Image]:
    """Yield the images; AttachError if the program is of another kind than ours."""
    own = _own_elf_kind()
    others: list[str] = []
    found = False
    for region in memory.regions:
        head = memory.read_uncached(region.start, 64) if _is_file_start(region) else b""
        if len(head) < 64 or not head.startswith(_MAGIC):
            continue
        if head[4:6] + head[18:20] != own:
            others.append(_elf_kind_text(head))
            continue
        image = _read_image(memory, region, head)
        if image:
            found = True
            yield image
    if others and not found:
        raise AttachError(
            f"the process is a {others[0]} program; only programs of the same kind as this Python "
            "can be read"
        )


def _read_image(memory: Memory, region: Region, head: bytes) -> _Image | None:
    wide = POINTER == 8
    at, size, count = struct.unpack_from("=32xQ14xHH" if wide else "=28xI10xHH", head)
    layout = struct.Struct("=IIQQQQQQ" if wide else "=IIIIIIII")
    if size != layout.size or count > _SEGMENTS_MAX or at > 1 << 16:
        return None
    segments = []
    origin = None
    try:
        table = memory.read(region.start + at, size * count)
    except Unreadable:
        return None
    for kind, *rest in layout.iter_unpack(table):
        # The flags stand behind the type in 64-bit files, and behind the sizes in 32-bit ones.
        access, offset, address, _, _, length, align = (
            rest if wide else (rest[5], rest[0], rest[1], rest[2], rest[3], rest[4], rest[6])
        )
        segments.append((kind, access, address, length, align))
        if kind == _PT_LOAD and origin is None:
            origin = address - offset
    if origin is None:
        return None
    fixed = struct.unpack_from("=H", head, 16)[0] == _ET_EXEC
    return _Image(None if fixed else region.start, region.start - origin, tuple(segments))


# ---- Records of copies ----


class _Copy(NamedTuple):
    """A pd_copy_record."""

    abi: int
    host: int
    version: int
    leads_to: int
    """The index; 0: none."""


def _iter_copies(memory: Memory) -> Iterator[_Copy]:
    for image in _iter_images(memory):
        for kind, _, address, size, align in image.segments:
            start = image.base + address
            if kind != _PT_NOTE or not image.contains(start, size, _READ):
                continue
            try:
                notes = memory.read(start, min(size, _NOTES_MAX))
            except Unreadable:
                continue
            for at in _record_addresses(image, start, notes, align):
                copy = _read_copy(memory, image, at)
                if copy:
                    yield copy


def _record_addresses(image: _Image, start: int, notes: bytes, align: int) -> Iterator[int]:
    padding = 7 if align == 8 else 3
    at = 0
    while at + 12 <= len(notes):
        name_size, size, kind = struct.unpack_from("=III", notes, at)
        body = at + (12 + name_size + padding & ~padding)
        end = body + size
        if end > len(notes):
            return
        name = notes[at + 12 : at + 12 + name_size]
        if kind == _NOTE_COPY and size >= 4 and name == _NOTE_NAME:
            distance, *to_start = struct.unpack_from("=ii" if size >= 8 else "=i", notes, body)
            moved = 0
            # Tools such as patchelf move notes, and leave the distances that they hold.
            if to_start and image.start is not None:
                moved = start + body + 4 + to_start[0] - image.start
            yield start + body + distance - moved
        at = at + (end - at + padding & ~padding)


def _read_copy(memory: Memory, image: _Image, at: int) -> _Copy | None:
    if at % POINTER or not image.contains(at, _RECORD_LEAST, _READ | _WRITE):
        return None
    try:
        abi, size = struct.unpack("=II", memory.read(at, 8))
        full = size >= _RECORD.size and image.contains(at, _RECORD.size, _READ | _WRITE)
        data = memory.read(at, _RECORD.size if full else _RECORD_LEAST)
    except Unreadable:
        return None
    _, _, host, version, _, index = _RECORD.unpack(data.ljust(_RECORD.size, b"\0"))
    return _Copy(abi, host, version, index)


# ---- The index ----

_MAGIC_INDEX = b"pdindex\0"
_VERSION = 1
_HEAD = struct.Struct("=8sIIII5Q" if POINTER == 8 else "=8sIIII5I")
_ROW = struct.Struct("=24sIII")
_ROWS_MAX = 4096
_ROW_MAX = 256
_STRUCT_MAX = 4096
_NUMBER_MAX = 8
(_STRUCT, _NUMBER, _POINTER, TEXT, NAMES, MARK, VALUE, _BITS, _CONSTANT, _TYPE, _SOURCE) = range(
    1, 12
)
_NEEDED = {
    "names": "chunks count first_listed",
    "chunk": "nodes",
    "flag": "name type number truth text source line column place next_listed cells history extra",
    "extra": "overrides base",
    "overridden": "values below",
    "entry": "value source line column place replaced next",
    "cell": "def next",
    "list": "rows count",
    "row": "item",
    "module": "path",
    "def": "line type list help file module cell default_value min max access assignable "
    "sensitive optional startup_only",
}
_NEEDED_BITS = {"flag": "assigned defined frozen sensitive", "cell": "module registered"}


def _has_missing_fields(needed: dict[str, str], known: Collection[str]) -> bool:
    return any(f"{name}.{each}" not in known for name in needed for each in needed[name].split())


class Index:
    """The layout of the registry's structs, as the process itself describes it."""

    def __init__(self, memory: Memory, address: int, version: str) -> None:
        """Read it; Unreadable or AttachError if it isn't an index that we know."""
        self.version = version
        """Of the library that hosts the registry."""
        self.sizes: dict[str, int] = {}
        """Of the structs."""
        self.kinds: dict[str, int] = {}
        """Of the fields."""
        self.constants: dict[str, int] = {}
        self.types: dict[int, tuple[str, int]] = {}
        """By number: the name of a type, and the size of a variable."""
        self.sources: dict[int, str] = {}
        self._fields: dict[str, slice] = {}
        self._examples: dict[str, tuple[int, int]] = {}
        self._bits: dict[str, tuple[slice, int, int]] = {}
        magic, number, size, row_size, count, rows, examples, *roots = _HEAD.unpack(
            memory.read(address, _HEAD.size)
        )
        if magic != _MAGIC_INDEX or size < _HEAD.size:
            raise Unreadable
        if number != _VERSION:
            raise AttachError(
                f"the index of its registry has version {number}, and this paddle_flags reads "
                f"version {_VERSION}; use the paddle_flags of the process, which is {version}"
            )
        if not _ROW.size <= row_size <= _ROW_MAX or count > _ROWS_MAX:
            raise Unreadable
        self.names, self.modules, self.startup_over = roots
        table = memory.read(rows, row_size * count)
        for i in range(count):
            name, *row = _ROW.unpack_from(table, i * row_size)
            self._add_row(name.rstrip(b"\0").decode("ascii", "replace"), *row)
        self._locate_bit_fields(memory, examples)
        self._check()
        self.marks = self._select_definition_fields(MARK)
        """The attributes that are true or false: the name of each, and its field."""
        self.texts = self._select_definition_fields(TEXT, NAMES)
        """Likewise those that are text."""

    def _add_row(self, name: str, kind: int, at: int, size: int) -> None:
        if kind == _TYPE and 0 < size <= _NUMBER_MAX:
            self.types[at] = (name, size)
        elif kind == _SOURCE:
            self.sources[at] = name
        elif kind == _CONSTANT:
            self.constants[name] = at
        elif kind == _STRUCT and size <= _STRUCT_MAX:
            self.sizes[name] = size
        elif kind == _BITS and size <= _STRUCT_MAX:
            self._examples[name] = (at, size)
        elif _NUMBER <= kind <= VALUE and size <= _NUMBER_MAX:
            self.kinds[name] = kind
            self._fields[name] = slice(at, at + size)

    def _locate_bit_fields(self, memory: Memory, examples: int) -> None:
        for name, (at, size) in self._examples.items():
            example = memory.read(examples + at, size)
            used = [i for i, byte in enumerate(example) if byte]
            if used and used[-1] - used[0] < _NUMBER_MAX:
                place = slice(used[0], used[-1] + 1)
                mask = int.from_bytes(example[place], sys.byteorder)
                self._bits[name] = (place, mask, (mask & -mask).bit_length() - 1)

    def _check(self) -> None:
        """Refuse an index that lacks what we need, or whose fields lie outside of their structs."""
        places = {**self._fields, **{name: bits[0] for name, bits in self._bits.items()}}
        for name, place in places.items():
            if place.stop > self.sizes.get(name.partition(".")[0], 0):
                raise Unreadable
        lacks = _has_missing_fields(_NEEDED, self._fields) or _has_missing_fields(
            _NEEDED_BITS, self._bits
        )
        if lacks or not 0 < self.constants.get("chunk.count", 0) <= 1 << 16:
            raise Unreadable

    def _select_definition_fields(self, *kinds: int) -> list[tuple[str, str]]:
        return [
            (name.partition(".")[2], name)
            for name, kind in self.kinds.items()
            if kind in kinds and name.startswith("def.")
        ]

    def extract_number(self, name: str, data: bytes) -> int:
        """Return a field of a struct as an unsigned number."""
        return int.from_bytes(data[self._fields[name]], sys.byteorder)

    def extract_bytes(self, name: str, data: bytes) -> bytes:
        """Return the bytes of a field."""
        return data[self._fields[name]]

    def extract_bits(self, name: str, data: bytes) -> int:
        """Return a bit field of a struct."""
        place, mask, shift = self._bits[name]
        return (int.from_bytes(data[place], sys.byteorder) & mask) >> shift


def find_index(memory: Memory) -> Index:
    """Return the index of the process; AttachError if there is none."""
    copies = list(_iter_copies(memory))
    if not copies:
        raise AttachError(
            "there is no registry of paddle_flags in the process: neither libpd_flags nor a static "
            "copy of it is loaded"
        )
    for copy in copies:
        if copy.abi == _ABI and copy.leads_to:
            return _open_index(memory, copy)
    hosts = [copy for copy in copies if copy.host]
    if not hosts:
        message = "the registry of the process isn't there yet: the process is just starting"
        raise AttachError(message)
    version = _version_of_copy(memory, hosts[0])
    message = (
        f"the registry of the process is paddle_flags {version}, which has no index for readers "
        "from outside; that came with 0.1.0"
    )
    if all(copy.abi != _ABI for copy in hosts):
        message = (
            f"the registry of the process has ABI version {hosts[0].abi}, and this paddle_flags "
            f"reads version {_ABI}"
        )
    raise AttachError(message)


def _version_of_copy(memory: Memory, copy: _Copy) -> str:
    try:
        return memory.text(copy.version)[0][:64]
    except Unreadable:
        return "?"


def _open_index(memory: Memory, copy: _Copy) -> Index:
    try:
        return Index(memory, copy.leads_to, _version_of_copy(memory, copy))
    except Unreadable:
        raise AttachError("the index of the registry in the process is damaged") from None
