"""Limits of the live server: slow clients, many clients, and validators that never return."""

from __future__ import annotations

import re
import socket
import threading
import time
from contextlib import ExitStack, suppress

import pytest
from served import (
    Client,
    ask,
    connect,
    count_clients,
    exchange,
    read_all,
    read_until,
    site_of,
    streaming,
    wait_for,
)

import paddle_flags as pf
from paddle_flags.live import _http, _server, _streams, _wire, _workers

HOST = b"Host: localhost\r\n"
GET = b"GET /v1/process HTTP/1.1\r\n" + HOST


@pytest.fixture
def server(tmp_path):
    with pf.serve(tmp_path / "socket", settable="test_flag_*") as made:
        yield made


@pytest.fixture
def address(server):
    return server.address


# ---- Slow clients ----


def trickle(made, data):
    """Send byte after byte until the server has had enough; return what it said."""
    made.settimeout(0.02)
    found = b""
    for at in range(100_000):
        try:
            made.sendall(data[at % len(data) :][:1])
        except (BrokenPipeError, ConnectionResetError):
            return found
        try:
            part = made.recv(4096)
        except TimeoutError:
            continue
        except ConnectionResetError:
            return found
        if not part:
            return found
        found += part
    pytest.fail("the server reads for ever")


@pytest.mark.parametrize(
    ("begin", "rest"),
    [
        (b"GET /v1/process HTTP/1.1\r\n", b"A: b\r\n"),
        (
            b"POST /v1/changes HTTP/1.1\r\nContent-Type: application/json\r\n"
            + HOST
            + b"Content-Length: 1000000\r\n\r\n",
            b" ",
        ),
        (
            b"POST /v1/changes HTTP/1.1\r\nContent-Type: application/json\r\n"
            + HOST
            + b"Transfer-Encoding: chunked\r\n\r\n",
            b"1\r\n \r\n",
        ),
    ],
    ids=["headers", "a body", "chunks"],
)
def test_a_request_that_comes_too_slowly_is_cut(begin, rest, address, monkeypatch):
    monkeypatch.setattr(_http, "COMPLETE", 0.3)
    with connect(address) as made:
        made.sendall(begin)
        assert b"HTTP/1.1 408 " in trickle(made, rest)


def test_a_client_that_says_nothing_is_cut(address, monkeypatch):
    monkeypatch.setattr(_http, "COMPLETE", 0.2)
    with connect(address) as made:
        assert read_all(made) == b""


def test_a_client_that_asks_nothing_more_is_cut_after_a_while(address, monkeypatch):
    monkeypatch.setattr(_http, "IDLE", 0.2)
    with connect(address) as made:
        made.sendall(GET + b"\r\n")
        assert read_all(made).startswith(b"HTTP/1.1 200 ")


def test_a_client_that_does_not_read_its_response_is_cut(address, monkeypatch):
    monkeypatch.setattr(_wire, "PROGRESS", 0.3)
    for number in range(300):
        pf.define(f"test_flag_large_{number}", "x" * 5000)
    with connect(address) as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made.sendall(b"GET /v1/flags HTTP/1.1\r\n" + HOST + b"\r\n")
        assert read_until(made, b"\r\n\r\n").startswith(b"HTTP/1.1 200 ")
        wait_for(lambda: not count_clients(address))
        assert len(read_all(made)) < 1_500_000
    for number in range(300):
        pf.undefine(f"test_flag_large_{number}")


# ---- Many clients ----


def test_the_257th_client_is_refused_at_once_and_the_others_go_on(address):
    with ExitStack() as stack:
        clients = [stack.enter_context(connect(address)) for _ in range(256)]
        wait_for(lambda: count_clients(address) == 256)
        for _ in range(20):
            with connect(address) as made:
                found = read_all(made)
            assert found.startswith(b"HTTP/1.1 503 ")
            assert b"urn:paddle-flags:problem:busy" in found
        for made in clients:
            made.sendall(GET + b"\r\n")
        for made in clients:
            assert read_until(made, b"\r\n\r\n").startswith(b"HTTP/1.1 200 ")
    wait_for(lambda: count_clients(address) == 0)
    assert ask(address, "GET", "/v1/process").status == 200


