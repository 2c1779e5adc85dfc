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
    symbol: str
    """How the symbol begins, as a regular expression."""
    inner: bool = False
    """Is in no interface: who has it has a copy, though the linker made it local."""
    entry: bool = False
    """`bridge` finds the library by it, if it is exported."""


# Our headers of gflags, c10 and Paddle define some of these too: for the compiler alone, as
# hidden symbols, which are local once they are linked.
MARKERS = (
    Marker("gflags", r"_ZN6(?:google|gflags)14FlagRegistererC"),
    Marker("gflags", r"_ZN6(?:google|gflags)21ParseCommandLineFlagsEPiPPPcb"),
    Marker("gflags", r"_ZN6(?:google|gflags)12_GLOBAL__N_112FlagRegistry", inner=True),
    Marker("gflags", r"_ZN6(?:google|gflags)11GetAllFlagsE", entry=True),
    Marker("abseil", r"_ZN4absl.{0,200}14flags_internal11ForEachFlagE", entry=True),
    Marker("abseil", r"_ZN4absl.{0,200}14flags_internal23RegisterCommandLineFlagE"),
    Marker("LLVM", r"_ZN4llvm2cl6Option11addArgumentEv"),
    Marker("c10", r"_ZN3c1016C10FlagsRegistry", entry=True),
    Marker("Paddle", r"_ZN3phi22GetExportedFlagInfoMap", entry=True),
    Marker("Paddle", r"_ZN6paddle5flags14FlagRegistererC"),
    Marker("Paddle", r"_ZN6paddle5flags21ParseCommandLineFlagsE"),
    Marker("Paddle", r"_ZN6paddle5flags12FlagRegistry", inner=True),
)
_ANY = re.compile("|".join(f"({marker.symbol})" for marker in MARKERS))
LIBRARIES = tuple(dict.fromkeys(marker.origin for marker in MARKERS))

# The names that `bridge` has for those whose flags it takes.
BRIDGES = {"gflags": "gflags", "abseil": "abseil", "c10": "c10", "Paddle": "paddle"}

# The variables of flags, by the namespace that their library puts them into.
_SCOPES = {"3c10": "c10", "12paddle_flags": "Paddle"}
_VARIABLE = re.compile(
    r"(?:_Z(?P<scope>N(?:3fL[BIUDS]|5fL[IU]64|3c10|12paddle_flags))?(?P<size>\d{1,3}))?"
    r"FLAGS_(?P<name>\w{1,255})",
    re.ASCII,
)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class Variable(NamedTuple):
    """The variable of a flag of another library, by its symbol."""

    origin: str
    """The library, as of a Marker."""
    name: str
    indirect: bool
    """Holds the address of the value."""


def find_marker(symbol: str) -> Marker | None:
    """Return the marker that a symbol is."""
    match = _ANY.match(symbol)
    return MARKERS[match.lastindex - 1] if match and match.lastindex else None


def parse_variable(symbol: str) -> Variable | None:
    """Return the variable that a symbol is; None if it is of no flag."""
    match = _VARIABLE.fullmatch(symbol)
    if match is None:
        return None
    scope, name = (match["scope"] or "N")[1:], match["name"]
    if match["size"]:
        length = int(match["size"]) - len("FLAGS_")
        name, rest = name[: max(length, 0)], name[max(length, 0) :]
        end = "E" if scope else ""
        if rest not in (end, f"B5cxx11{end}"):
            return None
    # abseil's are outside of namespaces
    library = _SCOPES.get(scope, "gflags") if scope else "abseil"
    known = _IDENTIFIER.fullmatch(name)
    return Variable(library, name, scope == "3fLS") if known else None
