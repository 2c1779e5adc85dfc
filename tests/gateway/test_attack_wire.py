"""Attacks on a gateway's connections: odd HTTP, too much of it, and clients that send nothing."""

from __future__ import annotations

import os
import re
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest
from certificates import authority, certificate
from support import run
from ways import IMPATIENT, TOKENS, Way, read_all, start

pytestmark = pytest.mark.extended  # HTTP is an extra

# A program that mounts the gateway has a server of its own. The other two serve with the same code.
OURS = ("tcp", pytest.param("loopback", marks=pytest.mark.release))
IDLE = 400


def statuses(answer: bytes) -> list[int]:
    return [int(each) for each in re.findall(rb"HTTP/1\.1 (\d\d\d) ", answer)]


@contextmanager
def secured(tmp_path, *words: object, code: str = "") -> Iterator[Way]:
    """A gateway with TLS."""
    ca = authority(tmp_path, "ca")
    made = certificate(ca, "server", "/CN=localhost")
    options = ["--certfile", made, "--keyfile", made.with_suffix(".key"), *words]
    with start("tcp", tmp_path, *options, code=code) as way:
        way.origin = f"https://localhost:{way.port}"
        way.context = ssl.create_default_context(cafile=ca)
        yield way


# ---- Requests that two readers might read differently ----

POST = "Content-Type: application/json"
SMUGGLED = {
    "length and chunks": ["Content-Length: 4", "Transfer-Encoding: chunked"],
    "two codings": ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
    "another coding": ["Transfer-Encoding: xchunked"],
    "two lengths": ["Content-Length: 4", "Content-Length: 40"],
    "a signed length": ["Content-Length: +4"],
    "a negative length": ["Content-Length: -1"],
    "a blank before the colon": ["Content-Length : 4"],
    "another host": ["Host: evil.example"],
}


@pytest.mark.parametrize("lines", SMUGGLED.values(), ids=SMUGGLED)
def test_no_request_is_smuggled_in_the_body_of_another(shared: Way, lines: list[str]):
    change = b'{"set": {"level": "3"}}'
    inner = shared.head(
        f"POST {shared.api}/changes HTTP/1.1", POST, f"Content-Length: {len(change)}"
    )
    outer = shared.head(f"POST {shared.api}/undo HTTP/1.1", POST, *lines)
    answer = shared.raw(outer + b"0\r\n\r\n" + inner + change)
    assert len(statuses(answer)) <= 1, answer
    assert not statuses(answer) or statuses(answer)[0] >= 400


def test_what_is_no_http_is_refused(shared: Way):
    for data in (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9\r\n\r\n"):
        assert statuses(shared.raw(data)) == [400]


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/page.js/../../../etc/passwd",
        "/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2f..%2fetc%2fpasswd",
        "/../__init__.py",
        "/%2e%2e/security.py",
        "/__init__.py",
        "/..%5csecurity.py",
        "/page.js%00",
        "/index.html%00.js",
        "//etc/passwd",
        "//evil.example/",
        "/v1//processes",
        "/v1/processes/",
        "/v1/processes/-1",
        "/v1/processes/1e3",
        "/v1/processes/0",
        "/v1/processes/99999999999999999999",
        "/v1/processes/..%2fprocesses",
        "/v2/processes",
    ],
)
def test_paths_lead_nowhere_else(shared: Way, path: str):
    status, headers, body = shared.ask(path)
    assert status == 404, body
    assert headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(
    "name", ["..", "%2e%2e", "a%2fb", "a%5cb", "%252e", "a%00", "a%0d%0aX:%20y"]
)
def test_the_name_of_a_flag_is_never_a_path(shared: Way, name: str):
    status, headers, body = shared.process(f"/flags/{name}")
    assert status in (400, 404), body
    assert "x" not in headers


