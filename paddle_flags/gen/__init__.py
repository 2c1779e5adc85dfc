"""Flags from YAML: C, C++, Python and documents, generated from one definition.

`load` reads flags.yaml and the files beside it, checks them and returns the normal form.
docs/reference/yaml.md describes the files, docs/decisions/0033-generator.md the stages.
"""

from __future__ import annotations

from paddle_flags.gen.check import check_consistency
from paddle_flags.gen.model import FlagSet
from paddle_flags.gen.normal import normalize
from paddle_flags.gen.problems import GenerateError, Problems
from paddle_flags.gen.read import find_companions, read_flag_files

__all__ = ["FlagSet", "GenerateError", "load"]


def load(path: str) -> FlagSet:
    """Read flags.yaml, and flags_compat.yaml and flags_version.yaml if they exist beside it.

    Raises GenerateError, whose `errors` lists every problem.
    """
    return load_files(find_companions(path))


def load_files(paths: dict[str, str]) -> FlagSet:
    """Read the files at these paths, by the names flags, flags_compat and flags_version."""
    problems = Problems()
    flags = normalize(read_flag_files(paths), problems)
    check_consistency(flags, problems)
    problems.raise_if_any()
    return flags
