"""gflags' source package of Debian and its command-line cases, for tests that run them."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent / "matrix" / "peers"))

import sources

fetch, fetch_part = sources.fetch, sources.fetch_part


class Case(NamedTuple):
    name: str
    status: int
    shows: str
    hides: str
    program: str
    words: list[str]


def read_cases(tree: Path) -> list[Case]:
    text = (tree / "test" / "CMakeLists.txt").read_text("utf-8").replace("${SLASH}", "/")
    cases = []
    for line in re.findall(r"^#?add_gflags_test\s*\((.*)\)\s*$", text, re.MULTILINE):
        name, status, shows, hides, program, *words = shlex.split(line)
        cases.append(Case(name, int(status), shows, hides, program, words))
    return cases


def variables(tree: Path) -> dict[str, str]:
    text = (tree / "cmake" / "execute_test.cmake").read_text("utf-8")
    found = dict(re.findall(r'set \(ENV\{(\w+)\}\s+"(.*)"\)', text))
    assert found["FLAGS_version"] == "true"
    return {**os.environ, **found}
