"""The report: what is in this process and in files, and what is wrong with it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from paddle_flags._doctor import process
from paddle_flags._doctor.bridges import collect_bridged_flags, report_bridges
from paddle_flags._doctor.environment import unknown_variables
from paddle_flags._doctor.libraries import (
    describe_duplicate_libraries,
    list_other_flag_libraries,
    read_loaded_binaries,
)
from paddle_flags._doctor.read import read_binary
from paddle_flags._doctor.registries import describe_duplicate_flags, find_duplicated_flags
from paddle_flags._doctor.schemas import (
    collect_schemas,
    describe_schema_conflicts,
    is_schema_flag_name,
)
from paddle_flags.errors import FlagError
from paddle_flags.extend import ErrorList, ffi, flag_names, lib

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paddle_flags._doctor.binary import Binary
    from paddle_flags._doctor.process import Report


def _add_join_kind(module: Report, copies: list[Report], binaries: list[Binary]) -> Report:
    """Add how the module has joined: what it has of the library inside."""
    path = os.path.realpath(module["path"])
    read = {os.path.realpath(each.path): each.links for each in binaries if not each.notes}
    if path in {os.path.realpath(copy["path"]) for copy in copies}:
        way = "static copy"
    else:
        way = {True: "shared library", False: "header", None: "unknown"}[read.get(path)]
    return {**module, "joins": way}


def _find_refused_files(modules: list[Report], binaries: list[Binary]) -> list[Binary]:
    """Return the files of the modules in this process whose definitions were refused."""
    paths = {os.path.realpath(m["path"]): m["path"] for m in modules if m["errors"]}
    found = [(paths.get(os.path.realpath(each.path)), each) for each in binaries]
    return [each._replace(path=path) for path, each in found if path]


def _read_files(paths: Sequence[str]) -> tuple[list[Binary], list[FlagError]]:
    binaries: list[Binary] = []
    unread: list[FlagError] = []
    for path in paths:
        try:
            binaries.append(read_binary(path))
        except FlagError as error:
            unread.append(error)
    return binaries, unread


def examine(
    files: Sequence[str],
    refused: Sequence[FlagError] = (),
    plugins: Sequence[str] = (),
    env_prefix: str | None = None,
) -> Report:
    """Report on this process and on files.

    `refused` is what loading has met before, and `plugins` the files that it was about. With a
    prefix of the environment, variables that name no flag are problems.
    """
    in_files, unread = _read_files(files)
    not_loaded, _ = _read_files(plugins)
    loaded = read_loaded_binaries()
    bridged = collect_bridged_flags()
    in_process = [each.binary for each in loaded]
    copies = list(process.copies())
    modules = list(process.modules())
    report: Report = {
        "modules": [_add_join_kind(module, copies, in_process) for module in modules],
        "copies": copies,
        "shared_flags": [
            each
            for each in process.iter_multi_cell_flags()
            if not is_schema_flag_name(each["name"])
        ],
        "schemas": collect_schemas(
            [*_find_refused_files(modules, in_process), *not_loaded, *in_files]
        ),
        "pending": list(process.pending()),
        "files": [binary.to_report() for binary in in_files],
        "other_libraries": list_other_flag_libraries([*in_process, *in_files]),
        "foreign_flags": report_bridges(loaded, bridged),
        "several_registries": find_duplicated_flags(loaded, in_files, bridged),
    }
    report["problems"] = [str(each) for error in [*refused, *unread] for each in error.errors]
    report["problems"] += _problems(report)
    names = flag_names() | {f.name for binary in [*not_loaded, *in_files] for f in binary.flags}
    if env_prefix and names:
        report["problems"] += [
            f"environment: {variable}: no flag has this name"
            + (f"; did you mean '{near}'?" if near else "")
            for variable, near in unknown_variables(env_prefix, names)
        ]
    report["notes"] = [note for binary in in_files for note in binary.notes]
    report["notes"] += _unread_note([each for each in in_process if each.notes])
    return report


def _unread_note(binaries: Sequence[Binary]) -> list[str]:
    """Return a note about the files of this process that weren't read, if there are any."""
    if not binaries:
        return []
    first = binaries[0].notes[0]
    if len(binaries) == 1:
        return [f"1 file of this process was not read: {first}"]
    return [f"{len(binaries)} files of this process were not read; the first is {first}"]


def _problems(report: Report) -> list[str]:
    found = [error for module in report["modules"] for error in module["errors"]]
    for flag in report["shared_flags"]:
        found += [
            f"{flag['name']}: the variable in {cell['module']} was overwritten:"
            " it doesn't hold the value of the flag"
            for cell in flag["cells"]
            if not cell["in_step"]
        ]
    found += process.host_problems(report["copies"])
    found += describe_schema_conflicts(report["schemas"])
    errors = ErrorList()
    if lib.pd_pending_check(errors.pointer, ffi.NULL) != lib.PD_OK:
        found += [str(error) for error in errors.exceptions()]
    found += describe_duplicate_libraries(report["other_libraries"])
    return [*found, *describe_duplicate_flags(report["several_registries"])]
