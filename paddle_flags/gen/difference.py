"""One difference between two normal forms, and what it breaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paddle_flags.gen.model import Place

# What a change breaks.
CODE = "code"  # programs that read the flag, or set it, by its name and type
VALUES = "values"  # command lines, files and variables that give it a value
BEHAVIOUR = "behaviour"  # users who set nothing, or set the same value, and get a different result
BROKEN = (CODE, VALUES, BEHAVIOUR)
Breaks = tuple[str, ...]  # of the above; empty: compatible


@dataclass(frozen=True)
class Difference:
    """One change."""

    subject: str  # the name of a flag; "" for the set as a whole
    kind: str  # "removed", "default", ...: docs/reference/yaml.md has them all
    text: str  # "default: is 64, was 32"
    breaks: Breaks = ()
    before: Any = None
    after: Any = None
    place: Place | None = None  # in the new files; for what was removed, in the old ones
    note: str = ""  # what flags_version.yaml says about it
