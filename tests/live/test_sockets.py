"""Sockets of the live server: whose they are, and what is left of dead processes."""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from serving import Client, ask, line_of, until
from serving import script as program
from support import run, write

import paddle_flags as pf


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The directory that the default socket has here."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path / "paddle_flags"


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")

SERVE = "server = pf.serve()\nprint(server.address, flush=True)\nsys.stdin.read()\n"


# ---- Where ----


def test_a_socket_has_the_number_of_its_process_and_only_its_user_can_open_it(place):
    with pf.serve() as server:
        assert Path(server.address) == place / f"{os.getpid()}.sock"
        assert stat.S_IMODE(os.stat(place).st_mode) == 0o700
        assert stat.S_IMODE(os.stat(server.address).st_mode) == 0o600
        assert ask(server.address, "hello")["pid"] == os.getpid()
    assert os.listdir(place) == []


def test_the_mode_of_the_directory_does_not_depend_on_the_umask(place):
    before = os.umask(0o777)
    try:
        server = pf.serve()
    finally:
        os.umask(before)
    with server:
        assert stat.S_IMODE(os.stat(place).st_mode) == 0o700


def test_the_mode_of_a_socket_does_not_depend_on_the_umask(tmp_path):
    for mask in (0, 0o077, 0o777):
        before = os.umask(mask)
        try:
            server = pf.serve(tmp_path / "socket")
        finally:
            os.umask(before)
        with server:
            assert stat.S_IMODE(os.stat(server.address).st_mode) in (0o600, 0o600 & ~mask)


def test_without_a_runtime_directory_it_is_in_the_temporary_directory(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with pf.serve() as server:
        folder = tmp_path / f"paddle_flags-{os.geteuid()}"
        assert Path(server.address) == folder / f"{os.getpid()}.sock"


def test_two_servers_of_a_process_have_sockets_of_their_own(place):
    with pf.serve() as first, pf.serve() as second, pf.serve() as third:
        names = [os.path.basename(each.address) for each in (first, second, third)]
        assert names == [f"{os.getpid()}{end}.sock" for end in ("", "-2", "-3")]
        for each in (first, second, third):
            assert ask(each.address, "hello")["pid"] == os.getpid()
        address = second.address
        second.close()
        with pf.serve() as again:
            assert again.address == address
    assert os.listdir(place) == []


def test_a_path_may_be_longer_than_the_kernel_takes(tmp_path):
    folder = tmp_path / ("a" * 100) / ("b" * 100)
    folder.mkdir(parents=True)
    with pf.serve(folder / "socket") as server:
        assert ask(server.address, "hello")["pid"] == os.getpid()
    assert os.listdir(folder) == []


def test_a_relative_path_keeps_its_meaning_after_a_change_of_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pf.serve("./socket") as server:
        assert server.address == str(tmp_path / "socket")
        monkeypatch.chdir("/")
    assert os.listdir(tmp_path) == []


# ---- Directories that others could get at ----


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701, 0o1777])
def test_a_directory_that_others_may_enter_is_refused(mode, place):
    place.mkdir()
    place.chmod(mode)
    with pytest.raises(pf.FlagError, match=rf"{place}: has mode {mode:04o}: expected 0700"):
        pf.serve()
    assert os.listdir(place) == []


