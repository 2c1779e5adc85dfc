"""Help, version and errors where stdout or stderr is missing, full or closed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import write

# What a failed write leaves in a buffer, Python writes again at its end.
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
FULL = Path("/dev/full")  # every write to it fails: no space left

PROGRAM = """
import paddle_flags as pf
pf.define("level", 6, "How hard to try")
pf.parse(version="1")
"""


@pytest.fixture
def shell(tmp_path):
    """Run a program with these words and redirections, or `python -m paddle_flags`."""
    script = write(tmp_path / "prog.py", PROGRAM)

    def start(words: str, program: object = script) -> tuple[int, str, str]:
        line = f"exec '{sys.executable}' {program} {words}"
        ended = subprocess.run(["sh", "-c", line], capture_output=True, text=True, env=BUFFERED)
        return ended.returncode, ended.stdout, ended.stderr

    return start


@pytest.mark.extended  # takes a second or more
def test_without_a_stdout_nothing_is_printed_and_the_status_is_right(shell):
    assert shell("--help >&-") == (0, "", "")
    assert shell("--version >&-") == (0, "", "")
    status, _, said = shell("--levle=1 >&-")
    assert (status, said.count("\n")) == (2, 2)
    for words in ("--help", "--version", "list --long", "config --includedir", "gen --help"):
        assert shell(f"{words} >&-", "-m paddle_flags") == (0, "", ""), words


def test_without_a_stderr_the_status_tells_of_errors(shell):
    assert shell("--levle=1 2>&-") == (2, "", "")
    assert shell("--levle=1 >&- 2>&-") == (2, "", "")
    assert shell("list --nothing 2>&-", "-m paddle_flags") == (2, "", "")
    assert shell("lst 2>&-", "-m paddle_flags") == (2, "", "")
    assert shell("gen --chek 2>&-", "-m paddle_flags") == (2, "", "")


@pytest.mark.extended  # takes a second or more
@pytest.mark.skipif(not FULL.exists(), reason="only Linux has /dev/full")
def test_a_full_disk_is_told_in_one_line_and_ends_with_1(shell):
    full = (1, "", "cannot write to stdout: No space left on device\n")
    assert shell(f"--help >{FULL}") == full
    assert shell(f"--version >{FULL}") == full
    for words in ("--help", "list --help", "list --long", "completion bash", "gen --help"):
        assert shell(f"{words} >{FULL}", "-m paddle_flags") == full, words
    assert shell(f"--levle=1 2>{FULL}") == (2, "", "")
    assert shell(f"--help >{FULL} 2>{FULL}") == (1, "", "")


def test_a_stdout_that_python_lacks_or_has_closed_takes_nothing(python):
    for text in ("sys.stdout = None", "sys.stdout.close()", "sys.stdout = sys.stderr = None"):
        ended = python(f"{text}\npf.parse(['prog', '--help'])", check=False)
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
