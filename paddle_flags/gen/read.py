"""The first stage: three YAML files, each read by its table of keys."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paddle_flags.gen.problems import GenerateError, Problems, importing_for_gen
from paddle_flags.gen.tree import read_tree

if TYPE_CHECKING:
    from types import ModuleType

    from paddle_flags.gen.fields import Compat, Flags, Versions


@dataclass
class Source:
    """The contents of the files; None for a file that doesn't exist."""

    flags: Flags
    compat: Compat | None = None
    version: Versions | None = None


def import_fields_module() -> ModuleType:
    """Return the module `fields`, which takes its time to import."""
    with importing_for_gen("validation", "pydantic"):
        from paddle_flags.gen import fields
    return fields


def find_companions(path: str) -> dict[str, str]:
    """Return the paths of the files that belong together: flags.yaml, flags_compat.yaml, ..."""
    stem, extension = os.path.splitext(path)
    found = {"flags": path}
    for name in ("flags_compat", "flags_version"):
        other = stem + name[len("flags") :] + extension
        if os.path.exists(other):
            found[name] = other
    return found


def read_flag_files(paths: dict[str, str]) -> Source:
    """Read the files; raises GenerateError with every error in their structure."""
    problems = Problems()
    found = {name: _read(name, path, problems) for name, path in paths.items()}
    problems.raise_if_any()
    flags = found["flags"]
    assert flags is not None  # else there were problems
    return Source(flags, found.get("flags_compat"), found.get("flags_version"))


def _read(name: str, path: str, problems: Problems) -> Any:
    try:
        return import_fields_module().read_file_record(name, read_tree(path), problems)
    except GenerateError as error:
        problems.add_errors_of(error)
    return None
