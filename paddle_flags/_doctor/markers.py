"""The names by which other flag libraries, and their flags, are found in a file.

From gflags 2.2, abseil 20220623, LLVM 14, PyTorch 2 and Paddle 3.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Marker(NamedTuple):
    """A symbol that each copy of a library defines, and its users need."""

    origin: str
    """The library of flags that it comes from, such as `"gflags"`."""
    part: bytes
    """A part of the symbol that few others have: what is searched for."""
    symbol: re.Pattern[bytes]
    inner: bool = False
    """Is in no interface: who has it has a copy, though the linker made it local."""
    entry: bool = False
    """`bridge` finds the library by it, if it is exported."""


def _marker(
    origin: str, part: str, symbol: str, *, inner: bool = False, entry: bool = False
) -> Marker:
    return Marker(origin, part.encode(), re.compile(symbol.encode()), inner, entry)


# Our headers of gflags, c10 and Paddle define some of these too: for the compiler alone, as
# hidden symbols, which are local once they are linked.
MARKERS = (
    _marker("gflags", "14FlagRegistererC", r"_ZN6(google|gflags)14FlagRegistererC"),
    _marker(
        "gflags", "21ParseCommandLineFlagsE", r"_ZN6(google|gflags)21ParseCommandLineFlagsEPiPPPcb"
    ),
    _marker(
        "gflags",
        "_GLOBAL__N_112FlagRegistry",
        r"_ZN6(google|gflags)12_GLOBAL__N_112FlagRegistry",
        inner=True,
    ),
    _marker("gflags", "11GetAllFlagsE", r"_ZN6(google|gflags)11GetAllFlagsE", entry=True),
    _marker(
        "abseil",
        "14flags_internal11ForEachFlagE",
        r"_ZN4absl[^\0]{0,200}14flags_internal11ForEachFlagE",
        entry=True,
    ),
    _marker(
        "abseil",
        "14flags_internal23RegisterCommandLineFlagE",
        r"_ZN4absl[^\0]{0,200}14flags_internal23RegisterCommandLineFlagE",
    ),
    _marker("LLVM", "_ZN4llvm2cl6Option11addArgumentEv", r"_ZN4llvm2cl6Option11addArgumentEv"),
    _marker("c10", "_ZN3c1016C10FlagsRegistry", r"_ZN3c1016C10FlagsRegistry", entry=True),
    _marker("Paddle", "GetExportedFlagInfoMap", r"_ZN3phi22GetExportedFlagInfoMap", entry=True),
    _marker("Paddle", "14FlagRegistererC", r"_ZN6paddle5flags14FlagRegistererC"),
    _marker("Paddle", "21ParseCommandLineFlagsE", r"_ZN6paddle5flags21ParseCommandLineFlagsE"),
    _marker("Paddle", "6paddle5flags12FlagRegistry", r"_ZN6paddle5flags12FlagRegistry", inner=True),
)
LIBRARIES = tuple(dict.fromkeys(marker.origin for marker in MARKERS))

# The names that `bridge` has for those whose flags it takes.
BRIDGES = {"gflags": "gflags", "abseil": "abseil", "c10": "c10", "Paddle": "paddle"}

# The variables of flags, by the namespace that their library puts them into.
VARIABLE = b"FLAGS_"
_SCOPES = {b"3c10": "c10", b"12paddle_flags": "Paddle"}
_HEAD = re.compile(rb"_Z(?:N(3fL[BIUDS]|5fL[IU]64|3c10|12paddle_flags))?(\d{1,3})\Z")
_HEAD_MAX = 32  # bytes
_NAME = re.compile(rb"[A-Za-z_]\w{0,254}\Z")


class Variable(NamedTuple):
    """The variable of a flag of another library, by its symbol."""

    origin: str
    """The library, as of a Marker."""
    name: str
    indirect: bool
    """Holds the address of the value."""
    before: int
    """Bytes of the symbol before FLAGS_."""


def parse_variable(before: bytes, behind: bytes) -> Variable | None:
    """Read a symbol by what is before FLAGS_ and behind it; None if it is of no flag."""
    head = _HEAD.search(before[-_HEAD_MAX:])
    if head is None:  # a variable outside of namespaces: abseil's
        return (
            Variable("abseil", behind.decode(), indirect=False, before=0)
            if _NAME.match(behind)
            else None
        )
    length = int(head[2]) - len(VARIABLE)
    end = b"E" if head[1] else b""
    name = behind[: max(length, 0)]
    if behind[len(name) :] not in (end, b"B5cxx11" + end) or not _NAME.match(name):
        return None
    library = _SCOPES.get(head[1], "gflags") if head[1] else "abseil"
    return Variable(library, name.decode(), head[1] == b"3fLS", len(head[0]))
