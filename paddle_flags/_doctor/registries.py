"""Flags that the registry and another flag library have by the same name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from paddle_flags import FLAGS
from paddle_flags._doctor.markers import LIBRARIES
from paddle_flags._doctor.process import list_flag_cells
from paddle_flags._doctor.variables import iter_loaded_variables

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paddle_flags._doctor.binary import Binary
    from paddle_flags._doctor.bridges import Bridged
    from paddle_flags._doctor.libraries import Loaded
    from paddle_flags._doctor.process import Report

OURS = "paddle_flags"
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six")


def find_duplicated_flags(
    loaded: Sequence[Loaded], files: Sequence[Binary], bridged: Bridged
) -> list[Report]:
    """Return the flags of ours that another library has too, in this process or in files."""
    here = {os.path.realpath(each.binary.path) for each in loaded}
    elsewhere = [binary for binary in files if os.path.realpath(binary.path) not in here]
    own = _places_of_our_flags(elsewhere)
    found: dict[str, dict[str, list[str]]] = {}
    for name, library, path in [
        *_duplicates_in_process(own, loaded, bridged),
        *_duplicates_in_files(own, elsewhere),
    ]:
        found.setdefault(name, {OURS: own[name]}).setdefault(library, []).append(path)
    return [{"name": name, "registries": found[name]} for name in sorted(found)]


def describe_duplicate_flags(flags: Sequence[Report]) -> Iterator[str]:
    """Report the flags that several registries have."""
    for flag in flags:
        registries: dict[str, list[str]] = flag["registries"]
        order = [each for each in (OURS, *LIBRARIES) if each in registries]
        shown = [f"{each} ({', '.join(dict.fromkeys(registries[each]))})" for each in order]
        listed = " and ".join([", ".join(shown[:-1]), shown[-1]])
        yield f"flag '{flag['name']}' is in {_NUMBERS[len(order)]} registries: {listed}"


def _places_of_our_flags(files: Sequence[Binary]) -> dict[str, list[str]]:
    own: dict[str, list[str]] = {}
    for flag in FLAGS.values():
        if flag.defined:
            cells = list_flag_cells(flag)
            places = [cell["module"] for cell in cells if cell["kind"] == "definition"]
            own[flag.name] = places or ["run time"]
    for binary in files:
        for each in binary.flags:
            own.setdefault(each.name, []).append(binary.path)
    return own


def _duplicates_in_process(
    own: dict[str, list[str]], loaded: Sequence[Loaded], bridged: Bridged
) -> Iterator[tuple[str, str, str]]:
    """Return the flags of other libraries in this process, unless the variable is ours too.

    It is when a bridge has registered it, perhaps in a namespace, or our own header defined it.
    """
    for each in iter_loaded_variables(loaded):
        if each.variable.name in own and not bridged.find_flag_name(each):
            yield each.variable.name, each.variable.origin, each.binary.path


def _duplicates_in_files(
    own: dict[str, list[str]], files: Sequence[Binary]
) -> Iterator[tuple[str, str, str]]:
    """Return the flags of other libraries in files, unless the variable is ours too."""
    for binary in files:
        cells = {flag.name: flag.cell for flag in binary.flags}
        for variable, value in binary.variables.items():
            same = variable.indirect or cells.get(variable.name) == value
            if variable.name in own and not (variable.name in cells and same):
                yield variable.name, variable.origin, binary.path
