"""Print what the generator says to broken files; gen.txt holds what it should say.

To review a change: python tests/golden/gen.py | diff tests/golden/gen.txt -
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from paddle_flags.errors import FlagError
from paddle_flags.gen import load_files

GEN = Path(__file__).resolve().parents[1] / "gen"
KINDS = {"flags": "flags", "compat": "flags_compat", "version": "flags_version"}


def cases() -> list[Path]:
    """The broken files, relative to tests/gen."""
    return sorted(path.relative_to(GEN) for path in GEN.glob("bad/*/*.yaml"))


def paths_of(case: Path) -> dict[str, str]:
    """A broken file, and good ones for those that it belongs to."""
    kind = KINDS[case.parent.name]
    good = {} if kind == "flags" else {"flags": "good/flags.yaml"}
    return {**good, kind: case.as_posix()}


def complaints(case: Path) -> Iterator[str]:
    try:
        load_files(paths_of(case))
    except FlagError as error:
        yield from map(str, error.errors)


if __name__ == "__main__":
    os.chdir(GEN)
    for each in cases():
        print("\n".join(complaints(each)) or f"{each}: no error")
