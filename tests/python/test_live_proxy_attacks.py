"""Attacks on the server of paddle-flags open: other sites, other users, hostile processes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest
from live_process import Opened, Served
from support import package, run

from paddle_flags.live import _proxy_rules as rules

package("h11")


@pytest.fixture
def served(tmp_path) -> Iterator[Served]:
    made = Served(tmp_path)
    yield made
    made.close()


@pytest.fixture
def opened(served) -> Iterator[Opened]:
    made = Opened(served, served.pid)
    yield made
    made.close()


@pytest.fixture
def page(opened) -> Opened:
    opened.enter()
    return opened


@pytest.fixture(scope="module")
def attacked(tmp_path_factory) -> Iterator[Opened]:
    """A page that the attacks below share: none of them changes anything."""
    served = Served(tmp_path_factory.mktemp("attacked"))
    made = Opened(served, served.pid)
    made.enter()
    yield made
    assert served.client().changes() == []
    made.close()
    served.close()


def test_without_the_cookie_nothing_is_answered(opened):
    opened.enter()
    opened.cookie = ""
    for path in ("/", "/page.js", "/v1/process", "/v1/flags", "/v1/events", "/peer/v1/flags", "/x"):
        assert opened.ask(path)[0] == 401
    assert opened.post("/v1/changes", {"set": {"level": 3}})[0] == 401


def test_a_wrong_token_gets_nothing_and_does_not_use_up_the_right_one(opened):
    for end in ("", "x", "A" * 43, "%00", "../v1/flags", "%F0%9F"):
        status, headers, _ = opened.ask(f"/open/{end}")
        assert (status, "set-cookie" in headers) == (401, False)
    opened.enter()


def test_a_wrong_cookie_is_none(attacked):
    name, secret = attacked.cookie.split("=")
    for cookie in (f"{name}={secret[:-1]}", f"{name}=", f"x{name}={secret}", f"{name}", secret):
        assert attacked.ask("/v1/process", Cookie=cookie)[0] == 401
    assert attacked.ask("/v1/process", Cookie=f"a=b;{name}={secret};c")[0] == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost", "", "127.0.0.1.evil:{}", "[::1]:{}"],
)
def test_another_host_is_refused_on_every_path_and_method(host, attacked):
    wrong = host.format(attacked.port)
    for method, path in (("GET", "/"), ("HEAD", "/v1/flags"), ("GET", "/v1/flags"), ("GET", "/x")):
        assert attacked.ask(path, method, Host=wrong)[0] == 421
    assert attacked.post("/v1/changes", {"set": {"level": 3}}, Host=wrong)[0] == 421


def test_the_url_is_not_used_up_under_another_host_or_by_another_site(opened):
    assert opened.ask(opened.entry, Host=f"evil.example:{opened.port}")[0] == 421
    assert opened.ask(opened.entry, Sec_Fetch_Site="cross-site")[0] == 403
    assert opened.ask(opened.entry, "HEAD")[0] == 405
    opened.enter()


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_its_own_names_are_known(name, attacked):
    assert attacked.ask("/v1/process", Host=f"{name}:{attacked.port}")[0] == 200


ORIGINS = ["http://evil.example", "null", "http://127.0.0.1:1", "https://{}"]


@pytest.mark.parametrize("origin", ORIGINS)
def test_another_origin_is_refused(origin, attacked):
    wrong = origin.format(f"127.0.0.1:{attacked.port}")
    assert attacked.post("/v1/changes", {"set": {"level": 3}}, Origin=wrong)[0] == 403
    assert attacked.ask("/v1/flags", Origin=wrong)[0] == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "Same-Origin", ""])
def test_a_request_that_another_site_has_caused_is_refused(site, attacked):
    assert attacked.ask("/v1/flags", Sec_Fetch_Site=site)[0] == 403
    assert attacked.post("/v1/changes", {"set": {"level": 3}}, Sec_Fetch_Site=site)[0] == 403


def test_a_change_must_come_from_the_page(page, served):
    body = b'{"set": {"level": "3"}}'
    kind = {"Content_Type": "application/json"}
    assert page.ask("/v1/changes", "POST", body, **kind)[0] == 403
    assert page.ask("/v1/changes", "POST", body, Sec_Fetch_Site="none", **kind)[0] == 403
    form = {"Content_Type": "application/x-www-form-urlencoded", "Origin": page.origin}
    assert page.ask("/v1/changes", "POST", body, **form)[0] == 415
    assert page.ask("/v1/changes?set=level")[0] in (200, 400)
    assert served.client().flag("level")["value"] == 6
    assert page.ask("/v1/changes", "POST", body, Sec_Fetch_Site="same-origin", **kind)[0] == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "X"])
def test_other_methods_are_refused(method, attacked):
    for path in ("/", "/v1/flags", "/v1/changes", attacked.entry):
        assert attacked.ask(path, method, Origin=attacked.origin)[0] == 405


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/page.js/../../../etc/passwd",
        "/v1/../../etc/passwd",
        "/v1/flags/../process",
        "/v1/flags/..",
        "/v1/flags/%2e%2e",
        "/v1/flags/%2e%2e%2fprocess",
        "/v1/flags/a%2fb",
        "/v1/flags/a%5cb",
        "/v1/flags/%252e",
        "/v1/flags/a%00",
        "/v1/flags/a%0d%0aX:%20y",
        "/v1//flags",
        "//v1/flags",
        "//evil.example/",
        "/peer/../v1/flags",
        "/peer/v1/../../v1/flags",
        "/peer/peer/v1/flags",
        "/v2/flags",
        "/v1/flags;x",
        "/v1/schemas/../openapi.json",
        "/schemas/flags.json",
        "/_proxy.py",
        "/page.html%00.js",
        "/v1/flags?since=a%0d%0aX:y",
        "http://evil.example/v1/flags",
        "*",
    ],
)
def test_paths_lead_nowhere_else(path, attacked):
    status, headers, body = attacked.ask(path)
    assert status in (400, 404, 421), body
    assert "x" not in headers


def test_requests_cannot_be_smuggled(page, served):
    inner = page.head("POST /v1/changes HTTP/1.1", f"Origin: {page.origin}")
    change = b'{"set": {"level": "3"}}'
    post = ("POST /v1/changes HTTP/1.1", f"Origin: {page.origin}", "Content-Type: application/json")
    for lines in (
        ["Content-Length: 4", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"],
        ["Transfer-Encoding: xchunked"],
        ["Content-Length: 4", "Content-Length: 40"],
        ["Content-Length: 4", "Content-Length: 4"],
        ["Content-Length: +4"],
        ["Content-Length: -1"],
        ["Content-Length : 4"],
        ["Host: evil.example"],
        ["X: a", " b: c", "Content-Length: 4", "Content-Length: 5"],
    ):
        text = page.raw(page.head(*post, *lines) + b"0\r\n\r\n" + inner + change)
        assert text.startswith((b"HTTP/1.1 4", b"HTTP/1.1 501")), lines
        assert text.count(b"HTTP/1.1 ") == 1, lines
    assert served.client().flag("level")["value"] == 6


def test_only_known_headers_reach_the_process(tmp_path, served):
    path = str(tmp_path / "trap.sock")
    with socket.socket(socket.AF_UNIX) as trap:
        trap.bind(path)
        trap.listen(8)
        seen: list[bytes] = []

        def answer() -> None:
            connection, _ = trap.accept()
            with connection:
                seen.append(connection.recv(65536))
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nSet-Cookie: a=b\r\n"
                    b"Access-Control-Allow-Origin: *\r\nConnection: close\r\nX-Any: 1\r\n"
                    b"Content-Length: 119\r\n\r\n"
                    + b'{"epoch": "a", "revision": 1, "program": "x", "pid": 1, "host": "h",'
                    b' "flags": 1, "temporary": 0}'.ljust(119)
                )

        threads = [threading.Thread(target=answer)]
        threads[0].start()
        opened = Opened(served, path)
        threads[0].join()
        try:
            opened.enter()
            threads.append(threading.Thread(target=answer))
            threads[1].start()
            more = {
                "Authorization": "Bearer x",
                "X_Forwarded_For": "1.2.3.4",
                "Connection": "close",
            }
            status, headers, _ = opened.ask("/v1/process", **more, Range="bytes=0-1")
            threads[1].join()
        finally:
            opened.close()
    names = {line.split(b":")[0].lower() for line in seen[1].split(b"\r\n")[1:] if line}
    assert names == {b"host", b"connection"}
    assert status == 200
    assert not {"set-cookie", "access-control-allow-origin", "x-any"} & set(headers)
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("kind", ["text/html", "image/svg+xml", "text/javascript", ""])
def test_a_hostile_process_cannot_send_script(kind, tmp_path, served):
    path = str(tmp_path / "hostile.sock")
    script = f"""
