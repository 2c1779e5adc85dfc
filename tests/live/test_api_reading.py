"""What GET and HEAD answer: the process, flags, revisions, documents and the page."""

from __future__ import annotations

import json
import socket

import pytest
from live_client import LIVE, Client, Reader, encode, matches
from live_flags import BY_NAME, FLAGS, HARD, MARKUP
from live_subjects import Subject

ALL = [flag["name"] for flag in FLAGS]


def test_the_process_says_what_it_is(subject: Subject, client: Client):
    process = client.get("/v1/process").json
    assert process["api"] == "v1"
    assert process["pid"] == subject.process.pid
    assert process["host"] == socket.gethostname()
    assert process["flags"] >= len(ALL)
    assert process["temporary"] == 0
    assert process["you"]["may"] == ["read", "change"]


def test_a_client_learns_what_the_server_knows_of_it(subject: Subject, client: Client):
    you = client.get("/v1/process").json["you"]
    if subject.kind.endswith("-unix"):
        import os

        assert you["uid"] == os.getuid()
        assert you["pid"] == os.getpid()
        assert you["command"]
        assert you["host"] is you["label"] is None
    else:
        assert you["uid"] is you["pid"] is you["command"] is None
        assert you["host"] == "127.0.0.1"
        assert you["label"] == "writer"


def test_all_flags_are_listed_with_the_attributes_of_their_definition(reader: Client):
    flags = reader.flags()
    assert set(ALL) <= set(flags)
    for name, flag in BY_NAME.items():
        shown = flags[name]
        for key in ("min", "max", "unit", "category", "metavar", "aliases", "old_names"):
            if key in flag:
                assert shown[key] == flag[key], name
            elif key not in ("min", "max"):
                assert key not in shown, name
        assert shown["help"] == flag.get("help", "")
        assert shown.get("deprecated") == flag.get("deprecated")
        assert shown.get("retired") == flag.get("retired")
        marks = [key for key, value in flag.items() if value is True and key != "default"]
        assert set(shown["marks"]) == set(marks) - {"even"}, name
    assert flags["mode"]["choices"] == ["fast", "best", "exact"]
    assert flags["names"]["items"] == "string"
    assert flags["numbers"]["items"] == "int32"


def test_values_are_json_of_their_type_and_texts_that_are_exact(reader: Client):
    flags = reader.flags()
    values = {
        name: (flags[name]["value"], flags[name]["text"]) for name in ALL if "secret" not in name
    }
    assert values["check"] == (False, "false")
    assert values["level"] == (6, "6")
    assert values["wide"] == (-(2**63), str(-(2**63)))
    assert values["huge"] == (2**64 - 1, str(2**64 - 1))
    assert values["ratio"] == (0.1, "0.1")
    assert values["endless"] == ("inf", "inf")
    assert values["size"][0] == 65536
    assert values["wait"][0] == 0.25
    assert values["names"] == (["a", "b"], "a,b")
    assert values["numbers"] == ([1, 2], "1,2")
    assert values["maybe"][0] is None
    assert values["mode"] == ("fast", "fast")
    assert values["hard"] == (HARD, HARD)
    assert values["markup"] == (MARKUP, MARKUP)
    for name in values:
        assert flags[name]["default"] == flags[name]["value"]
        assert flags[name]["default_text"] == flags[name]["text"]
        assert flags[name]["source"] == "default"


def test_flags_that_a_client_may_not_change_say_why(reader: Client):
    flags = reader.flags()
    for name in ("level", "danger", "veiled", "opened_a", "old"):
        assert flags[name]["settable"] is True, name
    for name in ("early", "fixed", "plain", "gone", "try_it", "opened_b"):
        assert flags[name]["settable"] is False, name
        assert flags[name]["refusal"], name
    assert "needs a restart" in flags["early"]["refusal"]
    assert "needs a restart" in flags["opened_b"]["refusal"]


def test_a_frozen_flag_is_marked_so(subject: Subject, client: Client):
    assert "frozen" not in client.flag("level")
    subject.tell("freeze", "level")
    flag = client.flag("level")
    assert flag["frozen"] is True
    assert flag["settable"] is False
    subject.tell("thaw", "level")
    assert client.flag("level")["settable"] is True


