"""Sockets, forks, exec and the end of a process."""

from __future__ import annotations

import errno
import os
import socket
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from serving import Client, until


def script(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder whose runtime directory is its own."""
    start = "import os, sys, time\nimport paddle_flags as pf\n"
    start += "from paddle_flags.live._serve import serve\n"
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(folder)}
    return subprocess.run(
        [sys.executable, "-c", start + textwrap.dedent(text)],
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment,
        timeout=60,
        check=False,
    )


def is_refused(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as made:
        return made.connect_ex(str(path)) == errno.ECONNREFUSED


def test_the_default_socket_is_found_by_the_pid_and_is_for_its_user(tmp_path):
    done = script(
        tmp_path,
        """
        with serve() as server:
            place = f"{os.environ['XDG_RUNTIME_DIR']}/paddle_flags/{os.getpid()}.sock"
            assert server.address == place, server.address
            assert os.stat(place).st_mode & 0o777 == 0o600
            assert os.stat(os.path.dirname(place)).st_mode & 0o777 == 0o700
            with serve() as second:
                assert second.address == place.replace(".sock", "-2.sock")
        assert not os.listdir(os.path.dirname(place))
        """,
    )
    assert done.returncode == 0, done.stderr


def test_the_socket_goes_with_the_program(start):
    program = start()
    assert program.socket.exists()
    assert program.stop() == 0
    assert not program.socket.exists()


def test_a_socket_that_is_left_behind_is_replaced(start):
    program = start()
    program.process.kill()
    program.process.wait()
    assert program.socket.exists()
    with Client(start().socket) as client:
        assert client.text("level") == "6"


def test_a_second_process_cannot_take_the_socket(start, tmp_path):
    program = start()
    done = script(tmp_path, f"serve({str(program.socket)!r})")
    assert "FlagConflictError" in done.stderr
    assert f"process {program.process.pid} serves there already" in done.stderr
    with Client(program.socket) as client:
        assert client.text("level") == "6"


def test_a_file_is_not_replaced(tmp_path):
    (tmp_path / "flags.sock").write_text("precious")
    done = script(tmp_path, "serve('./flags.sock')")
    assert "exists, and is not a socket" in done.stderr
    assert (tmp_path / "flags.sock").read_text() == "precious"


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_in_which_others_may_replace_files_is_refused(tmp_path, mode):
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(mode)
    done = script(tmp_path, "serve('open/flags.sock')")
    assert "others may replace files in it" in done.stderr
    assert not list(folder.iterdir())


def test_a_default_folder_that_is_a_link_or_open_to_others_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "paddle_flags").symlink_to("elsewhere")
    assert "expected a real directory" in script(tmp_path, "serve()").stderr
    (tmp_path / "paddle_flags").unlink()
    (tmp_path / "paddle_flags").mkdir()
    (tmp_path / "paddle_flags").chmod(0o755)
    assert "expected 0700" in script(tmp_path, "serve()").stderr


@pytest.mark.parametrize("address", ["localhost:8080", "tcp://localhost:8080", "http://a/"])
def test_an_address_of_tcp_is_refused(tmp_path, address):
    done = script(tmp_path, f"serve('{address}')")
    assert "paddle-flags gateway" in done.stderr
    assert "FlagArgumentError" in done.stderr


def test_a_forked_child_is_not_served_and_leaves_the_parent_alone(program, client):
    child = program.run(
        "pid = os.fork() or (time.sleep(0.5), os._exit(len(server.address))); print(pid)"
    )
    assert client.text("level") == "6"
    status = program.run(f"print(os.waitstatus_to_exitcode(os.waitpid({child}, 0)[1]))")
    assert status == "0"
    assert client.text("level") == "6"
    assert program.socket.exists()


def test_a_forked_child_serves_its_own_flags_if_it_shall(start):
    program = start("on_fork=reopen")
    child = program.run(
        "pid = os.fork() or (setattr(pf.FLAGS, 'level', 3), time.sleep(60), os._exit(0));"
        " print(pid)"
    )
    own = Path(f"{program.socket}.{child}")
    until(own.exists)
    with Client(own) as client, Client(program.socket) as parent:
        assert client.ask("hello")["pid"] == int(child)
        assert client.ask("hello")["epoch"] != parent.ask("hello")["epoch"]
        assert (client.text("level"), parent.text("level")) == ("3", "6")
        client.ask("flags.set", set={"level": 9})
        assert parent.text("level") == "6"
    os.kill(int(child), 9)


def test_a_temporary_value_ends_in_a_forked_child_too(program, client):
    client.ask("flags.set", set={"level": 9}, for_="1s")
    status = program.run(
        "pid = os.fork() or (time.sleep(2.5), os._exit(pf.FLAGS.level));"
        " print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))"
    )
    assert status == "6"


def test_a_program_that_calls_exec_closes_its_socket(program, client):
    client.text("level")
    program.tell("os.execv(sys.executable, [sys.executable, '-c', 'input()'])")
    assert client.read() == {}
    until(lambda: is_refused(program.socket))


def test_a_closed_server_closes_its_connections(program, client):
    client.text("level")
    program.run("server.close(); server.close()")
    assert client.read() == {}
    assert not program.socket.exists()
    assert program.run("print(server.address == '', server)") == "True <Server closed>"


def test_no_descriptor_is_left_open(program):
    count = "print(len(os.listdir('/proc/self/fd')))"
    before = program.run(count)
    for _ in range(5):
        program.run("again = serve('./again.sock')")
        with Client(program.socket.parent / "again.sock") as client:
            client.text("level")
        program.run("again.close()")
    assert until(lambda: program.run(count) == before)


def test_a_program_that_closes_all_its_descriptors_lives_on(program):
    program.run("os.closerange(3, 64)")
    assert program.run("print(pf.FLAGS.level)") == "6"
    program.run("server.close()")


OPEN_OWN = (
    "import socket; os.closerange(3, 64);"
    " files = [open(f'own{i}', 'wb+', buffering=0) for i in range(40)];"
    " wrote = [(each.write(b'x' * 200), each.seek(0)) for each in files];"
    " listening = socket.create_server(('127.0.0.1', 0));"
    " caller = socket.create_connection(listening.getsockname())"
)
SEE_OWN = "print(all((os.fstat(each.fileno()).st_size, each.tell()) == (200, 0) for each in files))"
ACCEPT = "print(listening.accept()[1] == caller.getsockname())"


def test_descriptors_that_the_program_closes_and_uses_itself_are_left_alone(program, client):
    client.ask("flags.set", set={"level": 9}, for_="0.5s")
    program.run(OPEN_OWN)
    until(lambda: [each["event"] for each in program.events()] == ["set", "ended"])
    program.run("server.close()")
    assert (program.run(SEE_OWN), program.run(ACCEPT)) == ("True", "True")


def test_another_user_cannot_connect(program):
    if os.getuid() != 0:
        pytest.skip("needs root, to become another user")
    os.chmod(program.socket, stat.S_IRWXU | stat.S_IRWXO)  # noqa: S103 - that alone must not do
    for folder in [program.socket.parent, *program.socket.parent.parents][:4]:
        os.chmod(folder, os.stat(folder).st_mode | stat.S_IXOTH | stat.S_IROTH)
    made = socket.socket(socket.AF_UNIX)
    child = os.fork()
    if child == 0:
        os.setuid(65534)
        try:
            made.connect(str(program.socket))
            made.sendall(b'{"jsonrpc":"2.0","id":1,"method":"hello"}\n')
            os._exit(len(made.recv(100)))
        except BaseException:  # what went wrong is the status
            os._exit(99)
    made.close()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) in (0, 99)
    with Client(program.socket) as client:
        assert client.text("level") == "6"
