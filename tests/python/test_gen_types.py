"""The types of generated Python, as mypy and pyright see them."""

from __future__ import annotations

import json
import os
import re
import sys

import pytest
from support import ROOT, package, run, write

from paddle_flags.gen.cli import run as generate

pytestmark = pytest.mark.extended  # builds much

PYTHON = sys.executable
GOOD = ROOT / "tests" / "gen" / "good" / "flags.yaml"

RIGHT = """
from demo_flags import FLAGS, SCHEMA, define

def use() -> int:
    define()
    FLAGS.batch_size = 7
    FLAGS.rate = 1
    FLAGS.update(mode="best", shards=(1, 2))
    text: str = FLAGS.mode + FLAGS.build + SCHEMA
    many: tuple[int, ...] = FLAGS.shards
    level: int = FLAGS["level"].value + FLAGS["bs"].default
    return FLAGS.batch_size + len(text) + len(many) + level + FLAGS.host_threads
"""
# Names that are types in stubs and headers.
ODD = """
name: odd
flags:
- {name: str, type: string, default: a, help: A}
- {name: property, type: int32, default: 1, help: A, attributes: [read_only]}
- {name: int32_t, type: int32, default: 1, help: A}
- {name: Flag, type: string, items: string, default: [a], help: A}
- {name: object, type: bool, default: true, help: A}
"""
USE_ODD = """
from odd_flags import FLAGS
text: str = FLAGS.str
number: int = FLAGS.property + FLAGS["int32_t"].value
items: tuple[str, ...] = FLAGS.Flag
"""
WRONG = [
    "FLAGS.batch_size = 'seven'",
    "text: str = FLAGS.batch_size",
    "FLAGS.build = 'new'",
    "FLAGS.bach_size",
    "FLAGS.update(rate='fast')",
    "text: str = FLAGS['level'].value",
    "FLAGS['levle']",
]


@pytest.mark.parametrize(
    "checker",
    [pytest.param("mypy", marks=pytest.mark.release), "pyright"],  # mypy takes 20 s
)
def test_type_checkers_accept_a_right_program_and_reject_each_misuse(checker, tmp_path):
    generate([str(GOOD), "-o", str(tmp_path), "--lang", "python"], "prog")
    write(tmp_path / "right.py", RIGHT + "\n")
    write(tmp_path / "odd.yaml", ODD)
    generate([str(tmp_path / "odd.yaml"), "-o", str(tmp_path)], "prog")
    write(tmp_path / "odd.py", USE_ODD)
    lines = ["from demo_flags import FLAGS", *WRONG]
    write(tmp_path / "wrong.py", "\n".join(lines).replace("\ntext:", "\ntext_:") + "\n")
    package(checker)
    options = ("--strict", "--no-incremental") if checker == "mypy" else ("--pythonpath", PYTHON)
    command = (PYTHON, "-m", checker, *options)
    # An editable install is hidden from both.
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    write(tmp_path / "pyrightconfig.json", json.dumps({"extraPaths": [str(ROOT)]}))
    files = ("right.py", "odd.py", "wrong.py")
    told = run(*command, *files, cwd=tmp_path, env=environment, check=False).stdout
    found = {int(line) for line in re.findall(r"wrong\.py:(\d+):.*error", told)}
    assert "right.py" not in told
    assert "odd" not in told
    assert found == set(range(2, len(lines) + 1)), told