@pytest.mark.parametrize(
    "query", ["x=1", "since=a&since=b", "since=a%0d%0aX:y", "since=", "since=1-2-3"]
)
def test_a_query_is_what_the_reference_says_or_refused(shared: Way, query: str):
    status, headers, _ = shared.process(f"/flags?{query}")
    assert status in ((400,) if query[0] == "x" or "&" in query else (200, 400))
    assert "x" not in headers


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "X"])
def test_other_methods_are_refused(shared: Way, method: str):
    for path in ("/", "/v1/processes", f"/v1/processes/{shared.program.pid}/changes"):
        status, headers, body = shared.ask(path, method)
        assert status == 405, body
        assert headers["content-type"] == "application/problem+json"


# ---- Too much ----


def test_a_body_that_is_too_large_is_refused(shared: Way):
    body = b'{"set": {"note": "%s"}}' % (b"a" * (1 << 20))
    assert shared.process("/changes", "POST", body)[0] == 413
    head = shared.head(f"POST {shared.api}/changes HTTP/1.1", POST, "Transfer-Encoding: chunked")
    with shared.connect() as made:
        made.sendall(head)
        try:
            for _ in range(40):
                made.sendall(b"8000\r\n" + b"a" * 0x8000 + b"\r\n")
        except OSError:
            pass
        assert statuses(made.recv(65536))[:1] == [413]


def test_the_largest_body_reaches_the_process(way: Way):
    room = (1 << 20) - (8 << 10) - len('{"set": {"note": ""}}')
    status, _, body = way.process("/changes", "POST", b'{"set": {"note": "%s"}}' % (b"a" * room))
    assert status == 200, body
    assert way.program.client().flag("note")["text"] == "a" * room


def test_headers_that_are_too_large_are_refused(shared: Way):
    head = shared.head(f"GET {shared.api} HTTP/1.1", "X: " + "a" * 20_000)
    assert statuses(shared.raw(head))[0] in (400, 431)
    many = shared.head(f"GET {shared.api} HTTP/1.1", *["X: a"] * 4_000)
    assert statuses(shared.raw(many))[0] in (400, 431)
    long = shared.head(f"GET {shared.api}/flags?since={'a' * 20_000} HTTP/1.1")
    assert statuses(shared.raw(long))[0] in (400, 431)


def test_a_body_that_is_deep_or_wide_is_refused_soon(shared: Way):
    for opens in (b"[", b'{"a":', b'[{"a":'):
        assert shared.process("/changes", "POST", opens * 100_000)[0] == 400
    wide = b'{"set": {%s}}' % b",".join(b'"f%d":1' % each for each in range(60_000))
    assert shared.process("/changes", "POST", wide)[0] in (400, 404, 422)


# ---- Too little ----


@pytest.mark.parametrize("kind", OURS)
def test_idle_clients_without_a_token_do_not_keep_an_operator_out(kind: str, tmp_path):
    with start(kind, tmp_path) as way, ExitStack() as idle:
        for number in range(IDLE):
            made = idle.enter_context(way.connect())
            if number % 2:
                made.sendall(b"GET / HTTP/1.1\r\nHost:")
        assert way.process("/flags")[0] == 200
        assert way.change({"level": 3})[0] == 200


def test_idle_clients_without_a_token_do_not_keep_an_operator_out_over_tls(tmp_path):
    with secured(tmp_path) as way, ExitStack() as idle:
        for number in range(IDLE):
            made = idle.enter_context(way.connect())
            if number % 2:
                made.sendall(b"\x16\x03\x01")
        assert way.process("/flags")[0] == 200
        assert way.change({"level": 3})[0] == 200


@pytest.mark.parametrize("kind", OURS)
def test_a_stream_of_an_operator_survives_many_clients_without_a_token(kind: str, tmp_path):
    with start(kind, tmp_path) as way, way.connect() as stream, ExitStack() as idle:
        stream.sendall(way.head(f"GET {way.api}/events HTTP/1.1"))
        text = stream.recv(65536)
        for _ in range(IDLE):
            idle.enter_context(way.connect())
        way.program.run("pf.FLAGS.level = 4")
        while b"event: changes" not in text:
            part = stream.recv(65536)
            assert part, text
            text += part


