"""Undo, temporary changes, and the list of changes."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from live_client import DEADLINE, READ_TOKEN, Client
from live_flags import SECRET_TOO
from live_subjects import TOKENS, Subject, kinds, running


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait for something that must happen."""
    end = time.monotonic() + DEADLINE
    while not holds():
        assert time.monotonic() < end, "it didn't happen"
        time.sleep(0.02)


# ---- For some time ----


def test_a_temporary_value_ends_by_itself(subject: Subject, client: Client):
    subject.tell("set", "level", "3")
    answer = client.set("level", 9, for_=0.5)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", answer["until"])
    assert answer["flags"][0]["source"] == "override"
    wait_until(lambda: client.text("level") == "3")
    assert subject.read("level") == ("run time", "3")
    change = client.get("/v1/changes").json["changes"][0]
    assert change["state"] == "ended"
    assert client.get("/v1/process").json["temporary"] == 0


def test_a_temporary_value_is_marked_with_its_end_and_the_value_below(client: Client):
    answer = client.set("level", 9, for_="10m")
    flag = client.flag("level")
    assert flag["temporary"]["change"] == answer["change"]
    assert flag["temporary"]["until"] == answer["until"]
    assert 0 < flag["temporary"]["left"] <= 600
    assert flag["temporary"]["below"] == "6"
    assert flag["source"] == "override"
    assert client.get("/v1/process").json["temporary"] == 1
    change = client.get("/v1/changes").json["changes"][0]
    assert (change["state"], change["until"]) == ("on", answer["until"])
    assert "temporary" not in client.flag("check")


def test_a_temporary_value_ends_also_if_the_server_is_gone(subject: Subject, client: Client):
    client.set("level", 9, for_=0.6)
    subject.tell("stop")
    wait_until(lambda: subject.read("level")[1] == "6")
    subject.serve()
    again = subject.client
    assert again.text("level") == "6"
    assert again.get("/v1/changes").json["changes"][0]["state"] == "ended"


@pytest.mark.parametrize("long", [0.1, 90, "90s", "10m", "1h30m", "200ms", 2592000, "30d"])
def test_the_time_is_seconds_or_a_quantity(reader: Client, long: float | str):
    assert reader.change(set={"level": 9}, for_=long, dry_run=True).status == 200


def test_a_permanent_change_below_a_temporary_one_shows_when_that_ends(client: Client):
    temporary = client.set("level", 9, for_="10m")["change"]
    client.set("level", 4)
    assert client.post("/v1/undo", {"change": temporary}).status in (200, 409)


# ---- Undo ----


def undo(client: Client, **fields: object) -> int:
    return client.post("/v1/undo", fields).status


def test_undo_brings_back_the_value_of_the_program(subject: Subject, client: Client):
    subject.tell("set", "level", "3")
    number = client.set("level", 9)["change"]
    response = client.post("/v1/undo", {"change": number, "reason": "mistake"})
    assert response.status == 200
    assert response.json["change"] == number + 1
    assert response.json["flags"][0] | {"hidden": False} == {
        "name": "level",
        "old": "9",
        "new": "3",
        "source": "run time",
        "hidden": False,
    }
    assert subject.read("level") == ("run time", "3")


def test_undo_brings_back_what_clients_had_set_before(subject: Subject, client: Client):
    client.set("level", 8)
    number = client.set("level", 9)["change"]
    assert undo(client, change=number) == 200
    assert subject.read("level") == ("live", "8")


def test_undo_ends_a_temporary_value(subject: Subject, client: Client):
    number = client.set("level", 9, for_="10m")["change"]
    assert undo(client, change=number) == 200
    assert subject.read("level") == ("default", "6")
    assert client.get("/v1/process").json["temporary"] == 0
    states = {c["change"]: c["state"] for c in client.get("/v1/changes").json["changes"]}
    assert states[number] == "undone"


def test_undo_without_a_number_takes_back_the_last_change_that_is_not_undone(client: Client):
    client.set("level", 8)
    client.set("check", True)
    assert client.post("/v1/undo", {}).status == 200
    assert client.flag("check")["value"] is False
    assert client.text("level") == "8"
    assert client.post("/v1/undo", {}).status == 200
    assert client.text("level") == "6"
    assert client.post("/v1/undo", {}).status in (404, 409)


def test_undo_of_null_brings_back_the_live_value(client: Client):
    client.set("level", 9)
    number = client.set("level", None)["change"]
    assert client.text("level") == "6"
    assert undo(client, change=number) == 200
    assert client.text("level") == "9"


