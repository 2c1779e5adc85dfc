"""What POST /v1/changes does, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from live_client import Client, matches
from live_flags import EVEN, HARD, ORDERED, SECRET_TOO
from live_subjects import Subject

# name, value as JSON, text that the flag has then
GOOD: list[tuple[str, Any, str]] = [
    ("level", "9", "9"),
    ("level", 8, "8"),
    ("lvl", 7, "7"),
    ("check", True, "true"),
    ("check", "yes", "true"),
    ("small", 4294967295, "4294967295"),
    ("wide", -9223372036854775808, "-9223372036854775808"),
    ("wide", 9223372036854775807, "9223372036854775807"),
    ("huge", "18446744073709551615", "18446744073709551615"),
    ("ratio", 1e-3, "0.001"),
    ("ratio", 1, "1"),
    ("endless", "-inf", "-inf"),
    ("endless", "nan", "nan"),
    ("size", "1MiB", "1048576"),
    ("wait", "200ms", "0.2"),
    ("mode", "best", "best"),
    ("text", "", ""),
    ("text", "a\nb\tc é 😀 \u2028", "a\nb\tc é 😀 \u2028"),
    ("text", "true", "true"),
    ("names", "x,y,z", "x,y,z"),
    ("numbers", "5", "5"),
    ("maybe", 5, "5"),
    ("even", 4, "4"),
    ("opened_a", 6, "6"),
    ("veiled", False, "false"),
    ("space.name", 2, "2"),
    ("hard", HARD + "!", HARD + "!"),
]


@pytest.mark.parametrize("kind", ["text", "json"])
def test_values_are_set_as_text_or_as_json(client: Client, kind: str):
    for name, value, text in GOOD:
        if isinstance(value, str) != (kind == "text"):
            continue
        answer = client.set(name, value)
        flag = client.flag(name)
        assert flag["text"] == text, name
        assert flag["source"] == "live"
        assert answer["dry_run"] is False
        assert answer["until"] is None
        assert answer["flags"][0]["new"] == text
        assert answer["flags"][0]["source"] == "live"
        assert answer["flags"][0]["hidden"] is False
        assert answer["flags"][0]["name"] == flag["name"]


def test_the_text_of_each_value_sets_it_to_the_same_value(client: Client):
    for name, flag in client.flags().items():
        if flag["settable"] and "sensitive" not in flag["marks"] and flag["value"] is not None:
            confirm = [name] if "unsafe" in flag["marks"] else []
            client.set(name, flag["text"], confirm=confirm)
            again = client.flag(name)
            assert (again["text"], again["value"]) == (flag["text"], flag["value"]), name


def test_the_program_sees_the_change_at_once(subject: Subject, client: Client):
    client.set("level", 9)
    assert subject.read("level") == ("live", "9")


def test_each_change_has_the_next_number_and_the_revision(client: Client):
    one, two = client.set("level", 7), client.set("level", 8)
    assert two["change"] == one["change"] + 1
    assert two["revision"] > one["revision"]
    assert two["flags"][0]["old"] == "7"
    assert client.flag("level")["revision"] == two["revision"]


def test_several_flags_change_at_once(client: Client):
    response = client.change(set={"level": "9", "check": True, "low": 20, "high": 30})
    assert response.status == 200
    assert [each["name"] for each in response.json["flags"]] == ["level", "check", "low", "high"]
    flags = client.flags()
    assert [flags[n]["value"] for n in ("level", "check", "low", "high")] == [9, True, 20, 30]


BAD: list[tuple[str, Any, str]] = [
    ("level", 10, "PD_ERR_RANGE"),
    ("level", "0", "PD_ERR_RANGE"),
    ("level", "many", "PD_ERR_VALUE"),
    ("level", "", "PD_ERR_VALUE"),
    ("level", 1.5, "PD_ERR_VALUE"),
    ("small", -1, "PD_ERR_RANGE"),
    ("mode", "slow", "PD_ERR_CHOICE"),
    ("check", "perhaps", "PD_ERR_VALUE"),
    ("numbers", "1,x", "PD_ERR_VALUE"),
    ("size", "1parsec", "PD_ERR_VALUE"),
    ("even", 3, "PD_ERR_REFUSED"),
]


@pytest.mark.parametrize(("name", "value", "code"), BAD)
def test_a_wrong_value_is_422_with_its_code_and_the_words_of_the_registry(
    reader: Client, name: str, value: Any, code: str
):
    before = reader.flags()
    response = reader.change(set={name: value})
    assert response.status == 422
    errors = response.json["errors"]
    assert [each["name"] for each in errors] == [name]
    assert errors[0]["code"] == code
    assert name in errors[0]["detail"]
    if name == "even":
        assert EVEN in errors[0]["detail"]
    assert reader.flags() == before


def test_a_rule_of_two_flags_is_checked_against_the_new_values(client: Client):
    response = client.change(set={"low": 11})
    assert response.status == 422
    assert ORDERED in response.json["detail"]
    assert client.change(set={"low": 11, "high": 12}).status == 200


def test_all_of_a_change_happens_or_nothing_and_all_errors_are_listed(reader: Client):
    before = reader.now()
    response = reader.change(set={"check": True, "level": 99, "mode": "slow"})
    assert response.status == 422
    assert [each["name"] for each in response.json["errors"]] == ["level", "mode"]
    assert reader.now() == before
    assert reader.flag("check")["value"] is False


REFUSED = {
    "plain": "may not be changed",
    "early": "needs a restart",
    "fixed": "read-only",
    "gone": "",
    "try_it": "",
    "opened_b": "needs a restart",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_flag_that_may_not_be_changed_here_is_403_and_says_why(reader: Client, name: str):
    before = reader.now()
    response = reader.change(set={"level": 9, name: "1"})
    assert response.status == 403
    assert [each["name"] for each in response.json["errors"]] == [name]
    assert REFUSED[name] in response.json["errors"][0]["detail"]
    assert reader.now() == before


def test_a_frozen_flag_is_not_changed(subject: Subject, client: Client):
    subject.tell("freeze", "level")
    assert client.change(set={"level": 9}).status in (403, 422)
    assert client.text("level") == "6"


def test_an_unknown_flag_is_404_with_a_suggestion(reader: Client):
    response = reader.change(set={"check": True, "levle": 9})
    assert response.status == 404
    assert [each["name"] for each in response.json["errors"]] == ["levle"]
    assert "level" in response.json["errors"][0]["detail"]
    assert reader.flag("check")["value"] is False


# ---- Confirmation, expectation, dry run ----


def test_an_unsafe_flag_needs_its_name_in_confirm(client: Client):
    body = {"danger": 1, "peril": True}
    for confirm in ([], ["danger"], ["level"], None):
        more = {} if confirm is None else {"confirm": confirm}
        response = client.change(set=body, **more)
        assert response.status == 428
        assert all(each["name"] in body for each in response.json["errors"])
    assert client.change(set=body, confirm=["danger", "peril", "nobody"]).status == 404
    assert client.flag("danger")["value"] == 0
    assert client.change(set=body, confirm=["danger", "peril"]).status == 200
    assert client.flag("danger")["value"] == 1


def test_expected_values_are_compared_as_text_or_as_json(client: Client):
    client.set("level", 7, expect={"level": "6"})
    client.set("level", 8, expect={"level": 7, "check": False, "mode": "fast"})
    assert client.text("level") == "8"


def test_another_value_than_expected_is_409_with_the_current_values(reader: Client):
    before = reader.now()
    response = reader.change(
        set={"level": 7}, expect={"level": "5", "check": False, "mode": "best"}
    )
    assert response.status == 409
    current = response.json["current"]
    assert current["level"] == "6"
    assert current["mode"] == "fast"
    assert reader.now() == before


def test_expecting_an_unknown_flag_is_404(reader: Client):
    assert reader.change(set={"level": 7}, expect={"nobody": "1"}).status == 404


def test_expecting_a_sensitive_value_does_not_reveal_it(reader: Client):
    response = reader.change(set={"level": 7}, expect={"secret": "x"})
    assert response.status in (403, 409)
    assert "secret" not in response.json.get("current", {})
    other = reader.change(set={"level": 8}, expect={"secret": SECRET_TOO})
    assert other.status == response.status


def test_a_dry_run_checks_everything_and_changes_nothing(reader: Client):
    before = reader.now()
    answer = reader.set("level", 9, dry_run=True)
    assert answer["change"] is None
    assert answer["dry_run"] is True
    assert answer["flags"] == [
        {"name": "level", "old": "6", "new": "9", "source": "live", "hidden": False}
    ]
    assert reader.change(set={"even": 3}, dry_run=True).status == 422
    assert reader.change(set={"level": 99}, dry_run=True).status == 422
    assert reader.change(set={"plain": 1}, dry_run=True).status == 403
    assert reader.change(set={"nobody": 1}, dry_run=True).status == 404
    assert reader.change(set={"level": 7}, expect={"level": 1}, dry_run=True).status == 409
    assert reader.change(set={"danger": 7}, dry_run=True).status == 428
    assert reader.change(set={"level": 7}, for_="10m", dry_run=True).status == 200
    assert reader.change(set={"level": None}, dry_run=True).status == 200
    assert reader.now() == before
    assert reader.get("/v1/changes").json["changes"] == []


# ---- null, and what the program does ----


def test_null_takes_back_what_clients_have_set(subject: Subject, client: Client):
    subject.tell("set", "level", "3")
    client.set("level", 9)
    client.set("level", 8)
    answer = client.set("level", None)
    assert answer["flags"][0]["old"] == "8"
    assert answer["flags"][0]["new"] == "3"
    assert subject.read("level") == ("run time", "3")


def test_null_without_a_live_value_changes_nothing(subject: Subject, client: Client):
    subject.tell("set", "level", "3")
    assert client.set("level", None)["flags"][0]["new"] == "3"
    assert subject.read("level") == ("run time", "3")


def test_a_later_value_of_the_program_replaces_a_live_one(subject: Subject, client: Client):
    client.set("level", 9)
    subject.tell("set", "level", "4")
    flag = client.flag("level")
    assert (flag["text"], flag["source"]) == ("4", "run time")


def test_an_override_of_the_program_hides_the_new_value(subject: Subject, client: Client):
    subject.tell("push", "level", "2")
    answer = client.set("level", 9)
    assert answer["flags"][0]["hidden"] is True
    assert client.text("level") == "2"
    subject.tell("pop")
    assert client.text("level") == "9"


# ---- Reasons and bodies ----


def test_the_reason_is_kept_with_the_change(client: Client):
    reason = 'loss is NaN\n<b>"é😀</b>'
    number = client.set("level", 9, reason=reason)["change"]
    first = client.get("/v1/changes").json["changes"][0]
    assert (first["change"], first["reason"]) == (number, reason)
    assert client.flag("level")["log"][0]["reason"] == reason


def test_a_reason_has_at_most_1000_bytes(client: Client):
    assert client.change(set={"level": 7}, reason="é" * 500).status == 200
    assert client.change(set={"level": 7}, reason="é" * 501).status == 400
    assert client.change(set={"level": 7}, reason="x" * 1001).status == 400


def test_one_to_1000_values_are_set_at_once(client: Client):
    assert client.change(set={}).status == 400
    names = {f"nobody_{i}": 1 for i in range(1000)}
    assert client.change(set=names).status == 404
    assert client.change(set={**names, "level": 7}).status == 400


WRONG: list[Any] = [
    b"",
    b"{",
    b"[]",
    b"null",
    b'"set"',
    b"7",
    b'{"set":{"level":7}} x',
    b'{"set":{"level":7},}',
    b"{'set':{'level':7}}",
    b'{"set":{"level":07}}',
    b'{"set":{"level":NaN}}',
    b'{"set":{"level":Infinity}}',
    b'{"set":{"level":7},"set":{"level":8}}',
    b'{"set":{"level":7,"level":8}}',
    b'{"set":{"level":"\xff"}}',
    b'{"set":{"text":"a\\u0000b"}}',
    b'{"set":{"text":"\\ud800"}}',
    b'{"set":{"text":"a\nb"}}',
    b'\xef\xbb\xbf{"set":{"level":7}}',
    {},
    {"sets": {"level": 7}},
    {"set": {"level": 7}, "more": 1},
    {"set": []},
    {"set": "level"},
    {"set": None},
    {"set": {"level": [7]}},
    {"set": {"level": {"value": 7}}},
    {"set": {"level": 7}, "reason": 7},
    {"set": {"level": 7}, "dry_run": "true"},
    {"set": {"level": 7}, "dry_run": 1},
    {"set": {"level": 7}, "expect": []},
    {"set": {"level": 7}, "expect": {"level": [6]}},
    {"set": {"level": 7}, "confirm": "level"},
    {"set": {"level": 7}, "confirm": [7]},
    {"set": {"level": 7}, "confirm": {"level": True}},
    {"set": {"level": 7}, "for": True},
    {"set": {"level": 7}, "for": []},
    {"set": {"level": 7}, "for": 0},
    {"set": {"level": 7}, "for": -5},
    {"set": {"level": 7}, "for": 0.01},
    {"set": {"level": 7}, "for": 2592001},
    {"set": {"level": 7}, "for": "31d"},
    {"set": {"level": 7}, "for": ""},
    {"set": {"level": 7}, "for": "soon"},
    {"set": {"level": 7}, "for": "10 parsecs"},
    {"set": {"level": 7}, "for": "inf"},
    {"set": {"level": 7}, "for": "nan"},
    {"set": {"level": None}, "for": "10m"},
]


@pytest.mark.parametrize("body", WRONG, ids=lambda body: str(body)[:50])
def test_a_body_that_is_not_as_described_is_400_and_changes_nothing(reader: Client, body: Any):
    before = reader.now()
    response = reader.post("/v1/changes", body)
    if 'level": {' in json.dumps(str(body)):
        assert response.status in (400, 404)
    assert response.status in (400, 404) if body == {"set": {"": 7}} else response.status == 400
    assert reader.now() == before


def test_what_may_be_left_out_may_be_null(client: Client):
    assert client.change(set={"level": 7}, reason=None, for_=None).status == 200
    assert client.post("/v1/undo", {"change": None, "reason": None}).status == 200


def test_an_integer_that_does_not_fit_int64_is_refused_unless_it_is_text(client: Client):
    for value in (2**64, -(2**63) - 1, 10**30):
        assert client.change(set={"huge": value}).status in (400, 422), value
    assert client.change(set={"huge": str(2**64 - 2)}).status == 200


def test_an_integer_beyond_int64_is_refused_also_by_a_flag_that_could_have_it(client: Client):
    assert client.change(set={"huge": 2**63}).status == 400


def test_an_alias_and_the_name_in_one_change_are_refused(reader: Client):
    before = reader.now()
    response = reader.change(set={"level": 7, "lvl": 8})
    assert response.status in (400, 422)
    assert reader.now() == before


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("APPLICATION/JSON", 200),
        (None, 415),
        ("", 415),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
        ("application/jsonx", 415),
        ("application/json-patch+json", 415),
        ("text/plain; application/json", 415),
    ],
)
def test_the_body_must_be_application_json(reader: Client, kind: str | None, status: int):
    before = reader.now()
    body = {"set": {"level": 7}, "dry_run": status == 200}
    assert reader.post("/v1/changes", body, {"Content-Type": kind}).status == status
    assert reader.now() == before


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_change_nothing_and_name_those_that_are_allowed(reader: Client, method: str):
    body = json.dumps({"set": {"level": 7}}).encode()
    headers: dict[str, str | None] = {"Content-Type": "application/json"}
    before = reader.now()
    response = reader.ask(method, "/v1/undo", headers, body)
    assert response.status == 405
    assert [m.strip() for m in (response.get("Allow") or "").split(",")] == ["POST"]
    if method not in ("GET", "HEAD"):
        response = reader.ask(method, "/v1/changes", headers, body)
        assert response.status == 405
        allowed = {m.strip() for m in (response.get("Allow") or "").split(",")}
        assert allowed == {"GET", "HEAD", "POST"}
        assert reader.ask(method, "/v1/flags", headers, body).status == 405
    assert reader.now() == before


# ---- The audit ----


def test_each_change_and_each_refusal_is_a_line_of_the_audit(client: Client, tmp_path: Path):
    one = client.set("level", 9, reason="one", for_="10m")["change"]
    client.change(set={"level": 99, "check": True}, reason="two")
    client.change(set={"plain": 1})
    client.set("level", 8, dry_run=True)
    client.post("/v1/undo", {"change": one})
    lines = [
        json.loads(line) for line in (tmp_path / "audit.jsonl").read_text("ascii").splitlines()
    ]
    for line in lines:
        matches(line, "audit")
    assert [line["event"] for line in lines] == ["set", "refused", "refused", "undo"]
    assert [line["reason"] for line in lines] == ["one", "two", None, None]
    assert [flag["name"] for flag in lines[1]["flags"]] == ["level", "check"]
    assert lines[3]["undoes"] == one
    you = client.get("/v1/process").json["you"]
    assert all(line["who"]["uid"] == you["uid"] for line in lines)
