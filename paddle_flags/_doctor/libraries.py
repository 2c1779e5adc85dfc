"""The files of this process, and the other flag libraries in them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from paddle_flags._doctor.binary import MARKERS, Binary, can_read, read_binary
from paddle_flags.errors import FlagError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paddle_flags._doctor.process import Report

# What two copies of a library in one process do, as measured with their
# versions in Debian 12.
_DANGER = {
    "gflags": "ends the process, or has two sets of flags",
    "abseil": "has two sets of flags",
    "LLVM": "ends the process",
    "c10": "has two sets of flags",
    "Paddle": "ends the process, or has two sets of flags",
}


def _loaded_files() -> list[str]:
    """The files that are mapped into this process as code."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        parts = (line.rstrip("\n").split(maxsplit=5) for line in maps)
        paths = {path for _, mode, _, _, _, *rest in parts for path in rest if "x" in mode}
    return sorted(path for path in paths if os.path.isfile(path))


def other_libraries(binaries: Sequence[Binary]) -> list[Report]:
    """Give each other flag library in each file that has it."""
    return [
        {"library": library, "path": binary.path, "has": binary.others[library]}
        for library in MARKERS
        for binary in binaries
        if library in binary.others
    ]


def process_binaries() -> list[Binary]:
    """Read the files that this process has loaded; none without LIEF."""
    if not can_read():
        return []
    binaries = []
    for path in _loaded_files():
        try:
            binaries.append(read_binary(path))
        except FlagError:
            continue  # mapped as code, but no library
    return binaries


def library_problems(others: Sequence[Report]) -> Iterator[str]:
    """Report the libraries of which the process has several copies."""
    for library, danger in _DANGER.items():
        places = {
            os.path.realpath(other["path"])
            for other in others
            if other["library"] == library and other["has"] == "copy"
        }
        if len(places) > 1:
            yield f"{library} is in {', '.join(sorted(places))}: it {danger}"