def test_ten_thousand_connections_leave_nothing_behind(address):
    for _ in range(100):
        with ExitStack() as stack:
            for _ in range(100):
                stack.enter_context(connect(address))
    wait_for(lambda: count_clients(address) == 0)
    assert ask(address, "GET", "/v1/process").status == 200


def test_a_client_of_each_kind_at_once_gets_its_answer(address, name):
    pf.define(name, 0)
    failures = []

    def work(number):
        try:
            with Client(address) as client:
                for each in range(20):
                    assert client.ask("GET", f"/v1/flags/{name}").status == 200
                    body = {"set": {name: str(number * 100 + each)}}
                    assert client.ask("POST", "/v1/changes", body).status == 200
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_descriptors_that_run_out_stop_no_server(python):
    ended = python("""
import os, resource, socket, time
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
with pf.serve(os.path.abspath("socket")) as server:
    clients = []
    try:
        while True:
            made = socket.socket(socket.AF_UNIX)
            clients.append(made)
            made.connect(server.address)
    except OSError:
        pass
    time.sleep(1)
    begun = time.process_time()
    time.sleep(1)
    assert time.process_time() - begun < 0.5
    for made in clients:
        made.close()
    made = socket.socket(socket.AF_UNIX)
    made.connect(server.address)
    made.sendall(b"GET /v1/process HTTP/1.0\\r\\n\\r\\n")
    print(made.recv(12))
""")
    assert ended.stdout == "b'HTTP/1.1 200'\n"


# ---- Validators that never return ----


@pytest.fixture
def stuck(name):
    """Flags with a validator that waits for an event, and that event."""
    event = threading.Event()
    flags = [pf.define(f"{name}_{number}", 0) for number in range(8)]
    hooks = [
        pf.validator(flag.name)(lambda value: value == 0 or event.wait(60) or True)
        for flag in flags
    ]
    yield flags, event
    event.set()
    del hooks


def change(made, flag, value="1"):
    body = b'{"set": {"%s": "%s"}, "dry_run": true}' % (flag.name.encode(), value.encode())
    head = b"POST /v1/changes HTTP/1.1\r\nContent-Type: application/json\r\n" + HOST
    made.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)


def test_a_stuck_validator_blocks_neither_reads_nor_changes_nor_events(address, stuck, name):
    flags, event = stuck
    free = pf.define(name, 0)
    with streaming(address) as events, connect(address) as made:
        read_until(events, b"\n\n")
        change(made, flags[0])
        time.sleep(0.1)
        with Client(address) as other:
            assert other.ask("GET", "/v1/flags").status == 200
            body = {"set": {name: "5"}, "dry_run": True}
            assert other.ask("POST", "/v1/changes", body).status == 200
            free.value = 7
            assert b'"new":"7"' in read_until(events, b'"new":"7"')
        event.set()
        assert read_until(made, b"\r\n\r\n").startswith(b"HTTP/1.1 200 ")


def test_when_all_threads_are_stuck_a_change_is_refused_and_reads_go_on(
    address, stuck, monkeypatch
):
    monkeypatch.setattr(_workers, "PATIENCE", 0.3)
    flags, event = stuck
    with ExitStack() as stack:
        clients = [stack.enter_context(connect(address)) for _ in range(4)]
        for made, flag in zip(clients, flags):
            change(made, flag)
        time.sleep(0.1)
        with connect(address) as fifth:
            change(fifth, flags[4])
            found = read_until(fifth, b"\r\n\r\n")
        assert found.startswith(b"HTTP/1.1 503 ")
        assert ask(address, "GET", "/v1/process").status == 200
        event.set()
        for made in clients:
            assert read_until(made, b"\r\n\r\n").startswith(b"HTTP/1.1 200 ")
    assert ask(address, "POST", "/v1/changes", {"set": {flags[0].name: "0"}}).status == 200


def test_a_client_that_leaves_while_a_validator_runs_harms_nobody(address, stuck):
    flags, event = stuck
    with connect(address) as made:
        change(made, flags[0])
        time.sleep(0.1)
    event.set()
    assert ask(address, "GET", "/v1/process").status == 200


def test_closing_the_server_does_not_wait_for_a_stuck_validator(server, stuck):
    flags, event = stuck
    with connect(server.address) as made:
        change(made, flags[0])
        time.sleep(0.1)
        server.close()
        assert not event.is_set()
        assert read_all(made) in (b"", b"<reset>")


