"""paddle_flags.live.Client, beside processes that serve their flags and beside hostile ones."""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from live_process import Served
from support import run

import paddle_flags as pf
from paddle_flags.live import Client, LiveConnectionError, LiveError
from paddle_flags.live._find import endpoint_of
from paddle_flags.live._sse import Parser


@pytest.fixture
def served(tmp_path) -> Iterator[Served]:
    made = Served(tmp_path)
    yield made
    made.close()


def since(document) -> str:
    return f"{document['epoch']}-{document['revision']}"


# ---- Reading ----


def test_a_client_sees_the_process(served):
    process = served.client().process()
    assert process["pid"] == served.process.pid
    assert process["flags"] == 11
    assert process["you"]["uid"] == os.geteuid()
    assert process["you"]["may"] == ["read", "change"]


def test_a_client_sees_all_flags_with_values_and_sources(served):
    served.run("pf.FLAGS.level = 3")
    flags = {each["name"]: each for each in served.client().flags()["flags"]}
    assert (flags["level"]["value"], flags["level"]["source"]) == (3, "run time")
    assert (flags["mode"]["value"], flags["mode"]["choices"]) == ("fast", ["fast", "best"])
    assert flags["cache"]["unit"] == "bytes"


def test_a_client_never_gets_a_sensitive_value(served):
    client = served.client()
    assert "hunter2" not in json.dumps([client.flags(), client.flag("token")])


def test_a_client_gets_only_what_changed_after_a_revision(served):
    client = served.client()
    before = since(client.flags())
    served.run("pf.FLAGS.level = 3")
    later = client.flags(before)
    assert [each["name"] for each in later["flags"]] == ["level"]
    assert not later["complete"]


def test_one_flag_has_its_history(served):
    served.run("pf.FLAGS.level = 3")
    history = served.client().flag("level")["history"]
    assert [(each["text"], each["source"]) for each in history] == [
        ("3", "run time"),
        ("6", "default"),
    ]


def test_the_name_of_an_unknown_flag_is_an_error_with_the_nearest(served):
    with pytest.raises(LiveError, match="did you mean 'level'") as caught:
        served.client().flag("levle")
    assert caught.value.problem
    assert (caught.value.problem.status, caught.value.problem.type) == (404, "unknown")


def test_a_name_is_never_a_path(served):
    for name in ("../process", "a/b", "x?since=1", "a\r\nX: y", "ä"):
        with pytest.raises(LiveError) as caught:
            served.client().flag(name)
        assert caught.value.problem
        assert caught.value.problem.status in (400, 404)


# ---- Changing ----


def test_a_client_sets_values_of_all_types(served):
    client = served.client()
    values = {"level": 3, "mode": "best", "check": True, "rate": 1e300, "names": ["a,b", 'c"']}
    result = client.change(values, reason="trying")
    assert {each["name"] for each in result["flags"]} == set(values)
    flags = {each["name"]: each for each in client.flags()["flags"]}
    assert {name: flags[name]["value"] for name in values} == values
    assert client.changes()[0]["reason"] == "trying"


def test_a_dry_run_changes_nothing(served):
    client = served.client()
    result = client.change({"level": 3}, dry_run=True)
    assert (result["change"], result["flags"][0]["new"]) == (None, "3")
    assert client.flag("level")["value"] == 6


def test_a_refused_change_tells_all_that_is_wrong(served):
    with pytest.raises(LiveError) as caught:
        served.client().change({"level": 12, "mode": "bset"})
    problems = [(each.name, each.status) for each in caught.value.errors]
    assert problems == [("level", "PD_ERR_RANGE"), ("mode", "PD_ERR_CHOICE")]
    assert "[1, 9]" in str(caught.value.errors[0])
    assert caught.value.status == "PD_ERR_RANGE"


def test_a_change_that_expects_another_value_is_refused_with_the_current_one(served):
    client = served.client()
    with pytest.raises(LiveError) as caught:
        client.change({"mode": "best"}, expect={"level": 4})
    assert caught.value.problem
    assert (caught.value.problem.status, caught.value.problem.current) == (409, {"level": "6"})
    assert client.change({"mode": "best"}, expect={"level": 6})["change"] == 1


def test_an_unsafe_flag_wants_to_be_confirmed(served):
    client = served.client()
    with pytest.raises(LiveError) as caught:
        client.change({"reckless": True})
    assert caught.value.problem
    assert caught.value.problem.type == "confirm"
    client.change({"reckless": True}, confirm=["reckless"])
    assert client.flag("reckless")["value"] is True


def test_a_change_with_a_duration_ends_by_itself(served):
    client = served.client()
    client.change({"level": 9}, duration=0.3)
    deadline = time.monotonic() + 60
    while client.flag("level")["value"] == 9:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert client.changes()[0]["state"] == "ended"


def test_none_takes_back_what_clients_have_set(served):
    client = served.client()
    client.change({"level": 9})
    client.change({"level": None})
    assert client.flag("level")["source"] == "default"


