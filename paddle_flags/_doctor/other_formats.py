"""Reading PE and Mach-O files, by LIEF.

LIEF is an optional dependency: `pip install paddle_flags[doctor]`. Without it the report has a
note about the files that weren't looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags._core.missing import importing
from paddle_flags._doctor.markers import MARKERS
from paddle_flags.errors import FlagArgumentError

if TYPE_CHECKING:
    from paddle_flags._doctor.source import Source

_NOTE_NAME = b"pd_flags"
_NOTE_MODULE = 1
_COMPATIBLE = ("gflags", "c10", "Paddle")  # have headers in compat/
_SIZE_MAX = 1 << 26  # bytes: LIEF takes seconds for larger ones

# The first bytes of the formats: PE; Mach-O of 64 bits, of 32 bits, and of several machines.
_MACHO = (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe")


class Other(NamedTuple):
    """What a file has to do with flags."""

    format: str
    notes: frozenset[int] = frozenset()
    """The types of our notes in it."""
    definitions: int | None = None
    libraries: tuple[str, ...] = ()
    others: dict[str, str] = {}  # noqa: RUF012 - nobody writes it
    remarks: tuple[str, ...] = ()


def _format(magic: bytes) -> str | None:
    if magic[:2] == b"MZ":
        return "PE"
    return "MACHO" if magic in _MACHO else None


def read_other(source: Source, magic: bytes) -> Other:
    """Read a file; FlagArgumentError where it is none of the formats."""
    path, kind = source.path, _format(magic)
    if kind is None:
        message = f"{path}: expected a library or program in ELF, PE or Mach-O"
        raise FlagArgumentError(message)
    name = "PE" if kind == "PE" else "Mach-O"
    if source.size > _SIZE_MAX:
        limit = f"{path}: a {name} file of more than {_SIZE_MAX >> 20} MiB isn't looked at"
        return Other(kind, remarks=(limit,))
    try:
        with importing(f"{path}: reading a {name} file", "LIEF", "doctor"):
            import lief
    except ImportError as error:
        return Other(kind, remarks=(str(error),))
    lief.logging.disable()
    parsed: Any = lief.parse(source.read(0, source.size))
    if parsed is None or str(parsed.format).rpartition(".")[2] != kind:
        message = f"{path}: expected a library or program in ELF, PE or Mach-O"
        raise FlagArgumentError(message)
    notes = {type_ for section in _sections(parsed, kind) for type_ in _note_types(section)}
    libraries = tuple(
        str(library.name if kind == "MACHO" else library) for library in parsed.libraries
    )
    others = _others(parsed, kind, joins=_NOTE_MODULE in notes)
    return Other(kind, frozenset(notes), _definitions(parsed, kind), libraries, others)


def _sections(parsed: Any, kind: str) -> list[bytes]:
    """Return the contents of the sections that hold notes."""
    name = {"PE": ".pdflags", "MACHO": "__pd_flags"}[kind]
    return [
        bytes(section.content)
        for section in parsed.sections
        if str(section.name).rstrip("\0") == name
    ]


def _note_types(content: bytes) -> list[int]:
    """Read notes as docs/reference/abi.md has them: eight letters and a number, 8 bytes aligned."""
    return [
        int.from_bytes(content[at + 8 : at + 12], "little")
        for at in range(0, len(content), 8)
        if content[at : at + 8] == _NOTE_NAME
    ]


def _definitions(parsed: Any, kind: str) -> int | None:
    """Count the pointers to definitions; a PE file doesn't say where they end."""
    if kind == "PE":
        return None
    lists = [s for s in parsed.sections if str(s.name).rstrip("\0") == "__pd_flag_defs"]
    content = b"".join(bytes(each.content) for each in lists)
    # The header puts null pointers in between.
    return sum(any(content[at : at + 8]) for at in range(0, len(content), 8))


def _others(parsed: Any, kind: str, *, joins: bool) -> dict[str, str]:
    """Return the other flag libraries.

    A file that joins may have been built with our headers of these libraries, whose functions
    look like a copy here: only names that our headers don't have count then.
    """
    found: dict[str, str] = {}
    needed = {str(s.name) for s in parsed.imported_symbols} if kind == "MACHO" else set()
    for symbol in parsed.symbols:
        name = str(symbol.name)
        plain = name[1:] if kind == "MACHO" else name
        for marker in MARKERS:
            if marker.symbol.match(plain.encode("utf-8", "replace")):
                if name in needed:
                    found.setdefault(marker.origin, "user")
                elif marker.inner or not (joins and marker.origin in _COMPATIBLE):
                    found[marker.origin] = "copy"
    return found
