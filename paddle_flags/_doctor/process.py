"""What the registry of this process knows: modules, copies, cells, pending values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle_flags import FLAGS
from paddle_flags.extend import (
    ErrorList,
    check_status,
    describe_origin,
    ffi,
    lib,
    new_error,
    to_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from paddle_flags import Flag

Report = dict[str, Any]


def _new_sized(name: str) -> Any:
    return ffi.new(f"{name} *", {"size": ffi.sizeof(name)})


def _iterate_infos(get: Callable[[int, Any, Any], int], name: str) -> Iterator[Any]:
    """Return the structs that a function of C gives by index."""
    index = 0
    while True:
        info = _new_sized(name)
        err = new_error()
        status = get(index, info, err)
        if status == lib.PD_ERR_ARGUMENT:
            return
        check_status(status, err)
        yield info
        index += 1


def modules() -> Iterator[Report]:
    """Return the modules that are in the process."""
    handle = lib.pd_module_next(ffi.NULL)
    while handle:
        info = _new_sized("pd_module_info")
        err = new_error()
        check_status(lib.pd_module_get_info(handle, info, err), err)
        errors = ErrorList()
        check_status(lib.pd_module_get_errors(handle, errors.pointer, err), err)
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
    info = _new_sized("pd_module_info")
    err = new_error()
    check_status(lib.pd_module_get_info(handle, info, err), err)
    return to_text(info.path)


def list_flag_cells(flag: Flag[Any]) -> list[Report]:
    """Return the variables of a flag, one of each module that has some."""

    def get_cell_info(index: int, info: Any, err: Any) -> int:
        return int(lib.pd_flag_get_cell(flag.handle, index, info, err))

    return [
        {
            "module": _module_path(info.module),
            "kind": "import" if info.kind == lib.PD_KIND_IMPORT else "definition",
            "in_step": bool(info.in_step),
        }
        for info in _iterate_infos(get_cell_info, "pd_cell_info")
    ]


def cell_addresses(flag: Flag[Any]) -> set[int]:
    """Return the addresses of a flag's variables."""

    def get_cell_info(index: int, info: Any, err: Any) -> int:
        return int(lib.pd_flag_get_cell(flag.handle, index, info, err))

    return {
        int(ffi.cast("uintptr_t", info.address))
        for info in _iterate_infos(get_cell_info, "pd_cell_info")
    }


def iter_multi_cell_flags() -> Iterator[Report]:
    """Return the flags with several variables, or with one that has another value."""
    for flag in FLAGS.values():
        cells = list_flag_cells(flag)
        if len(cells) > 1 or not all(cell["in_step"] for cell in cells):
            yield {"name": flag.name, "cells": cells}


def copies() -> Iterator[Report]:
    """Return the copies of the library."""
    for info in _iterate_infos(lib.pd_copy_get_info, "pd_copy_info"):
        yield {
            "path": to_text(info.path),
            "version": to_text(info.version),
            "hosting": bool(info.hosting),
        }


def host_problems(copies: Sequence[Report]) -> Iterator[str]:
    """Report what the registry lacks since an older copy of the library hosts it."""
    err = new_error()
    # These calls do nothing: what they name isn't there.
    missing = {
        "scoped values: all threads have the values of the process": lib.pd_scope_pop(0, err),
        "operations: each module calls its own implementations": lib.pd_impl_unregister(0, err),
    }
    for host in (copy for copy in copies if copy["hosting"]):
        for what, status in missing.items():
            if status == lib.PD_ERR_UNSUPPORTED:
                yield (
                    f"the registry is hosted by version {host['version']} in {host['path']}, which"
                    f" lacks {what}; load the newest copy of the library first"
                )


def pending() -> Iterator[Report]:
    """Return the values for flags that are not defined yet."""
    for info in _iterate_infos(lib.pd_pending_get, "pd_pending_info"):
        yield {
            "name": to_text(info.name),
            "source": to_text(lib.pd_source_name(info.origin.source)),
            "place": describe_origin(info.origin),
        }
