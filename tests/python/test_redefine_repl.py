"""Flags that are defined again in a REPL, which is run on a terminal."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import package, write

pty = pytest.importorskip("pty")


class Session:
    """A program on a terminal of its own."""

    def __init__(self, command: list[str], prompt: str, **variables: str) -> None:
        self._prompt = prompt
        self._master, slave = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1", **variables}
        self._process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=environment
        )
        os.close(slave)
        self.output = ""
        self._wait(0)

    def _wait(self, start: int) -> None:
        """Read until there is a prompt after the output at `start`."""
        limit = time.monotonic() + 60
        while self._prompt not in self.output[start:]:
            ready, _, _ = select.select([self._master], [], [], 1)
            assert time.monotonic() < limit, self.output
            if ready:
                self.output += os.read(self._master, 65536).decode("utf-8", "replace")

    def enter(self, line: str, number: int) -> None:
        """Enter a line, and read until its output and the next prompt are there."""
        mark = f"<done {number}>"
        start = len(self.output)
        typed = f"{line}; print('<done' + ' {number}>')"
        os.write(self._master, typed.encode() + b"\r")
        limit = time.monotonic() + 60
        while mark not in self.output[start:]:
            assert time.monotonic() < limit, self.output
            ready, _, _ = select.select([self._master], [], [], 1)
            if ready:
                self.output += os.read(self._master, 65536).decode("utf-8", "replace")
        self._wait(self.output.index(mark, start))

    def end(self) -> None:
        os.write(self._master, b"exit()\r")
        try:
            while os.read(self._master, 65536):
                pass
        except OSError:  # the terminal is gone
            pass
        assert self._process.wait(60) == 0
        os.close(self._master)


DEFINES = "level = pf.define('level', 3); hook = level.validate(lambda value: value < 10)"
AGAIN = [
    "level.value = 7",
    "print('[', level is pf.define('level', 4, 'Anew'), level.value, level.default, ']')",
    "level.value = 50",  # the old validator is gone
    "print('[', level.value, level.help, ']')",
    "hook = level.validate(lambda value: value != 60, 'not sixty')",
    "level = pf.define('level', 4, 'Anew')",
    "level.value = 60",
    "print('[', level.value, ']')",
]
EXPECTED = ["[ True 7 4 ]", "[ 50 Anew ]", "[ 60 ]"]


def check(command: list[str], lines: list[str], prompt: str = ">>> ", **variables: str) -> None:
    session = Session(command, prompt, **variables)
    for number, line in enumerate(lines):
        session.enter(line, number)
    session.end()
    position = 0
    for text in EXPECTED:
        position = session.output.find(text, position)
        assert position >= 0, session.output
    assert "Error" not in session.output


WHOLE = ["import paddle_flags as pf", DEFINES, *AGAIN]


@pytest.mark.parametrize("basic", ["", "1"])
def test_a_line_of_the_repl_defines_again(basic):
    check([sys.executable, "-i"], WHOLE, PYTHON_BASIC_REPL=basic)


def test_a_line_after_a_script_defines_its_flags_again(tmp_path: Path):
    script = write(tmp_path / "script.py", f"import paddle_flags as pf\n{DEFINES}\n")
    check([sys.executable, "-i", str(script)], AGAIN)


def test_a_line_of_a_console_in_a_program_defines_again(tmp_path: Path):
    script = write(tmp_path / "script.py", "import code\ncode.interact(local=globals())\n")
    check([sys.executable, str(script)], WHOLE)


@pytest.mark.extended  # takes a second or more
def test_a_line_of_ipython_defines_again(tmp_path: Path):
    package("IPython")
    command = [
        sys.executable,
        "-m",
        "IPython",
        "--simple-prompt",
        "--no-banner",
        "--colors=NoColor",
    ]
    check(command, WHOLE, "]: ", IPYTHONDIR=str(tmp_path))
