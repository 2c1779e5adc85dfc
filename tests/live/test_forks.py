"""Forks of a process that serves: the parent goes on, and the child has nothing of its server."""

from __future__ import annotations

import os
import sys

import pytest
from serving import Client, ask, change, line_of, until
from serving import script as program
from support import run, write

CHILD = """
import time

def descriptors():
    kinds = []
    for name in os.listdir("/proc/self/fd"):
        try:
            kinds.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            pass
    return [kind for kind in kinds if "socket" in kind or "eventpoll" in kind]
"""

FORK = (
    CHILD
    + """
flag = pf.define("level", 1, runtime=True)
server = pf.serve(on_fork=sys.argv[1])
print(server.address, flush=True)
sys.stdin.readline()
pid = os.fork()
if pid == 0:
    while sys.argv[1] == "reopen" and not server.address:
        time.sleep(0.01)
    print(server, flush=True)
    print(len(descriptors()), flush=True)
    sys.stdin.readline()
    server.close()
    os._exit(0)
os.waitpid(pid, 0)
print(server, flush=True)
sys.stdin.readline()
"""
)


def tell(made):
    made.stdin.write("\n")
    made.stdin.flush()


def test_a_forked_child_closes_its_descriptors_and_the_parent_goes_on(tmp_path):
    with program(tmp_path, FORK, "close") as made:
        address = line_of(made)
        with Client(address) as client:
            client.ask("events.subscribe")
            tell(made)
            assert line_of(made) == "<Server closed>"
            assert line_of(made) == "0"
            change(address, "level", "2")
            assert client.read()["params"]["changes"][0]["new"] == "2"
            tell(made)
            assert line_of(made) == f"<Server {address}>"
            change(address, "level", "3")
            assert client.read()["params"]["changes"][0]["new"] == "3"
        tell(made)
        assert made.wait() == 0
    assert not os.path.exists(address)


def test_a_client_of_the_parent_sees_its_end_though_a_child_lives(tmp_path):
    text = FORK.replace("os.waitpid(pid, 0)", "os._exit(0)")
    with program(tmp_path, text, "close") as made, Client(line_of(made)) as client:
        client.ask("events.subscribe")
        tell(made)
        assert client.read() == {}


def test_a_forked_child_serves_on_a_socket_of_its_own_if_asked(tmp_path):
    with program(tmp_path, FORK, "reopen") as made:
        address = line_of(made)
        first = ask(address, "hello")
        tell(made)
        own = line_of(made)[len("<Server ") : -1]
        assert own != address
        second = ask(own, "hello")
        assert own.endswith(f"/{second['pid']}.sock")
        assert second["pid"] != first["pid"]
        assert second["epoch"] != first["epoch"]
        change(own, "level", "9")
        assert ask(address, "flags.get", name="level")["flag"]["value"] == 1
        line_of(made)
        tell(made)
        assert line_of(made) == f"<Server {address}>"
        assert not os.path.exists(own)
        assert ask(address, "hello")["pid"] == first["pid"]


def test_a_child_of_a_server_at_a_path_serves_beside_it(tmp_path):
    text = FORK.replace("pf.serve(", f"pf.serve({str(tmp_path / 'socket')!r}, ")
    with program(tmp_path, text, "reopen") as made:
        address = line_of(made)
        tell(made)
        own = line_of(made)[len("<Server ") : -1]
        assert own == f"{address}.{ask(own, 'hello')['pid']}"


