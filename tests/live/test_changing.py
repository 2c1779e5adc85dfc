"""flags.set: what it takes, and that all of it happens or nothing."""

from __future__ import annotations

import pytest
from serving import problems, until


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("level", "9", "9"),
        ("level", 9, "9"),
        ("level", "0x8", "8"),
        ("rate", 1e-3, "0.001"),
        ("rate", "1e-3", "0.001"),
        ("danger", True, "true"),
        ("limit", "64MiB", "67108864"),
        ("sizes", "3,4,5", "3,4,5"),
        ("greeting", 'a "quoted" \u00e9\n', 'a "quoted" \u00e9\n'),
    ],
)
def test_a_value_is_read_as_on_a_command_line(client, name, value, text):
    client.ask("flags.set", set={name: value}, confirm=["danger"])
    assert client.text(name) == text
    assert client.get(name)["source"] == "live"


@pytest.mark.parametrize(
    ("literal", "why"),
    [
        ("1e400", "expected"),
        ("1e-400", "expected"),
        ("1" * 400, "expected"),
    ],
)
def test_a_number_that_a_double_cannot_hold_is_refused_as_its_text_is(client, literal, why):
    client.send(
        f'{{"jsonrpc":"2.0","id":1,"method":"flags.set","params":{{"set":{{"rate":{literal}}}}}}}\n'
    )
    as_number = client.read()
    as_text = client.request("flags.set", {"set": {"rate": literal}})
    assert ("error" in as_number) == ("error" in as_text)
    if "error" in as_number:
        assert as_number["error"]["message"] == as_text["error"]["message"]
        assert why in as_text["error"]["message"]


def test_a_number_is_no_text_for_a_string(client):
    error = client.fail("flags.set", set={"greeting": 1.10})
    assert problems(error) == [("greeting", "rejected")]


def test_all_that_is_wrong_is_said_at_once_and_nothing_happens(client):
    error = client.fail(
        "flags.set",
        set={
            "level": 12,
            "mode": "bset",
            "nope": 1,
            "seed": 2,
            "danger": True,
            "rate": 1,
            "closed": 2,
            "low": 9,
        },
        expect={"greeting": "bye"},
    )
    assert error["code"] == 404
    assert error["data"]["kind"] == "unknown"
    assert sorted(problems(error), key=str) == sorted(
        [
            ("nope", "unknown"),
            ("seed", "forbidden"),
            ("closed", "forbidden"),
            ("danger", "confirm"),
            ("greeting", "conflict"),
            ("level", "rejected"),
            ("mode", "rejected"),
            (None, "rejected"),
        ],
        key=str,
    )
    assert error["data"]["current"] == {"greeting": "hello"}
    assert (client.text("level"), client.text("rate")) == ("6", "0.5")


def test_flags_that_a_validator_sees_together_change_together(client):
    client.ask("flags.set", set={"low": 10, "high": 20})
    error = client.fail("flags.set", set={"low": 30})
    assert problems(error) == [(None, "rejected")]
    assert "expected low <= high" in error["message"]
    assert client.text("low") == "10"


def test_a_dry_run_says_what_would_happen(client):
    found = client.ask("flags.set", set={"level": 9, "mode": "best"}, dry_run=True, for_="10m")
    assert found["change"] is None
    assert found["until"]
    assert [(each["old"], each["new"]) for each in found["flags"]] == [("6", "9"), ("fast", "best")]
    assert client.text("level") == "6"
    assert client.ask("changes.list")["changes"] == []


def test_changes_that_happen_are_numbered_without_gaps(client):
    assert client.ask("flags.set", set={"level": 7})["change"] == 1
    client.fail("flags.set", set={"level": 8}, expect={"level": 6})
    client.fail("flags.set", set={"low": 9})  # its validator rejects it
    client.ask("flags.set", set={"level": 8}, dry_run=True)
    assert client.ask("changes.undo")["change"] == 2


def test_nothing_changes_unless_flags_have_the_expected_values(client):
    client.ask("flags.set", set={"level": 7}, expect={"lvl": "0x6", "limit": None})
    error = client.fail("flags.set", set={"level": 8}, expect={"level": 6})
    assert error["code"] == 409
    assert error["data"]["current"] == {"level": "7"}
    assert client.text("level") == "7"


def test_sensitive_values_cannot_be_guessed_by_expectations(client):
    wrong = client.fail("flags.set", set={"token": "x"}, expect={"token": "guess"})
    right = client.fail("flags.set", set={"token": "x"}, expect={"token": "swordfish"})
    assert wrong == right
    assert wrong["code"] == 403


def test_an_unsafe_flag_needs_a_confirmation_by_its_name(client):
    assert client.fail("flags.set", set={"danger": True})["code"] == 428
    assert client.fail("flags.set", set={"danger": True}, confirm=["level"])["code"] == 428
    client.ask("flags.set", set={"danger": True}, confirm=["danger"])
    assert client.text("danger") == "true"


