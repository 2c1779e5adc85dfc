"""Other flag libraries and their flags in the symbol tables of an ELF file.

Tables may have hundreds of megabytes. So the names are searched for first, as bytes, and then
the symbols that have one of these names.
"""

from __future__ import annotations

import sys
from array import array
from typing import TYPE_CHECKING, NamedTuple

from paddle_flags._doctor.elf import DT_STRSZ, DT_STRTAB, DT_SYMTAB, SHT_DYNSYM, SHT_SYMTAB
from paddle_flags._doctor.markers import MARKERS, VARIABLE, Marker, Variable, parse_variable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paddle_flags._doctor.elf import Elf

_TABLE_MAX = 1 << 29  # bytes of a table of symbols or of names
_FOUND_MAX = 1 << 16  # names, and symbols with them
_MARKERS_MAX = 1 << 12  # places where a marker may be
_NAME_MAX = 300  # bytes of a symbol's name, before and behind what is searched for

_SHN_UNDEF, _STB_LOCAL = 0, 0
_STV_INTERNAL, _STV_HIDDEN = 1, 2


class Symbol(NamedTuple):
    """A symbol of a table."""

    defined: bool
    local: bool
    """No other file sees it: the linker made it local, or would."""
    value: int


class Table(NamedTuple):
    """A symbol table with its names, as parts of the file."""

    offset: int
    size: int
    names: int
    names_size: int
    dynamic: bool
    """Is the loader's."""


class Symbols(NamedTuple):
    """What the symbols of a file say."""

    others: dict[str, str]
    """Other flag libraries: name to `"copy"` or `"user"`."""
    variables: dict[Variable, int]
    """The flags of other libraries that the file defines: to the variable's address."""
    entries: frozenset[str]
    """The libraries whose copies in the file `bridge` finds by its exported symbols."""
    cut: bool
    """There are more symbols than are read."""


def read_symbols(elf: Elf) -> Symbols:
    """Search the symbol tables of a file."""
    others: dict[str, str] = {}
    variables: dict[Variable, int] = {}
    entries = set()
    cut = False
    for table in _tables(elf):
        names, more = _names(elf, table)
        cut = cut or more or max(table.size, table.names_size) > _TABLE_MAX
        for offset, symbol in _symbols(elf, table, set(names)):
            meaning = names[offset]
            if isinstance(meaning, Variable):
                if symbol.defined:
                    variables.setdefault(meaning, symbol.value)
                continue
            if not symbol.defined and not meaning.inner:
                others.setdefault(meaning.origin, "user")
            elif symbol.defined and (meaning.inner or not symbol.local):
                others[meaning.origin] = "copy"
                if meaning.entry and table.dynamic:
                    entries.add(meaning.origin)
    return Symbols(others, _flags_alone(others, variables), frozenset(entries), cut)


def _flags_alone(others: dict[str, str], variables: dict[Variable, int]) -> dict[Variable, int]:
    """Drop variables that only look as if they were flags of a library that isn't there.

    Our headers of gflags, c10 and Paddle name variables alike, and so may anybody. abseil and
    c10 have theirs outside of namespaces; abseil has a second one for each, FLAGS_no<name>.
    """
    outside = {variable.name for variable in variables if variable.origin == "abseil"}
    found: dict[Variable, int] = {}
    for variable, value in variables.items():
        kept = variable
        if variable.origin == "abseil":
            if "abseil" in others and variable.name[:2] == "no" and variable.name[2:] in outside:
                continue  # a second one
            is_abseils = "abseil" in others and f"no{variable.name}" in outside
            kept = variable if is_abseils else variable._replace(origin="c10")
        if kept.origin in others:
            found.setdefault(kept, value)
    return found


def _tables(elf: Elf) -> Iterator[Table]:
    """Return the table for the loader and the one for debuggers, as far as there are any."""
    kinds: dict[int, Table | None] = {}
    for section in elf.sections:
        if section.type in (SHT_DYNSYM, SHT_SYMTAB) and section.link < len(elf.sections):
            names = elf.sections[section.link]
            kinds.setdefault(
                section.type,
                Table(
                    section.offset,
                    section.size,
                    names.offset,
                    names.size,
                    dynamic=section.type == SHT_DYNSYM,
                ),
            )
    if SHT_DYNSYM not in kinds:
        kinds[SHT_DYNSYM] = _dynamic_table(elf)
    for kind in (SHT_DYNSYM, SHT_SYMTAB):
        table = kinds.get(kind)
        if table:
            yield table


def _dynamic_table(elf: Elf) -> Table | None:
    """Return the loader's table of a file without sections: it ends where its names begin."""
    values = dict(elf.dynamic)
    symbols, names = (elf.offset_of(values.get(tag, -1)) for tag in (DT_SYMTAB, DT_STRTAB))
    if symbols is None or names is None or names < symbols:
        return None
    return Table(symbols, names - symbols, names, values.get(DT_STRSZ, 0), dynamic=True)


def _names(elf: Elf, table: Table) -> tuple[dict[int, Marker | Variable], bool]:
    """Search the names of a table; return what is where, and whether there may be more."""
    found: dict[int, Marker | Variable] = {}
    places = dict.fromkeys(MARKERS, _MARKERS_MAX)
    variables = _FOUND_MAX
    size = min(table.names_size, _TABLE_MAX)
    for at, piece in elf.source.chunks(table.names, size, overlap=2 * _NAME_MAX):
        for marker in MARKERS:
            for place in _places(piece, marker.part, places[marker]):
                places[marker] -= 1
                match = marker.symbol.search(piece, max(0, place - _NAME_MAX), place + _NAME_MAX)
                if match and match.end() >= place:
                    found[at + match.start()] = marker
        for place in _places(piece, VARIABLE, variables):
            variables -= 1
            begin = place + len(VARIABLE)
            before = piece[max(0, place - _NAME_MAX) : place]
            variable = parse_variable(before, piece[begin : begin + _NAME_MAX].partition(b"\0")[0])
            if variable:
                found[at + place - variable.before] = variable
    return found, not (variables and all(places.values()))


def _places(piece: bytes, part: bytes, most: int) -> Iterator[int]:
    """Return where a part is."""
    place = piece.find(part)
    while place >= 0 and most > 0:
        yield place
        most -= 1
        place = piece.find(part, place + len(part))


def _symbols(elf: Elf, table: Table, wanted: set[int]) -> Iterator[tuple[int, Symbol]]:
    """Return the symbols whose names are at one of the offsets, with these offsets."""
    layout, step = ("IBBHQQ", 24) if elf.wide else ("IIIBBH", 16)
    left = _FOUND_MAX
    if not wanted:
        return
    for _, piece in elf.source.chunks(table.offset, min(table.size, _TABLE_MAX)):
        numbers = array("I", piece[: len(piece) // step * step])
        if (elf.order == ">") != (sys.byteorder == "big"):
            numbers.byteswap()
        names = numbers[:: step // 4]
        if wanted.isdisjoint(names):
            continue
        for index in [i for i, name in enumerate(names) if name in wanted][:left]:
            row = elf.unpack(layout, piece[index * step : index * step + step])
            name, info, other, section, value, _ = (
                row if elf.wide else (row[0], row[3], row[4], row[5], row[1], row[2])
            )
            hidden = other & 3 in (_STV_INTERNAL, _STV_HIDDEN)
            local = info >> 4 == _STB_LOCAL or hidden
            yield name, Symbol(section != _SHN_UNDEF, local, value)
            left -= 1
