"""Which flags of other libraries in this process are flags here, and which are not."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags import FLAGS
from paddle_flags._doctor.markers import BRIDGES
from paddle_flags._doctor.process import cell_addresses
from paddle_flags._doctor.variables import iter_loaded_variables
from paddle_flags.extend import JoinedLibrary, for_each, joined_libraries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paddle_flags import Flag
    from paddle_flags._doctor.binary import Binary
    from paddle_flags._doctor.libraries import Loaded
    from paddle_flags._doctor.markers import Variable
    from paddle_flags._doctor.process import Report
    from paddle_flags._doctor.variables import LoadedVariable

# Flags that gflags and abseil bring along. Command lines here handle them themselves, and the
# bridges skip them: gflags_word_map.h.
BUILT_IN = frozenset(
    (
        "flagfile",
        "fromenv",
        "tryfromenv",
        "undefok",
        "version",
        "help",
        "helpfull",
        "helpshort",
        "helpon",
        "helpmatch",
        "helppackage",
        "helpxml",
        "tab_completion_word",
        "tab_completion_columns",
    )
)
HEADERS = {"gflags": "pd_flags/bridge_gflags.hpp"}
"""Those that find a copy of a library which is not exported, if its sources include them."""


class Bridged(NamedTuple):
    """The flags of this process whose variables are those of other libraries."""

    cells: dict[int, str]
    """The names of flags by the addresses of their variables."""
    abseil: dict[str, set[str]]
    """The names of flags by the files that they are from: abseil's have no such variable."""

    def find_flag_name(self, placed: LoadedVariable) -> str:
        """Return the name here of the flag that a variable belongs to, or ""."""
        if placed.variable.origin != "abseil":
            return self.cells.get(placed.address, "")
        own = {flag.name for flag in placed.binary.flags}
        for name in self.abseil.get(os.path.realpath(placed.binary.path), ()):
            if has_unqualified_name(name, placed.variable.name) and name not in own:
                return name
        return ""


def collect_bridged_flags() -> Bridged:
    """Return what tells whether a variable of another library is that of a flag here."""
    cells: dict[int, str] = {}
    files: dict[str, set[str]] = {}

    def add_flag_cells(flag: Flag[Any]) -> None:
        files.setdefault(os.path.realpath(flag.module), set()).add(flag.name)
        cells.update(dict.fromkeys(cell_addresses(flag), flag.name))

    for_each(FLAGS.values(), add_flag_cells)
    return Bridged(cells, files)


def has_unqualified_name(name: str, theirs: str) -> bool:
    """Return whether a name is that of another library's flag, perhaps in a namespace."""
    return name == theirs or name.endswith(f".{theirs}")


def report_bridges(loaded: Sequence[Loaded], bridged: Bridged) -> list[Report]:
    """Report on the flags of each library that `bridge` can take, in this process."""
    placed: dict[str, list[LoadedVariable]] = {}
    for each in iter_loaded_variables(loaded):
        placed.setdefault(each.variable.origin, []).append(each)
    reports = [_report_library(origin, placed.get(origin, []), bridged) for origin in BRIDGES]
    parts = ("bridged", "left_out", "not_bridged", "unlisted", "hidden")
    return [each for each in [*reports, _report_absl_py()] if any(each[part] for part in parts)]


def _report_library(origin: str, placed: Sequence[LoadedVariable], bridged: Bridged) -> Report:
    known = joined_libraries.get(BRIDGES[origin], JoinedLibrary(""))
    joined = set(known.names)
    left: set[str] = set()
    hidden: dict[str, list[str]] = {}
    for each in placed:
        name, theirs = bridged.find_flag_name(each), each.variable.name
        if name:
            joined.add(name)
        elif is_built_in(each.variable) or any(
            has_unqualified_name(out, theirs) for out in known.left_out
        ):
            continue
        elif not bridge_instruction(each.binary, origin).startswith("pf."):
            hidden.setdefault(each.binary.path, []).append(theirs)
        else:
            left.add(theirs)
    return {**_make_report(origin, BRIDGES[origin], known, joined, left), "hidden": hidden}


def is_built_in(variable: Variable) -> bool:
    """Return whether the library of a flag brings it along, and bridges skip it."""
    return variable.origin in ("gflags", "abseil") and variable.name in BUILT_IN


def _make_report(
    title: str, argument: str, known: JoinedLibrary, joined: set[str], left: set[str]
) -> Report:
    asked = bool(known.names or known.left_out)
    return {
        "library": title,
        "bridge": f'pf.bridge("{argument}")',
        "namespace": f'pf.bridge("{argument}", namespace="{argument}")' * (title in BRIDGES),
        "bridged": sorted(joined),
        "left_out": {name: why for name, why in known.left_out.items() if name not in joined},
        "not_bridged": [] if asked else sorted(left),
        "unlisted": sorted(left) if asked else [],
        "hidden": {},
    }


def _report_absl_py() -> Report:
    """Report on absl's flags of Python; the package need not be there."""
    known = joined_libraries.get("absl-py")
    left: set[str] = set()
    if known is None:
        values: Any = getattr(sys.modules.get("absl.flags"), "FLAGS", {})
        left = {values[name].name for name in values}
        known = JoinedLibrary("")
    return _make_report("absl-py", "absl-py", known, known.names, left)


def bridge_instruction(binary: Binary, library: str) -> str:
    """Return the call or header that makes flags of a library in a file flags here, or ""."""
    if binary.format != "ELF" or library not in BRIDGES:
        return ""
    if binary.others[library] == "copy" and library not in binary.entries:
        return HEADERS.get(library, "")
    return f'pf.bridge("{BRIDGES[library]}")'


def bridge_lines(reports: Sequence[Report]) -> Iterator[str]:
    """Return lines of text for each library."""
    for each in reports:
        joined, left_out, others = each["bridged"], each["left_out"], each["not_bridged"]
        if joined or left_out or others:
            yield f"{each['library']}: {'; '.join(_line_parts(each))}"
        for path, names in each["hidden"].items():
            header = HEADERS.get(each["library"], "")
            cure = f": its sources can include {header}" if header else ""
            yield (
                f"{each['library']}: {_flag_count_text(len(names))} in {path}, not bridged, since"
                f" the file does not export its copy of the library{cure}"
            )


def _line_parts(report: Report) -> Iterator[str]:
    joined, left_out, others = report["bridged"], report["left_out"], report["not_bridged"]
    total = _flag_count_text(len(joined) + len(left_out) + len(others))
    if not joined and not left_out:
        them = "it a flag" if len(others) == 1 else "them flags"
        yield f"{total}, not bridged: {report['bridge']} makes {them} here"
        return
    yield f"{len(joined)} of {total} bridged" if left_out or others else f"{total}, all bridged"
    if left_out:
        reasons = (f"{name} ({why})" for name, why in sorted(left_out.items()))
        yield f"left out: {', '.join(reasons)}"
    if any("already defined" in why for why in left_out.values()) and report["namespace"]:
        yield f"{report['namespace']} takes them with other names"
    if others:
        yield f"{report['bridge']} takes the others"
    if report["unlisted"]:
        yield f"{len(report['unlisted'])} more are variables that its registry does not list"


def _flag_count_text(number: int) -> str:
    return f"{number} flag{'s' if number != 1 else ''}"