def test_a_link_in_place_of_the_directory_is_refused(place, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(pf.FlagError, match="expected a real directory"):
        pf.serve()
    assert os.listdir(tmp_path / "elsewhere") == []


def test_a_dangling_link_in_place_of_the_directory_is_refused(place, tmp_path):
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(pf.FlagError, match="expected a real directory"):
        pf.serve()
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_in_place_of_the_directory_is_refused(place):
    place.write_text("")
    with pytest.raises(pf.FlagError, match="expected a real directory"):
        pf.serve()


@as_root
def test_a_directory_of_another_user_is_refused(place):
    place.mkdir(mode=0o700)
    os.chown(place, 4321, 4321)
    with pytest.raises(pf.FlagError, match="belongs to uid 4321"):
        pf.serve()


# ---- What is there already ----


def test_the_socket_of_a_dead_process_is_replaced(tmp_path):
    path = tmp_path / "socket"
    with program(
        tmp_path, f"server = pf.serve({str(path)!r})\nprint(flush=True)\nsys.stdin.read()"
    ) as dead:
        line_of(dead)
        dead.kill()
        dead.wait()
    assert path.is_socket()
    with pf.serve(path) as server:
        assert ask(server.address, "hello")["pid"] == os.getpid()


def test_the_socket_of_a_living_process_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "socket"
    with program(
        tmp_path, f"server = pf.serve({str(path)!r})\nprint(flush=True)\nsys.stdin.read()"
    ) as other:
        line_of(other)
        with pytest.raises(pf.FlagConflictError, match=f"{path}: process {other.pid} serves there"):
            pf.serve(path)
        assert ask(str(path), "hello")["pid"] == other.pid


@pytest.mark.parametrize("kind", ["file", "link", "folder", "pipe"])
def test_what_is_no_socket_is_never_removed(kind, tmp_path):
    path, target = tmp_path / "socket", tmp_path / "target"
    target.write_text("precious")
    make = {
        "file": lambda: path.write_text("precious"),
        "link": lambda: path.symlink_to(target),
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
    }
    make[kind]()
    with pytest.raises(pf.FlagFileError, match="exists, and is not a socket"):
        pf.serve(path)
    assert path.exists()
    assert target.read_text() == "precious"


@as_root
def test_the_socket_of_another_user_is_never_removed(tmp_path):
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(path))
    os.chown(path, 4321, 4321)
    with pytest.raises(pf.FlagFileError, match="is a socket of uid 4321"):
        pf.serve(path)
    assert path.is_socket()


def test_closing_leaves_a_socket_that_another_process_has_put_there(tmp_path):
    path = tmp_path / "socket"
    with pf.serve(path):
        path.unlink()
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(path))
    assert path.is_socket()


def test_many_processes_that_start_at_once_share_no_socket(tmp_path):
    path = tmp_path / "socket"
    text = f"""
sys.stdin.readline()
try:
    server = pf.serve({str(path)!r})
except pf.FlagConflictError:
    print("taken", flush=True)
else:
    print("mine", flush=True)
sys.stdin.read()
"""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    script = write(tmp_path / "start.py", "import sys\nimport paddle_flags as pf\n" + text)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    made = [subprocess.Popen([sys.executable, script], **pipes) for _ in range(6)]
    for each in made:
        each.stdin.write("\n")
        each.stdin.flush()
    said = [line_of(each) for each in made]
    answer = ask(str(path), "hello")
    assert answer["pid"] == made[said.index("mine")].pid
    for each in made:
        each.communicate()
    assert sorted(said) == ["mine"] + ["taken"] * 5


# ---- Who connects ----


@pytest.mark.parametrize("command", ["a\nb", '"<b>', "é", "\x1b[31m", "\udcff"])
def test_a_command_is_shown_whatever_its_name_is(command, tmp_path):
    text = """
import socket
from pathlib import Path
Path("/proc/self/comm").write_bytes(os.fsencode(sys.argv[2]))
made = socket.socket(socket.AF_UNIX)
made.connect(sys.argv[1])
made.sendall(b'{"jsonrpc":"2.0","id":1,"method":"hello"}\\n')
sys.stdout.buffer.write(made.makefile("rb").readline())
"""
    script = write(tmp_path / "client.py", "import os, sys\n" + text)
    with pf.serve(tmp_path / "socket") as server:
        ended = run(sys.executable, script, server.address, command)
    you = json.loads(ended.stdout)["result"]["you"]
    assert you["command"] == command.partition("\n")[0]
    assert you["uid"] == os.geteuid()


OTHER = """
import os, socket, sys
os.setgroups([])
os.setgid(4321)
os.setuid(4321)
made = socket.socket(socket.AF_UNIX)
try:
    made.connect(sys.argv[1])
    made.sendall(b'{"jsonrpc":"2.0","id":1,"method":"hello"}\\n')
except OSError as error:
    print(error.strerror)
try:
    print(made.recv(99999).decode())
except OSError as error:
    print(error.strerror)
"""


@as_root
def test_another_user_cannot_open_the_socket(tmp_path):
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == "root" and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    with pf.serve(tmp_path / "socket") as server:
        ended = run(sys.executable, "-c", OTHER, server.address)
        assert ended.stdout.startswith("Permission denied\n")


