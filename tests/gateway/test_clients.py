"""Clients whose process or gateway is hostile, slow or gone."""

from __future__ import annotations

import json
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from certificates import authority, certificate
from ways import TOKENS, Program, start

from paddle_flags import FlagArgumentError
from paddle_flags.live import Client, LiveConnectionError, LiveError
from paddle_flags.live._rpc import Connection

pytestmark = pytest.mark.extended  # HTTP is an extra

HELLO = {"api": 1, "program": "x", "pid": 1, "host": "h", "epoch": "a", "revision": 1}
HELLO.update(flags=1, temporary=0, startup_over=True, dropped=0, version="0", you={})
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


@contextmanager
def trap(
    address: Any, answer: Callable[[socket.socket], None], context: ssl.SSLContext | None = None
) -> Iterator[Any]:
    """Something that listens there, and answers each client by a function."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family) as made:
        made.bind(address)
        made.listen(8)

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = made.accept()
                    threading.Thread(target=talk, args=(connection,), daemon=True).start()

        def talk(connection: socket.socket) -> None:
            with suppress(OSError), connection:
                if context is None:
                    answer(connection)
                else:
                    with context.wrap_socket(connection, server_side=True) as secure:
                        answer(secure)

        threading.Thread(target=serve, daemon=True).start()
        yield made.getsockname()
        made.shutdown(socket.SHUT_RDWR)


def sends(data: bytes, *, closes: bool = False) -> Callable[[socket.socket], None]:
    """An answer that begins with these bytes, and then ends or says nothing more."""

    def answer(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(data)
        while not closes and connection.recv(65536):
            pass

    return answer


def drips(begin: bytes, byte: bytes) -> Callable[[socket.socket], None]:
    """An answer that goes on forever, a byte now and then."""

    def answer(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(begin)
        while True:
            connection.sendall(byte)
            time.sleep(0.02)

    return answer


def result(document: Any, **more: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": document, **more}).encode() + b"\n"


WRONG = {
    "no JSON": b"hello\n",
    "HTTP": b"HTTP/1.1 200 OK\r\n\r\n",
    "no object": b"[1]\n",
    "another id": result(HELLO).replace(b'"id": 1', b'"id": 2'),
    "no result": b'{"jsonrpc": "2.0", "id": 1}\n',
    "a notification": b'{"jsonrpc": "2.0", "method": "x", "params": {}}\n',
    "another type": result({**HELLO, "revision": "1"}),
    "a field less": result({key: HELLO[key] for key in HELLO if key != "pid"}),
    "no finite number": result({**HELLO, "x": 0}).replace(b'"x": 0', b'"x": NaN'),
    "too large a number": result({**HELLO, "x": 0}).replace(b'"x": 0', b'"x": 1e999'),
    "too deep": b'{"result": ' + b"[" * 100_000 + b"\n",
    "no UTF-8": b'{"result": "\xff"}\n',
    "an odd error": b'{"id": 1, "error": {"code": "x", "message": [1]}}\n',
    "an error without a message": b'{"id": 1, "error": {"code": -32603}}\n',
}


@pytest.mark.parametrize("data", WRONG.values(), ids=WRONG)
def test_an_answer_of_a_process_that_is_none_is_an_error(data: bytes, tmp_path: Path):
    with trap(str(tmp_path / "trap.sock"), sends(data)) as path, pytest.raises(LiveError):
        Client(path).process()


FLAG = {"name": "x", "type": "string", "source": "default", "settable": True}
FLAG |= {"help": "", "module": "", "file": "", "line": 0, "marks": []}
WRONG_FLAGS: dict[str, Any] = {
    "a number for a text": {**FLAG, "help": 5},
    "a truth for a number": {**FLAG, "line": True},
    "a text less": {key: FLAG[key] for key in FLAG if key != "source"},
    "a list of numbers": {**FLAG, "marks": [1]},
    "a part of another type": {**FLAG, "temporary": {"change": "1", "until": "", "left": 1}},
    "no object": "x",
}


@pytest.mark.parametrize("flag", WRONG_FLAGS.values(), ids=WRONG_FLAGS)
def test_a_flag_that_has_another_form_is_an_error(flag: Any, tmp_path: Path):
    page = {"epoch": "a", "revision": 1, "complete": True, "flags": [FLAG, flag], "removed": []}
    with (
        trap(str(tmp_path / "trap.sock"), sends(result(page))) as path,
        pytest.raises(LiveError, match="isn't one of the live protocol"),
    ):
        Client(path).flags()


def test_a_field_of_a_later_version_is_allowed(tmp_path):
    page = {"epoch": "a", "revision": 1, "complete": True, "flags": [FLAG], "removed": []}
    page["flags"] = [{**FLAG, "mood": 1}]
    with trap(str(tmp_path / "trap.sock"), sends(result({**page, "more": 1}))) as path:
        assert Client(path).flags()["flags"] == page["flags"]


@pytest.mark.parametrize(
    "message",
    [
        {"method": "events.a\nb", "params": {"epoch": "a", "revision": 1}},
        {"method": "events.gap", "params": {"epoch": "a\nevent: x", "revision": 1}},
        {"method": "events.changes", "params": {"epoch": "a", "revision": 1, "changes": [1]}},
        {"method": "events.gap", "params": []},
    ],
    ids=range(4),
)
def test_an_event_that_is_none_is_an_error(message: Any, tmp_path: Path):
    def answer(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(result({}) + json.dumps(message).encode() + b"\n")
        connection.recv(65536)

    with trap(str(tmp_path / "trap.sock"), answer) as path:
        events = Client(path).events("a-1")
        with pytest.raises(LiveError):
            next(events)


def test_a_connection_that_is_aborted_before_it_is_made_asks_for_nothing(tmp_path):
    seen: list[bytes] = []
    with trap(str(tmp_path / "trap.sock"), lambda each: seen.append(each.recv(100))) as path:
        connection = Connection(path, 10)
        connection.abort()
        with pytest.raises(LiveConnectionError, match="closed"):
            connection.ask_once("flags.set", {"set": {"level": 3}})
    assert not any(seen)


def test_a_process_that_closes_the_connection_is_a_lost_one(tmp_path):
    for data in (b"", b'{"jsonrpc":'):
        path = str(tmp_path / f"{len(data)}.sock")
        with trap(path, sends(data, closes=True)), pytest.raises(LiveConnectionError):
            Client(path).process()


def test_pages_without_an_end_are_cut(tmp_path):
    def answer(connection: socket.socket) -> None:
        number = 0
        while connection.recv(65536):
            number += 1
            page = {"epoch": "a", "revision": 1, "flags": [], "removed": [], "complete": True}
            page["next"] = "x"
            connection.sendall(result(page).replace(b'"id": 1', b'"id": %d' % number))

    with trap(str(tmp_path / "trap.sock"), answer) as path, pytest.raises(LiveError, match="pages"):
        Client(path, timeout=60).flags()


def test_a_line_without_an_end_is_cut(tmp_path):
    def answer(connection: socket.socket) -> None:
        while True:
            connection.sendall(b"a" * (1 << 20))

    with (
        trap(str(tmp_path / "trap.sock"), answer) as path,
        pytest.raises(LiveError, match="longer"),
    ):
        Client(path, timeout=60).process()


# ---- One deadline for a whole request ----

SLOW = {
    "silent": lambda: sends(b""),
    "status": lambda: drips(b"HTTP/1.1 200 OK", b"K"),
    "headers": lambda: drips(b"HTTP/1.1 200 OK\r\nX: ", b"a"),
    "body": lambda: drips(OK + b"Content-Length: 1000000\r\n\r\n{", b" "),
    "chunks": lambda: drips(OK + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
}


def test_an_answer_of_a_process_that_trickles_in_ends_on_time(tmp_path):
    for number, slow in enumerate((sends(b""), drips(b'{"x": "', b"a"))):
        path = str(tmp_path / f"{number}.sock")
        with trap(path, slow), pytest.raises(LiveConnectionError, match="no answer in time"):
            Client(path, timeout=0.3).process()


@pytest.mark.parametrize("kind", SLOW)
@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
def test_an_answer_of_a_gateway_that_trickles_in_ends_on_time(
    kind: str, secure: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    context = None
    if secure:
        ca = authority(tmp_path, "ca")
        made = certificate(ca, "server", "/CN=localhost")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(made, made.with_suffix(".key"))
        monkeypatch.setenv("SSL_CERT_FILE", str(ca))
    with trap(("127.0.0.1", 0), SLOW[kind](), context) as (_, port):
        client = Client(f"http{'s' * secure}://127.0.0.1:{port}/1", timeout=0.5)
        with pytest.raises(LiveConnectionError, match="no answer in time"):
            client.process()
        with pytest.raises(LiveConnectionError, match="no answer in time"):
            client.change({"level": 3})


def test_a_handshake_that_does_not_end_ends_on_time():
    with trap(("127.0.0.1", 0), drips(b"", b"\x16")) as (_, port), pytest.raises(LiveError):
        Client(f"https://127.0.0.1:{port}/1", timeout=0.5).process()


def test_a_certificate_that_nobody_knows_is_refused(tmp_path):
    made = certificate(authority(tmp_path, "ca"), "server", "/CN=localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, made.with_suffix(".key"))
    seen: list[bytes] = []
    with trap(("127.0.0.1", 0), lambda each: seen.append(each.recv(100)), context) as (_, port):
        client = Client(f"https://127.0.0.1:{port}/1", token=TOKENS["ops"])
        with pytest.raises(LiveConnectionError, match="certificate"):
            client.process()
    assert seen == []


@pytest.mark.parametrize(
    "data",
    [
        b"no HTTP\r\n\r\n",
        OK.replace(b"application/json", b"text/html") + b"Content-Length: 2\r\n\r\n{}",
        OK + b"Content-Length: 3\r\n\r\n{}x",
        OK + b"Content-Length: 2\r\n\r\n[]",
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
        OK.replace(b"200 OK", b"500 No") + b"Content-Length: 2\r\n\r\n[]",
    ],
    ids=range(6),
)
def test_an_answer_that_is_not_of_a_gateway_is_an_error(data: bytes):
    with trap(("127.0.0.1", 0), sends(data)) as (_, port), pytest.raises(LiveError):
        Client(f"http://127.0.0.1:{port}/1").process()


# ---- Events ----


@pytest.mark.parametrize("by", ["socket", "gateway"])
def test_events_end_with_an_error_when_the_process_ends(by: str, tmp_path: Path):
    with start("tcp", tmp_path) as way:
        client = way.program.client() if by == "socket" else Client(way.origin, token=TOKENS["ops"])
        events = client.events()
        assert next(events).kind == "hello"
        way.program.close()
        with pytest.raises(LiveConnectionError):
            next(events)


@pytest.mark.parametrize("by", ["socket", "gateway"])
def test_events_go_on_with_the_next_process_after_a_gap(by: str, tmp_path: Path):
    path = str(tmp_path / "trainer.sock")
    program = Program(tmp_path, repr(path))
    (tmp_path / "way").mkdir()
    with start("tcp", tmp_path / "way", path) as way:
        client = Client(path) if by == "socket" else Client(way.origin, token=TOKENS["ops"])
        events = client.events(reconnect=True)
        assert next(events).kind == "hello"
        program.close()
        assert next(events).kind == "lost"
        program = Program(tmp_path, repr(path))
        kinds = {next(events).kind}
        while "gap" not in kinds:
            kinds.add(next(events).kind)
        assert kinds <= {"lost", "gap"}
        events.close()
    program.close()


def test_a_silent_stream_counts_as_lost(tmp_path):
    def answer(connection: socket.socket) -> None:
        for number in (1, 2):
            connection.recv(65536)
            connection.sendall(result(HELLO).replace(b'"id": 1', b'"id": %d' % number))
        connection.recv(65536)

    with trap(str(tmp_path / "trap.sock"), answer) as path:
        events = Client(path).events(timeout=0.2)
        assert next(events).kind == "hello"
        with pytest.raises(LiveConnectionError, match="no answer in time"):
            next(events)


# ---- Targets ----


@pytest.mark.parametrize("target", ["http://me:secret@127.0.0.1:80", "ftp://a", "http://", ""])
def test_what_is_no_target_is_an_error(target: str):
    with pytest.raises(FlagArgumentError):
        Client(target)


@pytest.mark.parametrize("token", ["a b", "a\nb", "ä"])
def test_a_token_cannot_become_another_header(token: str):
    with pytest.raises(FlagArgumentError):
        Client("http://127.0.0.1:80", token=token)


def test_nobody_at_a_target_is_a_connection_error(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as made:
        port = made.getsockname()[1]
    with pytest.raises(LiveConnectionError, match="nobody listens there"):
        Client(f"http://127.0.0.1:{port}").process()
    with pytest.raises(LiveConnectionError, match="no such socket"):
        Client(str(tmp_path / "none.sock")).process()


def test_the_url_of_a_gateway_is_that_of_its_single_process(tmp_path):
    with start("tcp", tmp_path) as way:
        for end in ("", "/", f"/{way.program.pid}", f"/v1/processes/{way.program.pid}"):
            client = Client(way.origin + end, token=TOKENS["ops"])
            assert client.process()["pid"] == way.program.pid
        other = Program(tmp_path)
        with pytest.raises(LiveError, match=str(other.pid)):
            Client(way.origin, token=TOKENS["ops"]).process()
        other.close()
        assert Client(way.origin, token=TOKENS["ops"]).process()["pid"] == way.program.pid


def test_a_forked_child_asks_a_gateway_too(tmp_path):
    with start("tcp", tmp_path) as way:
        client = Client(way.origin, token=TOKENS["ops"])
        assert client.flag("level")["value"] == 6
        child = os.fork()
        if child == 0:
            status = 1
            with suppress(BaseException):
                status = int(client.flag("level")["value"] != 6)
            os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
