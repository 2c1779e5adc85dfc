"""Clients that are silent, slow or hostile cost a process little, and keep nobody out."""

from __future__ import annotations

import contextlib
import random
import signal
import socket
import threading
from pathlib import Path

import pytest
from serving import Client
from support import SANITIZE

measured = pytest.mark.skipif(bool(SANITIZE), reason="a sanitizer keeps memory for itself")


def memory_of(pid: int, *, peak: bool = False) -> int:
    """Return the resident memory of a process, or its peak, in bytes."""
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    return int(status.partition("VmHWM:" if peak else "VmRSS:")[2].split()[0]) << 10


def connect(path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.settimeout(20)
    made.connect(str(path))
    return made


def test_silent_connections_keep_nobody_out(program):
    silent = [connect(program.socket) for _ in range(300)]
    with Client(program.socket) as client:
        assert client.text("level") == "6"
    open_ones = int(program.run("print(len(os.listdir('/proc/self/fd')))"))
    assert open_ones < 130
    for each in silent:
        each.close()


def test_a_client_that_works_is_not_closed_for_silent_ones(program, client):
    client.ask("events.subscribe")
    silent = [connect(program.socket) for _ in range(300)]
    assert client.text("level") == "6"
    for each in silent:
        each.close()


@measured
def test_clients_that_do_not_read_are_cut_before_they_cost_much(program, client):
    program.run("for i in range(3000): pf.define(f'many_{i}', 'x' * 200, 'One of many')")
    client.text("level")
    before = memory_of(program.process.pid)
    request = b'{"jsonrpc":"2.0","id":1,"method":"flags.list"}\n' * 200
    greedy = [connect(program.socket) for _ in range(60)]
    for each in greedy:
        each.setblocking(False)
        with contextlib.suppress(OSError):
            each.send(request)
    for _ in range(50):
        assert client.text("level") == "6"
    assert memory_of(program.process.pid) - before < 32 << 20
    for each in greedy:
        each.close()


@pytest.mark.extended  # takes a second or more
@measured
def test_long_answers_that_are_asked_for_at_once_cost_little(program, client):
    program.run("pf.FLAGS.greeting = 'x' * 1_000_000")
    client.text("level")
    before = memory_of(program.process.pid)
    request = b'{"jsonrpc":"2.0","id":1,"method":"flags.get","params":{"name":"greeting"}}\n'
    greedy = [connect(program.socket) for _ in range(90)]
    client.text("level")
    Path(f"/proc/{program.process.pid}/clear_refs").write_text("5", "ascii")  # forget the peak
    program.process.send_signal(signal.SIGSTOP)
    for each in greedy:
        each.sendall(request)
    program.process.send_signal(signal.SIGCONT)
    assert client.text("level") == "6"
    assert memory_of(program.process.pid, peak=True) - before < 32 << 20
    for each in greedy:
        each.close()


@measured
def test_requests_that_are_never_complete_cost_little(program, client):
    before = memory_of(program.process.pid)
    endless = [connect(program.socket) for _ in range(80)]
    for each in endless:
        each.setblocking(False)
        with contextlib.suppress(OSError):
            for _ in range(16):
                each.send(b'"' + b"x" * 65_000)
                client.text("level")
    assert memory_of(program.process.pid) - before < 32 << 20
    for each in endless:
        each.close()


@measured
def test_rubbish_is_refused_and_others_are_answered(program, client):
    ended = threading.Event()

    def attack() -> None:
        source = random.Random(7)
        while not ended.is_set():
            with contextlib.suppress(OSError), contextlib.closing(connect(program.socket)) as made:
                for _ in range(20):
                    made.sendall(source.randbytes(5000))

    attackers = [threading.Thread(target=attack) for _ in range(4)]
    before = memory_of(program.process.pid)
    for each in attackers:
        each.start()
    for _ in range(200):
        assert client.text("level") == "6"
    ended.set()
    for each in attackers:
        each.join()
    assert memory_of(program.process.pid) - before < 32 << 20


@pytest.mark.extended  # takes a second or more
@measured
def test_changes_that_are_kept_cost_little(program, client):
    program.run("for i in range(900): pf.define(f'many_{i}', 'x', 'One of many', runtime=True)")
    for i in range(40):
        client.ask("flags.set", set={f"many_{k}": f"{i}" for k in range(900)}, reason="x" * 900)
    before = memory_of(program.process.pid)
    for i in range(120):
        client.ask(
            "flags.set", set={f"many_{k}": f"{i % 40}" for k in range(900)}, reason="x" * 900
        )
    assert memory_of(program.process.pid) - before < 8 << 20


@pytest.mark.extended  # takes a second or more
def test_only_so_many_temporary_changes_are_on(client):
    for _ in range(1000):
        client.ask("flags.set", set={"rate": 1}, for_="1h")
    error = client.fail("flags.set", set={"rate": 1}, for_="1h")
    assert error["code"] == 503
    assert client.ask("hello")["temporary"] == 1000
    client.ask("flags.set", unset=["rate"])
    assert client.text("rate") == "0.5"
    assert client.ask("hello")["temporary"] == 0