def test_one_flag_has_its_history_with_the_current_value_first(subject: Subject, client: Client):
    subject.tell("set", "level", "8")
    subject.tell("set", "level", "9")
    flag = client.flag("level")
    texts = [(each["text"], each["source"], each["replaced"]) for each in flag["history"]]
    assert texts[0] == ("9", "run time", False)
    assert texts[-1] == ("6", "default", False)
    assert [each["new"] for each in flag["log"]][:2] == ["9", "8"]
    assert flag["log"][0]["old"] == "8"
    assert flag["log"][0]["revision"] == flag["revision"]
    assert "change" not in flag["log"][0]


@pytest.mark.parametrize("name", ["level", "lvl", "le%76el", "%6Cevel"])
def test_a_flag_is_found_by_its_name_an_alias_and_percent_encoded(reader: Client, name: str):
    assert reader.flag(name)["name"] == "level"


@pytest.mark.parametrize("name", ["try-it", "try_it", "try%2Dit"])
def test_dashes_and_underscores_are_the_same(reader: Client, name: str):
    assert reader.flag(name)["name"] == "try_it"


def test_old_names_and_names_with_dots_are_found(reader: Client):
    assert reader.flag("former")["name"] == "renamed"
    assert reader.flag("space.name")["name"] == "space.name"


def test_an_unknown_flag_is_404_and_the_nearest_name_is_suggested(reader: Client):
    response = reader.get("/v1/flags/levle")
    assert response.status == 404
    assert "level" in response.json["detail"]


@pytest.mark.parametrize(
    "target", ["/v1", "/v1/", "/v2/flags", "/v1/flag", "/v1/process/", "/v1/flags/", "/nothing"]
)
def test_an_unknown_resource_is_404(reader: Client, target: str):
    assert reader.get(target).status == 404


@pytest.mark.parametrize(
    "target",
    [
        *("/v1/flags?unknown=1", "/v1/flags?since", "/v1/flags?since=", "/v1/flags?=1"),
        *("/v1/flags?since=x", "/v1/flags?since=6f1c2a9be04d7783", "/v1/flags?since=-1"),
        *("/v1/process?x=1", "/v1/flags/level?since=1", "/v1/changes?a", "/v1/events?x=1"),
        *("/v1/flags/%zz", "/v1/flags/%4", "/v1/flags/%", "/v1/flags/%00", "/v1/flags/lev%00el"),
    ],
)
def test_wrong_parameters_and_encodings_are_400(shared: Subject, reader: Client, target: str):
    status = reader.get(target).status
    # A WSGI server has decoded the path already, and left what isn't an encoding.
    assert status == 400 or (shared.kind == "wsgi" and "%" in target and status == 404)


def test_a_parameter_that_is_given_twice_is_400(reader: Client):
    now = reader.now()
    assert reader.get(f"/v1/flags?since={now}").status == 200
    assert reader.get(f"/v1/flags?since={now}&since={now}").status == 400
    assert reader.get(f"/v1/flags?since={now}&x=1").status == 400


def test_head_answers_as_get_without_a_body(subject: Subject, client: Client):
    for target in (
        "/v1/process",
        "/v1/flags",
        "/v1/flags/level",
        "/v1/changes",
        "/v1/openapi.json",
    ):
        got, head = client.get(target), client.ask("HEAD", target)
        assert head.status == got.status == 200
        assert head.get("Content-Type") == got.get("Content-Type")
        assert head.get("ETag") == got.get("ETag")
        if subject.kind != "wsgi" and head.get("Content-Length"):
            assert head.get("Content-Length") == str(len(got.body))
    assert client.ask("HEAD", "/v1/flags/nobody").status == 404
    assert client.ask("HEAD", "/v1/flags?x=1").status == 400


def test_a_body_never_follows_the_answer_to_head(subject: Subject, client: Client):
    with client.address.connect() as connection:
        prefix = client.address.prefix
        one = {**client.address.headers()}
        connection.sendall(encode("HEAD", prefix + "/v1/process", one, None))
        reader = Reader(connection)
        assert reader.answer(body=False)
        if subject.kind == "wsgi":
            return  # whether the connection stays is up to the WSGI server
        connection.sendall(encode("GET", prefix + "/v1/process", one, None))
        second = reader.answer()
        assert second
        assert second.status == 200


# ---- Revisions ----


