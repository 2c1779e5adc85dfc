"""The table of attacks in docs/security.md."""

from __future__ import annotations

import re
from pathlib import Path

from support import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text("utf-8")
ROWS = re.findall(r"^\| (.+) \| (.+) \| `(test_\w+)` \|$", PAGE, re.MULTILINE)


def test_each_row_names_a_test_that_exists():
    files = Path(__file__).parent.glob("test_*.py")
    tests = {
        name
        for file in files
        for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
    }
    table = PAGE.partition("| attack | what happens | test |")[2].partition("\n\n")[0]
    assert len(ROWS) == table.count("\n|") - 1, "a row without a test"
    assert not {name for _, _, name in ROWS} - tests


def test_each_attack_that_is_tested_is_a_row():
    tests = {
        name
        for part in ("sites", "sockets")
        for name in re.findall(
            r"^def (test_\w+)",
            (Path(__file__).parent / f"test_attack_{part}.py").read_text(),
            re.MULTILINE,
        )
    }
    assert tests - {name for _, _, name in ROWS} == {"test_the_page_itself_may_change_flags"}