@pytest.mark.parametrize("kind", OURS)
@pytest.mark.parametrize(
    "begin", [b"", b"GET / HTTP/1.1\r\nHost: a", b"POST / HTTP/1.1\r\nX: y\r\n"]
)
def test_a_client_that_does_not_finish_the_head_of_a_request_is_cut(
    kind: str, begin: bytes, tmp_path
):
    with start(kind, tmp_path, code=IMPATIENT) as way, way.connect() as made:
        made.sendall(begin)
        assert read_all(made) == b""


@pytest.mark.parametrize("kind", OURS)
def test_a_client_that_sends_a_byte_now_and_then_is_cut(kind: str, tmp_path):
    with start(kind, tmp_path, code=IMPATIENT) as way, way.connect() as made:
        trickle(made, b"G")


@pytest.mark.parametrize("kind", OURS)
def test_a_client_that_does_not_finish_its_next_request_is_cut(kind: str, tmp_path):
    with start(kind, tmp_path, code=IMPATIENT) as way, way.connect() as made:
        made.sendall(way.head(f"GET {way.api} HTTP/1.1"))
        assert statuses(made.recv(65536)) == [200]
        trickle(made, b"G")


def trickle(made: socket.socket, byte: bytes) -> None:
    """Send a byte now and then, until the connection ends."""
    made.settimeout(0.05)
    for _ in range(1200):
        try:
            made.sendall(byte)
            if not made.recv(65536):
                return
        except TimeoutError:
            pass
        except OSError:
            return
    pytest.fail("the connection goes on")


@pytest.mark.parametrize("begin", [b"", b"\x16\x03\x01\x02\x00"])
def test_a_client_that_does_not_finish_a_tls_handshake_is_cut(begin: bytes, tmp_path):
    with secured(tmp_path, code=IMPATIENT) as way, way.connect() as made:
        made.sendall(begin)
        read_all(made)


@pytest.mark.parametrize("kind", OURS)
def test_a_body_that_comes_too_slowly_is_refused(kind: str, tmp_path):
    with start(kind, tmp_path, code=IMPATIENT) as way, way.connect() as made:
        made.sendall(way.head(f"POST {way.api}/changes HTTP/1.1", POST, "Content-Length: 9") + b"{")
        assert statuses(made.recv(65536)) == [408]


@pytest.mark.parametrize("kind", OURS)
def test_a_client_that_waits_for_its_answer_is_not_cut(kind: str, tmp_path):
    with start(kind, tmp_path, code=IMPATIENT) as way, way.connect() as stream:
        stream.sendall(way.head(f"GET {way.api}/events HTTP/1.1"))
        text = stream.recv(65536)
        time.sleep(1.5)  # three times the patience
        way.program.run("pf.FLAGS.level = 4")
        while b"event: changes" not in text:
            part = stream.recv(65536)
            assert part, text
            text += part


def test_clients_that_come_and_go_leave_nothing_behind(tmp_path):
    with start("tcp", tmp_path) as way:
        assert way.process()[0] == 200
        folder = f"/proc/{way.processes[0].pid}/fd"
        before = len(os.listdir(folder))
        for number in range(300):
            with way.connect() as made:
                made.sendall(way.head(f"GET {way.api}/events HTTP/1.1")[: number * 2])
        way.process()
        deadline = time.monotonic() + 60
        while len(os.listdir(folder)) > before + 3:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_streams_that_nobody_reads_any_more_leave_the_process(way: Way):
    folder = f"/proc/{way.program.pid}/fd"
    assert way.process()[0] == 200  # what it needs once is there
    before = len(os.listdir(folder))
    for _ in range(20):
        with way.connect() as stream:
            stream.sendall(way.head(f"GET {way.api}/events HTTP/1.1"))
            assert stream.recv(65536)
    deadline = time.monotonic() + 60
    while len(os.listdir(folder)) > before + 3:
        assert time.monotonic() < deadline
        time.sleep(0.05)