def test_what_a_validator_raises_reaches_the_client_and_the_hook_of_python(
    address, name, monkeypatch
):
    import sys

    seen = []
    monkeypatch.setattr(sys, "unraisablehook", lambda what: seen.append(what.exc_value))
    flag = pf.define(name, 1)

    @pf.validator(flag.name)
    def check(value):
        if value == 2:
            raise OSError(5, "no disk")
        if value == 3:
            raise ValueError(value, "is taken")
        return True

    answer = ask(address, "POST", "/v1/changes", {"set": {name: "3"}})
    assert answer.status == 422
    assert "is taken" in answer.json["detail"]
    assert not seen
    answer = ask(address, "POST", "/v1/changes", {"set": {name: "2"}})
    assert answer.status == 422
    assert "no disk" in answer.json["detail"]
    wait_for(lambda: seen)
    assert seen[0].strerror == "no disk"
    assert flag.value == 1


# ---- Events ----


def events_of(data):
    return re.findall(rb"^event: (\w+)$", data, re.MULTILINE)


def test_changes_reach_all_that_wait_in_their_order(address, name):
    flag = pf.define(name, 0)
    with ExitStack() as stack:
        clients = [stack.enter_context(streaming(address)) for _ in range(50)]
        for made in clients:
            read_until(made, b"\n\n")
        for value in range(1, 201):
            flag.value = value
        for made in clients:
            data = read_until(made, b'"new":"200"')
            seen = [int(each) for each in re.findall(rb'"new":"(\d+)"', data)]
            assert seen == list(range(1, 201))


def test_a_quiet_stream_has_a_comment_now_and_then(address, monkeypatch):
    monkeypatch.setattr(_streams, "QUIET", 0.2)
    with streaming(address) as made:
        data = read_until(made, b"\n\n")
        data += read_until(made, b":\n\n")
        assert data.endswith(b"3\r\n:\n\n\r\n")


def test_a_stream_that_is_not_read_is_cut(address, name, monkeypatch):
    monkeypatch.setattr(_wire, "PROGRESS", 0.5)
    flag = pf.define(name, "")
    with streaming(address) as made:
        read_until(made, b"\n\n")
        end = time.monotonic() + 30
        number = 0
        while count_clients(address) and time.monotonic() < end:
            flag.value = f"{number}" + "x" * 50_000
            number += 1
            time.sleep(0.01)
        assert not count_clients(address)


def test_a_slow_client_gets_all_it_missed_or_a_gap(address, name):
    flag = pf.define(name, "")
    with streaming(address) as slow, streaming(address) as quick:
        for made in (slow, quick):
            read_until(made, b"\n\n")
        for number in range(1, 401):
            flag.value = f"{number}:" + "x" * 20_000
            if number % 20 == 0:
                read_until(quick, b'"new":"%d:' % number)
        flag.value = "last"
        text = read_until(slow, b'"new":"last"')
        seen = [int(each) for each in re.findall(rb'"new":"(\d+):', text)]
        assert seen == list(range(1, 401)) or b"gap" in events_of(text)


def test_a_client_that_does_not_read_costs_little_memory(address, name):
    flag = pf.define(name, "")
    with streaming(address) as slow:
        read_until(slow, b"\n\n")
        for number in range(300):
            flag.value = f"{number}:" + "x" * 50_000
            time.sleep(0.005)
        waiting = max(each.wire.waiting for each in site_of(address).connections)
        assert waiting < _streams.BEHIND + 100 * 100_000  # a tick's changes may come on top
        flag.value = "last"
        assert b"event: gap" in read_until(slow, b'"revision"') or read_until(slow, b'"last"')


def test_a_client_that_sends_on_its_stream_is_cut_in_time(address):
    with streaming(address) as made:
        read_until(made, b"\n\n")
        with suppress(BrokenPipeError, ConnectionResetError):
            while count_clients(address):
                made.sendall(b"x" * 10_000)


def test_nothing_ticks_while_nobody_waits(server):
    streams = site_of(server.address).streams
    with streaming(server.address) as made:
        read_until(made, b"\n\n")
        wait_for(streams.is_ticking)
    wait_for(lambda: not streams.is_ticking())


def test_requests_after_the_end_of_a_server_are_refused(server):
    server.close()
    with pytest.raises((FileNotFoundError, ConnectionRefusedError)):
        exchange(server.address, GET)
    assert _server.CONNECTIONS == 256