def test_serving_that_fails_in_a_forked_child_is_a_warning(tmp_path):
    text = """
import shutil, time, warnings
server = pf.serve(on_fork="reopen")
level = pf.define("level", 1)
place = os.path.dirname(server.address)
shutil.rmtree(place)
os.mkdir(place)
os.chmod(place, 0o755)
pid = os.fork()
if pid == 0:
    seen = []
    warnings.showwarning = lambda text, kind, *rest: seen.append(f"{kind.__name__}: {text}")
    while not seen and level.value < 200:
        time.sleep(0.1)
        level.value += 1
    print(server.address == "", "goes on", *seen, flush=True)
    os._exit(0)
os.waitpid(pid, 0)
"""
    script = write(tmp_path / "main.py", "import os, sys\nimport paddle_flags as pf\n" + text)
    (tmp_path / "run").mkdir()
    env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path / "run")}
    ended = run(sys.executable, script, env=env)
    assert ended.stdout.startswith("True goes on FlagWarning: the flags of the forked process")


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_children_of_multiprocessing_serve_themselves(method, tmp_path):
    text = f"""
import multiprocessing, os, sys
import paddle_flags as pf

def work(queue, event):
    queue.put(os.getpid())
    event.wait(60)

if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    queue, event = context.Queue(), context.Event()
    children = [context.Process(target=work, args=(queue, event)) for _ in range(3)]
    for child in children:
        child.start()
    print(os.getpid(), *[queue.get() for _ in children], flush=True)
    sys.stdin.readline()
    event.set()
    for child in children:
        child.join()
    print("joined", flush=True)
    sys.stdin.readline()
"""
    with program(tmp_path, text, PADDLE_FLAGS_LIVE="1") as made:
        pids = line_of(made).split()
        place = tmp_path / "run" / "paddle_flags"
        for pid in pids:
            until((place / f"{pid}.sock").exists)
            answer = ask(str(place / f"{pid}.sock"), "hello")
            assert answer["pid"] == int(pid)
        tell(made)
        assert line_of(made) == "joined"
        left = {name.partition(".")[0] for name in os.listdir(place)}
        assert not left.intersection(pids[1:])
        tell(made)
        assert made.wait() == 0


def test_forks_on_all_threads_while_clients_come_and_go_harm_nobody(tmp_path):
    text = (
        CHILD
        + """
import threading
server = pf.serve()
print(server.address, flush=True)
failed = []
def fork():
    for _ in range(30):
        pid = os.fork()
        if pid == 0:
            os._exit(1 if descriptors() else 0)
        if os.waitpid(pid, 0)[1]:
            failed.append(pid)
threads = [threading.Thread(target=fork) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(failed, flush=True)
sys.stdin.readline()
"""
    )
    with program(tmp_path, text) as made:
        address = line_of(made)
        for _ in range(300):
            assert ask(address, "hello")["api"] == 1
        assert line_of(made) == "[]"


def test_a_child_that_a_validator_forks_ends_as_it_should(tmp_path):
    text = """
import subprocess
flag = pf.define("level", 1, runtime=True)
@pf.validator("level")
def check(value):
    pid = os.fork()
    if pid == 0:
        os._exit(7)
    command = [sys.executable, "-c", "print(1)"]
    text = subprocess.check_output(command, preexec_fn=os.getpid)
    return os.waitpid(pid, 0)[1] == 7 << 8 and text == b"1\\n"
server = pf.serve()
print(server.address, flush=True)
sys.stdin.readline()
"""
    with program(tmp_path, text) as made:
        address = line_of(made)
        for value in range(2, 6):
            change(address, "level", value)


def test_a_temporary_change_ends_in_the_child_too(tmp_path):
    text = """
flag = pf.define("level", 1, runtime=True)
server = pf.serve()
print(server.address, flush=True)
sys.stdin.readline()
pid = os.fork()
import time
end = time.monotonic() + 60
while flag.value != 1 and time.monotonic() < end:
    time.sleep(0.01)
os.write(1, b"%s %d\\n" % (b"child" if pid == 0 else b"parent", flag.value))
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
"""
    with program(tmp_path, text) as made:
        address = line_of(made)
        change(address, "level", "5", for_=1)
        tell(made)
        assert {line_of(made), line_of(made)} == {"child 1", "parent 1"}


OVERDUE = """
import os, time
import paddle_flags as pf
from paddle_flags.live import Client

blocks = pf.define("blocks", 1, runtime=True)
other = pf.define("other", 1, runtime=True)
blocks.watch(lambda flag: time.sleep(60) if flag.value == 1 else None)
other.watch(lambda flag: None)
with pf.serve(os.path.join(os.environ["PLACE"], "socket")) as server:
    client = Client(server.address)
    client.change({"blocks": 2}, duration=0.1)
    killed = 0
    for _ in range(40):
        client.change({"other": 2}, duration=0.1)
        pid = os.fork()
        if pid == 0:
            while other.value == 2:
                time.sleep(0.005)
            os._exit(0)
        killed += os.waitpid(pid, 0)[1] != 0
    print(killed, flush=True)
os._exit(0)
"""


def test_temporary_changes_end_in_children_whenever_they_are_forked(tmp_path):
    ended = run(
        sys.executable,
        write(tmp_path / "overdue.py", OVERDUE),
        env={**os.environ, "PLACE": str(tmp_path)},
    )
    assert ended.stdout == "0\n"
