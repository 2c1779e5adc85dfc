"""Fleets, as a gateway shows and changes them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any

import pytest
from support import write
from ways import FLAGS, Way, environment, start

from paddle_flags.fleet import Fleet

pytestmark = pytest.mark.extended  # HTTP is an extra

MEMBER = """
import sys
import paddle_flags as pf
{flags}
pf.fleet.join({url!r}, name={name!r}, role="trainer", ttl=2.0)
pf.parse(["trainer.py"])
print("joined", flush=True)
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""


@pytest.fixture
def job(tmp_path):
    """The address of a fleet with two members."""
    url = f"dir://{tmp_path}/job"
    started = []
    for name in ("trainer-0", "trainer-1"):
        script = write(tmp_path / f"{name}.py", MEMBER.format(flags=FLAGS, url=url, name=name))
        process = subprocess.Popen(
            [sys.executable, script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(tmp_path),
            text=True,
        )
        assert process.stdout
        assert process.stdout.readline() == "joined\n"
        started.append(process)
    yield url
    for each in started:
        each.kill()
        each.communicate()


@pytest.fixture
def way(job, tmp_path):
    with start("tcp", tmp_path, "--fleet", job) as made:
        yield made


def post(way: Way, **body: Any) -> tuple[int, Any]:
    given = {"reason": "why", "wait": 30, **body}
    status, _, answer = way.ask("/v1/fleets/1/changes", "POST", given)
    return status, json.loads(answer)


def test_the_fleets_of_a_gateway_are_listed_and_shown(way, job):
    found = json.loads(way.ask("/v1/fleets")[2])
    assert found["fleets"] == [{"fleet": 1, "url": job}]
    end = time.monotonic() + 60
    while (document := json.loads(way.ask("/v1/fleets/1")[2]))["count"] != 2:
        assert time.monotonic() < end
    assert {each["state"] for each in document["members"]} == {"current"}
    assert document["ok"]
    for path in ("/v1/fleets/0", "/v1/fleets/2"):
        assert way.ask(path)[0] == 404


def test_a_change_is_made_by_all_members(way, job):
    status, answer = post(way, set={"level": 3, "check": True, "note": "x"}, role="trainer")
    assert (status, answer["verdict"], answer["ok"]) == (200, "committed", True)
    assert [each["state"] for each in answer["members"]] == ["applied", "applied"]
    record = Fleet(job).log()[-1].record
    assert (record.by, record.reason) == ("ops at 127.0.0.1 through a gateway", "why")
    status, answer = post(way, set={"level": None}, role="trainer")
    assert status == 200
    assert "level" not in Fleet(job).values(role="trainer")


def test_a_temporary_value_ends_by_itself(way, job):
    for number, duration in enumerate(("90s", 90, "1m30s", "0.5h"), 1):
        assert post(way, **{"set": {"level": 3}, "for": duration})[0] == 200
        assert Fleet(job).log()[-1].record.duration == (1800 if number == 4 else 90)


WRONG_CHANGES = [
    ({"set": {"level": 3}, "reason": None}, 400, "malformed"),
    ({"set": {}}, 400, "malformed"),
    ({"set": {"level": [1]}}, 400, "malformed"),
    ({"set": {"level": 3}, "x": 1}, 400, "malformed"),
    ({"set": {"level": 3}, "wait": 31}, 400, "malformed"),
    ({"set": {"level": 3}, "wait": "1"}, 400, "malformed"),
    ({"set": {"level": 3}, "for": "soon"}, 400, "malformed"),
    ({"set": {"level": 3}, "at_step": -1}, 400, "malformed"),
    ({"set": {"level": 3}, "expect": 1.5}, 400, "malformed"),
    ({"set": {"level": 3}, "role": "a", "host": "b"}, 400, "malformed"),
    ({"set": {"level": 3}, "reason": 5}, 400, "malformed"),
    ({"set": {"level": 3}, "dry_run": "yes"}, 400, "malformed"),
    ({"set": {"token": "x"}}, 403, "forbidden"),
    ({"set": {"reckless": True}}, 428, "confirm"),
    ({"set": {"level": 3}, "expect": 7}, 409, "conflict"),
    ({"set": {"level": 12}}, 422, "rejected"),
    ({"set": {"levle": 5}}, 422, "rejected"),
]


def test_a_wrong_change_is_refused(way, job):
    for body, status, kind in WRONG_CHANGES:
        found, answer = post(way, **body)
        assert (found, answer["type"].rpartition(":")[2]) == (status, kind), (body, answer)
        assert Fleet(job).values() == {}, body


def test_a_change_that_wants_to_be_confirmed_says_which_flags_do(way):
    body = {"set": {"reckless": True}}
    found, answer = post(way, **body)
    assert (found, answer["type"].rpartition(":")[2]) == (428, "confirm"), answer
    assert [each["name"] for each in answer["errors"]] == ["reckless"]
    assert post(way, **body, confirm=["reckless"])[0] == 200


NO_CHANGES = [
    b'{"set": {"level": 3}, "set": {"level": 4}, "reason": "x"}',
    b'{"set": {"level": 3, "level": 4}, "reason": "x"}',
    b"[1]",
    b"{",
    b"\xff",
    b"[" * 100_000,
    b'{"set": {"level": NaN}, "reason": "x"}',
]


def test_a_body_that_is_no_change_is_refused(way, job):
    for body in NO_CHANGES:
        assert way.ask("/v1/fleets/1/changes", "POST", body)[0] == 400, body[:80]
        assert Fleet(job).revision == 0, body[:80]


def test_an_engine_that_is_away_is_a_problem_of_the_fleet_alone(tmp_path):
    with start("tcp", tmp_path, "--fleet", f"dir://{tmp_path}/none") as way:
        document = json.loads(way.ask("/v1/fleets/1")[2])
        assert document["problem"]
        assert (document["ok"], document["age"], document["members"]) == (False, None, [])
        assert post(way, set={"level": 3})[0] in (422, 504)
        assert way.process("/flags")[0] == 200
        assert way.change({"level": 3})[0] == 200


def test_a_password_in_an_address_is_shown_to_nobody(tmp_path):
    url = "etcd://me:hunter2@127.0.0.1:1/job"
    with start("tcp", tmp_path, "--fleet", url) as way:
        for path in ("/v1/fleets", "/v1/fleets/1"):
            status, _, body = way.ask(path)
            assert status == 200
            assert b"hunter2" not in body
