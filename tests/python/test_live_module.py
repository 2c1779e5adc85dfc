"""libpd_flags_live.so: sockets, peers, limits, forks and ends, with C programs."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import signal
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from documents import blocks
from live_module import (
    TOKEN,
    Host,
    ask,
    build_host,
    connection_to,
    module,
    running,
    wait_for,
)
from support import ROOT, build, build_plugin, build_program, run, write

pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(sys.platform != "linux", reason="live serves on Linux"),
]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_host(tmp_path_factory.mktemp("host") / "host")


@pytest.fixture
def socket_path(tmp_path: Path) -> str:
    (tmp_path / "run").mkdir(mode=0o700)
    return str(tmp_path / "run" / "host.sock")


@pytest.fixture
def served(host: Path, socket_path: str) -> Iterator[Host]:
    with running(host, f"address={socket_path}") as started:
        yield started


# ---- Hosts ----


@pytest.mark.parametrize("static", [True, False])
def test_a_program_is_served_with_a_copy_and_with_the_shared_library(
    tmp_path: Path, socket_path: str, static: bool
):
    program = build_host(tmp_path / "host", static=static)
    with running(program, f"address={socket_path}") as started:
        assert started.first == socket_path
        status, process = ask(socket_path, "/v1/process")
        assert (status, process["pid"], process["flags"]) == (200, started.process.pid, 3)
        assert process["you"]["pid"] == os.getpid()
        assert process["you"]["uid"] == os.geteuid()
        assert process["you"]["may"] == ["read", "change"]
        status, change = ask(socket_path, "/v1/changes", {"set": {"level": 9}, "reason": "x"})
        assert (status, change["flags"][0]["new"]) == (200, "9")
        assert ask(socket_path, "/v1/flags/level")[1]["flag"]["value"] == 9


def test_the_programs_of_the_page_about_serving_work(tmp_path: Path):
    page = ROOT / "docs" / "how-to" / "serve-flags-of-a-c-program.md"
    files = {b.file: b.text for b in blocks(page.read_text("utf-8")) if b.file}
    place = module().parent
    linked = (f"-L{place}", f"-Wl,-rpath,{place}", "-lpd_flags_live")
    sources = [write(tmp_path / name, text) for name, text in files.items()]
    program = build_program(tmp_path / "server", *sources, flags=linked)
    with running(program, XDG_RUNTIME_DIR=str(tmp_path)) as started:
        change = {"set": {"threads": 2}, "reason": "less load"}
        assert ask(started.first, "/v1/changes", change)[0] == 200
        assert ask(started.first, "/v1/flags/threads")[1]["flag"]["value"] == 2


PLUGIN = r"""
#include <pd_flags/live_server.h>
PD_DEFINE_int32(of_plugin, 3, "Of a plugin");
const char *serve(const char *path) {
  static pd_error err;
  pd_live_server *server;
  pd_live_server_options options = {.size = sizeof options, .address = path};
  return pd_live_serve(&options, &server, &err) == PD_OK ? "" : err.message;
}
"""


def test_a_plugin_that_links_no_library_of_flags_serves_the_registry_of_python(
    tmp_path: Path, socket_path: str
):
    place = module().parent
    linked = (f"-L{place}", f"-Wl,-rpath,{place}", "-lpd_flags_live", "-DPD_HEADER_ONLY")
    plugin = build_plugin(tmp_path / "p.so", write(tmp_path / "p.c", PLUGIN), flags=linked)
    code = f"""if True:
        import ctypes, http.client, socket
        import paddle_flags as pf
        library = ctypes.CDLL({str(plugin)!r})
        library.serve.restype = ctypes.c_char_p
        assert library.serve({socket_path!r}.encode()) == b"", "not served"
        s = socket.socket(socket.AF_UNIX)
        s.connect({socket_path!r})
        target = b"GET /v1/flags/of_plugin HTTP/1.1"
        s.sendall(target + b"\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n")
        text = b"".join(iter(lambda: s.recv(65536), b""))
        assert b'"value":3' in text, text
        """
    run(sys.executable, "-c", code)


def test_without_a_registry_serving_fails_and_says_so(tmp_path: Path):
    place = module().parent
    source = """
    #define PD_HEADER_ONLY
    #include <pd_flags/live_server.h>
    #include <stdio.h>
    int main(void) {
      pd_error err;
      pd_live_server *server;
      printf("%d %s\\n", pd_live_serve(NULL, &server, &err) == PD_ERR_UNSUPPORTED, err.message);
      return 0;
    }
    """
    flags = (f"-L{place}", f"-Wl,-rpath,{place}", "-lpd_flags_live")
    program = build(tmp_path / "main", write(tmp_path / "main.c", source), flags=flags)
    said = run(program, env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}).stdout
    assert said.startswith("1 ")
    assert "no registry is in this process" in said
    assert list((tmp_path / "paddle_flags").iterdir()) == []


def test_the_module_stays_when_it_is_closed(tmp_path: Path, socket_path: str):
    place = module().parent
    linked = (f"-L{place}", f"-Wl,-rpath,{place}", "-lpd_flags_live", "-DPD_HEADER_ONLY")
    plugin = build_plugin(tmp_path / "p.so", write(tmp_path / "p.c", PLUGIN), flags=linked)
    code = f"""if True:
        import _ctypes, ctypes, socket
        import paddle_flags as pf
        library = ctypes.CDLL({str(plugin)!r})
        library.serve.restype = ctypes.c_char_p
        assert library.serve({socket_path!r}.encode()) == b""
        _ctypes.dlclose(library._handle)
        s = socket.socket(socket.AF_UNIX)
        s.connect({socket_path!r})
        s.sendall(b"GET /v1/process HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n")
        assert s.recv(15) == b"HTTP/1.1 200 OK"
        """
    run(sys.executable, "-c", code)


# ---- Sockets ----


def test_the_default_socket_is_in_a_directory_of_the_user(host: Path, tmp_path: Path):
    with running(host, XDG_RUNTIME_DIR=str(tmp_path)) as started:
        path = tmp_path / "paddle_flags" / f"{started.process.pid}.sock"
        assert started.first == str(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        started.tell("serve")  # a second server
        assert started.line() == str(path.with_name(f"{started.process.pid}-2.sock"))


def test_without_a_runtime_directory_it_is_in_a_temporary_one(host: Path, tmp_path: Path):
    with running(host, XDG_RUNTIME_DIR="", TMPDIR=str(tmp_path)) as started:
        assert Path(started.first).parent == tmp_path / f"paddle_flags-{os.geteuid()}"


def refused(host: Path, *arguments: str, **environment: str) -> str:
    with running(host, *arguments, **environment) as started:
        assert started.first.startswith("PD_ERR_"), started.first
        return started.first


def test_a_directory_that_others_can_open_is_refused(host: Path, tmp_path: Path):
    (tmp_path / "paddle_flags").mkdir(mode=0o755)
    assert "mode 0755: expected 0700" in refused(host, XDG_RUNTIME_DIR=str(tmp_path))


def test_a_symbolic_link_in_place_of_the_directory_is_refused(host: Path, tmp_path: Path):
    (tmp_path / "other").mkdir(mode=0o700)
    (tmp_path / "paddle_flags").symlink_to("other")
    assert "expected a real directory" in refused(host, XDG_RUNTIME_DIR=str(tmp_path))
    assert list((tmp_path / "other").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_directory_of_another_user_is_refused(host: Path, tmp_path: Path):
    (tmp_path / "paddle_flags").mkdir(mode=0o700)
    os.chown(tmp_path / "paddle_flags", 12345, 12345)
    assert "belongs to uid 12345" in refused(host, XDG_RUNTIME_DIR=str(tmp_path))


def test_a_socket_where_others_may_replace_files_is_refused(host: Path, tmp_path: Path):
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    assert "others may replace" in refused(host, f"address={tmp_path}/open/s.sock")


def test_the_stale_socket_of_a_dead_process_is_replaced(host: Path, socket_path: str):
    with running(host, f"address={socket_path}") as started:
        started.process.kill()
        started.process.wait()
    assert os.path.exists(socket_path)
    with running(host, f"address={socket_path}") as again:
        assert again.first == socket_path
        assert ask(socket_path, "/v1/process")[1]["pid"] == again.process.pid


def test_a_socket_that_another_process_serves_is_left_alone(
    served: Host, host: Path, socket_path: str
):
    said = refused(host, f"address={socket_path}")
    assert f"process {served.process.pid} serves there already" in said
    assert ask(socket_path, "/v1/process")[1]["pid"] == served.process.pid


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_is_no_socket_is_never_removed(host: Path, socket_path: str, kind: str):
    target = Path(socket_path)
    if kind == "file":
        target.write_text("mine")
    else:
        target.with_name("other").write_text("mine")
        target.symlink_to("other")
    assert "is not a socket" in refused(host, f"address={socket_path}")
    assert target.read_text() == "mine"


def test_processes_that_start_at_once_agree_on_who_serves(host: Path, socket_path: str):
    hosts = [Host(host, f"address={socket_path}") for _ in range(6)]
    winners = [each for each in hosts if each.first == socket_path]
    pid = ask(socket_path, "/v1/process")[1]["pid"]
    for each in hosts:
        each.end()
    assert [each.process.pid for each in winners] == [pid]


@pytest.mark.parametrize("how", ["stop", "exit", "_exit"])
def test_the_socket_is_removed_by_stop_and_at_exit(host: Path, socket_path: str, how: str):
    with running(host, f"address={socket_path}") as started:
        assert ask(socket_path, "/v1/process")[0] == 200
        if how == "stop":
            started.tell("stop")
            assert started.line() == "stopped"
        else:
            started.end(how)
        assert os.path.exists(socket_path) == (how == "_exit")


def test_a_socket_that_somebody_else_has_put_there_is_not_removed(served: Host, socket_path: str):
    os.unlink(socket_path)
    other = socket.socket(socket.AF_UNIX)
    other.bind(socket_path)
    served.end()
    assert os.path.exists(socket_path)
    other.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_another_user_is_cut_before_a_byte_is_read(host: Path):
    code = """if True:
        import os, socket, sys
        os.setgid(12345); os.setuid(12345)
        s = socket.socket(socket.AF_UNIX)
        s.connect(sys.argv[1])
        try:
            s.sendall(b"GET /v1/process HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
            print("got", s.recv(100))
        except (BrokenPipeError, ConnectionResetError):
            print("got", b"")
        """
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o711)  # noqa: S103 - the other user has to come in
        path = f"{place}/s.sock"
        with running(host, f"address={path}"):
            os.chmod(path, 0o666)  # noqa: S103 - so that only the server refuses
            said = run("/usr/bin/python3", "-c", code, path).stdout
            assert said.strip() == "got b''"
            assert ask(path, "/v1/process")[0] == 200


# ---- TCP ----


def test_on_tcp_a_token_is_needed(host: Path):
    with running(host, "address=127.0.0.1:0", f"token={TOKEN}") as started:
        assert re.fullmatch(r"127\.0\.0\.1:[1-9][0-9]*", started.first)
        status, process = ask(started.first, "/v1/process")
        assert status == 200
        assert process["you"] == {
            "uid": None, "pid": None, "command": None, "host": "127.0.0.1", "label": "ops",
            "may": ["read", "change"],
        }  # fmt: skip
        assert ask(started.first, "/v1/process", Authorization="Bearer other-token-0000")[0] == 401
        assert ask(started.first, "/v1/process", Host="evil.example")[0] == 421


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["address=127.0.0.1:0"], "tokens: at least one is needed"),
        (["address=0.0.0.0:0", f"token={TOKEN}"], "hosts: 0.0.0.0"),
        (["address=localhost", f"token={TOKEN}"], "expected a path with a slash"),
        (["address=localhost:80", f"token={TOKEN}"], "a numeric address and a port"),
        (["address=127.0.0.1:99999", f"token={TOKEN}"], "a numeric address and a port"),
        (["address=127.0.0.1:9", f"token={TOKEN}", "fork=reopen"], "expected port 0"),
        (["address=127.0.0.1:0", "token=short"], "token 0: expected 16 to 512"),
    ],
)
def test_options_that_are_not_safe_are_refused(host: Path, arguments: list[str], why: str):
    assert why in refused(host, *arguments)


# ---- Limits ----


@pytest.mark.usefixtures("served")
def test_of_257_connections_the_last_is_refused_at_once(socket_path: str):
    with contextlib.ExitStack() as stack:
        for _ in range(256):
            each = stack.enter_context(socket.socket(socket.AF_UNIX))
            each.connect(socket_path)
        last = stack.enter_context(contextlib.closing(connection_to(socket_path)))
        last.request("GET", "/v1/process")
        response = last.getresponse()
        assert response.status == 503
        assert json.loads(response.read())["type"].endswith(":busy")
    wait_for(lambda: ask(socket_path, "/v1/process")[0] == 200)


def test_a_validator_that_blocks_does_not_block_reads(host: Path, socket_path: str, tmp_path: Path):
    held = tmp_path / "held"
    held.touch()
    with running(host, f"address={socket_path}", HELD=str(held)), contextlib.ExitStack() as stack:
        body = json.dumps({"set": {"held": 2}})
        changes = [
            stack.enter_context(contextlib.closing(connection_to(socket_path))) for _ in "12"
        ]
        for change in changes:
            change.request("POST", "/v1/changes", body, {"Content-Type": "application/json"})
        assert ask(socket_path, "/v1/flags/level")[0] == 200
        held.unlink()
        assert [change.getresponse().status for change in changes] == [200, 200]


def test_a_program_ends_while_a_validator_blocks(host: Path, socket_path: str, tmp_path: Path):
    held = tmp_path / "held"
    held.touch()
    with running(host, f"address={socket_path}", HELD=str(held)) as started:
        change = connection_to(socket_path)
        body = json.dumps({"set": {"held": 2}})
        change.request("POST", "/v1/changes", body, {"Content-Type": "application/json"})
        assert ask(socket_path, "/v1/flags/level")[0] == 200
        started.tell("stop")
        assert started.line() == "stopped"
        started.end()
        assert started.process.returncode == 0
        change.close()


@pytest.mark.usefixtures("served")
def test_a_client_that_sends_slowly_is_cut(socket_path: str):
    with socket.socket(socket.AF_UNIX) as slow:
        slow.connect(socket_path)
        text = b"GET /v1/process HTTP/1.1\r\nX: " + b"x" * 10000

        def gone() -> bool:
            nonlocal text
            try:
                slow.sendall(text[:1])
            except OSError:
                return True
            text = text[1:]
            return bool(select.select([slow], [], [], 0.3)[0]) and slow.recv(1000) == b""

        wait_for(gone)
    assert ask(socket_path, "/v1/process")[0] == 200


@pytest.mark.usefixtures("served")
def test_a_client_that_does_not_read_its_events_holds_up_nobody(socket_path: str):
    with contextlib.closing(connection_to(socket_path)) as stream:
        stream.request("GET", "/v1/events")
        for level in [1, 2] * 200:
            assert ask(socket_path, "/v1/changes", {"set": {"level": level}})[0] == 200
        text = b""
        response = stream.getresponse()
        while b'"revision":400' not in text:
            text += response.read1(65536)


def test_events_come_and_a_client_that_goes_is_forgotten(served: Host, socket_path: str):
    before = sockets_of(served.process.pid)
    stream = connection_to(socket_path)
    stream.request("GET", "/v1/events")
    response = stream.getresponse()
    assert response.headers["Content-Type"].startswith("text/event-stream")
    assert b"event: hello" in response.read1(65536)
    ask(socket_path, "/v1/changes", {"set": {"level": 8}, "reason": "why not"})
    assert b"why not" in response.read1(65536)
    response.close()
    stream.close()
    wait_for(lambda: sockets_of(served.process.pid) == before)


# ---- Forks and ends ----


def sockets_of(pid: int) -> list[str]:
    """Return the sockets of a process."""
    found = []
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            found.append(os.readlink(file))
    return sorted(name for name in found if name.startswith("socket:"))


def test_a_forked_child_closes_what_is_its_parents(served: Host, socket_path: str):
    stream = connection_to(socket_path)
    stream.request("GET", "/v1/events")
    response = stream.getresponse()
    response.read1(65536)
    before = sockets_of(served.process.pid)
    assert len(before) == 2
    served.tell("fork")
    child, _, address = served.line().partition(" ")
    assert address == ""
    assert sockets_of(int(child)) == []
    assert sockets_of(served.process.pid) == before
    ask(socket_path, "/v1/changes", {"set": {"level": 8}})
    assert b'"new":"8"' in response.read1(65536)
    os.kill(int(child), signal.SIGTERM)
    stream.close()


@pytest.mark.parametrize("where", ["default", "path"])
def test_a_forked_child_is_served_at_its_own_address(host: Path, tmp_path: Path, where: str):
    path = tmp_path / "run" / "s.sock"
    path.parent.mkdir(mode=0o700)
    arguments = [f"address={path}"] if where == "path" else []
    with running(host, "fork=reopen", *arguments, XDG_RUNTIME_DIR=str(tmp_path)) as started:
        started.tell("fork")
        child, address = started.line().split(" ")
        parent = started.process.pid
        expected = (
            f"{path}.{child}" if where == "path" else started.first.replace(str(parent), child)
        )
        assert address == expected
        assert ask(address, "/v1/process")[1]["pid"] == int(child)
        assert ask(started.first, "/v1/process")[1]["pid"] == parent
        os.kill(int(child), signal.SIGTERM)


def test_a_program_that_closes_all_descriptors_goes_on_and_is_warned(
    served: Host, socket_path: str
):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(socket_path)
        client.sendall(b"GET /v1/process HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 200 ")
        served.tell("close")
        assert "has ended" in served.line()
    served.end()
    assert served.process.returncode == 0


def test_a_change_is_one_line_of_the_audit_file_also_after_it_was_renamed(
    host: Path, socket_path: str, tmp_path: Path
):
    audit = tmp_path / "audit.jsonl"
    with running(host, f"address={socket_path}", f"audit={audit}", "fsync=1"):
        ask(socket_path, "/v1/changes", {"set": {"level": 8}, "reason": "first"})
        audit.rename(tmp_path / "audit.1")
        ask(socket_path, "/v1/changes", {"set": {"level": 7}, "reason": "second"})
        assert stat.S_IMODE(audit.stat().st_mode) == 0o600
        first, second = (tmp_path / "audit.1").read_text(), audit.read_text()
        audit.rename(tmp_path / "audit.2")
        audit.touch()  # as logrotate makes it
        ask(socket_path, "/v1/changes", {"set": {"level": 6}, "reason": "third"})
        assert "third" in audit.read_text()
        assert [first.count("\n"), second.count("\n")] == [1, 1]
        assert "first" in first
        assert json.loads(second)["reason"] == "second"


def test_an_audit_file_that_is_a_link_is_refused(host: Path, socket_path: str, tmp_path: Path):
    (tmp_path / "audit").symlink_to(tmp_path / "target")
    assert "audit" in refused(host, f"address={socket_path}", f"audit={tmp_path}/audit")
    assert not (tmp_path / "target").exists()


def test_the_module_exports_its_three_functions_alone():
    names = re.findall(r" T (\w+)", run("nm", "-D", "--defined-only", module()).stdout)
    assert sorted(names) == ["pd_live_get_address", "pd_live_serve", "pd_live_stop"]
