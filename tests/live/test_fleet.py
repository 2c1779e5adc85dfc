"""fleet.apply: an agent gives the values of its fleet to a program."""

from __future__ import annotations

import json

import pytest
from serving import Client, problems, until

URL = "etcd://10.0.0.5:2379/job42"


def values(**texts: str) -> dict[str, dict[str, object]]:
    return {name: {"text": text, "revision": 12} for name, text in texts.items()}


def apply(client: Client, **params: object) -> list[dict[str, object]]:
    """Return the flags that have changed, by name."""
    found: list[dict[str, object]] = client.ask("fleet.apply", fleet=URL, **params)["flags"]
    return sorted(found, key=lambda flag: str(flag["name"]))


def test_the_values_of_a_fleet_are_applied_with_their_revisions(client):
    given = {**values(level="7"), "mode": {"text": "best", "revision": 13}}
    assert apply(client, values=given) == [
        {"name": "level", "old": "6", "new": "7"},
        {"name": "mode", "old": "fast", "new": "best"},
    ]
    flag = client.get("level")
    assert (flag["text"], flag["source"], flag["place"]) == ("7", "fleet", f"{URL} revision 12")
    assert client.get("mode")["place"] == f"{URL} revision 13"
    assert apply(client, values=given) == []
    assert apply(client, values=values(level="8")) == [
        {"name": "level", "old": "7", "new": "8"},
        {"name": "mode", "old": "best", "new": "fast"},
    ]
    assert apply(client, values={}) == [{"name": "level", "old": "8", "new": "6"}]


def test_all_that_is_wrong_is_in_the_answer_and_nothing_changes(client):
    error = client.fail(
        "fleet.apply", fleet=URL, values=values(level="10", rate="x", count="5", seed="2")
    )
    assert (error["code"], problems(error)) == (
        422,
        [("level", "rejected"), ("rate", "rejected")],
    )
    assert error["message"] == f"{URL} revision 12: level=10: expected an integer in [1, 9]"
    error = client.fail("fleet.apply", fleet=URL, values=values(low="9", count="5"))
    assert problems(error) == [(None, "rejected")]
    assert "expected low <= high" in error["message"]
    assert (client.text("count"), client.text("level")) == ("2", "6")
    assert client.ask("changes.list")["changes"] == []


def test_a_dry_run_checks_all_and_changes_nothing(client):
    found = client.ask("fleet.apply", fleet=URL, values=values(level="7"), dry_run=True)
    assert (found["dry_run"], found["flags"], client.text("level")) == (True, [], "6")
    assert client.fail("fleet.apply", fleet=URL, values=values(low="9"), dry_run=True)


def test_a_value_waits_for_its_flag(program, client):
    assert apply(client, values=values(later="5")) == []
    assert program.run("print(pf.define('later', 1).value)") == "5"
    assert client.get("later")["source"] == "fleet"


def test_what_the_program_has_set_hides_a_value_and_is_no_change(program, client):
    program.run("pf.FLAGS.count = 3")
    assert apply(client, values=values(count="4")) == []
    assert [each["text"] for each in client.get("count")["history"]] == ["3", "4", "2"]


def test_a_change_is_in_the_list_and_in_the_audit(program, client):
    until = 1795624200000
    client.ask(
        "fleet.apply", fleet=URL, values=values(level="7"), by="ops", reason="NaN", until=until
    )
    (change,) = client.ask("changes.list")["changes"]
    (event,) = program.events()
    for made in (change, event):
        assert (made["kind"], made["reason"]) == ("fleet", "NaN")
        assert made["who"]["on_behalf_of"] == {"label": "ops", "host": URL}
        assert made["until"] == "2026-11-25T16:30:00.000Z"
        assert made["flags"] == [{"name": "level", "old": "6", "new": "7"}]
    assert client.fail("changes.undo", change=1)["data"]["kind"] == "conflict"


def test_a_secret_is_in_no_answer_and_no_list(program, client):
    given = values(token="hush")  # noqa: S106 - a value to look for
    assert apply(client, values=given) == [{"name": "token", "old": None, "new": None}]
    assert "hush" not in json.dumps(client.ask("changes.list"))
    assert "hush" not in program.audit.read_text()
    assert program.run("print(pf.FLAGS.token)") == "hush"


def test_who_waits_too_long_for_a_validator_is_told_so_and_nothing_happens_later(program, client):
    program.hang()
    error = client.fail("fleet.apply", fleet=URL, values=values(low="3"), timeout=0.3)
    assert (error["code"], error["data"]["kind"]) == (504, "timeout")
    assert "waiting for validators of low" in error["message"]
    program.go_on()
    client.ask("flags.set", set={"count": 5})  # after it, on the same thread
    assert client.text("low") == "2"


def test_what_the_program_sets_meanwhile_is_no_change_of_the_fleet(program, client):
    more = "setattr(pf.FLAGS, 'count', pf.FLAGS['count'].value + 1)"
    program.run(f"pf.FLAGS['mode'].validate(lambda _: {more} or True)")
    assert apply(client, values=values(mode="best")) == [
        {"name": "mode", "old": "fast", "new": "best"}
    ]
    assert int(client.text("count")) > 2


def test_hello_says_whether_startup_is_over_and_counts_what_was_dropped(program, client):
    found = client.ask("hello")
    assert (found["startup_over"], found["dropped"]) == (False, 0)
    apply(client, values=values(late="10", level="7"))
    program.run("pf.define('late', 1, max=9); pf.parse(['prog'])")
    found = client.ask("hello")
    assert (found["startup_over"], found["dropped"]) == (True, 2)
    error = client.fail("fleet.apply", fleet=URL, values=values(seed="2"))
    assert problems(error) == [("seed", "rejected")]
    assert "can be set at startup only" in error["message"]


def test_watchers_of_the_program_are_notified(program, client):
    apply(client, values=values(level="7"))
    until(lambda: program.run("print(seen)") == "[7]")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"values": {}}, "expected fleet, its address, and values, an object"),
        ({"fleet": URL}, "expected fleet, its address, and values, an object"),
        ({"fleet": URL, "values": []}, "values: expected an object of values by name"),
        (
            {"fleet": URL, "values": {"level": "7"}},
            "level: expected an object with text, and revision, a number from 1 on",
        ),
        (
            {"fleet": URL, "values": values(a="1") | {"level": {"text": "7", "revision": 0}}},
            "level: expected an object with text, and revision, a number from 1 on",
        ),
        (
            {"fleet": URL, "values": {"level": {"text": "7", "revision": 1, "x": 1}}},
            "level: expected an object with text, and revision, a number from 1 on",
        ),
        ({"fleet": URL, "values": {}, "until": "x"}, "until: expected a time in ms since 1970"),
    ],
)
def test_params_that_are_not_as_described_are_refused(client, params, message):
    error = client.fail("fleet.apply", **params)
    assert (error["code"], error["message"]) == (-32602, f"params: {message}")
