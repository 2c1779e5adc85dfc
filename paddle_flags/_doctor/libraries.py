"""The files of this process, and the other flag libraries in them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from paddle_flags._doctor.bridges import bridge_instruction
from paddle_flags._doctor.markers import LIBRARIES
from paddle_flags._doctor.read import read_binary
from paddle_flags.errors import FlagError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paddle_flags._doctor.binary import Binary
    from paddle_flags._doctor.process import Report

# What two copies of a library in one process do, as measured with their
# versions in Debian 12.
_DANGER = {
    "gflags": "ends, or has two sets of flags",
    "abseil": "has two sets of flags",
    "LLVM": "ends",
    "c10": "has two sets of flags",
    "Paddle": "ends, or has two sets of flags",
}


class Loaded(NamedTuple):
    """A file that this process has mapped as code."""

    binary: Binary
    start: int
    """The address of its first byte."""


def _read_mapped_code_files() -> dict[str, int]:
    """Return the files that are mapped into this process as code, with their first address."""
    starts: dict[str, int] = {}
    code = set()
    try:
        maps = open("/proc/self/maps", encoding="utf-8", errors="surrogateescape")  # noqa: SIM115
    except OSError:  # a system without it
        return {}
    with maps:
        for line in maps:
            span, mode, offset, _, _, *rest = line.rstrip("\n").split(maxsplit=5)
            for path in rest:
                if int(offset, 16) == 0:
                    starts.setdefault(path, int(span.partition("-")[0], 16))
                if "x" in mode:
                    code.add(path)
    return {path: starts.get(path, 0) for path in sorted(code) if os.path.isfile(path)}


def list_other_flag_libraries(binaries: Sequence[Binary]) -> list[Report]:
    """Return each other flag library in each file that has it."""
    return [
        {
            "library": library,
            "path": binary.path,
            "has": binary.others[library],
            "flags": sorted(each.name for each in binary.variables if each.origin == library),
            "bridge": bridge_instruction(binary, library),
        }
        for library in LIBRARIES
        for binary in binaries
        if library in binary.others
    ]


def read_loaded_binaries() -> list[Loaded]:
    """Read the files that this process has loaded."""
    binaries = []
    for path, start in _read_mapped_code_files().items():
        try:
            binaries.append(Loaded(read_binary(path), start))
        except FlagError:
            continue  # mapped as code, but no library
    return binaries


def describe_duplicate_libraries(others: Sequence[Report]) -> Iterator[str]:
    """Report the libraries of which the process has several copies."""
    for library, danger in _DANGER.items():
        places = {
            os.path.realpath(other["path"])
            for other in others
            if other["library"] == library and other["has"] == "copy"
        }
        if len(places) > 1:
            yield (
                f"{library} is in {', '.join(sorted(places))}: a process with two copies {danger}"
            )
