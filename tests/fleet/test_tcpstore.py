"""What is special about a TCPStore: its owner may die, torchrun has one, and it has no leases."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from servers import TcpStoreServer, pause, resume
from stores import living
from support import package

from paddle_flags.extend import format_install_command
from paddle_flags.fleet import FleetError, UnreachableError, open_store
from paddle_flags.fleet._store import REMEMBERED

pytestmark = pytest.mark.release  # needs gigabytes of packages


@pytest.fixture(scope="module")
def server():
    server = TcpStoreServer()
    yield server
    server.end()


@pytest.fixture
def url(server):
    return f"tcpstore://{server.address}/{secrets.token_hex(4)}?poll=0.01"


def test_a_store_whose_owner_dies_is_unreachable_and_one_without_its_state_is_empty():
    server = TcpStoreServer()
    store = open_store(f"tcpstore://{server.address}/job", timeout=10)
    assert store.append(1, b"x")
    store.announce("a", b"document", 60)
    server.end()
    for call in (store.last, store.members, lambda: store.wait(1, 1000)):
        with pytest.raises(UnreachableError, match="cannot be reached"):
            call()
    again = TcpStoreServer(int(server.address.rpartition(":")[2]))
    try:
        assert store.last() == 0
        assert store.members() == {}
        assert store.append(1, b"y")
        store.announce("a", b"again", 60)
        assert store.members() == {"a": (b"again", True)}
    finally:
        store.close()
        again.end()


def test_an_owner_that_hangs_makes_no_call_hang(server, url):
    store = open_store(url, timeout=1)
    store.last()
    pause(server.pid)
    try:
        for _ in range(2):
            with pytest.raises(UnreachableError, match="no answer in 1 seconds"):
                store.last()
    finally:
        resume(server.pid)
    store.close()


def test_a_lease_that_one_reader_saw_end_has_ended_for_its_member(url):
    member, reader = open_store(url), open_store(url)
    member.announce("a", b"", 0.5)
    assert set(living(reader)) == {"a"}
    time.sleep(1)
    assert living(reader) == {}
    with pytest.raises(FleetError, match="lease of member a has ended"):
        member.keep_alive("a")
    member.close()
    reader.close()


def test_a_reader_that_comes_when_a_lease_has_ended_does_not_see_its_member(url):
    with_member = open_store(url)
    with_member.announce("a", b"", 0.5)
    time.sleep(1)
    reader = open_store(url)
    assert living(reader) == {}
    reader.close()
    with_member.close()


# A process whose clock is wrong by some seconds, on this machine ("") or as if on another one.
PROCESS = """
import sys, time
url, machine, wrong = sys.argv[1], sys.argv[2], float(sys.argv[3])
right = time.time
time.time = lambda: right() + wrong
from paddle_flags.fleet import _tcpstore, open_store
_tcpstore.MACHINE = machine or _tcpstore.MACHINE
store = open_store(url, timeout=30)
"""
MEMBER = """
store.announce(sys.argv[4], b"document", float(sys.argv[5]))
print("ready", flush=True)
while True:
    time.sleep(float(sys.argv[5]) / 3)
    store.keep_alive(sys.argv[4])
"""
READER = """
print({name: member.alive for name, member in store.members().items()})
store.close()
"""


def process(program, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", PROCESS + program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("machine", ["", "another"])
@pytest.mark.parametrize("wrong", [-30, 30])
def test_a_wrong_clock_of_a_reader_neither_ends_a_lease_nor_prolongs_it(url, machine, wrong):
    members = [process(MEMBER, url, "", 0, name, 3) for name in ("alive", "dead")]
    try:
        for each in members:
            assert each.stdout.readline() == "ready\n"
        members[1].kill()
        time.sleep(4)  # nobody looks meanwhile
        reader = process(READER, url, machine, wrong)
        seen = reader.communicate(timeout=60)[0]
        assert seen == "{'alive': True, 'dead': False}\n"
    finally:
        for each in members:
            each.kill()
            each.communicate()


def test_a_long_lease_needs_no_second_look(url, monkeypatch):
    with_member = open_store(url)
    with_member.announce("long", b"", 1000)
    monkeypatch.setattr(package("paddle_flags.fleet._tcpstore"), "MACHINE", "another")
    monkeypatch.setattr(package("paddle_flags.fleet._tcpstore"), "_PAUSE", 1000)
    reader = open_store(url)
    assert set(living(reader)) == {"long"}
    for each in (reader, with_member):
        each.close()


def test_a_reader_in_doubt_does_not_keep_other_threads_waiting(url, monkeypatch):
    """Its own lease must not end meanwhile."""
    silent = open_store(url)
    silent.announce("silent", b"", 30)
    monkeypatch.setattr(package("paddle_flags.fleet._tcpstore"), "MACHINE", "another")
    store = open_store(url)
    store.announce("own", b"", 2)
    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(store.members)
        for _ in range(6):
            time.sleep(0.5)
            store.keep_alive("own")
        assert not looking.done()
        store.close()
        with pytest.raises(FleetError, match="closed"):
            looking.result(60)
    silent.close()


def test_what_a_member_has_left_is_forgotten_after_a_day(url, monkeypatch):
    store = open_store(url)
    store.announce("dead", b"document", 0.2)
    store.announce("left", b"document", 60)
    store.withdraw("left", b"departed_document")
    time.sleep(0.5)
    ended = {"dead": (b"document", False), "left": (b"departed_document", False)}
    assert store.members() == ended
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + REMEMBERED - 60)
    assert store.members() == ended
    monkeypatch.setattr(time, "time", lambda: now + REMEMBERED + 60)
    assert store.members() == {}
    monkeypatch.undo()
    newcomer = open_store(url)
    assert newcomer.members() == {}
    assert newcomer.member("left") is None
    newcomer.announce("left", b"again", 60)
    assert store.members() == {"left": (b"again", True)}
    for each in (newcomer, store):
        each.close()


def test_the_keys_of_the_job_are_left_alone(server, url):
    store = open_store(url)
    store.append(1, b"x")
    program = (
        "from torch.distributed import TCPStore\n"
        f"store = TCPStore('localhost', {server.address.rpartition(':')[2]}, is_master=False)\n"
        "store.set('last', 'of the job')\n"
        "print(store.get('last').decode())\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout == "of the job\n"
    assert store.last() == 1
    store.close()


def test_env_is_the_store_of_the_launcher(server, monkeypatch):
    host, _, port = server.address.rpartition(":")
    monkeypatch.setenv("MASTER_ADDR", host)
    monkeypatch.setenv("MASTER_PORT", port)
    store = open_store("tcpstore://env/job")
    assert store.append(1, b"x")
    store.close()
    monkeypatch.delenv("MASTER_PORT")
    with pytest.raises(FleetError, match="MASTER_PORT"):
        open_store("tcpstore://env/job")


@pytest.mark.parametrize("url", ["tcpstore://host/job", "tcpstore://host:1", "tcpstore:///job"])
def test_an_address_without_host_port_or_job_is_refused(server, url):
    with pytest.raises(FleetError, match="tcpstore://host:"):
        open_store(url)


def test_a_program_without_torch_learns_what_to_install():
    program = (
        "import sys; sys.modules['torch'] = None\n"
        "from paddle_flags.fleet import open_store\n"
        "try: open_store('tcpstore://localhost:1/job')\n"
        "except Exception as error: print(error)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=dict(os.environ),
    )
    assert format_install_command("torch") in ran.stdout
