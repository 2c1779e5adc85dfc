"""Differences as text, as a changelog in Markdown, and as JSON."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from paddle_flags.gen.diff_flag import BROKEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paddle_flags.gen.diff_flag import Difference
    from paddle_flags.gen.model import FlagSet

_SPECIAL = re.compile(r"([\\`*_\[\]<>&|~#])")


def to_lines(_old: FlagSet, _new: FlagSet, differences: list[Difference]) -> str:
    """Return one line for each, as compilers do; breaking changes come first."""
    return "".join(f"{_difference_line(each)}\n" for each in _worst_first(differences))


def _worst_first(differences: list[Difference]) -> list[Difference]:
    return sorted(differences, key=lambda each: not each.breaks)


def _difference_line(each: Difference) -> str:
    start = f"{each.place}: " if each.place else ""
    how = f"breaks {' and '.join(each.breaks)}" if each.breaks else "compatible"
    subject = f"{each.subject}: " if each.subject else ""
    note = f" ({' '.join(each.note.split())})" if each.note else ""
    return f"{start}{how}: {subject}{each.text}{note}"


def to_markdown(old: FlagSet, new: FlagSet, differences: list[Difference]) -> str:
    """Return a section for each kind of breaking change, and one for compatible changes."""
    versions = f" {old.version} to {new.version}" if old.version and new.version else ""
    lines = [f"# Flags of {_escape_markdown(new.name)}:{versions or ' changes'}", ""]
    titles = {"code": "Breaks programs that use the flag"}
    titles["values"] = "Breaks command lines, files and variables"
    titles["behaviour"] = "Changes behaviour"
    for broken in BROKEN:
        first = [each for each in differences if each.breaks[:1] == (broken,)]
        lines += _section(titles[broken], first)
    lines += _section("Compatible", [each for each in differences if not each.breaks])
    return "\n".join(lines) if differences else "\n".join([*lines, "Nothing changed.", ""])


def _section(title: str, differences: list[Difference]) -> Iterator[str]:
    if not differences:
        return
    yield from (f"## {title}", "")
    for each in differences:
        subject = f"`{each.subject}`: " if each.subject else ""
        more = f" (breaks {' and '.join(each.breaks)})" if len(each.breaks) > 1 else ""
        note = f" {_escape_markdown(' '.join(each.note.split()))}" if each.note else ""
        yield f"- {subject}{_escape_markdown(each.text)}{more}.{note}"
    yield ""


def _escape_markdown(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def to_json(old: FlagSet, new: FlagSet, differences: list[Difference]) -> str:
    """Return everything that is known about each."""
    data = {
        "name": new.name,
        "versions": [old.version, new.version],
        "breaking": any(each.breaks for each in differences),
        "differences": [
            {**vars(each), "place": str(each.place) if each.place else None}
            for each in _worst_first(differences)
        ],
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