@as_root
def test_another_user_is_refused_even_where_the_socket_can_be_opened(tmp_path):
    for folder in (tmp_path, *tmp_path.parents):
        if folder.owner() == "root" and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    with pf.serve(tmp_path / "socket") as server:
        os.chmod(server.address, 0o666)  # noqa: S103 - what the test is about
        ended = run(sys.executable, "-c", OTHER, server.address)
        assert "epoch" not in ended.stdout


@as_root
def test_root_may_connect_to_the_socket_of_a_user(tmp_path):
    os.chown(tmp_path, 4321, 4321)
    for folder in tmp_path.parents:
        if folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    text = f"""
from paddle_flags.live import _serve
_serve._load_library()  # while it can be read
os.setgroups([])
os.setgid(4321)
os.setuid(4321)
server = pf.serve({str(tmp_path / "socket")!r})
print(server.address, flush=True)
sys.stdin.read()
"""
    with program(tmp_path, text) as other:
        address = line_of(other)
        assert ask(address, "hello")["you"]["uid"] == 0


# ---- The end ----


@pytest.mark.parametrize(
    "end",
    [
        "",
        "sys.exit(3)",
        "raise KeyboardInterrupt",
        "import signal; os.kill(os.getpid(), signal.SIGINT)",
    ],
)
def test_the_socket_is_gone_when_the_program_has_ended(end, tmp_path):
    with program(tmp_path, SERVE.replace("sys.stdin.read()", end)) as made:
        address = line_of(made)
        made.wait()
    assert not os.path.exists(address)


def test_a_client_sees_the_end_of_the_program(tmp_path):
    with program(tmp_path, SERVE) as made:
        with Client(line_of(made)) as client:
            client.ask("events.subscribe")
            made.stdin.close()
            assert client.read() == {}
        assert made.wait() == 0


def test_a_program_ends_quietly_while_clients_wait_and_a_validator_is_stuck(tmp_path):
    text = """
import threading, time, warnings
flag = pf.define("level", 1, runtime=True)
@pf.validator("level")
def check(value):
    if value == 2:
        print("stuck", flush=True)
        time.sleep(1000)
    return True
server = pf.serve()
print(server.address, flush=True)
sys.stdin.readline()
"""
    errors = tmp_path / "errors"
    text = f"os.dup2(os.open({str(errors)!r}, os.O_WRONLY | os.O_CREAT), 2)\n" + text
    with program(tmp_path, text, PYTHONDEVMODE="1") as made:
        address = line_of(made)
        with Client(address) as client:
            client.send(
                '{"jsonrpc":"2.0","id":1,"method":"flags.set","params":{"set":{"level":"2"}}}\n'
            )
            assert line_of(made) == "stuck"
            made.stdin.close()
            assert made.wait(60) == 0
            assert client.read() == {}
    assert errors.read_text() == ""


def test_closing_twice_does_nothing_and_says_so(tmp_path):
    server = pf.serve(tmp_path / "socket")
    assert repr(server) == f"<Server {tmp_path}/socket>"
    server.close()
    server.close()
    assert repr(server) == "<Server closed>"


def test_servers_leave_no_threads_and_no_descriptors(tmp_path):
    def count(kind):
        return len(os.listdir(f"/proc/self/{kind}"))

    with pf.serve(tmp_path / "socket"):
        pass  # what the library keeps, it has now
    until(lambda: count("task") < 9)
    before = count("fd"), count("task")
    for _ in range(20):
        with pf.serve(tmp_path / "socket") as server:
            ask(server.address, "hello")
    until(lambda: count("task") <= before[1])
    assert count("fd") == before[0]


def test_a_server_that_is_stopped_is_freed_after_the_thread_of_clients_has_left_it(tmp_path):
    script = """
import sys
import paddle_flags as pf

for _ in range(2000):
    pf.serve(sys.argv[1]).close()
"""
    # What is freed is overwritten, so that a use of it is noticed.
    env = {**os.environ, "MALLOC_PERTURB_": "165"}
    run(sys.executable, "-c", script, tmp_path / "socket", env=env)


@pytest.mark.usefixtures("place")
def test_the_names_of_sockets_are_those_that_clients_look_for():
    with pf.serve() as server:
        assert re.fullmatch(rf"{os.getpid()}(-\d+)?\.sock", os.path.basename(server.address))
