"""HTTP of the live server: which bytes are requests, and how they are answered."""

from __future__ import annotations

import re
import socket
from contextlib import closing

import pytest
from served import Client, ask, connect, exchange, read_until

import paddle_flags as pf

HOST = b"Host: localhost\r\n"
POST = b"POST /v1/changes HTTP/1.1\r\nContent-Type: application/json\r\n" + HOST
GET = b"GET /v1/process HTTP/1.1\r\n" + HOST
LAST = GET + b"Connection: close\r\n\r\n"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with pf.serve(tmp_path_factory.mktemp("live") / "socket", settable="test_flag_*") as server:
        yield server.address


def statuses(data):
    return [int(each) for each in re.findall(rb"HTTP/1\.1 (\d+) ", data)]


SMUGGLED = {
    "two lengths": POST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "two lengths in one line": POST + b"Content-Length: 2, 2\r\n\r\n{}",
    "a length and chunks": POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
    "chunks and a length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}",
    "a length with a sign": POST + b"Content-Length: +2\r\n\r\n{}",
    "a negative length": POST + b"Content-Length: -2\r\n\r\n{}",
    "a length in hex": POST + b"Content-Length: 0x2\r\n\r\n{}",
    "an empty length": POST + b"Content-Length: \r\n\r\n{}",
    "a length too long": POST + b"Content-Length: 9999999999999999999\r\n\r\n{}",
    "another coding": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
    "the same coding twice": POST
    + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
    "a coding with a tab in it": POST + b"Transfer-Encoding: \x0bchunked\r\n\r\n",
    "chunks of HTTP/1.0": POST.replace(b"1.1", b"1.0")
    + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "an extension of a chunk": POST + b"Transfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\n\r\n",
    "a blank after a size": POST + b"Transfer-Encoding: chunked\r\n\r\n2 \r\n{}\r\n0\r\n\r\n",
    "a size with 0x": POST + b"Transfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n",
    "a size that is too long": POST
    + b"Transfer-Encoding: chunked\r\n\r\n"
    + b"0" * 30
    + b"2\r\n{}",
    "a size without CR": POST
    + b"Transfer-Encoding: chunked\r\n\r\n2\n{}\r\n0\r\n\r\n0000000000000",
    "a chunk with a wrong end": POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}XX0\r\n\r\n",
    "a trailer": POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nA: b\r\n\r\n",
    "a folded line": GET + b"A: b\r\n c\r\n\r\n",
    "a blank before the colon": GET + b"A : b\r\n\r\n",
    "a header without a colon": GET + b"A\r\n\r\n",
    "a header without a name": GET + b": b\r\n\r\n",
    "a bare CR": GET + b"A: b\rc: d\r\n\r\n",
    "a bare LF": GET + b"A: b\nc: d\r\n\r\n",
    "lines that end in LF": GET.replace(b"\r\n", b"\n") + b"\n",
    "a NUL": GET + b"A: b\0c\r\n\r\n",
    "an escape": GET + b"A: b\x1b[2J\r\n\r\n",
    "no host": b"GET /v1/process HTTP/1.1\r\n\r\n",
    "two hosts": GET + HOST + b"\r\n",
    "a whole URL": b"GET http://localhost/v1/process HTTP/1.1\r\n" + HOST + b"\r\n",
    "a host as target": b"CONNECT localhost:80 HTTP/1.1\r\n" + HOST + b"\r\n",
    "an asterisk": b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n",
    "no target": b"GET HTTP/1.1\r\n" + HOST + b"\r\n",
    "two blanks": b"GET  /v1/process HTTP/1.1\r\n" + HOST + b"\r\n",
    "bytes in the target": "GET /é HTTP/1.1\r\n".encode() + HOST + b"\r\n",
    "no version": b"GET /v1/process\r\n\r\n",
    "another version": b"GET /v1/process HTTP/2.0\r\n" + HOST + b"\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    "only blank lines": b"\r\n\r\n\r\n\r\n",
    "no method": b" / HTTP/1.1\r\n" + HOST + b"\r\n",
}