# ---- Other users, and other machines ----


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")
def test_another_user_of_the_machine_cannot_use_the_link(tmp_path):
    with start("loopback", tmp_path, enters=False) as way:
        script = f"""
import os, socket
os.setresuid(65534, 65534, 65534)
made = socket.socket()
made.connect(("127.0.0.1", {way.port}))
try:
    made.sendall(b"GET {way.entry} HTTP/1.1\\r\\nHost: 127.0.0.1:{way.port}\\r\\n\\r\\n")
    print(made.recv(1000))
except OSError:
    print(b"")
"""
        assert run(sys.executable, "-c", script).stdout == "b''\n"
        way.sign_in()


def test_a_file_of_tokens_that_others_can_read_is_refused(tmp_path):
    file = tmp_path / "tokens"
    file.write_text(f"ops change {TOKENS['ops']}\n")
    for mode in (0o640, 0o604):
        file.chmod(mode)
        assert "others can read it" in refused("--token-file", file)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("ops change short", "expected 16 to 512"),
        ("ops root change-0123456789", "expected 'read' or 'change'"),
        ("change-0123456789", "expected LABEL read|change TOKEN"),
        ("a read read-0123456789ab\na read read-0123456789ab", "is there twice"),
        ("", "expected lines with LABEL"),
        ("# nothing", "expected lines with LABEL"),
        ("ops change ünicöde-0123456789", "printable ASCII"),
    ],
)
def test_a_file_of_tokens_that_is_wrong_is_refused(line: str, why: str, tmp_path):
    file = tmp_path / "tokens"
    file.write_text(line + "\n")
    file.chmod(0o600)
    assert why in refused("--token-file", file)


def test_other_machines_are_served_only_with_tls_and_by_name(tmp_path):
    file = tmp_path / "tokens"
    file.write_text(f"ops change {TOKENS['ops']}\n")
    file.chmod(0o600)
    options = ("--token-file", file, "--host", "0.0.0.0")  # noqa: S104 - it is refused
    assert "which needs TLS" in refused(*options)
    assert "which needs the names" in refused(*options, "--behind-proxy", "127.0.0.1")
    assert "without a port" in refused(*options, "--behind-proxy", "::1", "--allow-host", "a:80")
    missing = refused(*options, "--allow-host", "a", "--certfile", tmp_path / "none")
    assert "No such file" in missing


def refused(*words: object) -> str:
    """Run the command, which must refuse these options."""
    start = [sys.executable, "-m", "paddle_flags", "gateway", "--port", "0", *map(str, words)]
    ended = subprocess.run(start, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2, ended
    return ended.stderr


def test_behind_a_proxy_with_tls_its_own_origin_is_known(tmp_path):
    options = ("--behind-proxy", "127.0.0.1", "--allow-host", "flags.example.com")
    with start("tcp", tmp_path, *options) as way:
        host = {
            "Host": "flags.example.com",
            "X_Forwarded_Proto": "https",
            "X_Forwarded_For": "10.1.2.3",
        }
        assert way.change({"level": 3}, Origin="https://flags.example.com", **host)[0] == 200
        assert way.change({"level": 4}, Origin="http://flags.example.com", **host)[0] == 403
        assert way.process(Host=None)[0] == 421
        behalf = way.program.client().changes()[0]["who"]["on_behalf_of"]
        assert behalf == {"label": "ops", "host": "10.1.2.3"}


def test_a_client_cannot_say_that_it_is_another_host(tmp_path):
    with start("tcp", tmp_path) as way:
        assert (
            way.change({"level": 3}, X_Forwarded_For="10.1.2.3", Forwarded="for=10.1.2.3")[0] == 200
        )
        behalf = way.program.client().changes()[0]["who"]["on_behalf_of"]
        assert behalf == {"label": "ops", "host": "127.0.0.1"}
