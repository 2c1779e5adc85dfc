"""What GET /v1/events sends. A WSGI application's streams may end; clients come back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from live_client import Client, Event, Stream
from live_flags import SECRET_TOO
from live_subjects import Subject


class Watcher:
    """A client of events as a browser is one: it reconnects with the id of the last event."""

    def __init__(self, client: Client, target: str = "/v1/events", last: str | None = None) -> None:
        self.client = client
        self.target = target
        self.last = last
        self.stream: Stream = self.open()

    def open(self) -> Stream:
        headers: dict[str, str | None] = {"Last-Event-ID": self.last} if self.last else {}
        target = "/v1/events" if self.last else self.target
        return self.client.stream(target, headers)

    def next(self) -> Event:
        for _ in range(1000):
            event = self.stream.next()
            if event:
                self.last = event.id
                return event
            assert self.stream.retry == "1000", "the stream ended"
            self.close()
            self.stream = self.open()
        pytest.fail("no event came")

    def changes(self, count: int) -> list[dict[str, Any]]:
        """Return the next changes, from as many events as it takes; they have no holes."""
        found: list[dict[str, Any]] = []
        while len(found) < count:
            event = self.next()
            assert event.kind == "changes", event
            numbers = [change["revision"] for change in event.data["changes"]]
            assert numbers == list(range(event.data["from"] + 1, event.data["revision"] + 1))
            found += event.data["changes"]
        return found

    def close(self) -> None:
        self.stream.reader.connection.close()


@contextlib.contextmanager
def watching(
    client: Client, target: str = "/v1/events", last: str | None = None
) -> Iterator[Watcher]:
    made = Watcher(client, target, last)
    try:
        yield made
    finally:
        made.close()


def test_hello_comes_first_and_is_the_process(reader: Client):
    process = reader.get("/v1/process").json
    with watching(reader) as events:
        hello = events.next()
    assert hello.kind == "hello"
    assert hello.id == f"{process['epoch']}-{process['revision']}"
    hello.data["you"].pop("pid")
    process["you"].pop("pid")
    assert hello.data == process


def test_changes_from_the_program_are_sent(subject: Subject, client: Client):
    with watching(client) as events:
        events.next()
        subject.tell("set", "level", "8")
        (change,) = events.changes(1)
    assert change["kind"] == "value"
    assert (change["name"], change["old"], change["new"]) == ("level", "6", "8")
    assert change["source"] == "run time"
    assert not {"change", "who", "reason", "until"} & set(change)


def test_changes_from_clients_are_sent_with_who_and_why(client: Client):
    you = client.get("/v1/process").json["you"]
    with watching(client) as events:
        events.next()
        answer = client.set("level", 9, reason="loss is NaN", for_="10m")
        (change,) = events.changes(1)
    assert change["change"] == answer["change"]
    assert change["revision"] == answer["revision"]
    assert change["reason"] == "loss is NaN"
    assert change["until"] == answer["until"]
    assert change["who"]["uid"] == you["uid"]
    assert change["who"]["label"] == you["label"]


def test_definitions_freezing_and_flags_that_go_are_sent(subject: Subject, client: Client):
    with watching(client) as events:
        events.next()
        subject.tell("define", "newcomer")
        subject.tell("freeze", "newcomer")
        subject.tell("thaw", "newcomer")
        subject.tell("undefine", "newcomer")
        changes = events.changes(4)
    assert [change["kind"] for change in changes] == ["defined", "frozen", "frozen", "removed"]
    assert {change["name"] for change in changes} == {"newcomer"}


def test_many_changes_come_in_their_order_and_none_is_lost(subject: Subject, client: Client):
    with watching(client) as events:
        events.next()
        for i in range(300):
            subject.tell("set", "small", str(i))
        changes = events.changes(300)
    assert [change["new"] for change in changes] == [str(i) for i in range(300)]


def test_a_batch_is_one_change_for_each_flag(client: Client):
    with watching(client) as events:
        events.next()
        number = client.change(set={"level": 9, "check": True}).json["change"]
        changes = events.changes(2)
    assert [change["name"] for change in changes] == ["level", "check"]
    assert [change["change"] for change in changes] == [number, number]


def test_the_end_of_a_temporary_change_is_sent(client: Client):
    with watching(client) as events:
        events.next()
        client.set("level", 9, for_=0.3)
        changes = events.changes(2)
    assert [change["new"] for change in changes] == ["9", "6"]


@pytest.mark.parametrize("way", ["header", "since"])
def test_a_client_that_comes_back_gets_what_it_missed(subject: Subject, client: Client, way: str):
    start = client.now()
    subject.tell("set", "level", "8")
    subject.tell("set", "level", "9")
    target = f"/v1/events?since={start}" if way == "since" else "/v1/events"
    with watching(client, target, start if way == "header" else None) as events:
        if way == "since":
            first = events.next()
            changes = first.data["changes"] if first.kind == "changes" else events.changes(2)
        else:
            changes = events.changes(2)
    assert [change["new"] for change in changes][:2] == ["8", "9"]


def test_a_client_of_another_epoch_gets_a_gap(reader: Client):
    with watching(reader, last="0123456789abcdef-3") as events:
        event = events.next()
    assert event.kind == "gap"
    assert event.id == reader.now()


def test_a_client_that_missed_too_much_gets_a_gap_and_then_goes_on(
    subject: Subject, client: Client
):
    start = client.now()
    subject.tell("count", "small", "20000")
    with watching(client, last=start) as events:
        assert events.next().kind == "gap"
        subject.tell("set", "level", "2")
        assert events.changes(1)[-1]["new"] == "2"


@pytest.mark.parametrize("last", ["x", "1", "0123456789abcdef", "-", "0123456789abcdef-x"])
def test_an_id_that_is_none_is_400(reader: Client, last: str):
    assert reader.get("/v1/events", {"Last-Event-ID": last}).status == 400


def test_sensitive_values_are_not_in_events(subject: Subject, client: Client):
    with watching(client) as events:
        events.next()
        subject.tell("set", "secret", SECRET_TOO)
        client.set("secret", SECRET_TOO + "!")
        changes = events.changes(2)
    for change in changes:
        assert change["name"] == "secret"
        assert not {"old", "new"} & set(change)


def test_head_of_the_events_ends(reader: Client):
    response = reader.ask("HEAD", "/v1/events")
    assert response.status == 200
    assert response.get("Content-Type") == "text/event-stream"


@pytest.mark.extended
def test_a_comment_is_sent_when_nothing_else_is(subject: Subject, client: Client):
    if subject.kind == "wsgi":
        pytest.skip("streams of a WSGI application end before a comment is due")
    with watching(client) as events:
        events.next()
        while not events.stream.comments:
            part = events.stream.bytes()
            assert part is not None
            for block in part.decode().split("\n\n"):
                events.stream.read(block.strip("\n"))