def test_a_flag_that_is_given_by_two_names_is_refused(client):
    error = client.fail("flags.set", set={"level": 1, "lvl": 2})
    assert error["code"] == 400
    assert problems(error) == [("lvl", "malformed")] or problems(error) == [("level", "malformed")]


def test_a_program_can_allow_more_flags(start):
    from serving import Client

    served = start("settable=clo*,se?d")
    with Client(served.socket) as client:
        client.ask("flags.set", set={"closed": 5})
        assert client.text("closed") == "5"
        assert client.get("seed")["refusal"] == "needs a restart"


def test_what_clients_have_set_is_taken_back(program, client):
    program.run("pf.FLAGS.level = 3")
    client.ask("flags.set", set={"level": 7})
    client.ask("flags.set", set={"level": 8}, for_="1h")
    found = client.ask("flags.set", unset=["level"])
    assert [(each["old"], each["new"]) for each in found["flags"]] == [("8", "3")]
    assert client.text("level") == "3"
    assert client.ask("hello")["temporary"] == 0
    client.ask("flags.set", set={"level": 7})
    client.ask("flags.set", set={"level": None})
    assert client.text("level") == "3"


def test_a_temporary_value_ends_on_time_and_what_waited_below_is_back(program, client):
    found = client.ask("flags.set", set={"level": 9, "greeting": "bye"}, for_="2s")
    assert found["flags"][0]["source"] == "override"
    flag = client.get("level")
    assert flag["temporary"]["change"] == found["change"]
    assert flag["temporary"]["below"] == "6"
    program.run("pf.FLAGS.level = 4")
    assert client.text("level") == "9"
    until(lambda: client.text("level") == "4")
    assert client.text("greeting") == "hello"
    [change] = client.ask("changes.list")["changes"]
    assert change["state"] == "ended"
    ended = until(lambda: [each for each in program.events() if each["event"] == "ended"])
    assert ended[0]["change"] == found["change"]


def test_a_temporary_value_ends_after_the_server_was_closed(program, client):
    client.ask("flags.set", set={"level": 9}, for_="0.6s")
    assert program.run("server.close(); print(pf.FLAGS.level)") == "9"
    until(lambda: program.run("print(pf.FLAGS.level)") == "6")


def test_a_value_below_a_temporary_one_is_hidden(client):
    client.ask("flags.set", set={"level": 9}, for_="1h")
    found = client.ask("flags.set", set={"level": 5})
    assert found["flags"][0]["hidden"] is True
    assert client.text("level") == "9"
    client.ask("changes.undo", change=1)
    assert client.text("level") == "5"


def test_watchers_of_the_program_are_notified(program, client):
    client.ask("flags.set", set={"level": 9})
    until(lambda: program.run("print(seen)") == "[9]")


def test_a_watcher_that_takes_long_keeps_no_other_change_waiting(program, client):
    program.run("pf.FLAGS['low'].watch(lambda *_: time.sleep(3))")
    client.ask("flags.set", set={"low": 1})
    client.ask("flags.set", set={"rate": 1}, timeout=2)
    assert client.text("rate") == "1"


@pytest.mark.parametrize(
    ("params", "member"),
    [
        ({}, "set and unset"),
        ({"set": {}}, "set and unset"),
        ({"set": []}, "set"),
        ({"set": {"level": [1]}}, "level"),
        ({"unset": {"level": 1}}, "unset"),
        ({"unset": [1]}, "unset"),
        ({"set": {"level": 1}, "reason": 5}, "reason"),
        ({"set": {"level": 1}, "reason": "x" * 1001}, "reason"),
        ({"set": {"level": 1}, "for": "soon"}, "for"),
        ({"set": {"level": 1}, "for": 0.01}, "for"),
        ({"set": {"level": 1}, "for": "31d"}, "for"),
        ({"set": {"level": None}, "for": "1m"}, "for"),
        ({"set": {"level": 1}, "dry_run": "yes"}, "dry_run"),
        ({"set": {"level": 1}, "confirm": "level"}, "confirm"),
        ({"set": {"level": 1}, "timeout": 0}, "timeout"),
        ({"set": {"level": 1}, "on_behalf_of": {"name": "x"}}, "on_behalf_of"),
        ({"set": {"level": 1}, "on_behalf_of": {"label": "x" * 201}}, "on_behalf_of"),
        ({"set": {"level": 1}, "sets": {}}, "sets"),
        ({"set": {f"f{i}": 1 for i in range(1001)}}, "set, unset and expect"),
    ],
)
def test_params_of_another_form_are_refused(client, params, member):
    error = client.request("flags.set", params)["error"]
    assert error["code"] == -32602
    assert member in error["message"]
    assert client.text("level") == "6"
