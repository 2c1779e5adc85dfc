"""The flags of an ELF file: those listed as docs/reference/abi.md says, and other libraries'."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from paddle_flags._doctor.binary import NOTE_COPY, NOTE_MODULE, NOTE_NAME, Binary, FileFlag
from paddle_flags._doctor.markers import find_marker, parse_variable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paddle_flags._doctor.markers import Variable

_FLAGS_MAX = 1 << 16
_NAME = re.compile(r"[A-Za-z_][\w.-]{0,254}", re.ASCII)
_TEXT_MAX = 4096  # bytes

# Offsets in pd_flag_def: type, kind; and name, default_value, cell by the size of a pointer.
_TYPE, _KIND = 8, 9
_FIELDS = {8: (16, 80, 72), 4: (16, 48, 44)}
_STRING = 7
_DEFINE = 0


def binary_from_elf(path: str, elf: Any) -> Binary:
    """Return what a file that LIEF has parsed has to do with flags."""
    types = {note.original_type for note in elf.notes if _decode_name(note.name) == NOTE_NAME}
    joins = NOTE_MODULE in types
    others, variables, entries = _find_other_flags(elf)
    image = _Image(elf)
    section = elf.get_section("pd_flags")
    return Binary(
        path,
        "ELF",
        joins,
        (min(section.size, elf.original_size) // image.pointer_size if section else 0)
        if joins
        else None,
        NOTE_COPY in types,
        any("pd_flags" in os.path.basename(_decode_name(library)) for library in elf.libraries),
        others,
        tuple(image.flags(section)) if joins and section else (),
        variables,
        entries,
        elf.imagebase if elf.imagebase != _NO_ADDRESS else 0,
        section.virtual_address if section else 0,
    )


_NO_ADDRESS = (1 << 64) - 1  # LIEF's, of an object file


def _decode_name(name: str | bytes) -> str:
    text = name if isinstance(name, str) else name.decode("utf-8", "surrogateescape")
    return text.rstrip("\0")


class _Image:
    """The memory of a file as the loader will make it."""

    def __init__(self, elf: Any) -> None:
        self._elf = elf
        self._order: Any = "big" if "MSB" in str(elf.header.identity_data) else "little"
        self.pointer_size = 8 if "64" in str(elf.header.identity_class) else 4
        self._pointers: dict[int, int] = {}

    def flags(self, section: Any) -> Iterator[FileFlag]:
        """Read the definitions that a section lists; imports are none."""
        mask = (1 << 8 * self.pointer_size) - 1
        for each in self._elf.relocations:
            if each.is_rela:
                value = each.symbol.value if each.has_symbol else 0
                self._pointers[each.address] = value + each.addend & mask
        count = min(section.size // self.pointer_size, _FLAGS_MAX)
        for index in range(count):
            at = self._pointer(section.virtual_address + index * self.pointer_size)
            name, default, cell = (
                self._pointer(at + field) for field in _FIELDS[self.pointer_size]
            )
            head, known = self._bytes(at, 16), self._read_c_string(name)
            if len(head) == 16 and head[_KIND] == _DEFINE and _NAME.fullmatch(known or ""):
                text = self._read_c_string(default) if head[_TYPE] == _STRING else None
                yield FileFlag(str(known), text, cell)

    def _pointer(self, address: int) -> int:
        """Return the pointer at an address: by a relocation, or as the file has it."""
        if address in self._pointers:
            return self._pointers[address]
        return int.from_bytes(self._bytes(address, self.pointer_size), self._order)

    def _read_c_string(self, address: int) -> str | None:
        """Return the text at an address; None if there is none with an end."""
        text, end, _ = self._bytes(address, _TEXT_MAX).partition(b"\0")
        return text.decode("utf-8", "replace") if end else None

    def _bytes(self, address: int, size: int) -> bytes:
        segment = self._elf.segment_from_virtual_address(address)
        if segment is None:
            return b""
        begin = address - segment.virtual_address
        return bytes(segment.content[begin : begin + size])


def _find_other_flags(elf: Any) -> tuple[dict[str, str], dict[Variable, int], frozenset[str]]:
    """Return the other flag libraries, their flags, and those whose copies `bridge` finds."""
    others: dict[str, str] = {}
    variables: dict[Variable, int] = {}
    entries = set()
    for is_dynamic, symbols in ((True, elf.dynamic_symbols), (False, elf.symtab_symbols)):
        for symbol in symbols:
            name = symbol.name
            marker = find_marker(name) if isinstance(name, str) else None
            if marker is None:
                variable = parse_variable(name) if "FLAGS_" in str(name) else None
                if variable and symbol.shndx:
                    variables.setdefault(variable, symbol.value)
            elif not symbol.shndx:
                if not marker.inner:
                    others.setdefault(marker.origin, "user")
            elif marker.inner or not _is_local(symbol):
                others[marker.origin] = "copy"
                if marker.entry and is_dynamic:
                    entries.add(marker.origin)
    return others, _assign_variables_to_libraries(others, variables), frozenset(entries)


def _is_local(symbol: Any) -> bool:
    """Return whether no other file sees a symbol: the linker made it local, or would."""
    local = str(symbol.binding).endswith("LOCAL")
    return local or str(symbol.visibility).endswith(("INTERNAL", "HIDDEN"))


def _assign_variables_to_libraries(
    others: dict[str, str], variables: dict[Variable, int]
) -> dict[Variable, int]:
    """Drop variables that only look as if they were flags of a library that isn't there.

    Our headers of gflags, c10 and Paddle name variables alike, and so may anybody. abseil and
    c10 have theirs outside of namespaces; abseil has a second one for each, FLAGS_no<name>.
    """
    outside = {variable.name for variable in variables if variable.origin == "abseil"}
    found: dict[Variable, int] = {}
    for variable, value in variables.items():
        owned = variable
        if variable.origin == "abseil":
            if "abseil" in others and variable.name[:2] == "no" and variable.name[2:] in outside:
                continue  # a second one
            is_abseils = "abseil" in others and f"no{variable.name}" in outside
            owned = variable if is_abseils else variable._replace(origin="c10")
        if owned.origin in others:
            found.setdefault(owned, value)
    return found
