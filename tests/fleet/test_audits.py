"""What a process that serves its flags says of changes that come from its fleet."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from members import SOON, eventually

from paddle_flags.live import Client, LiveError

pytestmark = [
    pytest.mark.extended,
    pytest.mark.skipif(sys.platform != "linux", reason="servers work on Linux"),
]


def events(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def flags_of(path: Path) -> list[list[dict[str, Any]]]:
    return [event["flags"] for event in events(path)]


@pytest.fixture
def audit(tmp_path):
    return tmp_path / "audit.jsonl"


@pytest.fixture
def member(process, tmp_path, audit):
    made = process().begin(role="trainer", rank=0)
    made.do(f"pf.serve({str(tmp_path / 'member.sock')!r}, audit={str(audit)!r})")
    return made


@pytest.mark.usefixtures("member")
def test_a_change_of_the_fleet_is_an_event_with_who_why_and_until(fleet, audit, tmp_path):
    fleet.set({"level": 7}, wait=SOON, reason="loss is NaN", duration=600)
    (event,) = events(audit)
    assert (event["event"], event["kind"], event["reason"]) == ("fleet", "fleet", "loss is NaN")
    assert event["flags"] == [{"name": "level", "old": None, "new": "7"}]
    assert event["who"]["on_behalf_of"] == {"label": "ann@desk", "host": fleet.url}
    assert event["until"] > event["at"]
    client = Client(tmp_path / "member.sock")
    (change,) = client.changes()
    assert (change["change"], change["undoable"]) == (event["change"], False)
    with pytest.raises(LiveError, match="came from a fleet: undo it there"):
        client.undo(change["change"])


@pytest.mark.usefixtures("member")
def test_values_that_end_or_are_taken_back_are_events_too(fleet, audit):
    fleet.set({"level": 7}, wait=SOON)
    fleet.set({"level": 8}, wait=SOON)
    fleet.unset("level", wait=SOON)
    texts = [("7", None), ("8", "7"), (None, "8")]
    flags = [[{"name": "level", "old": old, "new": new}] for new, old in texts]
    assert flags_of(audit) == flags
    fleet.set({"level": 9}, wait=SOON, duration=0.2)
    ended = [[{"name": "level", "old": "9", "new": None}]]
    eventually(lambda: flags_of(audit)[-1:], ended)


@pytest.mark.usefixtures("member")
def test_a_batch_of_the_fleet_is_one_event(fleet, audit):
    fleet.set({"level": 7, "lr": 0.5}, wait=SOON)
    (event,) = events(audit)
    assert [flag["name"] for flag in event["flags"]] == ["level", "lr"]


@pytest.mark.usefixtures("member")
def test_a_batch_that_the_member_refuses_is_no_event(fleet, audit):
    fleet.set({"level": 700, "lr": 0.5}, force=True, wait=SOON)
    assert events(audit) == []