import socket
made = socket.socket(socket.AF_UNIX)
made.bind({path!r})
made.listen(8)
print("ready", flush=True)
kind = b"application/json"
body = b'{{"epoch": "a", "revision": 1, "program": "x", "pid": 1, "host": "h", "flags": 1,'
body += b' "temporary": 0}}'
while True:
    connection, _ = made.accept()
    connection.recv(65536)
    connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Type: " + kind
        + b"\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
    connection.close()
    kind, body = {kind.encode()!r}, b"<script>alert(1)</script>"
"""
    hostile = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    try:
        assert hostile.stdout
        assert hostile.stdout.readline() == b"ready\n"
        with closing(Opened(served, path)) as opened:
            opened.enter()
            for target in ("/v1/flags", "/v1/openapi.json", "/v1/schemas/flags.json"):
                status, headers, body = opened.ask(target)
                assert (status, headers["content-type"]) == (502, "application/problem+json")
                assert b"script" not in body
    finally:
        hostile.kill()
        hostile.communicate()


def test_what_is_too_large_is_refused(attacked):
    assert attacked.ask("/v1/flags", X="a" * 40_000)[0] == 431
    assert attacked.ask("/v1/flags?since=" + "a" * 40_000)[0] in (404, 414, 431)
    head = attacked.head(
        "POST /v1/changes HTTP/1.1", f"Origin: {attacked.origin}", "Content-Length: 2000000"
    )
    assert attacked.raw(head + b"a" * 1_100_000).startswith(b"HTTP/1.1 413 ")


def test_what_is_no_http_is_refused(attacked):
    for data in (
        b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/2.0\r\n\r\n",
    ):
        assert attacked.raw(data).startswith(b"HTTP/1.1 4")
    assert attacked.raw(b"GET / HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 421 ")
    assert attacked.raw(attacked.head("GET / HTTP/1.1", "Upgrade: websocket")).startswith(
        b"HTTP/1.1 400 "
    )


def test_many_idle_connections_do_not_stop_it(page):
    with ExitStack() as idle:
        for _ in range(200):
            idle.enter_context(socket.create_connection(("127.0.0.1", page.port), 60))
    deadline = time.monotonic() + 60
    while True:
        try:
            assert page.ask("/v1/process")[0] == 200
        except OSError:
            assert time.monotonic() < deadline
        else:
            break


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")
def test_another_user_of_the_machine_gets_nothing(opened):
    script = f"""
