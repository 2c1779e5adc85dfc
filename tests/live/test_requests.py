"""JSON-RPC: what is a request, and what isn't."""

from __future__ import annotations

import json

import pytest
from serving import Client

HELLO = '"method":"hello"'


@pytest.mark.parametrize(
    "line",
    [
        "",
        "x",
        "nul",
        "{",
        '{"a":1,}',
        "[1,]",
        '{"a" 1}',
        "{1:2}",
        "01",
        "1.",
        "+1",
        ".5",
        "1e",
        "NaN",
        "-Infinity",
        '"\\x41"',
        '"\\u12g4"',
        '"\\ud800"',
        '"\\udc00"',
        '"\\ud800\\u0041"',
        '"\\u0000"',
        '"a\tb"',
        '"open',
        "true false",
        '{"a":1,"a":2}',
        '{"a":1,"\\u0061":2}',
        "[" * 65 + "]" * 65,
        "[" + "1," * 20_000 + "1]",
        "// comment\n",
        "'single'",
    ],
)
def test_what_is_not_json_is_refused_with_its_place_and_ends_the_connection(program, line):
    with Client(program.socket) as client:
        client.send(" " + line + "\n")
        answer = client.read()
        assert answer["id"] is None
        assert answer["error"]["code"] == -32700
        assert answer["error"]["message"].startswith("column ")
        assert client.read() == {}


@pytest.mark.parametrize(
    "sequence", [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80", b"\xe2\x82"]
)
def test_what_is_not_utf_8_is_refused(client, sequence):
    client.send(b'{"jsonrpc":"2.0","id":"' + sequence + b'",' + HELLO.encode() + b"}\n")
    assert client.read()["error"]["code"] == -32700


@pytest.mark.parametrize(
    "request_",
    [
        "1",
        "null",
        "[]",
        "{}",
        f'{{"id":1,{HELLO}}}',
        f'{{"jsonrpc":"1.0","id":1,{HELLO}}}',
        '{"jsonrpc":"2.0","id":1}',
        '{"jsonrpc":"2.0","id":1,"method":5}',
        f'{{"jsonrpc":"2.0","id":[],{HELLO}}}',
        f'{{"jsonrpc":"2.0","id":1,{HELLO},"params":[]}}',
        f'{{"jsonrpc":"2.0","id":1,{HELLO},"extra":1}}',
        f'[{{"jsonrpc":"2.0","id":1,{HELLO}}}]',
    ],
)
def test_what_is_no_request_is_refused_and_the_connection_stays(client, request_):
    client.send(request_ + "\n")
    assert client.read()["error"]["code"] == -32600
    assert client.ask("hello")["api"] == 1


@pytest.mark.parametrize("number", ['"one"', "7", "1.5", "-3", "null", '"\\u00e9\\ud83d\\ude00"'])
def test_an_answer_has_the_id_of_its_request(client, number):
    client.send(f'{{"jsonrpc":"2.0","id":{number},{HELLO}}}\n')
    assert client.read()["id"] == json.loads(number)


def test_a_notification_is_carried_out_without_an_answer(client):
    client.send('{"jsonrpc":"2.0","method":"flags.set","params":{"set":{"level":9}}}\n')
    client.send('{"jsonrpc":"2.0","method":"nope"}\n{"jsonrpc":"2.0","method":"hello"}\n')
    client.send('{"jsonrpc":"2.0","method":"flags.set","params":{"set":{}}}\n')
    client.ask("flags.set", set={"rate": 1})
    assert client.text("level") == "9"


def test_methods_and_members_that_do_not_exist_are_named(client):
    error = client.fail("flags.gett")
    assert error["code"] == -32601
    assert "there is no method flags.gett: expected one of hello flags.list " in error["message"]
    error = client.fail("flags.list", sinc="x")
    assert error["code"] == -32602
    assert error["message"] == "params: there is no member sinc: expected one of since after"
    assert client.fail("hello", x=1)["message"] == "params: there is no member x: expected none"


def test_several_requests_at_once_are_answered_in_order(client):
    one = '{"jsonrpc":"2.0","id":%d,"method":"flags.get","params":{"name":"level"}}\n'
    client.send("".join(one % i for i in range(200)))
    assert [client.read()["id"] for _ in range(200)] == list(range(200))


def test_the_last_line_needs_no_line_break(client):
    import socket

    client.send(f'{{"jsonrpc":"2.0","id":1,{HELLO}}}')
    client.socket.shutdown(socket.SHUT_WR)
    assert client.read()["id"] == 1
    assert client.read() == {}


def test_a_line_that_is_too_long_is_refused(client):
    client.send(b'"' + b"x" * (1 << 20))
    assert "longer than" in client.read()["error"]["message"]


def test_a_request_comes_in_pieces(client):
    for sign in f'{{"jsonrpc":"2.0","id":1,{HELLO}}}\n':
        client.send(sign)
    assert client.read()["id"] == 1
