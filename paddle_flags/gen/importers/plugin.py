"""Flags of a plugin, which is loaded; the registry lists them."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from paddle_flags import load_plugin
from paddle_flags._doctor.libraries import read_loaded_binaries
from paddle_flags.extend import ffi, lib, to_text
from paddle_flags.gen.importers import UNKNOWN_VERSION, Found
from paddle_flags.gen.importers.foreign import report_foreign
from paddle_flags.gen.importers.texts import convert_live_flag, split_advice
from paddle_flags.gen.model import (
    MEMBERS,
    Alias,
    Deprecated,
    FlagSet,
    Import,
    Place,
    Renamed,
    Retired,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paddle_flags import Flag as Live
    from paddle_flags._doctor.libraries import Loaded

_SCHEMA = re.compile(r"(\w+)_schema_[0-9a-f]{16}")  # the generator's own flag
_RETIRED = re.compile(r"Retired in ([0-9]+\.[0-9]+\.[0-9]+): ")


def import_plugin(path: str, name: str | None, version: str) -> Found:
    """Load a plugin and return its flags; raises FlagError if it can't be loaded."""
    before = read_loaded_binaries()
    plugin = load_plugin(path)
    lives = list(plugin.flags.values())
    generated = [match[1] for match in map(_match_schema_flag, lives) if match]
    stem = re.sub(r"\W", "_", os.path.basename(plugin.path).partition(".")[0])
    chosen = name or next(iter(generated), stem.removeprefix("lib"))
    found = Found(FlagSet(chosen, version, at={"": Place(plugin.path, 1, 1)}))
    for live in lives:
        if not _match_schema_flag(live):
            _import_flag(live, found)
    loaded = read_loaded_binaries()
    own = [each for each in loaded if os.path.realpath(each.binary.path) == plugin.path]
    for each in own:
        found.notes += [f"{note}; imports are left out" for note in each.binary.notes]
        for definition in _iter_definitions(each):
            _import_definition(definition, found)
    report_foreign(plugin.path, {each.binary.path for each in before}, loaded, found)
    return found


def _iter_definitions(loaded: Loaded) -> Iterator[Any]:
    """Return the `pd_flag_def *` of a loaded file: the registry lists no undefined imports."""
    binary = loaded.binary
    address = loaded.start - binary.origin + binary.list_address
    listed = ffi.cast("pd_flag_def **", address)
    for index in range(binary.definitions or 0):
        if listed[index]:
            yield listed[index]


def _import_definition(definition: Any, found: Found) -> None:
    """Import what the registry doesn't list: imports, and functions of the plugin."""
    name = to_text(definition.name)
    place = Place(to_text(definition.file) or str(found.flags.at[""].file), definition.line or 1, 1)
    if definition.kind == lib.PD_KIND_IMPORT:
        kind = to_text(lib.pd_type_name(definition.type))
        default: Any = getattr(definition.default_value, MEMBERS[kind])
        if kind == "string":
            default = to_text(default)
        found.flags.imports.append(Import(name, kind, default, at={"": place}))
        return
    if definition.size <= ffi.offsetof(
        "pd_flag_def", "watch"
    ):  # the registry doesn't expose functions
        return
    if definition.validate:
        found.report_loss(place, name, "a validator", "a range or choices")
    if definition.watch:
        found.report_loss(
            place, name, "a watcher", "implied values, which can't be read from a plugin"
        )


def _match_schema_flag(live: Live[Any]) -> re.Match[str] | None:
    own = live.hidden and live.read_only and live.type == "string"
    return _SCHEMA.fullmatch(live.name) if own else None


def _place_of(live: Live[Any]) -> Place:
    return Place(live.file or live.module, live.line or 1, 1)


def _import_flag(live: Live[Any], found: Found) -> None:
    place, flags = _place_of(live), found.flags
    if live.retired is not None:
        flags.retired.append(_make_retired(live, place, found))
        return
    flags.flags.append(convert_live_flag(live, live.name, place, found))
    for each in live.aliases:
        flags.aliases.append(Alias(each, live.name, at={"": _place_of(live)}))
    for each in live.old_names:
        version = _fill_unknown_version(found, place, f"{live.name}: old name '{each}'")
        flags.renamed.append(Renamed(each, live.name, version, at={"": _place_of(live)}))
    if live.deprecated is not None:
        version = _fill_unknown_version(found, place, f"{live.name}: deprecated")
        reason, instead = split_advice(live.deprecated)
        at = {"": _place_of(live)}
        flags.deprecated.append(Deprecated(live.name, version, instead, reason, at=at))


def _fill_unknown_version(found: Found, place: Place, what: str) -> str:
    """Return the version to write for one that a plugin doesn't record."""
    found.flags.version = found.flags.version or UNKNOWN_VERSION
    version = found.flags.version
    found.report_loss(
        place, what, "no version", f"the version of this change; {version} is written"
    )
    return version


def _make_retired(live: Live[Any], place: Place, found: Found) -> Retired:
    reason, instead = split_advice(live.retired or "")
    told = _RETIRED.match(live.help)
    version = told[1] if told else _fill_unknown_version(found, place, f"{live.name}: retired")
    return Retired(live.name, live.type, version, instead, reason, at={"": place})
