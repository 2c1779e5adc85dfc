"""The command search."""

from __future__ import annotations

from pathlib import Path

import paddle_flags as pf

invert = pf.define("invert", default=False, help="Print the other lines", aliases=["v"])
most = pf.define("most", 0, "Stop after so many lines; 0: never", min=0)


def main(pattern: str, file: str) -> int:
    """Print the lines of FILE that contain PATTERN.

    The exit status is 1 if there are none.
    """
    lines = Path(file).read_text(pf.FLAGS.encoding).splitlines()
    found = [line for line in lines if (pattern in line) != invert.value]
    for line in found[: most.value or None]:
        print(line)
    return 0 if found else 1
