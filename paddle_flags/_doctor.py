"""What is in this process or in files: modules, copies, conflicts, other libraries."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from paddle_flags._binary import MARKERS, Binary, can_read, read_binary
from paddle_flags._entry import place_of
from paddle_flags._facts import one_line
from paddle_flags._native import ffi, lib
from paddle_flags._registry import all_flags
from paddle_flags._report import table
from paddle_flags._status import ErrorList, check, new_error, to_text
from paddle_flags.errors import FlagError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from paddle_flags._flag import Flag

# What two copies of a library in one process do, as measured with their
# versions in Debian 12.
DANGER = {
    "gflags": "ends the process, or has two sets of flags",
    "abseil": "has two sets of flags",
    "LLVM": "ends the process",
    "c10": "has two sets of flags",
    "Paddle": "ends the process, or has two sets of flags",
}

Report = dict[str, Any]


def _sized(name: str) -> Any:
    return ffi.new(f"{name} *", {"size": ffi.sizeof(name)})


def _each(get: Callable[[int, Any, Any], int], name: str) -> Iterator[Any]:
    """Give the structs that a function of C gives by index."""
    index = 0
    while True:
        info = _sized(name)
        err = new_error()
        status = get(index, info, err)
        if status == lib.PD_ERR_ARGUMENT:
            return
        check(status, err)
        yield info
        index += 1


def _modules() -> Iterator[Report]:
    handle = lib.pd_module_next(ffi.NULL)
    while handle:
        info = _sized("pd_module_info")
        err = new_error()
        check(lib.pd_module_get_info(handle, info, err), err)
        errors = ErrorList()
        check(lib.pd_module_get_errors(handle, errors.pointer, err), err)
        if info.present:
            yield {
                "path": to_text(info.path),
                "namespace": to_text(info.name_space),
                "flags": info.flags,
                "errors": [str(error) for error in errors.exceptions()],
            }
        handle = lib.pd_module_next(handle)


def _module_path(handle: Any) -> str:
    if not handle:
        return "run time"
    info = _sized("pd_module_info")
    err = new_error()
    check(lib.pd_module_get_info(handle, info, err), err)
    return to_text(info.path)


def _cells(flag: Flag[Any]) -> list[Report]:
    def get(index: int, info: Any, err: Any) -> int:
        return int(lib.pd_flag_get_cell(flag.handle, index, info, err))

    return [
        {
            "module": _module_path(info.module),
            "kind": "import" if info.kind == lib.PD_KIND_IMPORT else "definition",
            "in_step": bool(info.in_step),
        }
        for info in _each(get, "pd_cell_info")
    ]


def _shared_flags() -> Iterator[Report]:
    for flag in all_flags():
        cells = _cells(flag)
        if len(cells) > 1 or not all(cell["in_step"] for cell in cells):
            yield {"name": flag.name, "cells": cells}


# A generated module has a flag that is named after its set of flags and their hash.
_SCHEMA = re.compile(r"(?:.*\.)?(.+)_schema_([0-9a-f]{16})")


def _schemas() -> Iterator[Report]:
    for flag in all_flags():
        match = _SCHEMA.fullmatch(flag.name)
        if match and flag.hidden and flag.read_only and str(flag.default).startswith(match[2]):
            modules = [cell["module"] for cell in _cells(flag)]
            yield {"set": match[1], "hash": flag.default, "modules": modules}


_SCHEMA_IN = re.compile(rb"\0((?!pd_|FLAGS_)[A-Za-z_]\w*)_schema_([0-9a-f]{16})(?=\0)")


def _schemas_in(path: str) -> Iterator[Report]:
    """Give the schemas of a file, whose flags aren't in the process."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:  # told elsewhere
        return
    for name, start in sorted(set(_SCHEMA_IN.findall(data))):
        digest = re.search(b"\0(" + start + rb"[0-9a-f]{48})\0", data)
        if digest:
            yield {"set": name.decode(), "hash": digest[1].decode(), "modules": [path]}


def _all_schemas(modules: Sequence[Report], files: Sequence[str]) -> list[Report]:
    """Give those of the process, of files, and of modules that were refused."""
    found = list(_schemas())
    absent = [*(module["path"] for module in modules if module["errors"]), *files]
    for path in dict.fromkeys(absent):
        for schema in _schemas_in(path):
            same = [each for each in found if each["hash"] == schema["hash"]]
            if not same:
                found.append(schema)
            elif path not in same[0]["modules"]:
                same[0]["modules"].append(path)
    return found


def _schema_problems(schemas: Sequence[Report]) -> Iterator[str]:
    """Tell sets of flags that modules were built from in several versions."""
    first: dict[str, Report] = {}
    for schema in schemas:
        other = first.setdefault(schema["set"], schema)
        if other is not schema:
            these, those = (", ".join(each["modules"]) for each in (schema, other))
            yield (
                f"{schema['set']}: {these} has flags of another version than {those}"
                f" ({schema['hash'][:16]}, not {other['hash'][:16]}): build them from one file"
            )