def test_undo_takes_a_change_back(served):
    client = served.client()
    number = client.change({"level": 9})["change"]
    assert client.undo(number)["flags"][0]["new"] == "6"
    assert [each["state"] for each in client.changes() if each["change"] == number] == ["undone"]
    with pytest.raises(LiveError):
        client.undo(number)


def test_what_is_no_value_is_refused_before_anything_is_sent(served):
    client = served.client()
    with pytest.raises(pf.FlagTypeError, match=r"level: .*expected a bool, a number"):
        client.change({"level": object()})
    with pytest.raises(pf.FlagTypeError, match="expected a list of names"):
        client.change({"reckless": True}, confirm="reckless")


# ---- Events ----


def test_events_begin_with_hello_and_go_on_with_changes_from_any_side(served):
    client = served.client()
    events = client.events()
    assert next(events).kind == "hello"
    served.run("pf.FLAGS.level = 3")
    event = next(events)
    assert (event.kind, event.data["changes"][0]["new"]) == ("changes", "3")
    client.change({"level": 4}, reason="again")
    change = next(events).data["changes"][0]
    assert (change["new"], change["reason"], change["who"]["pid"]) == ("4", "again", os.getpid())


def test_events_go_on_where_an_earlier_stream_ended(served):
    client = served.client()
    events = client.events()
    first = next(events)
    events.close()
    served.run("pf.FLAGS.level = 3")
    assert next(client.events(first.id)).data["changes"][0]["new"] == "3"


def test_events_end_with_an_error_when_the_process_dies(served):
    events = served.client().events()
    next(events)
    served.close()
    with pytest.raises(LiveConnectionError):
        list(events)


def test_events_reconnect_to_the_next_process_and_report_the_gap(tmp_path):
    path = str(tmp_path / "a.sock")
    first = Served(tmp_path, repr(path))
    events = Client(path).events(reconnect=True)
    assert next(events).kind == "hello"
    first.close()
    assert next(events).kind == "lost"
    second = Served(tmp_path, repr(path))
    try:
        kinds = {"lost"}
        while "gap" not in kinds:
            kinds.add(next(events).kind)
        second.run("pf.FLAGS.level = 3")
        assert next(events).data["changes"][0]["new"] == "3"
    finally:
        second.close()


# ---- Targets ----


def test_a_process_on_tcp_wants_a_token(tmp_path):
    token = "a-token-of-sixteen-bytes"  # noqa: S105 - for this test
    tokens = f"('127.0.0.1', 0), tokens={{'ops': pf.live.Token({token!r})}}"
    served = Served(tmp_path, tokens)
    try:
        url = f"http://{served.address}"
        with pytest.raises(LiveError) as caught:
            Client(url).process()
        assert caught.value.problem
        assert caught.value.problem.status == 401
        assert Client(url, token=token).process()["you"]["label"] == "ops"
    finally:
        served.close()


@pytest.mark.parametrize("target", ["http://me:secret@127.0.0.1:80", "ftp://a", "http://", ""])
def test_what_is_no_target_is_an_error(target):
    with pytest.raises(pf.FlagArgumentError) as caught:
        Client(target)
    assert "secret@" not in str(caught.value)


@pytest.mark.parametrize("token", ["a b", "a\nb", "ä"])
def test_a_token_cannot_become_another_header(token):
    with pytest.raises(pf.FlagArgumentError, match="token"):
        Client("http://127.0.0.1:1", token=token)


def test_a_url_may_have_a_path_of_the_application():
    end = endpoint_of("http://[::1]:8080/ops/flags/")
    assert (end.host, end.port, end.prefix) == ("::1", 8080, "/ops/flags")
    assert str(end) == "http://[::1]:8080/ops/flags"


def test_nobody_at_a_socket_is_a_connection_error(tmp_path):
    path = str(tmp_path / "stale.sock")
    with pytest.raises(LiveConnectionError, match="no such socket"):
        Client(path).process()
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path)
    with pytest.raises(LiveConnectionError, match="nobody listens"):
        Client(path).process()
    with pytest.raises(OSError, match="nobody listens"):
        Client(path).process()


def test_a_process_that_serves_nothing_is_told_how_to(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with pytest.raises(LiveConnectionError, match=r"pf\.serve"):
        Client(os.getpid())
    with pytest.raises(LiveConnectionError, match="no such process"):
        Client(2**31 - 1)


def test_a_directory_that_others_may_write_to_is_not_trusted(monkeypatch, served):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(served.runtime))
    assert Client(served.pid).process()
    Path(served.address).parent.chmod(0o777)
    with pytest.raises(LiveConnectionError):
        Client(served.pid)


# ---- Servers that are no friends ----


