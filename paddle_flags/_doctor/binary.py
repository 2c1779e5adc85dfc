"""What a library or program has inside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from paddle_flags._doctor.markers import Variable

NOTE_NAME = "pd_flags"
NOTE_MODULE = 1
NOTE_COPY = 2


class FileFlag(NamedTuple):
    """A flag that a file defines."""

    name: str
    text: str | None
    """The default of a string."""
    cell: int
    """The address of the variable, before the file is loaded."""


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
    """The address that the file gives its first byte."""
    list_address: int = 0
    """Of the pointers to its definitions, before the file is loaded; 0 outside of ELF."""
    notes: tuple[str, ...] = ()
    """What couldn't be read, and why."""

    def to_report(self) -> dict[str, Any]:
        """Return the file's part of the report."""
        report = {name: getattr(self, name) for name in self._fields[:7]}
        report["flags"] = [flag.name for flag in self.flags]
        return report
