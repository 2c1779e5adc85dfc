"""Attacks on the socket: other users, its directory, dead processes, forked children."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_client import DEADLINE, Reader, encode
from live_subjects import Subject, command_of, kinds, running

KINDS = kinds("python-unix", "c-unix")
NOBODY = 65534


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def environment(place: Path) -> dict[str, str]:
    """Return an environment whose directory of sockets is below `place`."""
    return {**os.environ, "XDG_RUNTIME_DIR": str(place)}


@contextlib.contextmanager
def default(kind: str, place: Path) -> Iterator[Subject]:
    """Run a subject that serves where all programs do."""
    with running(kind, place, {"unix": ""}, env=environment(place)) as made:
        yield made


def refusal(kind: str, place: Path, options: dict[str, object] | None = None) -> str:
    """Return why a subject doesn't serve."""
    place.mkdir(exist_ok=True)
    command = command_of(kind, place, {"unix": "", **(options or {})})
    done = subprocess.run(
        command, env=environment(place), input="quit\n", capture_output=True, text=True, timeout=60
    )
    assert done.returncode != 0, done.stdout
    assert "Traceback" not in done.stderr.partition("FlagFileError")[2]
    return done.stderr


# ---- Other users ----


def as_nobody(text: str, *arguments: str) -> str:
    """Run Python as another user; return what it prints."""
    if os.getuid() != 0:
        pytest.skip("only root can be another user")
    program = f"import os, socket, sys; os.setgid({NOBODY}); os.setuid({NOBODY})\n{text}"
    done = subprocess.run(
        [sys.executable, "-I", "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout + done.stderr


ASK = """
s = socket.socket(socket.AF_UNIX)
s.settimeout(30)
try:
    s.connect(sys.argv[1])
    s.sendall(b"GET /v1/flags HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n")
    answer = b""
    while part := s.recv(65536):
        answer += part
    print("answer", answer.decode())
except OSError as error:
    print("refused", error)
"""


def test_another_user_cannot_even_reach_the_socket(kind: str, tmp_path: Path):
    with default(kind, tmp_path) as subject:
        path = Path(subject.places["unix"])
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
        assert as_nobody(ASK, str(path)).startswith("refused")


def test_another_user_that_reaches_the_socket_is_refused_by_its_credentials(kind: str):
    place = tempfile.TemporaryDirectory()  # others can get at it, unlike tmp_path
    with place as folder, running(kind, Path(folder)) as subject:
        path = Path(subject.places["unix"])
        for each in (Path(folder), path.parent):
            each.chmod(0o755)
        path.chmod(0o777)
        said = as_nobody(ASK, str(path))
        assert "level" not in said
        assert said.strip() == "answer" or " 403 " in said or said.startswith("refused"), said
        assert subject.client.get("/v1/process").status == 200


def test_another_user_cannot_fill_the_places_of_the_clients(kind: str):
    with tempfile.TemporaryDirectory() as place, running(kind, Path(place)) as subject:
        path = Path(subject.places["unix"])
        for each in (Path(place), path.parent):
            each.chmod(0o755)
        path.chmod(0o777)
        many = """
many = []
for i in range(400):
    many.append(socket.socket(socket.AF_UNIX))
    many[-1].settimeout(30)
    many[-1].connect(sys.argv[1])
print("connected", flush=True)
for each in many:
    try:
        if each.recv(100):
            print("answer")
    except OSError:
        pass
"""
        assert "connected" in as_nobody(many, str(path))
        assert subject.client.get("/v1/process").status == 200


# ---- The directory ----


def test_a_directory_that_others_can_enter_is_refused(kind: str, tmp_path: Path):
    for mode in (0o777, 0o755, 0o1777, 0o710):
        place = tmp_path / f"{mode:o}"
        (place / "paddle_flags").mkdir(parents=True)
        (place / "paddle_flags").chmod(mode)
        assert "mode" in refusal(kind, place)
        assert list((place / "paddle_flags").iterdir()) == []


def test_a_directory_of_another_user_is_refused(kind: str, tmp_path: Path):
    if os.getuid() != 0:
        pytest.skip("only root can make one")
    directory = tmp_path / "paddle_flags"
    directory.mkdir(mode=0o700)
    os.chown(directory, NOBODY, NOBODY)
    assert str(NOBODY) in refusal(kind, tmp_path)
    assert list(directory.iterdir()) == []


def test_a_symlink_in_place_of_the_directory_is_refused(kind: str, tmp_path: Path):
    evil = tmp_path / "evil"
    evil.mkdir(mode=0o700)
    (tmp_path / "paddle_flags").symlink_to(evil)
    assert "paddle_flags" in refusal(kind, tmp_path)
    assert list(evil.iterdir()) == []


def test_a_file_in_place_of_the_directory_is_refused(kind: str, tmp_path: Path):
    (tmp_path / "paddle_flags").write_text("mine")
    assert "paddle_flags" in refusal(kind, tmp_path)
    assert (tmp_path / "paddle_flags").read_text() == "mine"


def test_a_file_in_place_of_the_socket_is_neither_used_nor_removed(kind: str, tmp_path: Path):
    path = tmp_path / "run" / "here.sock"
    path.parent.mkdir(mode=0o700)
    path.write_text("mine")
    assert "here.sock" in refusal(kind, tmp_path, {"unix": str(path)})
    assert path.read_text() == "mine"


@pytest.mark.parametrize("what", ["file", "socket", "nothing"])
def test_a_symlink_in_place_of_the_socket_is_neither_followed_nor_removed(
    kind: str, what: str, tmp_path: Path
):
    directory, target = tmp_path / "run", tmp_path / "target"
    directory.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as dead:
        if what == "file":
            target.write_text("mine")
        if what == "socket":
            dead.bind(str(target))
        (directory / "here.sock").symlink_to(target)
        assert "here.sock" in refusal(kind, tmp_path, {"unix": str(directory / "here.sock")})
    assert (directory / "here.sock").is_symlink()
    assert target.exists() == (what != "nothing")


def test_a_directory_that_is_swapped_while_it_is_opened_gets_no_socket(kind: str, tmp_path: Path):
    evil, real, place = tmp_path / "evil", tmp_path / "paddle_flags", tmp_path / "aside"
    evil.mkdir(mode=0o700)
    real.mkdir(mode=0o700)
    link = tmp_path / "link"
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            with contextlib.suppress(OSError):
                link.symlink_to(evil)
                real.rename(place)
                link.rename(real)
                real.unlink()
                place.rename(real)
            time.sleep(0)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for _ in range(12):
            command = command_of(kind, tmp_path, {"unix": ""})
            done = subprocess.run(
                command,
                env=environment(tmp_path),
                input="quit\n",
                capture_output=True,
                text=True,
                timeout=60,
            )
            assert list(evil.iterdir()) == []
            gone = "No such file" in done.stderr or "paddle_flags" in done.stderr
            assert done.returncode == 0 or gone, done.stderr
    finally:
        over.set()
        swapper.join()
    assert list(evil.iterdir()) == []


# ---- Dead and living processes ----


def test_the_stale_socket_of_a_dead_process_is_replaced(kind: str, tmp_path: Path):
    path = tmp_path / "run" / "here.sock"
    path.parent.mkdir(mode=0o700)
    with running(kind, tmp_path, {"unix": str(path)}) as first:
        first.process.kill()
        first.process.wait()
        assert path.exists()
        with running(kind, tmp_path, {"unix": str(path)}) as second:
            assert second.client.get("/v1/process").json["pid"] == second.process.pid
    assert not path.exists()


def test_the_socket_of_a_living_process_is_not_taken(kind: str, tmp_path: Path):
    path = tmp_path / "run" / "here.sock"
    path.parent.mkdir(mode=0o700)
    with running(kind, tmp_path, {"unix": str(path)}) as first:
        assert "here.sock" in refusal(kind, tmp_path, {"unix": str(path)})
        assert first.client.get("/v1/process").json["pid"] == first.process.pid


def test_a_server_that_stops_removes_only_its_own_socket(kind: str, tmp_path: Path):
    path = tmp_path / "run" / "here.sock"
    path.parent.mkdir(mode=0o700)
    with running(kind, tmp_path, {"unix": str(path)}) as subject:
        path.unlink()
        path.write_text("mine")
        subject.tell("stop")
        assert path.read_text() == "mine"
        path.unlink()
        subject.serve()
        subject.tell("stop")
        assert not path.exists()


# ---- Forked children ----


def sockets(pid: int) -> set[str]:
    """Return the sockets that a process has."""
    found = set()
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            if os.readlink(each).startswith("socket:"):
                found.add(os.readlink(each))
    return found


def wait_for_none(child: int) -> None:
    end = time.monotonic() + DEADLINE
    while sockets(child):
        assert time.monotonic() < end, "the child keeps sockets"
        time.sleep(0.02)


@pytest.mark.parametrize("any_kind", kinds("python-unix", "python-tcp", "c-unix", "c-tcp"))
def test_a_forked_child_only_closes_what_it_inherits(any_kind: str, tmp_path: Path):
    with running(any_kind, tmp_path) as subject:
        stream = subject.client.stream()
        assert stream.next()
        child = subject.fork()
        assert sockets(subject.process.pid)
        wait_for_none(child)
        with subject.address.connect() as connection:
            connection.sendall(encode("GET", "/v1/process", dict(subject.address.headers()), None))
            response = Reader(connection).answer()
        assert response
        assert response.json["pid"] == subject.process.pid
        os.kill(child, signal.SIGKILL)
        subject.client.set("level", 9)
        event = stream.next()
        assert event
        assert event.data["changes"][0]["new"] == "9"
        stream.reader.connection.close()


def test_a_forked_child_that_ends_leaves_the_socket_to_its_parent(kind: str, tmp_path: Path):
    with running(kind, tmp_path) as subject:
        child = subject.fork()
        os.kill(child, signal.SIGTERM)
        time.sleep(0.1)
        assert Path(subject.places["unix"]).exists()
        assert subject.client.get("/v1/process").status == 200


def test_a_child_that_outlives_its_parent_does_not_answer_for_it(kind: str, tmp_path: Path):
    with running(kind, tmp_path) as subject:
        wait_for_none(subject.fork())
        address = subject.address
        os.kill(subject.process.pid, signal.SIGKILL)
        subject.process.wait()
        with pytest.raises(ConnectionError):
            address.connect()
