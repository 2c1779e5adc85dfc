"""`PADDLE_FLAGS_LIVE`: programs whose own code doesn't serve."""

from __future__ import annotations

import json
import os
import sys

import pytest
from serving import Client, ask, change, line_of, until
from serving import script as program
from support import run

LOADED = """
import sys, paddle_flags
print([each for each in ("ctypes", "asyncio", "paddle_flags.live._serve") if each in sys.modules])
"""
PLAIN = 'flag = pf.define("level", 1)\nprint(os.getpid(), flush=True)\nsys.stdin.readline()\n'


def python(text, **env):
    return run(sys.executable, "-c", text, env={**os.environ, **env})


def test_a_program_that_imports_the_package_is_served(tmp_path):
    with program(tmp_path, PLAIN, PADDLE_FLAGS_LIVE="1") as made:
        pid = line_of(made)
        address = str(tmp_path / "run" / "paddle_flags" / f"{pid}.sock")
        found = ask(address, "hello")
        assert (found["pid"], found["program"]) == (int(pid), "program.py")
        with Client(address) as client:
            assert client.fail("flags.set", set={"level": "2"})["code"] == 403
    assert made.returncode


def test_the_socket_may_be_elsewhere_and_flags_may_be_settable(tmp_path):
    path = str(tmp_path / "socket")
    env = {"PADDLE_FLAGS_LIVE": path, "PADDLE_FLAGS_LIVE_SETTABLE": "other, lev*"}
    with program(tmp_path, PLAIN, **env) as made:
        line_of(made)
        change(path, "level", "2")
        made.stdin.close()
        assert made.wait() == 0
    assert not os.path.exists(path)


def test_changes_go_to_a_file(tmp_path):
    path, log = str(tmp_path / "socket"), tmp_path / "audit"
    env = {"PADDLE_FLAGS_LIVE_SETTABLE": "level", "PADDLE_FLAGS_LIVE_AUDIT": str(log)}
    with program(tmp_path, PLAIN, PADDLE_FLAGS_LIVE=path, **env) as made:
        line_of(made)
        change(path, "level", "2", reason="because")
        line = until(lambda: log.exists() and log.read_text())
    assert json.loads(line)["reason"] == "because"


def test_children_with_the_variable_serve_on_sockets_of_their_own(tmp_path):
    path = str(tmp_path / "socket")
    text = """
import subprocess
print("ready", flush=True)
sys.stdin.readline()
subprocess.run([sys.executable, "-c", sys.argv[1]])
"""
    child = (
        "import os, sys; import paddle_flags; print(os.getpid(), flush=True); sys.stdin.readline()"
    )
    with program(tmp_path, text, child, PADDLE_FLAGS_LIVE=path) as made:
        line_of(made)
        made.stdin.write("\n")
        made.stdin.flush()
        pid = line_of(made)
        assert ask(f"{path}.{pid}", "hello")["pid"] == int(pid)
        assert ask(path, "hello")["pid"] == made.pid


def test_a_program_that_also_serves_by_itself_has_two_sockets(tmp_path):
    text = "server = pf.serve()\nprint(server.address, flush=True)\nsys.stdin.readline()"
    with program(tmp_path, text, PADDLE_FLAGS_LIVE="1") as made:
        address = line_of(made)
        assert address.endswith(f"{made.pid}-2.sock")
        for each in (address, address.replace("-2.sock", ".sock")):
            assert ask(each, "hello")["pid"] == made.pid


@pytest.mark.parametrize("value", ["", "0"])
def test_nothing_is_served_or_imported_if_the_variable_says_no(value):
    assert python(LOADED, PADDLE_FLAGS_LIVE=value).stdout == "[]\n"


def test_without_the_variable_nothing_of_the_server_is_imported():
    env = {name: text for name, text in os.environ.items() if name != "PADDLE_FLAGS_LIVE"}
    assert run(sys.executable, "-c", LOADED, env=env).stdout == "[]\n"
    assert "paddle_flags.live" not in run(sys.executable, "-v", "-c", LOADED, env=env).stderr


@pytest.mark.parametrize(
    ("env", "why"),
    [
        ({"PADDLE_FLAGS_LIVE": "yes"}, "yes: expected 1, or the path of a socket"),
        ({"PADDLE_FLAGS_LIVE": "/missing/folder/socket"}, "No such file or directory"),
        ({"PADDLE_FLAGS_LIVE": "1", "XDG_RUNTIME_DIR": "/missing"}, "No such file or directory"),
        ({"PADDLE_FLAGS_LIVE": "1", "PADDLE_FLAGS_LIVE_SETTABLE": "a b"}, "settable: 'a b'"),
    ],
)
def test_what_goes_wrong_is_a_warning_and_the_program_runs(env, why):
    ended = python("import paddle_flags; print('runs')", **env)
    assert ended.stdout == "runs\n"
    assert "FlagWarning: environment: PADDLE_FLAGS_LIVE: the flags are not served" in ended.stderr
    assert why in ended.stderr


def test_a_warning_that_is_an_error_ends_no_program():
    ended = python(
        "import sys; sys.warnoptions; import paddle_flags; print('runs')",
        PADDLE_FLAGS_LIVE="yes",
        PYTHONWARNINGS="error",
    )
    assert ended.stdout == "runs\n"