import os, socket
os.setresuid(65534, 65534, 65534)
made = socket.socket()
made.connect(("127.0.0.1", {opened.port}))
made.sendall(b"GET {opened.entry} HTTP/1.1\\r\\nHost: 127.0.0.1:{opened.port}\\r\\n\\r\\n")
try:
    print(made.recv(1000))
except ConnectionResetError:
    print(b"")
"""
    assert run(sys.executable, "-c", script).stdout == "b''\n"
    opened.enter()


# ---- Rules ----

TABLE = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1
   1: 0100007F:C001 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 2 1
   2: 0100007F:C002 0100007F:1F90 06 00000000:00000000 00:00000000 00000000     0        0 0 1
   3: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000  1000        0 3 1
"""


def test_the_owner_of_a_connection_is_found():
    lines = TABLE.splitlines()
    assert rules.owner_of(lines, 0xC001, 0x1F90) == 1001
    assert rules.owner_of(lines, 0xC002, 0x1F90) is None  # it has been left
    assert rules.owner_of(lines, 0xC003, 0x1F90) is None


@pytest.mark.parametrize("name", ["..", "%2e%2e", "a%2fb", "a%5cb", "%252e", "a%00", "a?x=%%;"])
def test_a_crooked_path_is_refused_before_a_process_sees_it(name):
    session = rules.Session(80, "secret", has_peer=True)
    headers = [(b"host", b"localhost:80"), (b"cookie", b"paddle_flags_80=secret")]
    for path in (f"/v1/flags/{name}", f"/peer/v1/flags/{name}"):
        verdict = rules.judge(session, "GET", path.encode(), headers)
        assert isinstance(verdict, rules.Refusal)
    assert rules.judge(session, "GET", b"/peer/v1/flags/a", headers) == rules.Api(
        "/v1/flags/a", True
    )
