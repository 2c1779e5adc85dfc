"""`pf.serve` around its server: logging, functions, threads, loops, signals."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading

import pytest
from serving import ask, change, line_of, until
from serving import script as program
from support import installed, package, run, write

import paddle_flags as pf


@pytest.fixture
def name(request):
    """The name of a flag that no other test has."""
    return f"served_{abs(hash(request.node.nodeid))}"


def test_changes_go_to_the_log_and_to_a_function(tmp_path, name, caplog):
    pf.define(name, 1)
    events = []
    caplog.set_level(logging.INFO, "paddle_flags.live")
    with pf.serve(tmp_path / "socket", settable=name, audit=events.append) as server:
        change(server.address, name, "2", reason="because")
    until(lambda: events)
    assert events[0]["reason"] == "because"
    assert events[0]["who"]["pid"] == os.getpid()
    assert until(lambda: [r for r in caplog.records if name in r.getMessage()])
    assert any(name in record.getMessage() for record in caplog.records)


def test_the_end_of_a_temporary_change_is_told_after_the_server_is_closed(tmp_path, name):
    flag = pf.define(name, 1)
    events = []
    with pf.serve(tmp_path / "socket", settable=name, audit=events.append) as server:
        change(server.address, name, "2", for_=0.5)
        until(lambda: flag.value == 2)
    until(lambda: flag.value == 1)
    until(lambda: len(events) == 2)


def test_an_audit_that_raises_undoes_nothing(tmp_path, name, monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: seen.append(type(what.exc_value)))
    flag = pf.define(name, 1)

    def audit(event):
        raise RuntimeError(event["event"])

    with pf.serve(tmp_path / "socket", settable=name, audit=audit) as server:
        change(server.address, name, "2")
    assert flag.value == 2
    until(lambda: seen == [RuntimeError])


def test_a_program_that_ends_during_a_temporary_change_ends_quietly(tmp_path):
    text = """
flag = pf.define("level", 1, runtime=True)
server = pf.serve(audit=print)
print(server.address, flush=True)
sys.stdin.readline()
"""
    for _ in range(5):
        with program(tmp_path, text, PYTHONDEVMODE="1") as made:
            address = line_of(made)
            change(address, "level", "5", for_=0.1)
            made.stdin.close()
            assert made.wait() == 0


def test_a_server_is_closed_from_any_thread(tmp_path):
    server = pf.serve(tmp_path / "socket")
    thread = threading.Thread(target=server.close)
    thread.start()
    assert server.wait(20)
    thread.join()


def test_a_loop_of_the_program_is_left_alone(tmp_path):
    import asyncio

    async def main():
        with pf.serve(tmp_path / "socket") as server:
            return await asyncio.to_thread(ask, server.address, "hello")

    assert asyncio.run(main())["api"] == 1


@pytest.mark.extended
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_program_with_gevent_is_served_while_its_own_loop_is_blocked(when, tmp_path):
    installed("gevent")
    text = """
%s
server = pf.serve()
%s
import time
print(server.address, flush=True)
if sys.argv[1] == "before":  # blocks gevent's loop
    import gevent.monkey
    gevent.monkey.get_original("time", "sleep")(1)
time.sleep(1)
server.close()
print("end", flush=True)
"""
    patch = "import gevent.monkey; gevent.monkey.patch_all()"
    text = text % ((patch, "") if when == "before" else ("", patch))
    script = write(
        tmp_path / "main.py",
        text.replace("server =", "import os, sys\nimport paddle_flags as pf\nserver =", 1),
    )
    (tmp_path / "run").mkdir()
    env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    with subprocess.Popen(
        [sys.executable, script, when], stdout=subprocess.PIPE, text=True, env=env
    ) as made:
        address = line_of(made)
        for _ in range(20):
            assert ask(address, "hello")["pid"] == made.pid
        assert line_of(made) == "end"
        assert made.wait() == 0


@pytest.mark.extended
def test_a_program_with_uvloop_is_served(tmp_path):
    package("uvloop")
    text = """
import asyncio, uvloop
async def main():
    with pf.serve() as server:
        print(server.address, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
asyncio.set_event_loop_policy(uvloop.EventLoopPolicy()) if sys.version_info < (3, 12) else None
uvloop.install() if sys.version_info < (3, 12) else None
asyncio.run(main()) if sys.version_info < (3, 12) else uvloop.run(main())
"""
    with program(tmp_path, text) as made:
        assert ask(line_of(made), "hello")["pid"] == made.pid
        made.stdin.close()
        assert made.wait() == 0


CLOSING = """
import signal
import paddle_flags as pf

servers = [None]
signal.signal(signal.SIGALRM, lambda *_: servers[0].close())
for number in range(150):
    servers[0] = pf.serve(f"{sys.argv[1]}/{number}")
    signal.setitimer(signal.ITIMER_REAL, 3e-5 + 1e-5 * number)
    servers[0].close()
signal.signal(signal.SIGALRM, signal.SIG_IGN)
print("closed")
"""


def test_a_signal_handler_may_close_a_server_that_is_being_closed(tmp_path):
    script = write(tmp_path / "closing.py", "import sys\n" + CLOSING)
    assert run(sys.executable, script, tmp_path).stdout == "closed\n"