@pytest.mark.parametrize("data", SMUGGLED.values(), ids=SMUGGLED)
def test_what_two_readers_might_read_differently_is_refused_and_ends_the_connection(data, address):
    found = exchange(address, data + LAST, half=True)
    assert statuses(found) == [400], found
    assert b"Connection: close\r\n" in found
    assert b"urn:paddle-flags:problem:malformed" in found


def test_requests_that_come_at_once_are_answered_in_their_order(address, name):
    pf.define(name, 1)
    text = b'{"set": {"%s": "%d"}}'
    change = POST + b"Content-Length: %d\r\n\r\n%s"
    bodies = [text % (name.encode(), each) for each in (2, 3)]
    parts = [change % (len(body), body) for body in bodies]
    get = b"GET /v1/flags/%s HTTP/1.1\r\n" % name.encode() + HOST + b"\r\n"
    found = exchange(address, get + parts[0] + get + parts[1] + get + LAST)
    assert statuses(found) == [200] * 6
    assert re.findall(rb'"flag":\{.*?"text":"(\d)"', found) == [b"1", b"2", b"3"]


def test_a_request_may_come_byte_by_byte(address):
    with connect(address) as made:
        for byte in LAST:
            made.sendall(bytes([byte]))
        assert read_until(made, b"\r\n\r\n").startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_connection_stays_open_for_the_next_request(address):
    with Client(address) as client:
        client.ask("GET", "/v1/process")
        first = client.sock
        assert client.ask("GET", "/v1/process").status == 200
        assert client.sock is first


def test_a_client_that_sends_no_more_still_gets_its_answers(address):
    assert statuses(exchange(address, GET + b"\r\n" + GET + b"\r\n", half=True)) == [200, 200]


def test_a_blank_line_before_a_request_is_skipped(address):
    assert statuses(exchange(address, b"\r\n" + LAST)) == [200]


def test_head_is_answered_without_a_body(address):
    found = exchange(address, LAST.replace(b"GET", b"HEAD"))
    head, end, body = found.partition(b"\r\n\r\n")
    assert statuses(head) == [200]
    assert (end, body) == (b"\r\n\r\n", b"")
    assert re.search(rb"\r\nContent-Length: [1-9]", head)


def test_head_of_events_ends(address):
    found = exchange(address, LAST.replace(b"GET /v1/process", b"HEAD /v1/events"))
    assert statuses(found) == [200]
    assert found.endswith(b"\r\n\r\n")


