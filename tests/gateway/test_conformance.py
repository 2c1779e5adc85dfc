"""The same requests, by a socket, by a gateway and as plain HTTP, have the same answers."""

from __future__ import annotations

import json
import os
import signal
import time
from typing import Any

import pytest
from ways import TOKENS, Way, start

from paddle_flags.live import Client, LiveError

pytestmark = pytest.mark.extended  # HTTP is an extra

REFUSED: dict[str, dict[str, Any]] = {
    "rejected": {"values": {"level": 12, "mode": "bset"}},
    "unknown": {"values": {"levle": 3}},
    "forbidden": {"values": {"port": 1}},
    "confirm": {"values": {"reckless": True}},
    "conflict": {"values": {"level": 3}, "expect": {"level": 9}},
    "a guess": {"values": {"level": 3}, "expect": {"token": "hunter2"}},
    "several": {"values": {"level": 12, "port": 1, "reckless": True, "x": 1}},
    "too short": {"values": {"level": 3}, "duration": 0.001},
    "a long reason": {"values": {"level": 3}, "reason": "a" * 2000},
    "no values": {"values": {}},
    "for and unset": {"values": {"level": None}, "duration": 60},
}


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A gateway, and clients by it and by the socket."""
    with start("tcp", tmp_path_factory.mktemp("both")) as way:
        url = f"{way.origin}/{way.program.pid}"
        yield way, way.program.client(), Client(url, token=TOKENS["ops"])


def raw(way: Way, path: str = "") -> Any:
    status, headers, body = way.process(path)
    assert (status, headers["content-type"]) == (200, "application/json")
    return json.loads(body)


def test_reading_is_the_same(both):
    way, near, far = both
    assert near.flags() == far.flags() == raw(way, "/flags")
    since = f"{near.process()['epoch']}-0"
    assert near.flags(since) == far.flags(since) == raw(way, f"/flags?since={since}")
    for name in ("level", "token", "names", "check"):
        assert near.flag(name) == far.flag(name) == raw(way, f"/flags/{name}")["flag"]
    assert near.changes() == far.changes() == raw(way, "/changes")["changes"]


def test_what_the_process_is_differs_only_in_who_asks(both):
    way, near, far = both
    answers = [dict(each) for each in (near.process(), far.process(), raw(way))]
    asking = [each.pop("you") for each in answers]
    assert answers[0] == answers[1] == answers[2]
    assert (
        asking[1] == asking[2] == {"label": "ops", "host": "127.0.0.1", "may": ["read", "change"]}
    )


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_is_the_same(both, name: str):
    way, near, far = both
    problems = []
    for client in (near, far):
        with pytest.raises(LiveError) as caught:
            client.change(**REFUSED[name])
        problems.append(caught.value)
    assert problems[0].problem == problems[1].problem
    assert [str(each) for each in problems[0].errors] == [str(each) for each in problems[1].errors]
    words = {"values": "set", "duration": "for"}
    body = {words.get(key, key): value for key, value in REFUSED[name].items()}
    status, headers, answer = way.process("/changes", "POST", body)
    found = json.loads(answer)
    assert headers["content-type"] == "application/problem+json"
    assert found["status"] == status == problems[0].problem.status
    assert found["detail"] == problems[0].problem.detail
    assert found["type"] == f"urn:paddle-flags:problem:{problems[0].problem.type}"
    assert near.changes() == []


def test_an_unknown_name_is_the_same_with_the_nearest(both):
    way, near, far = both
    for client in (near, far):
        with pytest.raises(LiveError, match=r"levle.*level") as caught:
            client.flag("levle")
        assert caught.value.problem.status == 404
    assert way.process("/flags/levle")[0] == 404


def test_changes_undos_and_events_are_the_same(tmp_path):
    with start("tcp", tmp_path) as way:
        clients = [way.program.client(), Client(way.origin, token=TOKENS["ops"])]
        for client in clients:
            events = client.events()
            assert next(events).kind == "hello"
            done = client.change({"level": 3, "names": ["a", "b,c"], "check": True}, reason="why")
            seen = next(events)
            assert [each["name"] for each in seen.data["changes"]] == ["level", "names", "check"]
            assert {each["change"] for each in seen.data["changes"]} == {done["change"]}
            assert seen.id == f"{client.process()['epoch']}-{done['revision']}"
            assert client.flag("names")["value"] == ["a", "b,c"]
            assert client.changes()[0]["undoable"]
            undone = client.undo(reason="was not it")
            assert [(each["name"], each["new"]) for each in undone["flags"]] == [
                ("level", "6"),
                ("names", ""),
                ("check", "false"),
            ]
            events.close()
            later = client.events(seen.id)
            assert next(later).data["changes"][0]["change"] == undone["change"]
            later.close()


def test_a_change_is_undone_only_by_who_made_it(tmp_path):
    with start("tcp", tmp_path) as way:
        near = way.program.client()
        ops, night = (Client(way.origin, token=TOKENS[who]) for who in ("ops", "night"))
        number = ops.change({"level": 3})["change"]
        assert [each.changes()[0]["undoable"] for each in (near, ops, night)] == [
            False,
            True,
            False,
        ]
        for client in (near, night):
            with pytest.raises(LiveError) as caught:
                client.undo(number)
            assert caught.value.problem.status == 403
        assert ops.undo(number)["change"] == number + 1


def test_a_list_of_several_pages_is_whole(tmp_path):
    with start("tcp", tmp_path) as way:
        way.program.run("for n in range(3000): pf.define(f'extra_{n}', n, 'x' * 200, runtime=True)")
        near, far = way.program.client(), Client(way.origin, token=TOKENS["ops"])
        flags = near.flags()
        assert flags == far.flags()
        names = [each["name"] for each in flags["flags"]]
        assert len(names) == len(set(names)) == near.process()["flags"]
        for _ in range(400):
            near.change({"note": "x" * 4000}, reason="r" * 900)
        changes = near.changes()
        assert changes[0]["change"] == 400
        assert [each["change"] for each in far.changes()] == [each["change"] for each in changes]


def test_a_long_text_is_a_digest_in_lists_and_whole_alone(tmp_path):
    with start("tcp", tmp_path) as way:
        near, far = way.program.client(), Client(way.origin, token=TOKENS["ops"])
        near.change({"note": "ä" * 3000})
        assert near.flags() == far.flags()
        assert near.flag("note") == far.flag("note")
        assert far.flag("note")["text"] == "ä" * 3000
        assert near.changes()[0]["flags"][0]["new"]["length"] == 6000


def test_a_validator_that_takes_too_long_is_given_up_and_nothing_happens_later(way: Way):
    way.program.run(
        "import threading; gate = threading.Event();"
        " pf.validator('level')(lambda value: gate.wait() or True)"
    )
    body = {"set": {"level": 3}, "timeout": 0.3}
    status, _, answer = way.process("/changes", "POST", body)
    assert (status, json.loads(answer)["type"].rpartition(":")[2]) == (504, "timeout")
    way.program.run("gate.set()")
    assert way.process("/flags/level")[0] == 200
    assert way.program.client().flag("level")["value"] == 6


def test_a_change_whose_client_has_gone_does_not_happen_later(way: Way):
    way.program.run(
        "import threading; asked, gate = threading.Event(), threading.Event();"
        " pf.validator('level')(lambda value: asked.set() or gate.wait() or True)"
    )
    assert way.process()[0] == 200  # a program that mounts the gateway serves itself from now on
    folder = f"/proc/{way.program.pid}/fd"
    seen = [0]
    while len(seen) < 10 or len(set(seen[-10:])) > 1:  # its last connection is closed, too
        time.sleep(0.02)
        seen.append(len(os.listdir(folder)))
    before = seen[-1]
    body = b'{"set": {"level": 3}}'
    length = f"Content-Length: {len(body)}"
    head = way.head(f"POST {way.api}/changes HTTP/1.1", "Content-Type: application/json", length)
    with way.connect() as made:
        made.sendall(head + body)
        way.program.run("asked.wait()")
    deadline = time.monotonic() + 60
    while len(os.listdir(folder)) > before:  # the gateway has closed its connection
        assert time.monotonic() < deadline
        time.sleep(0.02)
    way.program.run("gate.set()")
    assert way.process("/flags/level")[0] == 200
    assert way.program.client().flag("level")["value"] == 6


def test_ctrl_c_ends_a_gateway_quietly_though_pages_are_open(tmp_path):
    with start("tcp", tmp_path) as way:
        streams = [way.connect() for _ in range(3)]
        for each in streams:
            each.sendall(way.head(f"GET {way.api}/events HTTP/1.1"))
            assert each.recv(65536).startswith(b"HTTP/1.1 200 ")
        [gateway] = way.processes
        gateway.send_signal(signal.SIGINT)
        assert gateway.communicate(timeout=60) == ("", None)
        assert gateway.returncode == 0
        for each in streams:
            each.close()
