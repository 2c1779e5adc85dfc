"""Flags from YAML: one definition, and C, C++, Python and documents made of it.

`load` gives the normal form of a file of flags and of those beside it, checked;
docs/gen.md tells of the files, docs/decisions/0035-generator.md of the stages.
"""

from __future__ import annotations

from paddle_flags.gen.check import check
from paddle_flags.gen.model import FlagSet
from paddle_flags.gen.normal import normalise
from paddle_flags.gen.problems import GenerateError, Problems
from paddle_flags.gen.read import beside, read

__all__ = ["FlagSet", "GenerateError", "load"]


def load(path: str) -> FlagSet:
    """Read flags.yaml, and flags_compat.yaml and flags_version.yaml if they are beside it.

    Raises GenerateError, whose `errors` has everything that is wrong.
    """
    return load_files(beside(path))


def load_files(paths: dict[str, str]) -> FlagSet:
    """Do the same with paths by the names flags, flags_compat and flags_version."""
    problems = Problems()
    flags = normalise(read(paths), problems)
    check(flags, problems)
    problems.stop()
    return flags
