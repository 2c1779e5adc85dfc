"""changes.list and changes.undo."""

from __future__ import annotations

from serving import Client


def states(client):
    return [(each["change"], each["state"]) for each in client.ask("changes.list")["changes"]]


def test_the_last_change_is_undone_with_all_its_flags(client):
    client.ask("flags.set", set={"level": 7})
    client.ask("flags.set", set={"level": 8, "rate": 1}, reason="faster")
    found = client.ask("changes.undo", reason="slower")
    assert found["change"] == 3
    assert (client.text("level"), client.text("rate")) == ("7", "0.5")
    client.ask("changes.undo")
    assert client.text("level") == "6"
    assert client.get("level")["source"] == "default"
    assert states(client) == [(4, "kept"), (3, "kept"), (2, "undone"), (1, "undone")]
    assert client.fail("changes.undo")["message"] == "there is no change of yours to undo"


def test_an_undo_can_be_tried(client):
    client.ask("flags.set", set={"level": 7})
    found = client.ask("changes.undo", dry_run=True)
    assert (found["change"], found["flags"][0]["new"]) == (None, "6")
    assert client.text("level") == "7"


def test_a_temporary_change_is_undone_before_its_end(client):
    client.ask("flags.set", set={"level": 7, "rate": 1}, for_="1h")
    client.ask("changes.undo", change=1)
    assert (client.text("level"), client.text("rate")) == ("6", "0.5")
    assert states(client) == [(2, "kept"), (1, "undone")]


def test_what_has_changed_since_cannot_be_undone(program, client):
    client.ask("flags.set", set={"level": 7})
    assert client.ask("changes.list")["changes"][0]["undoable"] is True
    program.run("pf.FLAGS.level = 8")
    assert client.ask("changes.list")["changes"][0]["undoable"] is False
    error = client.fail("changes.undo", change=1)
    assert (error["code"], error["message"]) == (409, "level: has changed since change 1")
    assert client.text("level") == "8"


def test_a_change_of_a_flag_that_is_frozen_cannot_be_undone(program, client):
    client.ask("flags.set", set={"level": 7})
    program.run("level.freeze()")
    assert client.ask("changes.list")["changes"][0]["undoable"] is False
    assert client.fail("changes.undo", change=1)["message"] == "level: is frozen"
    program.run("level.unfreeze()")
    assert client.ask("changes.list")["changes"][0]["undoable"] is True


def test_a_change_is_undone_once(client):
    client.ask("flags.set", set={"level": 7})
    client.ask("changes.undo", change=1)
    assert client.fail("changes.undo", change=1)["message"] == "change 1 is undone already"
    assert client.fail("changes.undo", change=2)["message"] == "change 2 is an undo"
    assert client.fail("changes.undo", change=99)["code"] == 404


def test_only_on_behalf_of_its_author_a_change_is_undone(client):
    ops = {"label": "ops", "host": "10.0.0.7"}
    client.ask("flags.set", set={"level": 7}, on_behalf_of=ops)
    assert client.fail("changes.undo", change=1)["code"] == 403
    [change] = client.ask("changes.list")["changes"]
    assert change["who"]["on_behalf_of"] == ops
    assert change["undoable"] is False
    assert client.ask("changes.list", on_behalf_of=ops)["changes"][0]["undoable"] is True
    client.ask("changes.undo", on_behalf_of={"label": "ops"})
    assert client.text("level") == "6"


def test_a_sensitive_value_that_is_not_kept_cannot_come_back(client):
    client.ask("flags.set", set={"token": "one"})
    client.ask("flags.set", set={"token": "two"})
    assert "former value" in client.fail("changes.undo")["message"]


def test_many_changes_come_in_pages_and_old_ones_go(client):
    text = "x" * 3000
    for i in range(500):
        client.ask("flags.set", set={"greeting": f"{text}{i}"})
    found, pages, before = [], 0, None
    while pages == 0 or before is not None:
        page = client.ask("changes.list", before=before)
        found += [each["change"] for each in page["changes"]]
        before = page["next"]
        pages += 1
    assert pages > 2
    assert found == list(range(500, 500 - len(found), -1))
    assert 100 < len(found) < 500  # 2 MiB of them


def test_a_second_client_of_the_same_user_may_undo(program, client):
    client.ask("flags.set", set={"level": 7})
    with Client(program.socket) as other:
        other.ask("changes.undo")
    assert client.text("level") == "6"


def test_taking_back_a_temporary_value_cannot_be_undone(client):
    client.ask("flags.set", set={"rate": 7}, for_="1h")
    client.ask("flags.set", unset=["rate"])
    assert client.ask("changes.list")["changes"][0]["undoable"] is False
    error = client.fail("changes.undo", change=2)
    assert error["message"] == "rate: had a temporary value, which has ended for good"
    assert client.text("rate") == "0.5"