def test_a_change_is_undone_only_once(client: Client):
    number = client.set("level", 9)["change"]
    assert undo(client, change=number) == 200
    client.set("level", 9)
    assert undo(client, change=number) == 409
    assert client.text("level") == "9"


def test_undo_comes_too_late_if_one_flag_has_another_value(subject: Subject, client: Client):
    number = client.change(set={"level": 9, "check": True}).json["change"]
    subject.tell("set", "level", "4")
    before = client.now()
    response = client.post("/v1/undo", {"change": number})
    assert response.status == 409
    assert client.now() == before
    assert client.flag("check")["value"] is True


def test_undo_comes_too_late_after_the_end_of_a_temporary_change(client: Client):
    number = client.set("level", 9, for_=0.2)["change"]
    wait_until(lambda: client.text("level") == "6")
    assert undo(client, change=number) == 409


def test_an_unknown_change_cannot_be_undone(client: Client):
    assert undo(client, change=4711) == 404


@pytest.mark.parametrize(
    "body",
    [
        *({"change": "1"}, {"change": 0}, {"change": 1.5}, {"change": -1}, {"change": [1]}, []),
        *({"number": 1}, {"reason": 1}, {"reason": "x" * 1001}, {"change": 10**30}),
    ],
    ids=str,
)
def test_a_wrong_undo_is_400(reader: Client, body: object):
    before = reader.now()
    assert reader.post("/v1/undo", body).status == 400
    assert reader.now() == before


def test_undo_of_an_undo_is_a_change_like_others(client: Client):
    client.set("level", 9)
    second = client.post("/v1/undo", {}).json["change"]
    assert undo(client, change=second) in (200, 409)


@pytest.mark.parametrize("kind", kinds("python-tcp", "c-tcp"))
def test_only_the_author_undoes_a_change(kind: str, tmp_path: Path):
    more = [{"text": "another-0123456789ab", "label": "other", "may": "change"}]
    with running(kind, tmp_path, {"tokens": TOKENS["tokens"] + more}) as subject:
        client = subject.client
        number = client.set("level", 9)["change"]
        other = Client(subject.at("tcp", "another-0123456789ab"))
        assert undo(other, change=number) == 403
        assert undo(other) in (404, 409)  # none of its own
        reader = Client(subject.at("tcp", READ_TOKEN))
        assert undo(reader, change=number) == 403
        assert client.text("level") == "9"
        assert undo(client, change=number) == 200


# ---- The list ----


def test_changes_are_listed_the_latest_first_with_who_and_why(client: Client):
    assert client.get("/v1/changes").json["changes"] == []
    you = client.get("/v1/process").json["you"]
    one = client.set("level", 9, reason="one")["change"]
    two = client.set("check", True, for_="10m", reason="two")["change"]
    three = client.post("/v1/undo", {"change": one}).json["change"]
    changes = client.get("/v1/changes").json["changes"]
    assert [change["change"] for change in changes] == [three, two, one]
    assert [change["kind"] for change in changes] == ["undo", "set", "set"]
    assert [change["undoes"] for change in changes] == [one, None, None]
    assert [change["reason"] for change in changes] == [None, "two", "one"]
    assert [change["state"] for change in changes][1:] == ["on", "undone"]
    assert changes[2]["flags"] == [{"name": "level", "old": "6", "new": "9"}]
    for change in changes:
        assert change["who"]["uid"] == you["uid"]
        assert change["who"]["label"] == you["label"]


def test_a_refused_change_is_not_in_the_list(client: Client):
    client.change(set={"level": 99})
    client.change(set={"plain": 1})
    assert client.get("/v1/changes").json["changes"] == []


def test_the_last_256_changes_are_kept_and_all_temporary_ones(client: Client):
    first = client.set("check", True, for_="10m")["change"]
    for i in range(258):
        last = client.set("level", 1 + i % 9)["change"]
    changes = client.get("/v1/changes").json["changes"]
    numbers = [change["change"] for change in changes]
    assert numbers[0] == last
    assert first in numbers
    assert set(range(last - 255, last + 1)) <= set(numbers)
    assert numbers == sorted(numbers, reverse=True)


def test_a_change_of_a_sensitive_flag_has_no_texts(subject: Subject, client: Client):
    answer = client.set("secret", SECRET_TOO)
    assert answer["flags"] == [{"name": "secret", "source": "live", "hidden": False}]
    assert subject.read("secret") == ("live", SECRET_TOO)
    assert client.get("/v1/changes").json["changes"][0]["flags"] == [{"name": "secret"}]