def _copies() -> Iterator[Report]:
    for info in _each(lib.pd_copy_get_info, "pd_copy_info"):
        yield {
            "path": to_text(info.path),
            "version": to_text(info.version),
            "hosting": bool(info.hosting),
        }


def _pending() -> Iterator[Report]:
    for info in _each(lib.pd_pending_get, "pd_pending_info"):
        yield {
            "name": to_text(info.name),
            "source": to_text(lib.pd_source_name(info.origin.source)),
            "place": place_of(info.origin),
        }


def _loaded_files() -> list[str]:
    """The files that are mapped into this process as code."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        parts = (line.rstrip("\n").split(maxsplit=5) for line in maps)
        paths = {path for _, mode, _, _, _, *rest in parts for path in rest if "x" in mode}
    return sorted(path for path in paths if os.path.isfile(path))


def _other_libraries(binaries: Sequence[Binary]) -> list[Report]:
    return [
        {"library": library, "path": binary.path, "has": binary.others[library]}
        for library in MARKERS
        for binary in binaries
        if library in binary.others
    ]


def _process_binaries() -> list[Binary]:
    if not can_read():
        return []
    binaries = []
    for path in _loaded_files():
        try:
            binaries.append(read_binary(path))
        except FlagError:
            continue  # mapped as code, but no library
    return binaries


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
    in_process = _process_binaries()
    copies = list(_copies())
    modules = list(_modules())
    report: Report = {
        "modules": [_with_way(module, copies, in_process) for module in modules],
        "copies": copies,
        "shared_flags": [each for each in _shared_flags() if not _SCHEMA.fullmatch(each["name"])],
        "schemas": _all_schemas(modules, [*plugins, *files]),
        "pending": list(_pending()),
        "files": [binary._asdict() for binary in in_files],
        "other_libraries": _other_libraries([*in_process, *in_files]),
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
    found += _schema_problems(report["schemas"])
    errors = ErrorList()
    if lib.pd_pending_check(errors.pointer, ffi.NULL) != lib.PD_OK:
        found += [str(error) for error in errors.exceptions()]
    for library, danger in DANGER.items():
        places = {
            os.path.realpath(other["path"])
            for other in report["other_libraries"]
            if other["library"] == library and other["has"] == "copy"
        }
        if len(places) > 1:
            found.append(f"{library} is in {', '.join(sorted(places))}: it {danger}")
    return found


# ---- as text ----


def _section(title: str, head: Sequence[str], rows: list[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    shown = [[one_line(cell) for cell in row] for row in rows]
    return [f"{title}:", *(f"  {line}" for line in table(head, shown).splitlines()), ""]


def _file_row(file: Report) -> tuple[str, ...]:
    ways = {"joins": "module record", "copy": "registry copy", "links": "links the library"}
    how = ", ".join(text for key, text in ways.items() if file[key])
    number = "" if file["definitions"] is None else str(file["definitions"])
    return (file["path"], file["format"], how or "doesn't", number)


def to_lines(report: Report) -> list[str]:
    """Give the report as text for people."""
    lines = _section(
        "modules",
        ("path", "joins by", "namespace", "flags"),
        [(m["path"], m["joins"], m["namespace"], str(m["flags"])) for m in report["modules"]],
    )
    lines += _section(
        "copies of the registry",
        ("path", "version", "role"),
        [
            (c["path"], c["version"], "host" if c["hosting"] else "forwards")
            for c in report["copies"]
        ],
    )
    lines += _section(
        "flags with several variables",
        ("flag", "module", "by", "in step"),
        [
            (flag["name"], cell["module"], cell["kind"], "yes" if cell["in_step"] else "no")
            for flag in report["shared_flags"]
            for cell in flag["cells"]
        ],
    )
    lines += _section(
        "sets of generated flags",
        ("set", "hash", "modules"),
        [(s["set"], s["hash"][:16], ", ".join(s["modules"])) for s in report["schemas"]],
    )
    lines += _section(
        "values that nobody has claimed",
        ("name", "source", "place"),
        [(p["name"], p["source"], p["place"] or "") for p in report["pending"]],
    )
    lines += _section(
        "files", ("path", "format", "joins", "flags"), [_file_row(f) for f in report["files"]]
    )
    lines += _section(
        "other flag libraries",
        ("library", "path", "has"),
        [(o["library"], o["path"], o["has"]) for o in report["other_libraries"]],
    )
    problems = [f"  {one_line(problem)}" for problem in report["problems"]]
    return lines + (["problems:", *problems] if problems else ["no problems"])
