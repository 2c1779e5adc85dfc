"""Sets of generated flags, in the process and in files, and whether their versions agree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from paddle_flags import FLAGS
from paddle_flags._doctor.process import list_flag_cells
from paddle_flags.extend import for_each

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paddle_flags import Flag
    from paddle_flags._doctor.binary import Binary
    from paddle_flags._doctor.process import Report


# A generated module has a flag that is named after its set of flags and their hash.
_SCHEMA = re.compile(r"(?:.*\.)?(.+)_schema_([0-9a-f]{16})")


def is_schema_flag_name(name: str) -> bool:
    """Return whether a flag is named as those that hold a hash are."""
    return _SCHEMA.fullmatch(name) is not None


def _schemas_in_process() -> Iterator[Report]:
    return filter(None, for_each(FLAGS.values(), _schema_of))


def _schema_of(flag: Flag[Any]) -> Report | None:
    """Return the schema that a flag holds, if it holds one."""
    match = _SCHEMA.fullmatch(flag.name)
    if not (match and flag.hidden and flag.read_only and str(flag.default).startswith(match[2])):
        return None
    modules = [cell["module"] for cell in list_flag_cells(flag)]
    return {"set": match[1], "hash": flag.default, "modules": modules}


def _schemas_in(binary: Binary) -> Iterator[Report]:
    """Return the schemas of a file, whose flags aren't in the process."""
    for flag in binary.flags:
        match = _SCHEMA.fullmatch(flag.name)
        if match and re.fullmatch(match[2] + "[0-9a-f]{48}", flag.text or ""):
            yield {"set": match[1], "hash": flag.text, "modules": [binary.path]}


def collect_schemas(binaries: Sequence[Binary]) -> list[Report]:
    """Return those of the process, and of files that aren't in it or were refused."""
    found = list(_schemas_in_process())
    for binary in binaries:
        for schema in _schemas_in(binary):
            same = [each for each in found if each["hash"] == schema["hash"]]
            if not same:
                found.append(schema)
            elif binary.path not in same[0]["modules"]:
                same[0]["modules"].append(binary.path)
    return found


def describe_schema_conflicts(schemas: Sequence[Report]) -> Iterator[str]:
    """Report the sets of flags that modules were built from in several versions."""
    first: dict[str, Report] = {}
    for schema in schemas:
        other = first.setdefault(schema["set"], schema)
        if other is not schema:
            these, those = (", ".join(each["modules"]) for each in (schema, other))
            yield (
                f"{schema['set']}: {these} has flags of another version than {those}"
                f" ({schema['hash'][:16]}, not {other['hash'][:16]}): build them from one file"
            )
