"""The report: what is in this process and in files, and what is wrong with it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from paddle_flags._core.status import ErrorList
from paddle_flags._doctor import process
from paddle_flags._doctor.binary import Binary, read_binary
from paddle_flags._doctor.libraries import library_problems, other_libraries, process_binaries
from paddle_flags._doctor.schemas import all_schemas, is_schema, schema_problems
from paddle_flags._native import ffi, lib
from paddle_flags.errors import FlagError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paddle_flags._doctor.process import Report


def _with_way(module: Report, copies: list[Report], binaries: list[Binary]) -> Report:
    """Add how the module has joined: what it has of the library inside."""
    path = os.path.realpath(module["path"])
    linked = {os.path.realpath(binary.path) for binary in binaries if binary.links}
    if path in {os.path.realpath(copy["path"]) for copy in copies}:
        way = "static copy"
    else:
        way = "shared library" if path in linked else "header"
    return {**module, "joins": way}


def examine(
    files: Sequence[str], refused: Sequence[FlagError] = (), plugins: Sequence[str] = ()
) -> Report:
    """Report on this process and on files.

    `refused` is what loading has met before, and `plugins` the files that it was about.
    """
    in_files: list[Binary] = []
    unread: list[FlagError] = []
    for path in files:
        try:
            in_files.append(read_binary(path))
        except FlagError as error:
            unread.append(error)
    in_process = process_binaries()
    copies = list(process.copies())
    modules = list(process.modules())
    report: Report = {
        "modules": [_with_way(module, copies, in_process) for module in modules],
        "copies": copies,
        "shared_flags": [each for each in process.shared_flags() if not is_schema(each["name"])],
        "schemas": all_schemas(modules, [*plugins, *files]),
        "pending": list(process.pending()),
        "files": [binary._asdict() for binary in in_files],
        "other_libraries": other_libraries([*in_process, *in_files]),
    }
    report["problems"] = [str(each) for error in [*refused, *unread] for each in error.errors]
    report["problems"] += _problems(report)
    return report


def _problems(report: Report) -> list[str]:
    found = [error for module in report["modules"] for error in module["errors"]]
    for flag in report["shared_flags"]:
        found += [
            f"{flag['name']}: the variable in {cell['module']} has another value"
            for cell in flag["cells"]
            if not cell["in_step"]
        ]
    found += schema_problems(report["schemas"])
    errors = ErrorList()
    if lib.pd_pending_check(errors.pointer, ffi.NULL) != lib.PD_OK:
        found += [str(error) for error in errors.exceptions()]
    return [*found, *library_problems(report["other_libraries"])]