def test_the_etag_is_the_revision_and_answers_304_until_something_changes(
    subject: Subject, client: Client
):
    first = client.get("/v1/flags")
    tag = first.get("ETag")
    assert tag == f'"{first.json["epoch"]}-{first.json["revision"]}"'
    again = client.get("/v1/flags", {"If-None-Match": tag})
    assert again.status == 304
    assert again.get("ETag") == tag
    assert client.get("/v1/flags", {"If-None-Match": '"other-1"'}).status == 200
    subject.tell("set", "level", "7")
    third = client.get("/v1/flags", {"If-None-Match": tag})
    assert third.status == 200
    assert third.json["revision"] > first.json["revision"]


@pytest.mark.parametrize("form", ["W/{}", '"x", {}', '{} , W/"y"'])
def test_if_none_match_takes_weak_tags_and_lists(reader: Client, form: str):
    tag = reader.get("/v1/flags").get("ETag") or ""
    assert reader.get("/v1/flags", {"If-None-Match": form.format(tag)}).status == 304


def test_since_lists_only_the_flags_that_changed_later(subject: Subject, client: Client):
    start = client.now()
    empty = client.get(f"/v1/flags?since={start}").json
    assert empty["flags"] == empty["removed"] == []
    assert empty["complete"] is False
    subject.tell("set", "level", "7")
    subject.tell("set", "check", "true")
    changed = client.get(f"/v1/flags?since={start}").json
    assert sorted(flag["name"] for flag in changed["flags"]) == ["check", "level"]
    assert {flag["revision"] for flag in changed["flags"]} <= set(
        range(empty["revision"] + 1, changed["revision"] + 1)
    )
    later = client.get(f"/v1/flags?since={changed['epoch']}-{changed['revision']}").json
    assert later["flags"] == []


def test_since_may_be_percent_encoded(reader: Client):
    start = reader.now()
    assert reader.get(f"/v1/flags?since={start.replace('-', '%2D')}").json["flags"] == []


def test_since_another_epoch_or_the_future_lists_all_flags(reader: Client):
    epoch, _, revision = reader.now().partition("-")
    for since in ("0123456789abcdef-1", f"{epoch}-{int(revision) + 1000}"):
        answer = reader.get(f"/v1/flags?since={since}").json
        assert answer["complete"] is True
        assert len(answer["flags"]) >= len(ALL)


def test_definitions_and_flags_that_go_have_revisions(subject: Subject, client: Client):
    start = client.now()
    subject.tell("define", "newcomer")
    answer = client.get(f"/v1/flags?since={start}").json
    assert [flag["name"] for flag in answer["flags"]] == ["newcomer"]
    middle = client.now()
    subject.tell("undefine", "newcomer")
    answer = client.get(f"/v1/flags?since={middle}").json
    assert answer["removed"] == ["newcomer"]
    assert answer["flags"] == []
    assert "newcomer" not in client.flags()
    assert client.get("/v1/flags/newcomer").status == 404


def test_the_epoch_stays_and_the_revision_grows(subject: Subject, client: Client):
    one = client.get("/v1/process").json
    subject.tell("set", "level", "7")
    two = client.get("/v1/process").json
    assert one["epoch"] == two["epoch"]
    assert two["revision"] > one["revision"]
    subject.tell("reset", "level")
    assert client.get("/v1/process").json["revision"] > two["revision"]


# ---- Documents and the page ----


def test_the_documents_are_those_of_the_package(reader: Client):
    assert reader.get("/v1/openapi.json").json == json.loads((LIVE / "openapi.json").read_text())
    for file in sorted((LIVE / "schemas").glob("*.json")):
        response = reader.get(f"/v1/schemas/{file.name}")
        assert response.status == 200
        assert response.json == json.loads(file.read_text())
        if file.stem not in ("common", "event"):
            assert response.json["$id"] == f"urn:paddle-flags:schema:{file.stem}"
    assert reader.get("/v1/schemas/nothing.json").status == 404
    assert reader.get("/v1/schemas/flags").status == 404


def test_the_page_its_script_and_its_style_are_served(reader: Client):
    kinds = {"/": "text/html", "/page.js": "text/javascript", "/page.css": "text/css"}
    for target, kind in kinds.items():
        response = reader.get(target)
        assert response.status == 200, target
        assert (response.get("Content-Type") or "").startswith(kind)
        assert response.body


def test_the_schemas_of_the_package_are_those_of_the_openapi_document():
    for name in ("flags", "process"):
        with pytest.raises(AssertionError, match=name):
            matches({}, name)
