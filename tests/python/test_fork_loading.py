"""Children that are forked while another thread loads and unloads plugins."""

from __future__ import annotations

import subprocess
import sys

import pytest
from joining import LEVEL, Maker, environment

# The children load the plugin, too. The first call imports what load_plugin needs: a child of a
# thread that imports a module can't import that one.
SCRIPT = """
import os, signal, sys, threading
import paddle_flags as pf

def load_and_unload():
    pf.load_plugin(sys.argv[1]).unload()

def load_again_and_again():
    while not stopped.is_set():
        load_and_unload()

load_and_unload()
stopped = threading.Event()
threads = [threading.Thread(target=load_again_and_again) for _ in range(2)]
for thread in threads:
    thread.start()
lost = 0
for _ in range(150):
    child = os.fork()
    if child == 0:
        signal.alarm(240)
        load_and_unload()
        os._exit(0)
    lost += os.waitpid(child, 0)[1] != 0
    if lost:
        break
stopped.set()
for thread in threads:
    thread.join()
print(lost)
"""


@pytest.mark.extended  # takes a second or more
def test_a_child_loads_plugins_whatever_other_threads_loaded_at_the_fork(tmp_path):
    plugin = Maker(tmp_path).plugin("forked", LEVEL)
    command = [sys.executable, "-c", SCRIPT, str(plugin)]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=200, env=environment(), check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "0\n", "a child hangs or has failed"
