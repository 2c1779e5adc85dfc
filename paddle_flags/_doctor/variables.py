"""The variables of flags of other libraries in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paddle_flags._doctor.binary import Binary
    from paddle_flags._doctor.libraries import Loaded
    from paddle_flags._doctor.markers import Variable


class LoadedVariable(NamedTuple):
    """A variable in this process."""

    variable: Variable
    address: int
    """Of the value."""
    binary: Binary
    """The file that defines it."""


def iter_loaded_variables(loaded: Sequence[Loaded]) -> Iterator[LoadedVariable]:
    """Return the variables that the files of this process define."""
    for binary, start in loaded:
        for variable, value in binary.variables.items():
            address = start - binary.origin + value
            yield LoadedVariable(variable, _address_of_value(variable, address), binary)


def _address_of_value(variable: Variable, address: int) -> int:
    if not variable.indirect:
        return address
    try:  # not by a pointer: somebody may have unloaded the file
        with open("/proc/self/mem", "rb") as memory:
            memory.seek(address)
            size = 8 if address > 1 << 32 else 4
            return int.from_bytes(memory.read(size), "little")
    except (OSError, ValueError, OverflowError):
        return address
