"""Parts of a document that a program writes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def write_section(path: Path, name: str, text: str) -> None:
    """Replace what stands between the marks of a section."""
    begin, end = f"<!-- {name}: written by make -->\n", f"<!-- end of {name} -->"
    old = path.read_text("utf-8")
    pattern = re.escape(begin) + ".*?" + re.escape(end)
    new, count = re.subn(pattern, lambda _: f"{begin}\n{text}\n\n{end}", old, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"{path}: expected one section {name}")
    path.write_text(new, "utf-8")
