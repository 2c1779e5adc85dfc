"""Documents: their fenced blocks, and the commands of those that show a terminal.

A block with a file name, as in ```c alpha.c, is that file. In a ```console block the
lines behind `$ ` are commands, those behind `> ` go on with one, the others are output.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Block(NamedTuple):
    language: str
    file: str
    text: str
    line: int


def blocks(text: str) -> list[Block]:
    found: list[Block] = []
    lines = text.splitlines()
    at = 0
    while at < len(lines):
        fence = re.fullmatch(r"```(\S*) ?(.*)", lines[at])
        if fence:
            end = lines.index("```", at + 1)
            inside = "".join(line + "\n" for line in lines[at + 1 : end])
            found.append(Block(fence[1], fence[2], inside, at + 1))
            at = end
        at += 1
    return found


def commands(text: str) -> list[tuple[str, str]]:
    """Split a console block into commands with the output of each."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
    assert parts[0] == "", "a console block begins with a command"
    shaped = (re.fullmatch(r"(.*\n(?:> .*\n)*)((?s:.*))", part) for part in parts[1:])
    return [(m[1].replace("\n> ", "\n").rstrip("\n"), m[2]) for m in shaped if m]
