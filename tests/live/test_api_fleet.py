"""Requests of the fleet, with members that are processes, and a folder as engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from live_client import DEADLINE, READ_TOKEN, SECRET, Client, matches
from live_subjects import KINDS, Subject, kinds, running

from paddle_flags.fleet import Fleet, open_store

MEMBER = """
import sys
import paddle_flags as pf

pf.define("level", 6, min=1, max=int(sys.argv[3]), runtime=True)
pf.define("check", False, runtime=True)
pf.define("mode", "fast", choices=["fast", "best", "exact"], runtime=True)
pf.fleet.join(sys.argv[1], role="trainer", name=sys.argv[2], ttl=2.0)
pf.parse(["member", *sys.argv[4:]])
print("joined", flush=True)
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""


class Member:
    """Another process of the fleet."""

    def __init__(self, url: str, name: str, *arguments: str, most: int = 9) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", MEMBER, url, name, str(most), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            self.answer("joined")
        except BaseException:
            self.stop()
            raise

    def answer(self, word: str) -> None:
        assert self.process.stdout
        assert self.process.stdout.readline() == f"{word}\n"

    def run(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        self.answer("done")

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()


class Job:
    """A fleet, of which one member is a subject that serves its flags."""

    def __init__(self, subject: Subject, place: Path) -> None:
        self.subject = subject
        self.client = subject.client
        self.place = place
        self.url = f"dir://{place}/job"
        self.others: list[Member] = []

    def join(self) -> None:
        self.name = self.subject.tell("join", self.url, "server")

    def add(self, name: str, *arguments: str, most: int = 9) -> Member:
        self.others.append(Member(self.url, name, *arguments, most=most))
        return self.others[-1]

    def change(self, **fields: object) -> Any:
        return self.client.post("/v1/fleet/changes", {"reason": "a test", **fields})

    def seen(self, wanted: Any) -> Any:
        """Return what the process has seen, when that is as wanted."""
        end = time.monotonic() + DEADLINE
        while True:
            found = self.client.get("/v1/fleet").json
            if wanted(found):
                return found
            assert time.monotonic() < end, found
            time.sleep(0.1)


def jobs(subject: Subject, place: Path) -> Iterator[Job]:
    made = Job(subject, place)
    made.join()
    yield made
    for each in made.others:
        each.stop()


@pytest.fixture(params=kinds("python-unix", "python-tcp", "wsgi"))
def job(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Job]:
    with running(request.param, tmp_path) as subject:
        yield from jobs(subject, tmp_path)


@pytest.fixture
def one(tmp_path: Path) -> Iterator[Job]:
    with running("python-unix", tmp_path) as subject:
        yield from jobs(subject, tmp_path)


def states(answer: Any) -> dict[str, str]:
    return {each["name"]: each["state"] for each in answer["members"]}


# ---- Reading ----


@pytest.mark.parametrize("kind", kinds(*KINDS))
def test_a_process_that_is_no_member_answers_that_there_is_no_fleet(kind: str, tmp_path: Path):
    with running(kind, tmp_path) as subject:
        client = subject.client
        change = client.post("/v1/fleet/changes", {"set": {"level": "5"}, "reason": "a test"})
        for response in (client.get("/v1/fleet"), change):
            assert response.status == 404
            assert "no fleet" in response.json["detail"]
        assert client.ask("POST", "/v1/fleet").status == 405
        assert client.get("/v1/fleet/changes").status == 405
        assert client.get("/v1/fleet?more=1").status == 400


def test_the_members_are_listed_with_role_revision_and_state(job: Job):
    job.add("trainer-1")
    job.add("trainer-2")
    found = job.seen(lambda each: each["count"] == 3)
    assert states(found)["trainer-1"] == "current"
    assert found["member"]["name"] == job.name
    assert found["member"]["stale"] is None
    assert {each["role"] for each in found["members"]} == {"server", "trainer"}
    assert found["url"] == job.url


def test_a_flag_that_differs_is_there_with_values_sources_and_members(one: Job):
    one.add("trainer-1")
    one.add("trainer-2", "--level=3")
    found = one.seen(lambda each: each["differing"])
    [difference] = [each for each in found["differences"] if each["name"] == "level"]
    assert ["3", "argv argv[1]", ["trainer-2"]] in [
        [holder["value"], holder["source"], holder["members"]] for holder in difference["holders"]
    ]
    assert not found["ok"]


def test_a_member_that_dies_is_gone_and_one_that_is_stopped_is_slow(one: Job):
    first, second = one.add("trainer-1"), one.add("trainer-2")
    one.change(set={"check": True}, wait=30)
    first.stop()
    one.seen(lambda each: states(each)["trainer-1"] == "gone")
    os.kill(second.process.pid, signal.SIGSTOP)
    one.change(set={"mode": "best"}, wait=0)
    one.seen(lambda each: states(each).get("trainer-2") in ("slow", "gone"))
    os.kill(second.process.pid, signal.SIGCONT)


def test_an_engine_that_is_away_is_told_at_once_and_nothing_else_stops(one: Job):
    one.add("trainer-1")
    one.seen(lambda each: each["count"] == 2)
    stream = one.client.stream()
    hello = stream.next()
    assert hello is not None
    (one.place / "job").rename(one.place / "away")
    (one.place / "job").write_text("no folder")
    found = one.seen(lambda each: each["problem"] and each["member"]["stale"] is not None)
    assert found["count"] == 2
    assert found["age"] > 0
    response = one.change(set={"level": "5"})
    assert response.status in (422, 504)
    assert one.client.set("level", "4")["change"] == 1
    event = stream.next()
    assert event is not None
    assert event.data["changes"][0]["new"] == "4"
    stream.reader.connection.close()


def test_a_process_that_has_left_answers_that_there_is_no_fleet(one: Job):
    assert one.client.get("/v1/fleet").status == 200
    one.subject.tell("leave")
    assert one.client.get("/v1/fleet").status == 404


# ---- Changing ----


def test_a_change_reaches_all_members_and_has_their_answers(job: Job):
    other = job.add("trainer-1")
    job.add("trainer-2", most=7)
    answer = job.change(set={"level": "8"}, wait=30).json
    assert states(answer) == {job.name: "applied", "trainer-1": "applied", "trainer-2": "rejected"}
    assert not answer["ok"]
    assert "expected an integer in [1, 7]" in json.dumps(answer)
    other.run("assert pf.FLAGS.level == 8")
    assert job.subject.read("level") == ("fleet", "8")
    record = Fleet(job.url).log()[-1].record
    assert record.reason == "a test"
    assert record.by.endswith(f"through {job.name}")
    found = job.seen(lambda each: each["revision"] == answer["revision"])
    assert found["changes"][0]["changes"] == [{"on": "all", "name": "level", "value": "8"}]


def test_a_change_for_a_role_a_host_or_a_member_reaches_only_those(one: Job):
    other = one.add("trainer-1")
    assert one.change(set={"level": 5}, role="trainer", wait=30).json["ok"]
    other.run("assert pf.FLAGS.level == 5")
    assert one.subject.read("level")[1] == "6"
    assert one.change(set={"level": 4}, member="trainer-1", wait=30).json["ok"]
    other.run("assert pf.FLAGS.level == 4")
    assert one.change(set={"level": None}, member="trainer-1", wait=30).json["ok"]
    other.run("assert pf.FLAGS.level == 5")
    response = one.change(set={"level": 4}, member="trainer-1", role="trainer")
    assert response.status == 400


def test_a_dry_run_asks_all_and_changes_nothing(one: Job):
    one.add("trainer-1", most=7)
    answer = one.change(set={"level": "8"}, dry_run=True, wait=30).json
    assert states(answer) == {one.name: "applied", "trainer-1": "rejected"}
    assert one.subject.read("level")[1] == "6"


def test_all_or_none_changes_nothing_if_one_member_rejects(one: Job):
    one.add("trainer-1", most=7)
    response = one.change(set={"level": "8"}, all_or_none=True, wait=30)
    assert response.status == 422
    assert "trainer-1" in response.json["detail"]
    assert one.subject.read("level")[1] == "6"


def test_a_change_at_a_step_happens_at_it(one: Job):
    other = one.add("trainer-1")
    other.run("pf.fleet.tick(1)")
    answer = one.change(set={"level": 5}, member="trainer-1", at_step=3, wait=30).json
    assert states(answer) == {"trainer-1": "waits for its step"}
    other.run("assert pf.FLAGS.level == 6; pf.fleet.tick(3); assert pf.FLAGS.level == 5")


def test_a_temporary_change_ends_in_each_member(one: Job):
    assert one.change(set={"level": 5}, for_="1s", wait=30).status == 400
    body = {"set": {"level": 5}, "for": "1500ms", "reason": "for a moment", "wait": 30}
    assert one.client.post("/v1/fleet/changes", body).status == 200
    end = time.monotonic() + DEADLINE
    while one.subject.read("level")[1] != "6":
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_change_of_another_revision_than_expected_is_409_and_names_who_was_faster(one: Job):
    Fleet(one.url, by="night shift").set({"mode": "best"})
    response = one.change(set={"level": "5"}, expect=0)
    assert response.status == 409
    assert "night shift" in response.json["detail"]
    assert one.change(set={"level": "5"}, expect=1, wait=30).status == 200


def test_a_change_that_waits_for_a_stopped_member_holds_up_nobody(one: Job):
    other = one.add("trainer-1")
    os.kill(other.process.pid, signal.SIGSTOP)
    answers: list[Any] = []

    def ask() -> None:
        answers.append(one.change(set={"level": "5"}, wait=8).json)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    one.seen(lambda each: each["revision"] == 4)
    assert one.client.set("mode", "best")["change"] == 1
    assert one.client.get("/v1/flags").status == 200
    assert not answers
    os.kill(other.process.pid, signal.SIGCONT)
    for thread in threads:
        thread.join()
    assert len(answers) == 4


BODIES = (
    {},
    {"set": {}, "reason": "x"},
    {"set": {"level": "5"}},
    {"set": {"level": "5"}, "reason": ""},
    {"set": {"level": "5"}, "reason": "x", "more": 1},
    {"set": {"level": "5"}, "reason": "x", "at_step": "5"},
    {"set": {"level": "5"}, "reason": "x", "at_step": 1.5},
    {"set": {"level": "5"}, "reason": "x", "at_step": -1},
    {"set": {"level": "5"}, "reason": "x", "expect": {"level": "6"}},
    {"set": {"level": "5"}, "reason": "x", "wait": 31},
    {"set": {"level": "5"}, "reason": "x", "wait": -1},
    {"set": {"level": "5"}, "reason": "x", "role": ""},
    {"set": {"level": "5"}, "reason": "x", "role": 1},
    {"set": {"level": "5"}, "reason": "x", "all_or_none": "yes"},
    {"set": {"level": None}, "reason": "x", "for": "soon"},
    {"set": {"level": ["5"]}, "reason": "x"},
    [],
    b"{",
)


def test_a_body_that_is_not_as_described_is_400_and_writes_nothing(one: Job):
    for body in BODIES:
        response = one.client.post("/v1/fleet/changes", body)
        assert response.status == 400, (body, response.body)
    assert Fleet(one.url).revision == 0


# ---- Attacks ----


def test_a_token_for_reading_sees_the_fleet_and_changes_nothing_in_it(tmp_path: Path):
    with running("python-tcp", tmp_path) as subject:
        for job in jobs(subject, tmp_path):
            reader = Client(subject.at("tcp", READ_TOKEN))
            assert reader.get("/v1/fleet").status == 200
            body = {"set": {"level": "5"}, "reason": "x"}
            assert reader.post("/v1/fleet/changes", body).status == 403
            assert Client(subject.at("tcp", None)).get("/v1/fleet").status == 401
            cross = {"Sec-Fetch-Site": "cross-site"}
            assert job.client.post("/v1/fleet/changes", body, cross).status == 403
            assert job.client.get("/v1/fleet", {"Host": "evil.example"}).status == 421
            assert Fleet(job.url).revision == 0


def test_only_flags_that_may_be_changed_here_are_changed_in_the_fleet(one: Job):
    for name, status in (("plain", 403), ("early", 403), ("fixed", 403), ("no_such_flag", 404)):
        response = one.change(set={"level": "5", name: "7"})
        assert response.status == status, name
        assert response.json["errors"][0]["name"] == name
    assert one.change(set={"danger": "7"}).status == 428
    assert Fleet(one.url).revision == 0
    assert one.change(set={"danger": "7"}, confirm=["danger"], wait=30).status == 200


def test_sensitive_flags_are_neither_set_nor_shown_by_the_fleet(one: Job):
    response = one.change(set={"secret": "x"})
    assert response.status == 403
    assert "sensitive" in response.json["detail"]
    store = open_store(one.url)
    [document] = [json.loads(each) for each in store.members().values()]
    document["values"]["secret"] = [SECRET, "argv", ""]
    store.announce("careless-1", json.dumps({**document, "name": "careless-1"}).encode(), 60.0)
    found = one.seen(lambda each: each["count"] == 2)  # the client looks for secrets in it
    [difference] = [each for each in found["differences"] if each["name"] == "secret"]
    assert difference["sensitive"]
    assert {holder["value"] for holder in difference["holders"]} == {None}


def test_each_change_of_the_fleet_is_an_event_of_the_audit(one: Job):
    one.add("trainer-1", most=7)
    one.change(set={"level": "5"}, role="server", wait=30)
    one.change(set={"level": "8"}, all_or_none=True, wait=30)
    one.change(set={"plain": "5"})
    one.change(set={"level": "5"}, dry_run=True, wait=30)
    lines = [json.loads(each) for each in (one.place / "audit.jsonl").read_text().splitlines()]
    for line in lines:
        matches(line, "audit")
    assert [line["event"] for line in lines] == ["fleet", "refused", "refused"]
    done = lines[0]
    assert (done["on"], done["reason"], done["revision"]) == ("role:server", "a test", 1)
    assert done["flags"] == [{"name": "level", "new": "5"}]
    assert done["who"]["uid"] == os.getuid()
    assert lines[1]["status"] == 422
    assert lines[2]["status"] == 403
