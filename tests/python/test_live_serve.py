"""`pf.serve`: addresses, tokens, rights, and what surrounds a server."""

from __future__ import annotations

import logging
import os
import secrets
import subprocess
import sys
import threading

import pytest
from served import Client, ask, connect, line_of, program, read_all, read_until, streaming, wait_for
from support import installed, run, write

import paddle_flags as pf
from paddle_flags.live import Token

READ, CHANGE = secrets.token_urlsafe(), secrets.token_urlsafe()
EVERYWHERE = "0.0.0.0:0"
TOKENS = {"viewer": Token(READ), "ops": Token(CHANGE, may="change")}


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture
def tcp():
    with pf.serve("localhost:0", tokens=TOKENS, settable="test_flag_*") as server:
        yield server.address


# ---- TCP ----


def test_a_server_on_tcp_says_where_it_is():
    with pf.serve(("127.0.0.1", 0), tokens=TOKENS) as server:
        host, _, port = server.address.rpartition(":")
        assert host == "127.0.0.1"
        assert int(port) > 0
        assert server.url == f"http://{server.address}/"
        assert repr(server) == f"<Server {server.url}>"


def test_a_server_listens_on_ipv6():
    try:
        server = pf.serve("[::1]:0", tokens=TOKENS)
    except OSError as error:
        pytest.skip(f"no IPv6: {error}")
    with server:
        assert server.address.startswith("[::1]:")
        answer = ask(server.address, "GET", "/v1/process", Host="[::1]", **bearer(READ))
        assert answer.json["you"]["host"] == "::1"


def test_tcp_needs_a_token_for_all_but_the_documents(tcp):
    assert ask(tcp, "GET", "/v1/process").status == 401
    assert ask(tcp, "GET", "/v1/process", **bearer("x" * 32)).status == 401
    assert ask(tcp, "GET", "/v1/process", **bearer(READ)).status == 200


def test_a_token_gives_the_right_that_it_has_and_its_label_is_shown(tcp, name):
    pf.define(name, 1)
    body = {"set": {name: "2"}}
    assert ask(tcp, "POST", "/v1/changes", body, **bearer(READ)).status == 403
    assert ask(tcp, "POST", "/v1/changes", body, **bearer(CHANGE)).status == 200
    you = ask(tcp, "GET", "/v1/process", **bearer(CHANGE)).json["you"]
    assert (you["label"], you["host"], you["uid"]) == ("ops", "127.0.0.1", None) or you["uid"] == -1


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", ""])
def test_only_names_of_the_loopback_are_answered(host, tcp):
    assert ask(tcp, "GET", "/v1/process", Host=host, **bearer(READ)).status == 421


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "localhost:1234"])
def test_all_names_of_the_loopback_are_answered(host, tcp):
    assert ask(tcp, "GET", "/v1/process", Host=host, **bearer(READ)).status == 200


def test_other_addresses_need_the_names_of_the_server():
    with pytest.raises(pf.FlagArgumentError, match=r"can be reached from other machines.*hosts="):
        pf.serve(EVERYWHERE, tokens=TOKENS)
    with pf.serve(EVERYWHERE, tokens=TOKENS, hosts=["node7"]) as server:
        address = f"127.0.0.1:{server.address.rpartition(':')[2]}"
        assert ask(address, "GET", "/v1/process", Host="node7", **bearer(READ)).status == 200
        assert ask(address, "GET", "/v1/process", Host="localhost", **bearer(READ)).status == 421


def test_tokens_and_hosts_are_compared_by_the_same_rules_for_every_connection(tcp):
    with Client(tcp) as client:
        assert client.ask("GET", "/v1/process", **bearer(READ)).status == 200
        assert client.ask("GET", "/v1/process").status == 401


def test_the_257th_client_on_tcp_reads_why_it_is_refused(tcp):
    clients = [connect(tcp) for _ in range(256)]
    try:
        wait_for(lambda: _is_full(tcp))
    finally:
        for made in clients:
            made.close()


def _is_full(address):
    with connect(address) as made:
        made.sendall(b"GET /v1/process HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return read_all(made).startswith(b"HTTP/1.1 503 ")


# ---- Arguments ----


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"address": "localhost:1"}, "TCP needs tokens.*secrets.token_urlsafe"),
        ({"address": "localhost:1", "tokens": {}}, "TCP needs tokens"),
        ({"address": "localhost"}, "expected a path with '/', 'host:port', or"),
        ({"address": ":80"}, "expected a path with '/'"),
        ({"address": "8080"}, "expected a path with '/'"),
        ({"address": ""}, "expected a path with '/'"),
        ({"address": "a:b:1"}, "expected a path with '/'"),
        ({"address": "localhost:99999"}, "expected a port from 0 to 65535"),
        ({"address": ("localhost", -1)}, "expected a port from 0 to 65535"),
        ({"address": ("localhost",)}, "expected a path with '/'"),
        ({"address": ("", 1)}, "expected a path with '/'"),
        ({"address": b"/x"}, "expected a path with '/'"),
        ({"address": 8080}, "expected a path with '/'"),
        ({"address": "/usr/"}, "expected the path of a socket"),
        ({"address": "/a", "tokens": TOKENS}, "tokens: only for TCP"),
        ({"address": "/a", "hosts": ["a"]}, "hosts: only for TCP"),
        ({"address": "localhost:0", "tokens": TOKENS, "hosts": "a"}, "expected a list of names"),
        ({"address": "localhost:0", "tokens": TOKENS, "hosts": ["a:1"]}, "without a port"),
        ({"address": "localhost:0", "tokens": TOKENS, "hosts": ["a,b"]}, "without a port"),
        ({"address": "localhost:0", "tokens": {"a": "x" * 20}}, "expected a Token"),
        ({"on_fork": "stay"}, "on_fork: 'stay': expected 'close' or 'reopen'"),
        ({"address": "localhost:0", "tokens": TOKENS, "on_fork": "reopen"}, "needs a Unix socket"),
        ({"settable": [1]}, "settable: 1: expected str, not int"),
        ({"settable": "a b"}, "settable"),
    ],
)
def test_an_argument_that_makes_no_sense_is_refused(arguments, message, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with pytest.raises((pf.FlagArgumentError, pf.FlagTypeError), match=message):
        pf.serve(**arguments)
    assert os.listdir(tmp_path) in ([], ["paddle_flags"])
    if os.listdir(tmp_path):
        assert os.listdir(tmp_path / "paddle_flags") == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("short", "has 5 characters, expected 16 to 512; make one with secrets.token_urlsafe"),
        ("x" * 513, "has 513 characters"),
        ("with a blank in the middle", "isn't printable ASCII"),
        ("ümlaut-ümlaut-ümlaut", "isn't printable ASCII"),
        ("line\nbreak-line-break", "isn't printable ASCII"),
    ],
)
def test_a_token_that_could_be_guessed_or_sent_wrongly_is_refused(text, message):
    with pytest.raises(pf.FlagArgumentError, match=message):
        Token(text)