def test_a_client_of_http_1_0_is_answered_and_closed(address):
    found = exchange(address, b"GET /v1/process HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
    assert statuses(found) == [200]
    assert b"Connection: close\r\n" in found


def test_events_for_http_1_0_come_without_chunks(address):
    with connect(address) as made:
        made.sendall(b"GET /v1/events HTTP/1.0\r\n\r\n")
        assert b"\r\n\r\nid: " in read_until(made, b"\n\n")


def test_a_body_in_chunks_is_read(address, name):
    pf.define(name, 1)
    parts = iter([b'{"set": {"', name.encode(), b'": ', b"5", b"}}"])
    assert ask(address, "POST", "/v1/changes", parts).status == 200
    assert pf.get(name) == 5


def test_chunks_may_be_cut_anywhere(address, name):
    pf.define(name, 1)
    body = b'{"set": {"%s": 7}}' % name.encode()
    data = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    for cut in range(len(data)):
        pf.set(name, 1)
        with connect(address) as made:
            made.sendall(
                POST + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + data[:cut]
            )
            made.sendall(data[cut:])
            assert statuses(read_until(made, b"}]}")) == [200]


def test_a_client_that_waits_for_it_is_told_to_send_its_body(address):
    with connect(address) as made:
        made.sendall(POST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert read_until(made, b"\r\n\r\n") == b"HTTP/1.1 100 \r\n\r\n"
        made.sendall(b"{}")
        assert statuses(read_until(made, b"\r\n\r\n")) == [400]


def test_a_client_that_waits_with_a_refused_request_is_not_told_to_send_the_body(address):
    wrong = POST.replace(b"application/json", b"text/plain")
    found = exchange(
        address, wrong + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n", half=True
    )
    assert statuses(found) == [415]


@pytest.mark.parametrize("framing", ["length", "chunks"])
def test_a_body_that_is_too_large_is_refused(framing, address):
    if framing == "length":
        found = exchange(address, POST + b"Content-Length: 1048577\r\n\r\n")
    else:
        chunk = b"80000\r\n" + b" " * 0x80000 + b"\r\n"
        found = exchange(address, POST + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 3)
    assert statuses(found) == [413]
    assert b"urn:paddle-flags:problem:too-large" in found


def test_the_largest_body_is_read(address, name):
    pf.define(name, 1)
    body = b'{"set": {"%s": 6}' % name.encode()
    assert ask(address, "POST", "/v1/changes", body.ljust(1048575) + b"}").status == 200


def test_headers_that_are_too_large_are_refused(address):
    most = b"A: " + b"b" * (16384 - len(GET) - 7)
    assert statuses(exchange(address, GET + most + b"\r\n\r\n", half=True)) == [200]
    found = exchange(address, GET + most + b"b\r\n\r\n" + LAST, half=True)
    assert statuses(found) == [431]
    many = exchange(address, GET + b"A: b\r\n" * 100_000, half=True)
    assert statuses(many) == [431]


def test_a_request_with_a_body_that_nobody_wants_ends_the_connection(address):
    smuggled = b"GET /v1/process HTTP/1.1\r\n" + HOST + b"\r\n"
    for method in (b"GET", b"DELETE"):
        data = LAST.replace(b"GET", method, 1).replace(b"Connection: close\r\n\r\n", b"")
        data += b"Content-Length: %d\r\n\r\n" % len(smuggled) + smuggled
        found = exchange(address, data, half=True)
        assert len(statuses(found)) == 1
        assert b"Connection: close\r\n" in found


@pytest.mark.parametrize("protocol", [b"websocket", b"h2c"])
def test_an_upgrade_does_not_happen(protocol, address):
    upgrade = (
        b"Connection: Upgrade\r\nUpgrade: " + protocol + b"\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    found = exchange(address, GET + upgrade + GET + b"\r\n")
    assert statuses(found) == [200]
    assert b"Connection: close\r\n" in found


def test_a_target_with_an_escaped_line_end_adds_no_header(address):
    found = exchange(
        address, b"GET /v1/flags/a%0d%0aX-Evil:%201 HTTP/1.1\r\n" + HOST + b"\r\n", half=True
    )
    assert statuses(found) == [404]
    assert b"\r\nX-Evil" not in found


def test_a_client_that_vanishes_in_the_middle_harms_nobody(address):
    for data in (GET[:20], GET + b"\r\n", POST + b"Content-Length: 100\r\n\r\n{", LAST):
        with closing(connect(address)) as made:
            made.sendall(data)
    with connect(address) as made:  # a reset
        made.sendall(GET + b"\r\n" + GET)
        made.shutdown(socket.SHUT_RDWR)
    assert ask(address, "GET", "/v1/process").status == 200


def test_a_file_that_is_not_in_the_package_is_not_found(address):
    answer = ask(address, "GET", "/page-missing.js")
    assert answer.status == 404
    assert answer.json["type"] == "urn:paddle-flags:problem:unknown"


@pytest.mark.parametrize(
    "target",
    ["/../_body.py", "/%2e%2e/_body.py", "/_body.py", "/schemas/../../py.typed", "//etc/passwd"],
)
def test_a_path_leads_out_of_no_folder(target, address):
    assert ask(address, "GET", target).status == 404
