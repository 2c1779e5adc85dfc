"""Reading the environment while another thread changes os.environ."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.extended  # needs much time

PROGRAM = """
import os, sys, threading, time
import paddle_flags as pf

for i in range(20):
    pf.define(f"before{i}", 1)
pf.parse(["p"], env_prefix="RACE_")
end = time.monotonic() + 4

def change():
    i = 0
    while time.monotonic() < end:
        for j in range(300):
            os.environ[f"X{i % 7}_{j}"] = "v" * ((i * 37 + j) % 900)
        for j in range(300):
            del os.environ[f"X{i % 7}_{j}"]
        i += 1

thread = threading.Thread(target=change)
thread.start()
i = 0
while time.monotonic() < end:
    i += 1
    act(i)
thread.join()
print("done")
"""

ACTS = {
    "a plain definition": "pf.undefine(pf.define(f'f{i}', 1))",
    "a definition with a type of Python": "pf.undefine(pf.define(f'f{i}', [1], choices=[1, 2]))",
    "a definition again": "pf.define('again', 1, replace=True)",
    "a command line": "pf.parse(['p', '--tryfromenv=before1'], env_prefix='RACE_')",
}


# The command line reads variables; a definition does so in each of its forms.
@pytest.mark.parametrize(
    "act",
    [
        pytest.param(act, marks=[pytest.mark.release] if act.startswith("a definition") else [])
        for act in ACTS
    ],
)
def test_the_environment_may_change_on_another_thread(act):
    text = f"def act(i):\n    {ACTS[act]}\n{PROGRAM}"
    ended = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=False
    )
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr


def test_a_definition_sees_what_was_set_after_the_command_line(name, monkeypatch):
    import paddle_flags as pf

    pf.parse(["p"], env_prefix="AFTER_", exit=False)
    monkeypatch.setenv(f"AFTER_{name}", "5")
    assert pf.define(name, 1).value == 5
    pf.parse(["p"], env_prefix=None, exit=False)