def test_a_token_does_not_show_its_text():
    assert READ not in repr(TOKENS)
    assert repr(Token(READ, may="change")) == "<Token: may change>"
    with pytest.raises(pf.FlagArgumentError, match="may: 'write': expected 'read' or 'change'"):
        Token(READ, may="write")
    with pytest.raises(pf.FlagTypeError, match="expected the token as str, not bytes"):
        Token(b"x" * 20)


def test_an_address_that_is_taken_is_an_error(tcp):
    with pytest.raises(OSError, match="in use"):
        pf.serve(tcp, tokens=TOKENS)


# ---- Around it ----


def test_changes_go_to_the_log_and_to_a_function(tmp_path, name, caplog):
    pf.define(name, 1)
    events = []
    caplog.set_level(logging.INFO, "paddle_flags.live")
    with pf.serve(tmp_path / "socket", settable=name, audit=events.append) as server:
        body = {"set": {name: "2"}, "reason": "because"}
        assert ask(server.address, "POST", "/v1/changes", body).status == 200
    assert events[0]["reason"] == "because"
    assert events[0]["who"]["pid"] == os.getpid()
    assert any(name in record.getMessage() for record in caplog.records)


def test_the_end_of_a_temporary_change_is_told_after_the_server_is_closed(tmp_path, name):
    flag = pf.define(name, 1)
    events = []
    with pf.serve(tmp_path / "socket", settable=name, audit=events.append) as server:
        body = {"set": {name: "2"}, "for": 0.5}
        assert ask(server.address, "POST", "/v1/changes", body).status == 200
        assert flag.value == 2
    wait_for(lambda: flag.value == 1)
    wait_for(lambda: len(events) == 2)


def test_an_audit_that_raises_undoes_nothing(tmp_path, name, monkeypatch):
    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: seen.append(type(what.exc_value)))
    flag = pf.define(name, 1)

    def audit(event):
        raise RuntimeError(event["event"])

    with pf.serve(tmp_path / "socket", settable=name, audit=audit) as server:
        assert ask(server.address, "POST", "/v1/changes", {"set": {name: "2"}}).status == 200
    assert flag.value == 2
    assert seen == [RuntimeError]


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
            body = {"set": {"level": "5"}, "for": 0.1}
            assert ask(address, "POST", "/v1/changes", body).status == 200
            made.stdin.close()
            assert made.wait() == 0


def test_a_change_by_code_reaches_clients(tmp_path, name):
    flag = pf.define(name, 1)
    with pf.serve(tmp_path / "socket") as server, streaming(server.address) as events:
        read_until(events, b"\n\n")
        flag.value = 5
        data = read_until(events, b"}]}")
        assert b'"source":"runtime"' in data or b'"new":"5"' in data


def test_a_server_is_closed_from_any_thread(tmp_path):
    server = pf.serve(tmp_path / "socket")
    thread = threading.Thread(target=server.close)
    thread.start()
    assert server.wait(20)
    thread.join()


def test_a_missing_package_is_an_import_error_that_says_how_to_install_it(tmp_path):
    (tmp_path / "h11.py").write_text("raise ImportError('no', name='h11')")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    text = "import paddle_flags as pf; pf.live.app(authorize=print); pf.serve()"
    ended = run(sys.executable, "-c", text, env=env, check=False)
    message = "ImportError: serve requires h11: pip install 'paddle_flags[live]'"
    assert ended.stderr.rstrip().endswith(message)


def test_a_loop_of_the_program_is_left_alone(tmp_path):
    import asyncio

    async def main():
        with pf.serve(tmp_path / "socket") as server:
            return await asyncio.to_thread(ask, server.address, "GET", "/v1/process")

    assert asyncio.run(main()).status == 200


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
            assert ask(address, "GET", "/v1/process").json["pid"] == made.pid
        assert line_of(made) == "end"
        assert made.wait() == 0


@pytest.mark.extended
def test_a_program_with_uvloop_is_served(tmp_path):
    installed("uvloop")
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
        assert ask(line_of(made), "GET", "/v1/process").json["pid"] == made.pid
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
