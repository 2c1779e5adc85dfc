"""events.subscribe."""

from __future__ import annotations

from serving import Client


def test_a_subscriber_gets_each_change_in_its_order(program, client):
    with Client(program.socket) as other:
        start = other.ask("events.subscribe")["revision"]
        client.ask("flags.set", set={"level": 7}, reason="higher")
        program.run("pf.FLAGS.mode = 'best'; pf.define('late', 1, 'Late')")
        found = []
        while len(found) < 3:
            message = other.read()
            assert message["method"] == "events.changes"
            assert message["params"]["from"] == start + len(found)
            found += message["params"]["changes"]
    assert [(each["name"], each["kind"]) for each in found] == [
        ("level", "value"),
        ("mode", "value"),
        ("late", "defined"),
    ]
    assert (found[0]["old"], found[0]["new"], found[0]["source"]) == ("6", "7", "live")
    assert (found[0]["reason"], found[0]["change"]) == ("higher", 1)
    assert "change" not in found[1]
    assert [each["revision"] for each in found] == [start + 1, start + 2, start + 3]


def test_a_subscriber_goes_on_where_it_was(program, client):
    epoch = client.ask("hello")["epoch"]
    program.run("for i in range(1, 8): pf.FLAGS.level = i")
    with Client(program.socket) as other:
        other.ask("events.subscribe", since=f"{epoch}-3")
        changes = other.read()["params"]["changes"]
    assert [each["revision"] for each in changes] == [4, 5, 6, 7]


def test_a_subscriber_that_has_missed_changes_is_told_so(program, client):
    epoch = client.ask("hello")["epoch"]
    program.run("for i in range(9000): pf.FLAGS.level = 1 + i % 2")
    for since in (f"{epoch}-1", "0123456789abcdef-1"):
        with Client(program.socket) as other:
            other.ask("events.subscribe", since=since)
            gap = other.read()
            assert gap["method"] == "events.gap"
            assert gap["params"]["revision"] >= 9000
            program.run("pf.FLAGS.rate += 1")
            assert other.read()["params"]["changes"][0]["name"] == "rate"


def test_a_subscriber_that_does_not_read_holds_nothing_up(program, client):
    with Client(program.socket) as other:
        other.ask("events.subscribe")
        program.run("text = 'x' * 3000")
        for _ in range(20):
            program.run("for i in range(100): pf.FLAGS.greeting = text + str(i)")
        assert client.text("level") == "6"
        revisions = []
        while not revisions or revisions[-1] < 2000:
            message = other.read()
            revisions.append(message["params"]["revision"])
    assert revisions == sorted(revisions)


def test_sensitive_values_are_not_in_events(program, client):
    with Client(program.socket) as other:
        other.ask("events.subscribe")
        client.ask("flags.set", set={"token": "swordfish3"})
        [event] = other.read()["params"]["changes"]
    assert event["name"] == "token"
    assert "old" not in event
    assert "swordfish" not in str(event)


def test_since_has_a_form(client):
    for wrong in ("3", "x-3", "0123456789abcdef-", "0123456789abcdef-x", 3):
        assert client.fail("events.subscribe", since=wrong)["code"] == -32602
