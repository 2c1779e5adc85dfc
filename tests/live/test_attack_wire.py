"""Attacks by bytes: smuggled requests, slow clients, too many connections, too much of anything."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from live_client import DEADLINE, Client, Reader, Response, check, encode
from live_subjects import Subject, kinds, running

OWN = ("python-unix", "python-tcp", "c-unix", "c-tcp")  # servers that read HTTP themselves
CHANGE = json.dumps({"set": {"level": 9}}).encode()


@pytest.fixture(scope="module", params=kinds(*OWN))
def shared(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Subject]:
    with running(request.param, tmp_path_factory.mktemp("shared")) as made:
        yield made


@pytest.fixture(params=kinds(*OWN))
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    with running(request.param, tmp_path) as made:
        yield made


def head_of(client: Client, method: str = "POST", target: str = "/v1/changes") -> str:
    """Return a request up to its last header, with the type of a change."""
    lines = [f"{n}: {v}\r\n" for n, v in client.address.headers().items()]
    return f"{method} {target} HTTP/1.1\r\n{''.join(lines)}Content-Type: application/json\r\n"


def answers(client: Client, data: bytes, *, ends: bool = True) -> list[Response]:
    """Send bytes and return all answers until the server closes the connection.

    Without `ends`, nothing more comes, and the server may wait for the rest in vain.
    """
    found = []
    with client.address.connect() as connection:
        with contextlib.suppress(OSError):
            connection.sendall(data)
            if not ends:
                connection.shutdown(socket.SHUT_WR)
        reader = Reader(connection, None if ends else 1.0)
        while (response := reader.answer()) is not None:
            if response.status != 100:
                found.append(check("GET", "/nothing", response))
    return found


# ---- Request smuggling ----

# Behind the headers of a POST: the rest of it, which holds a change as a request of its own.
CHUNKED = "Transfer-Encoding: chunked\r\n"
FRAMINGS = {
    "length and chunked": "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{inner}",
    "chunked and length": CHUNKED + "Content-Length: {long}\r\n\r\n0\r\n\r\n{inner}",
    "chunked twice": CHUNKED + CHUNKED + "\r\n0\r\n\r\n{inner}",
    "chunked, chunked": "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n{inner}",
    "identity": "Transfer-Encoding: identity\r\nContent-Length: 0\r\n\r\n{inner}",
    "chunked, identity": "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{inner}",
    "gzip": "Transfer-Encoding: gzip\r\n\r\n{inner}",
    "xchunked": "Transfer-Encoding: xchunked\r\nContent-Length: 0\r\n\r\n{inner}",
    "quoted": 'Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n{inner}',
    "blank before the colon": "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n{inner}",
    "blank before the name": " Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{inner}",
    "folded": "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n{inner}",
    "folded other": "X: 1\r\n Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n{inner}",
    "vertical tab": "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n{inner}",
    "NUL in a value": "Transfer-Encoding: chunked\x00\r\n\r\n0\r\n\r\n{inner}",
    "NUL in a name": "Transfer\x00-Encoding: chunked\r\nContent-Length: 0\r\n\r\n{inner}",
    "lone CR": "X: 1\rTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n{inner}",
    "two lengths": "Content-Length: 0\r\nContent-Length: {long}\r\n\r\n{inner}",
    "two lengths, swapped": "Content-Length: {long}\r\nContent-Length: 0\r\n\r\n{inner}",
    "lengths in one": "Content-Length: 0, {long}\r\n\r\n{inner}",
    "length +": "Content-Length: +0\r\n\r\n{inner}",
    "length -": "Content-Length: -1\r\n\r\n{inner}",
    "length hex": "Content-Length: 0x0\r\n\r\n{inner}",
    "length _": "Content-Length: 0_0\r\n\r\n{inner}",
    "length blank": "Content-Length: 0 0\r\n\r\n{inner}",
    "length empty": "Content-Length:\r\n\r\n{inner}",
    "length huge": "Content-Length: 18446744073709551616\r\n\r\n{inner}",
    "length fraction": "Content-Length: 0.0\r\n\r\n{inner}",
    "length other digits": "Content-Length: \u0660\r\n\r\n{inner}",
    "chunk +": "Transfer-Encoding: chunked\r\n\r\n+0\r\n\r\n{inner}",
    "chunk -": "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n{inner}",
    "chunk 0x": "Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n{inner}",
    "chunk _": "Transfer-Encoding: chunked\r\n\r\n0_0\r\n\r\n{inner}",
    "chunk empty": "Transfer-Encoding: chunked\r\n\r\n\r\n\r\n{inner}",
    "chunk huge": "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff0\r\n\r\n{inner}",
    "chunk without an end": "Transfer-Encoding: chunked\r\n\r\n1\r\nxx0\r\n\r\n{inner}",
    "no colon": "Transfer-Encoding chunked\r\n\r\n{inner}",
    "name empty": ": 1\r\n\r\n{inner}",
    "name with blanks": "Transfer Encoding: chunked\r\n\r\n{inner}",
}
# Two readers could disagree, but there is one right way to read it.
PERMITTED = {
    "extension": "Transfer-Encoding: chunked\r\n\r\n0;a=b\r\n\r\n{inner}",
    "extension with a quote": 'Transfer-Encoding: chunked\r\n\r\n0;a="\r\n\r\n{inner}',
    "trailer": "Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 5\r\n\r\n{inner}",
    "bare LF": "Transfer-Encoding: chunked\n\n0\n\n{inner}",
    "bare LF in chunks": "Transfer-Encoding: chunked\r\n\r\n0\n\n{inner}",
    "extension with LF": "Transfer-Encoding: chunked\r\n\r\n0;\n\r\n\r\n{inner}",
    "same lengths": "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{{}}{inner}",
    "tab": "Transfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n{inner}",
}


def smuggled(client: Client, framing: str, *, hidden: bool) -> bytes:
    """Return a request with another one behind it; a hidden one has no right to be sent."""
    head = head_of(client)
    if hidden:  # what a proxy would have refused to send
        head = head.replace("/v1/changes", "/v1/undo")
    inner = f"{head_of(client)}Content-Length: {len(CHANGE)}\r\n\r\n{CHANGE.decode()}"
    rest = framing.format(inner=inner, long=len(inner))
    return (head + rest).encode("utf-8")


@pytest.mark.parametrize("framing", FRAMINGS)
def test_no_request_is_smuggled_in_the_body_of_another(shared: Subject, framing: str):
    client = shared.client
    before = client.now()
    found = answers(client, smuggled(client, FRAMINGS[framing], hidden=True), ends=False)
    assert len(found) <= 1, [response.status for response in found]
    assert all(response.status >= 400 for response in found)
    assert client.now() == before


@pytest.mark.parametrize("framing", PERMITTED)
def test_odd_framing_is_read_in_the_one_right_way_or_refused(subject: Subject, framing: str):
    client = subject.client
    data = smuggled(client, PERMITTED[framing], hidden=True)
    found = answers(client, data, ends=False)
    assert 1 <= len(found) <= 2
    if len(found) == 1:  # it was refused, or closed after
        assert client.text("level") == "6"
    else:  # the second request stands where the first ends
        assert found[1].status == 200
        assert client.text("level") == "9"


LINES = (
    *(
        "GET /v1/flags",
        "GET  /v1/flags HTTP/1.1",
        "GET /v1/flags  HTTP/1.1",
        "GET /v1/flags HTTP/1.1 x",
    ),
    *(
        "GET\t/v1/flags\tHTTP/1.1",
        "GET /v1/flags HTTP/2.0",
        "GET /v1/flags HTTP/1.10",
        "GET /v1/flags http/1.1",
    ),
    *(
        "GET /v1/fl\x00ags HTTP/1.1",
        "GET /v1/fl ags HTTP/1.1",
        "G\x00T /v1/flags HTTP/1.1",
        "/v1/flags HTTP/1.1",
    ),
    *(
        "GET v1/flags HTTP/1.1",
        "GET * HTTP/1.1",
        "GET /v1/flags#x HTTP/1.1",
        "GET /v1/\u00e9 HTTP/1.1",
    ),
    *(
        "GET /v1/flags HTTP/0.9",
        "CONNECT localhost:80 HTTP/1.1",
        "(){ /v1/flags HTTP/1.1",
        "PRI * HTTP/2.0",
    ),
)


@pytest.mark.parametrize("line", LINES)
def test_a_wrong_first_line_is_refused(shared: Subject, line: str):
    client = shared.client
    headers = "".join(f"{n}: {v}\r\n" for n, v in client.address.headers().items())
    found = answers(client, f"{line}\r\n{headers}\r\n".encode(), ends=False)
    assert len(found) <= 1
    assert all(response.status >= 400 for response in found)


def test_pipelined_requests_are_answered_one_by_one_in_their_order(shared: Subject):
    client = shared.client
    names = ["level", "check", "mode", "nobody", "small"] * 8
    requests = [
        encode("GET", f"/v1/flags/{n}", dict(client.address.headers()), None) for n in names
    ]
    with client.address.connect() as connection:
        connection.sendall(b"".join(requests))
        reader = Reader(connection)
        for name in names:
            response = reader.answer()
            assert response
            if name == "nobody":
                assert response.status == 404
            else:
                assert response.json["flag"]["name"] == name


def test_a_pipelined_request_after_a_body_starts_where_the_body_ends(subject: Subject):
    client = subject.client
    whole = [f"{head_of(client)}Content-Length: {len(CHANGE)}\r\n\r\n".encode(), CHANGE]
    whole.append(encode("GET", "/v1/flags/level", dict(client.address.headers()), None))
    with client.address.connect() as connection:
        connection.sendall(b"".join(whole))
        reader = Reader(connection)
        first, second = reader.answer(), reader.answer()
    assert first
    assert second
    assert first.json["flags"][0]["new"] == second.json["flag"]["text"] == "9"


def test_a_body_in_chunks_is_read(subject: Subject):
    client = subject.client
    chunks = b"".join(b"%x\r\n%c\r\n" % (1, byte) for byte in CHANGE)
    data = f"{head_of(client)}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n".encode()
    assert [r.status for r in answers(client, data + chunks + b"0\r\n\r\n")] == [200]
    assert client.text("level") == "9"


def test_a_client_that_waits_for_100_is_told_to_go_on(subject: Subject):
    client = subject.client
    more = f"Expect: 100-continue\r\nContent-Length: {len(CHANGE)}\r\n\r\n"
    with client.address.connect() as connection:
        connection.sendall((head_of(client) + more).encode())
        reader = Reader(connection)
        first = reader.answer()
        assert first
        assert first.status == 100
        connection.sendall(CHANGE)
        second = reader.answer()
    assert second
    assert second.status == 200


def test_half_a_body_changes_nothing(shared: Subject):
    client = shared.client
    before = client.now()
    for length in (len(CHANGE) + 1, len(CHANGE) + 100):
        data = f"{head_of(client)}Content-Length: {length}\r\n\r\n".encode() + CHANGE
        assert all(r.status >= 400 for r in answers(client, data, ends=False))
    assert client.now() == before


# ---- Slow clients ----


@pytest.mark.extended
def test_slow_clients_are_cut_and_hold_up_nobody(subject: Subject):
    client = subject.client
    head = head_of(client).encode()
    begins = {
        "nothing": b"",
        "half a line": b"GET /v1",
        "half the headers": head,
        "no body": head + b"Content-Length: 100\r\n\r\n",
        "half a body": head + b"Content-Length: 100\r\n\r\n{",
        "half a chunk": head + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
    }
    slow = {name: client.address.connect() for name in begins}
    for name, connection in slow.items():
        connection.sendall(begins[name])
    end = time.monotonic() + 2 * DEADLINE
    while slow:
        assert time.monotonic() < end, f"not cut: {list(slow)}"
        assert client.get("/v1/process").status == 200
        for name, connection in list(slow.items()):
            if cut(connection, drips=name == "half the headers"):
                connection.close()
                del slow[name]
        time.sleep(0.2)
    assert client.text("level") == "6"


def cut(connection: socket.socket, *, drips: bool) -> bool:
    """Return whether the server has closed, after a byte of a header if it drips."""
    try:
        if drips:
            connection.sendall(b"X")
        while select.select([connection], [], [], 0)[0]:
            if not connection.recv(65536):
                return True
    except ConnectionError:
        return True
    return False


def test_a_client_that_does_not_read_is_not_waited_for(subject: Subject):
    client = subject.client
    request = encode("GET", "/v1/flags", dict(client.address.headers()), None)
    with client.address.connect() as deaf:
        deaf.setblocking(False)
        with contextlib.suppress(BlockingIOError, ConnectionError):
            for _ in range(2000):
                deaf.send(request)
        for _ in range(20):
            assert client.get("/v1/process").status == 200


# ---- Connections ----


def test_ten_thousand_connections_one_after_the_other_leave_the_server_alive(subject: Subject):
    client = subject.client
    count = descriptors(subject)
    for i in range(10_000):
        with client.address.connect() as connection:
            if i % 100 == 0:
                connection.sendall(b"GET / HT")
    assert client.get("/v1/process").status == 200
    end = time.monotonic() + DEADLINE
    while descriptors(subject) > count + 5:
        assert time.monotonic() < end, "descriptors are left"
        time.sleep(0.05)


def descriptors(subject: Subject) -> int:
    return len(list(Path(f"/proc/{subject.process.pid}/fd").iterdir()))


def test_of_300_connections_at_once_at_most_256_are_served_and_the_rest_is_refused_at_once(
    subject: Subject,
):
    client = subject.client
    with contextlib.ExitStack() as stack:
        all_of_them = [stack.enter_context(client.address.connect()) for _ in range(300)]
        served, refused = [], 0
        request = encode("GET", "/v1/process", dict(client.address.headers()), None)
        for connection in all_of_them:
            try:
                connection.sendall(request)
                response = Reader(connection).answer()
            except ConnectionError:
                response = None
            if response and response.status == 200:
                served.append(connection)
            else:
                assert response is None or check("GET", "/v1/process", response).status == 503
                refused += 1
        assert len(served) <= 256
        assert len(served) >= 200
        assert refused >= 44
    end = time.monotonic() + DEADLINE
    while client.send(request) is None:
        assert time.monotonic() < end
    assert client.get("/v1/process").status == 200


def test_clients_that_watch_count_and_go(subject: Subject):
    client = subject.client
    with contextlib.ExitStack() as stack:
        streams = [client.stream() for _ in range(100)]
        for stream in streams:
            stack.callback(stream.reader.connection.close)
            hello = stream.next()
            assert hello
            assert hello.kind == "hello"
        client.set("level", 9)
        for stream in streams:
            event = stream.next()
            assert event
            assert event.data["changes"][0]["new"] == "9"
    client.set("level", 8)
    assert client.text("level") == "8"


# ---- Too much ----


def test_a_body_of_more_than_1_mib_is_413_and_not_waited_for(shared: Subject):
    client = shared.client
    before = client.now()
    for length in (1048577, 10**6 * 2, 10**9):
        data = f"{head_of(client)}Content-Length: {length}\r\nConnection: close\r\n\r\n".encode()
        assert [r.status for r in answers(client, data)] == [413], length
    huge = b'{"set": {"text": "' + b"x" * 1048576 + b'"}}'
    with client.address.connect() as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(
                f"{head_of(client)}Transfer-Encoding: chunked\r\n\r\n".encode()
                + b"%x\r\n%s\r\n0\r\n\r\n" % (len(huge), huge)
            )
        response = Reader(connection).answer()
        assert response is None or response.status == 413
    assert client.now() == before


def test_a_body_of_1_mib_is_read(subject: Subject):
    client = subject.client
    body = b'{"set": {"text": "yes"}}'
    body += b" " * (1048576 - len(body))
    assert client.post("/v1/changes", body).status == 200
    text = "x" * 500_000
    client.set("text", text)
    assert client.text("text") == text


@pytest.mark.parametrize(
    "what", ["long target", "long header", "many headers", "long name", "long method"]
)
def test_a_huge_head_is_refused(shared: Subject, what: str):
    client = shared.client
    head = head_of(client, "GET", "/v1/flags")
    data = {
        "long target": head_of(client, "GET", "/v1/flags/" + "a" * 200_000),
        "long header": head + "X: " + "a" * 200_000 + "\r\n",
        "many headers": head + "".join(f"X-{i}: {i}\r\n" for i in range(10_000)),
        "long name": head + "X" * 200_000 + ": 1\r\n",
        "long method": "G" * 200_000 + head[3:],
    }[what]
    found = answers(client, f"{data}\r\n".encode(), ends=False)
    assert len(found) <= 1
    assert all(r.status in (400, 404, 413, 414, 431, 501) for r in found)
    assert client.get("/v1/process").status == 200


@pytest.mark.parametrize("opens", ["[", '{"a":', '[{"a":'])
@pytest.mark.parametrize("depth", [1000, 100_000])
def test_deep_json_is_400(shared: Subject, opens: str, depth: int):
    client = shared.client
    deep = opens * depth
    for body in (deep, deep + "1" + "]" * depth, f'{{"set": {{"level": {deep}'):
        assert client.post("/v1/changes", body.encode()).status == 400
    assert client.text("level") == "6"


def test_a_body_with_very_many_members_is_refused_soon(shared: Subject):
    client = shared.client
    many = ",".join(f'"n{i}":1' for i in range(60_000))
    assert client.post("/v1/changes", f'{{"set":{{{many}}}}}'.encode()).status == 400
    assert client.post("/v1/changes", f"[{'1,' * 300_000}1]".encode()).status == 400
    assert client.post("/v1/changes", b'{"set":{"level":' + b"1" * 900_000 + b"}}").status in (
        400,
        422,
    )
    assert client.text("level") == "6"