class Hostile:
    """Answers each connection with some bytes, and then with more of them for ever."""

    def __init__(self, place: Path, first: bytes, then: bytes = b"", pause: float = 0.0) -> None:
        self.path = str(place / "hostile.sock")
        self.answer = (first, then, pause)
        self.ended = threading.Event()
        self.made = socket.socket(socket.AF_UNIX)
        self.made.bind(self.path)
        self.made.listen(8)
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        while not self.ended.is_set():
            try:
                connection, _ = self.made.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                self.send(connection)

    def send(self, connection: socket.socket) -> None:
        first, then, pause = self.answer
        connection.recv(65536)
        connection.sendall(first)
        while then and not self.ended.wait(pause):
            connection.sendall(then)

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.made.shutdown(socket.SHUT_RDWR)
        self.made.close()
        self.thread.join()


def answer(body: bytes, kind: str = "application/json", status: int = 200) -> bytes:
    head = f"HTTP/1.1 {status} OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


PROCESS = b'{"epoch": "a", "revision": 1, "program": "x", "pid": 1, "host": "h", "flags": 1'
HOSTILE = {
    "nothing": (b"", LiveConnectionError),
    "no HTTP": (b"SSH-2.0-OpenSSH_9\r\n", LiveConnectionError),
    "a page": (answer(b"<html>", "text/html"), LiveError),
    "no JSON": (answer(b"{"), LiveError),
    "deep": (answer(b"[" * 200_000), LiveError),
    "an array": (answer(b"[]"), LiveError),
    "a field missing": (answer(PROCESS + b"}"), LiveError),
    "a field of another type": (answer(PROCESS + b', "temporary": "many"}'), LiveError),
    "too short": (answer(PROCESS)[:-5], LiveConnectionError),
    "a redirection": (b"HTTP/1.1 302 Found\r\nLocation: http://evil/\r\n\r\n", LiveError),
    "a problem that is a list": (answer(b"[1]", "application/problem+json", 422), LiveError),
    "odd errors": (
        answer(b'{"errors": [1, {"name": 2}], "current": 3}', "application/problem+json", 409),
        LiveError,
    ),
    "long headers": (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100_000, LiveConnectionError),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_an_answer_that_is_none_is_an_error(kind, tmp_path):
    text, error = HOSTILE[kind]
    with Hostile(tmp_path, text) as hostile, pytest.raises(error):
        Client(hostile.path).process()


def test_an_answer_that_trickles_in_ends_in_time(tmp_path):
    with (
        Hostile(tmp_path, b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", 0.01) as hostile,
        pytest.raises(LiveConnectionError, match="in time"),
    ):
        Client(hostile.path, timeout=0.3).process()


def test_an_endless_answer_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr("paddle_flags.live._client._LARGEST", 1 << 20)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
    with (
        Hostile(tmp_path, head, b" " * 65536) as hostile,
        pytest.raises(LiveError, match="larger than"),
    ):
        Client(hostile.path).process()


def test_an_endless_event_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr("paddle_flags.live._sse._LONGEST", 1 << 20)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: "
    with (
        Hostile(tmp_path, head, b"a" * 65536) as hostile,
        pytest.raises(LiveError, match="longer than"),
    ):
        list(Client(hostile.path).events())


def test_a_silent_stream_counts_as_lost(tmp_path):
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    with (
        Hostile(tmp_path, head, b" ", 60.0) as hostile,
        pytest.raises(LiveConnectionError, match="in time"),
    ):
        list(Client(hostile.path).events(timeout=0.2))


OTHERS = """
import os, socket, sys
from paddle_flags.live import _client, _sockets, Client, LiveConnectionError
made = socket.socket(socket.AF_UNIX)
path = sys.argv[1]
os.seteuid(65534)
made.bind(path)
made.listen(8)
os.seteuid(0)
os.chmod(path, 0o777)
os.setresuid(65533, 65533, 65533)
try:
    Client(path, timeout=5).process()
except LiveConnectionError as error:
    print(error)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be two other users")
def test_the_socket_of_another_user_is_not_trusted():
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o777)  # noqa: S103 - for this test
        said = run(sys.executable, "-c", OTHERS, f"{place}/a.sock").stdout
        assert (
            said
            == f"{place}/a.sock: the process behind it has uid 65534, expected yours or root's\n"
        )


# ---- Server-sent events ----

STREAM = (
    b"\xef\xbb\xbf: hello\r\nretry: 250\r\n\r\nevent: a\rid: e-1\rdata: 1\rdata:2\r\r"
    b"data: 3\n\nid: \0\nevent: b\nnothing\ndata:  4\n\nevent: c\n\ndata: unfinished"
)
MESSAGES = [("a", "e-1", "1\n2"), ("message", "e-1", "3"), ("b", "e-1", " 4")]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 1000])
def test_a_stream_is_read_the_same_however_it_is_cut(size):
    parser = Parser()
    found = []
    for at in range(0, len(STREAM), size):
        found += parser.feed(STREAM[at : at + size])
    assert found == MESSAGES
    assert parser.retry == 0.25
