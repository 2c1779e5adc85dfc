"""The OpenAPI document that a gateway makes from its types, and answers that follow it."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker
from openapi_spec_validator import validate
from starlette.routing import Route
from support import ROOT
from ways import Way, start

from paddle_flags.gateway.app import Gateway
from paddle_flags.gateway.openapi import openapi

pytestmark = pytest.mark.extended  # HTTP is an extra

PAGE = (ROOT / "docs" / "reference" / "live-api.md").read_text("utf-8")


def check(name: str, document: Any) -> Any:
    """Fail unless a document is as its schema says."""
    schema = {"$ref": f"#/components/schemas/{name}", "components": openapi()["components"]}
    validator = Draft202012Validator(schema, format_checker=FormatChecker())
    problems = [
        f"{list(each.path)}: {each.message[:300]}" for each in validator.iter_errors(document)
    ]
    assert not problems, problems
    return document


def check_flag(flag: Any) -> None:
    """Fail unless a flag of a process has the fields that belong together."""
    texts = {"value", "text", "default", "default_text"}
    if "sensitive" in flag["marks"]:
        assert not texts & flag.keys()
        assert not any({"value", "text"} & entry.keys() for entry in flag.get("history", ()))
        assert not any({"old", "new"} & event.keys() for event in flag.get("log", ()))
        assert "below" not in flag.get("temporary", {})
    else:
        assert {"text", "default_text"} <= flag.keys()
    assert "revision" in flag
    assert flag["settable"] is ("refusal" not in flag)


def check_result(document: Any) -> None:
    """Fail unless the result of a change has a number, or is that of a dry run."""
    check("ChangeResult", document)
    assert document["flags"]
    assert document["dry_run"] is (document["change"] is None)


def test_the_document_is_valid_and_the_one_that_is_served(shared: Way):
    validate(openapi())
    assert json.loads(shared.ask("/v1/openapi.json")[2]) == openapi()


def test_the_document_has_the_requests_that_the_reference_lists():
    rows = re.findall(r"^\| `(GET|POST) (/v1/[^`]+)` \|", PAGE, re.MULTILINE)
    listed = {(method, re.sub(r"PID|NAME|N\b", "{}", path)) for method, path in rows}
    known = {
        (method.upper(), re.sub(r"\{\w+\}", "{}", path))
        for path, methods in openapi()["paths"].items()
        for method in methods
    }
    assert listed == known


def test_the_document_has_the_requests_that_a_gateway_answers():
    routes = [each for each in Gateway([]).application().routes if isinstance(each, Route)]
    answered = {
        (method, re.sub(r":int", "", each.path))
        for each in routes
        for method in each.methods - {"HEAD"}
    }
    described = {
        (method.upper(), path) for path, methods in openapi()["paths"].items() for method in methods
    }
    assert answered == described


def test_every_answer_follows_its_schema(way: Way):
    number = way.process("/changes", "POST", {"set": {"level": 3}, "reason": "x", "for": "10m"})
    check_result(json.loads(number[2]))
    dry_run = {"set": {"level": 4}, "dry_run": True}
    check_result(json.loads(way.process("/changes", "POST", dry_run)[2]))
    way.program.run("pf.FLAGS.note = 'x' * 5000")
    check_result(json.loads(way.change({"note": "y" * 5000, "names": "a,b"})[2]))
    processes = check("Processes", json.loads(way.ask("/v1/processes")[2]))
    process = check("Process", json.loads(way.process()[2]))
    flags = check("Flags", json.loads(way.process("/flags")[2]))["flags"]
    assert any("sensitive" in flag["marks"] for flag in flags)
    for flag in flags:
        check_flag(flag)
        details = check("Flag", json.loads(way.process(f"/flags/{flag['name']}")[2]))["flag"]
        assert {"history", "log"} <= details.keys()
        check_flag(details)
    check_result(json.loads(way.process("/undo", "POST", {})[2]))
    changes = check("Changes", json.loads(way.process("/changes")[2]))["changes"]
    assert {change["kind"] for change in changes} == {"set", "undo"}
    for change in changes:
        assert change["flags"]
        assert (change["kind"] == "undo") is (change["undoes"] is not None)
        assert {"uid", "pid", "command"} <= change["who"].keys()
    fleets = check("Fleets", json.loads(way.ask("/v1/fleets")[2]))
    for document in (processes, process, fleets):
        assert "may" in document["you"]


def test_every_event_follows_its_schema(way: Way):
    with way.connect() as stream:
        stream.sendall(way.head(f"GET {way.api}/events HTTP/1.1"))
        text = b""
        while b"event: hello" not in text:
            text += stream.recv(65536)
        way.change({"level": 3, "note": "y" * 5000})
        way.program.run("late = pf.define('late', 1, '')")
        while b"late" not in text:
            text += stream.recv(65536)
    schemas = {b"hello": "Process", b"changes": "FlagEvents"}
    for kind, data in re.findall(rb"event: (\w+)\nid: .+\ndata: (.+)\n\n", text):
        check(schemas[kind], json.loads(data))


@pytest.mark.parametrize(
    ("path", "method", "body"),
    [
        ("/changes", "POST", {"set": {"level": 12, "x": 1, "port": 2, "reckless": True}}),
        ("/changes", "POST", {"set": {"level": 3}, "expect": {"level": 9}}),
        ("/changes", "POST", []),
        ("/undo", "POST", {"change": 99}),
        ("/flags/levle", "GET", None),
        ("/flags?x", "GET", None),
        ("/x", "GET", None),
        ("/flags", "PUT", None),
    ],
)
def test_every_problem_follows_its_schema(shared: Way, path: str, method: str, body: Any):
    status, headers, answer = shared.process(path, method, body)
    assert headers["content-type"] == "application/problem+json"
    assert check("Problem", json.loads(answer))["status"] == status


def test_what_a_fleet_answers_follows_its_schema(tmp_path):
    url = f"dir://{tmp_path}/job"
    with start("tcp", tmp_path, "--fleet", url) as way:
        way.program.run(f"pf.fleet.join({url!r}, name='a', ttl=2.0)")
        body = {"set": {"level": 3}, "reason": "x", "wait": 30}
        check("FleetChangeRequest", body)
        path = "/v1/fleets/1/changes"
        status, _, answer = way.ask(path, "POST", body)
        check("FleetChangeResult", json.loads(answer))
        assert status == 200
        more = [{"dry_run": True}, {"for": 0.2}, {"set": {"levle": 5}, "force": True}]
        for each in more:
            body = check("FleetChangeRequest", {"set": {"level": 4}, "reason": "x", **each})
            check("FleetChangeResult", json.loads(way.ask(path, "POST", body)[2]))
        assert way.ask(path, "POST", {"set": {"level": 99}, "reason": "x"})[0] == 422
        states, end = set(), time.monotonic() + 60
        while states != {"committed", "dry run", "ended", "aborted"}:
            assert time.monotonic() < end, states
            document = check("Fleet", json.loads(way.ask("/v1/fleets/1")[2]))
            states = {each["state"] for each in document["changes"]}
        assert document["count"] == 1
