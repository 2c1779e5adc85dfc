"""Which flags of other libraries in this process are flags here, and which are not."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from paddle_flags._core.bridged import Library, libraries
from paddle_flags._core.registry import all_flags
from paddle_flags._doctor.markers import BRIDGES
from paddle_flags._doctor.process import cell_addresses
from paddle_flags._doctor.variables import variables_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paddle_flags._doctor.binary import Binary
    from paddle_flags._doctor.libraries import Loaded
    from paddle_flags._doctor.process import Report
    from paddle_flags._doctor.variables import Placed

# gflags' own flags, which command lines here handle themselves: bridge_gflags.hpp skips them.
GFLAGS_OWN = frozenset(
    "flagfile fromenv tryfromenv undefok version"
    " help helpfull helpshort helpon helpmatch helppackage helpxml".split()
)
HEADERS = {"gflags": "pd_flags/bridge_gflags.hpp"}
"""Those that find a copy of a library which is not exported, if its sources include them."""


class Bridged(NamedTuple):
    """The flags of this process whose variables are those of other libraries."""

    cells: dict[int, str]
    """The names of flags by the addresses of their variables."""
    abseil: dict[str, set[str]]
    """The names of flags by the files that they are from: abseil's have no such variable."""

    def name_of(self, placed: Placed) -> str:
        """Return the name here of the flag that a variable belongs to, or ""."""
        if placed.variable.origin != "abseil":
            return self.cells.get(placed.address, "")
        own = {flag.name for flag in placed.binary.flags}
        for name in self.abseil.get(os.path.realpath(placed.binary.path), ()):
            if is_named(name, placed.variable.name) and name not in own:
                return name
        return ""


def bridged_flags() -> Bridged:
    """Return what tells whether a variable of another library is that of a flag here."""
    cells: dict[int, str] = {}
    files: dict[str, set[str]] = {}
    for flag in all_flags():
        if flag.defined:
            cells.update(dict.fromkeys(cell_addresses(flag), flag.name))
            files.setdefault(os.path.realpath(flag.module), set()).add(flag.name)
    return Bridged(cells, files)


def is_named(name: str, theirs: str) -> bool:
    """Return whether a name is that of another library's flag, perhaps in a namespace."""
    return name == theirs or name.endswith(f".{theirs}")


def foreign_flags(loaded: Sequence[Loaded], bridged: Bridged) -> list[Report]:
    """Report on the flags of each library that `bridge` can take, in this process."""
    placed: dict[str, list[Placed]] = {}
    for each in variables_in(loaded):
        placed.setdefault(each.variable.origin, []).append(each)
    reports = [_report(origin, placed.get(origin, []), bridged) for origin in BRIDGES]
    return [each for each in [*reports, _absl_py()] if each["bridged"] or each["flags"]]


def _report(origin: str, placed: Sequence[Placed], bridged: Bridged) -> Report:
    known = libraries.get(BRIDGES[origin], Library(""))
    joined = set(known.names)
    left = set()
    for each in placed:
        name = bridged.name_of(each)
        joined.update([name] if name else [])
        if not name and not (origin == "gflags" and each.variable.name in GFLAGS_OWN):
            left.add(each.variable.name)
    left = {each for each in left if not any(is_named(name, each) for name in known.left_out)}
    return _as_report(origin, BRIDGES[origin], known, joined, left)


def _as_report(
    title: str, argument: str, known: Library, joined: set[str], left: set[str]
) -> Report:
    asked = bool(known.names or known.left_out)
    total = len(joined) + len(known.left_out) + (0 if asked else len(left))
    return {
        "library": title,
        "bridge": f'pf.bridge("{argument}")',
        "flags": total,
        "bridged": sorted(joined),
        "left_out": known.left_out,
        "not_bridged": [] if asked else sorted(left),
        "unlisted": sorted(left) if asked else [],
    }


def _absl_py() -> Report:
    """Report on absl's flags of Python; the package need not be there."""
    known = libraries.get("absl-py", Library(""))
    values = getattr(sys.modules.get("absl.flags"), "FLAGS", ())
    left = set() if known.names else {values[name].name for name in values}
    return _as_report("absl-py", "absl-py", known, known.names, left)


def bridge_of(binary: Binary, library: str) -> str:
    """Return the call or header that makes flags of a library in a file flags here, or ""."""
    if binary.format != "ELF" or library not in BRIDGES:
        return ""
    if binary.others[library] == "copy" and library not in binary.entries:
        return HEADERS.get(library, "")
    return f'pf.bridge("{BRIDGES[library]}")'


def bridge_lines(reports: Sequence[Report]) -> Iterator[str]:
    """Return a line of text for each library."""
    for each in reports:
        number = len(each["bridged"])
        flags = f"{each['flags']} flag{'s' if each['flags'] != 1 else ''}"
        if not number and each["not_bridged"]:
            yield f"{each['library']}: {flags}, not bridged: {each['bridge']} makes them flags here"
            continue
        line = f"{each['library']}: {number} of {flags} bridged"
        if number == each["flags"]:
            line = f"{each['library']}: {flags}, all bridged"
        if each["left_out"]:
            reasons = (f"{name} ({why})" for name, why in sorted(each["left_out"].items()))
            line += f"; left out: {', '.join(reasons)}"
        if each["not_bridged"]:
            line += f"; {each['bridge']} takes the others"
        if each["unlisted"]:
            line += f"; {len(each['unlisted'])} more are variables that it does not list"
        yield line
