"""What tells a process from later ones with its number."""

from __future__ import annotations

import os
import subprocess
import sys

from paddle_flags.fleet._process import read_process_start_id


def test_a_process_has_an_id_of_its_own_until_it_ends():
    own = read_process_start_id(os.getpid())
    command = [sys.executable, "-c", "input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        other = read_process_start_id(process.pid)
        assert other
        assert read_process_start_id(process.pid) == other
        assert read_process_start_id(os.getpid()) == own
        assert own not in ("", other)
        process.communicate(b"\n")
        assert read_process_start_id(process.pid) == ""
