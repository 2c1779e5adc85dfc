"""The command count."""

from __future__ import annotations

from pathlib import Path

import paddle_flags as pf

unit = pf.define("unit", "lines", "What to count", choices=["lines", "words"])


def count(*files: str) -> None:
    """Count lines or words in files."""
    for file in files:
        text = Path(file).read_text(pf.FLAGS.encoding)
        print(len(text.split() if unit.value == "words" else text.splitlines()), file)
