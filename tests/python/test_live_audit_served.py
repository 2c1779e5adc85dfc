"""The audit of changes that clients make through a server, and metrics beside it."""

from __future__ import annotations

import http.client
import json
import logging
import queue
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support import package, run, write

import paddle_flags as pf

if not sys.platform.startswith("linux"):
    pytest.skip("flags are served on Linux only", allow_module_level=True)
package("h11")

WAIT = 30  # seconds, at most, for what another thread does


class _Connection(http.client.HTTPConnection):
    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(WAIT)
        self.sock.connect(self.host)


def post(address: Path, path: str, body: dict[str, Any]) -> tuple[int, Any]:
    connection = _Connection(str(address))
    headers = {"Host": "localhost", "Content-Type": "application/json"}
    connection.request("POST", path, json.dumps(body), headers)
    answer = connection.getresponse()
    found = json.loads(answer.read())
    connection.close()
    return answer.status, found


class Served(NamedTuple):
    address: Path
    path: Path
    events: queue.Queue[dict[str, Any]]

    def change(self, flag: str, value: object, **other: Any) -> tuple[int, Any]:
        return post(self.address, "/v1/changes", {"set": {flag: value}, **other})

    def undo(self) -> tuple[int, Any]:
        return post(self.address, "/v1/undo", {})

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_text("utf-8").splitlines()]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    events: queue.Queue[dict[str, Any]] = queue.Queue()
    address, path = tmp_path / "flags.sock", tmp_path / "audit.jsonl"
    with pf.serve(str(address), audit=[path, events.put]):
        yield Served(address, path, events)


def test_each_change_is_one_event_with_who_what_and_why(served, name):
    pf.define(name, 6, "Level", min=1, max=9, runtime=True)
    served.change(name, "9", reason="loss is NaN")
    served.undo()
    served.change(name, "12", reason="more")
    served.change(name, "7", dry_run=True)
    changed, undone, refused = served.lines()
    assert [served.events.get(timeout=WAIT) for _ in range(3)] == [changed, undone, refused]
    assert served.events.empty()
    assert (changed["event"], changed["result"], changed["reason"]) == (
        "set", "applied", "loss is NaN",
    )  # fmt: skip
    assert changed["flags"] == [{"name": name, "old": "6", "new": "9"}]
    assert (undone["event"], undone["undoes"]) == ("undo", changed["change"])
    assert undone["flags"] == [{"name": name, "old": "9", "new": "6"}]
    assert (refused["event"], refused["result"], refused["status"]) == ("refused", "refused", 422)
    assert "expected an integer in [1, 9]" in refused["detail"]
    for event in (changed, undone, refused):
        assert event["who"]["pid"] > 0
        assert event["who"]["command"]
        assert event["at"].endswith("Z")


def test_the_end_of_a_temporary_change_is_an_event(served, name):
    flag = pf.define(name, 6, "Level", runtime=True)
    served.change(name, "9", **{"for": 0.2})
    first, last = (served.events.get(timeout=WAIT) for _ in range(2))
    assert first["until"]
    assert (last["event"], last["change"]) == ("ended", first["change"])
    assert flag.value == 6
    assert served.lines() == [first, last]


def test_a_sensitive_value_is_in_no_event_and_in_no_message(served, name, caplog):
    pf.define(name, "", "Token", sensitive=True, runtime=True)
    with caplog.at_level(logging.DEBUG, "paddle_flags.live"):
        served.change(name, "s3cret")
        served.change(name, "other", expect={name: "wr0ng"})
    text = served.path.read_text("utf-8") + repr([vars(record) for record in caplog.records])
    assert text.count(name) >= 3
    for secret in ("s3cret", "other", "wr0ng"):
        assert secret not in text
    assert [sorted(flag) for flag in served.lines()[0]["flags"]] == [["name"]]


def test_an_audit_that_fails_refuses_no_change(tmp_path, name, monkeypatch):
    failures: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", failures.append)

    def fail(_: object) -> None:
        message = "no network"
        raise RuntimeError(message)

    flag = pf.define(name, 6, "Level", runtime=True)
    address = tmp_path / "flags.sock"
    with pf.serve(str(address), audit=[fail, "/dev/full"]):
        status, _ = post(address, "/v1/changes", {"set": {name: "9"}})
    assert (status, flag.value) == (200, 9)
    assert [str(failure.exc_value) for failure in failures] == ["no network"]


def test_a_wrong_audit_is_an_error_before_anything_listens(tmp_path):
    address = tmp_path / "flags.sock"
    with pytest.raises(pf.FlagFileError, match="the audit file can't be opened"):
        pf.serve(str(address), audit=tmp_path / "none" / "audit.jsonl")
    with pytest.raises(pf.FlagTypeError, match="audit: expected a path"):
        pf.serve(str(address), audit=3)
    assert not address.exists()


PROGRAM = """
import json, logging, sys
import paddle_flags as pf
sys.path += sys.argv[2:]
from test_live_audit_served import post

logging.basicConfig(format="%(levelname)s %(message)s", stream=sys.stdout)
pf.define("level", 6, "Level", runtime=True)
pf.define("mode", "a", "Mode", runtime=True)
address = sys.argv[1]
with pf.serve(address):
    post(address, "/v1/changes", {"set": {"level": 9}, "for": "10m", "reason": "try"})
    post(address, "/v1/changes", {"set": {"mode": "b"}})
    post(address, "/v1/changes", {"set": {"mode": "c"}, "for": "10m"})
    post(address, "/v1/undo", {})
print("bye")
"""


def test_temporary_changes_that_are_on_are_told_when_the_program_ends(tmp_path):
    script = write(tmp_path / "program.py", PROGRAM)
    tests = Path(__file__).parent
    ended = run(sys.executable, script, tmp_path / "flags.sock", tests, tests.parent)
    bye, warning = ended.stdout.splitlines()
    assert bye == "bye"
    begin = "WARNING the program ends and temporary change 1 is on: level from '6' to '9'; by uid "
    assert warning.startswith(begin)
    assert warning.endswith("; reason 'try'")
    assert "; until 20" in warning
    assert ended.stderr == ""


# ---- Metrics and OpenFeature, while flags are served ----


def test_the_revision_and_temporary_changes_are_metrics_once_flags_are_served(served, name):
    prometheus_client = package("prometheus_client")
    from paddle_flags import metrics

    def sample(of: str) -> Any:
        return registry.get_sample_value(f"paddle_flags_{of}")

    pf.define(name, 6, "Level", runtime=True)
    registry = prometheus_client.CollectorRegistry()
    collector = metrics.register(registry)
    revision, temporary = sample("revision"), sample("temporary_changes")
    before = registry.get_sample_value("paddle_flags_changes_total", {"source": "live"})
    served.change(name, "7")
    served.change(name, "9", **{"for": 600})
    assert sample("revision") == revision + 2
    assert sample("temporary_changes") == temporary + 1
    after = registry.get_sample_value("paddle_flags_changes_total", {"source": "live"})
    assert after == before + 1
    served.undo()
    assert sample("temporary_changes") == temporary
    collector.close()


@pytest.mark.usefixtures("served")
def test_the_metadata_of_openfeature_have_the_revision(name):
    package("openfeature.api", "openfeature-sdk")
    from paddle_flags.openfeature import PaddleFlagsProvider

    flag = pf.define(name, 6, "Level")
    provider = PaddleFlagsProvider()
    first = provider.resolve_integer_details(name, 1).flag_metadata["revision"]
    flag.value = 7
    assert provider.resolve_integer_details(name, 1).flag_metadata["revision"] == first + 1
