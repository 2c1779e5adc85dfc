"""Flags of other libraries that come with a plugin: they are not the plugin's own."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from paddle_flags._doctor.bridges import bridge_instruction, collect_bridged_flags, is_built_in
from paddle_flags._doctor.variables import iter_loaded_variables
from paddle_flags.gen.model import Place

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from paddle_flags._doctor.binary import Binary
    from paddle_flags._doctor.libraries import Loaded
    from paddle_flags.gen.importers import Found


def report_foreign(
    path: str, before: Collection[str], loaded: Sequence[Loaded], found: Found
) -> None:
    """Report the flags of other libraries in a plugin, and bridged ones that came with it.

    Bridged flags are flags here without flags.yaml, so these are notes; others are losses.
    `before` has the files that were in the process before the plugin was loaded, `loaded` those
    that are in it now.
    """
    bridged = collect_bridged_flags()
    own = os.path.realpath(path)
    taken: dict[tuple[str, str], set[str]] = {}
    others: dict[str, set[str]] = {}
    binaries: dict[str, Binary] = {}
    for each in iter_loaded_variables(loaded):
        library, file = each.variable.origin, each.binary.path
        name = bridged.find_flag_name(each)
        if name in {flag.name for flag in each.binary.flags}:
            continue  # of our header, which names its variables as that library does
        if name and (file not in before or os.path.realpath(file) == own):
            taken.setdefault((library, file), set()).add(name)
        elif not name and os.path.realpath(file) == own:
            binaries[library] = each.binary
            if not is_built_in(each.variable):
                others.setdefault(library, set()).add(each.variable.name)
    for (library, file), names in sorted(taken.items()):
        found.notes.append(
            f"{file}: {_flags_text(names, library)}: the registry has them by a bridge;"
            " they are left out"
        )
    for library, names in sorted(others.items()):
        expected = (
            f"flags of paddle_flags{_remedy_text(bridge_instruction(binaries[library], library))}"
        )
        found.report_loss(
            Place(path, 1, 1), "", _flags_text(names, library), f"{expected}; they are left out"
        )


def _flags_text(names: Collection[str], library: str) -> str:
    plural = "s" if len(names) != 1 else ""
    return f"{len(names)} flag{plural} of {library} ({', '.join(sorted(names))})"


def _remedy_text(bridge: str) -> str:
    """Say what makes the flags flags here: a call, or a header in their sources."""
    place = "" if bridge.startswith("pf.") else " in its sources"
    return f": {bridge}{place} makes them flags here" if bridge else ""
