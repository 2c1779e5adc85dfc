"""The file of changes, and the functions that get them."""

from __future__ import annotations

import json
import os

import pytest
from serving import Client, change, until

import paddle_flags as pf

# A limit of the size of files stands for a full disk.
LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({}, resource.RLIM_INFINITY))"


def test_each_change_and_refusal_is_one_line(program, client):
    client.ask("flags.set", set={"level": 9}, reason="why", on_behalf_of={"label": "ops"})
    client.fail("flags.set", set={"level": 12}, reason="more")
    client.ask("flags.set", set={"level": 8}, dry_run=True)
    client.ask("changes.undo", on_behalf_of={"label": "ops"})
    client.ask("flags.set", set={"token": "swordfish4"})
    events = program.events()
    assert [each["event"] for each in events] == ["set", "refused", "undo", "set"]
    assert events[0]["flags"] == [{"name": "level", "old": "6", "new": "9"}]
    assert events[0]["reason"] == "why"
    assert events[0]["who"]["on_behalf_of"] == {"label": "ops"}
    assert events[0]["who"]["pid"] == os.getpid()
    assert events[1]["flags"] == [{"name": "level", "new": "12"}]
    assert events[1]["kind"] == "rejected"
    assert "expected an integer in [1, 9]" in events[1]["detail"]
    assert events[2]["undoes"] == 1
    assert events[3]["flags"] == [{"name": "token"}]
    assert oct(program.audit.stat().st_mode & 0o777) == "0o600"


def test_the_file_is_opened_again_after_it_was_renamed(program, client):
    client.ask("flags.set", set={"level": 9})
    program.audit.rename(program.audit.with_suffix(".1"))
    client.ask("flags.set", set={"level": 8})
    assert [each["change"] for each in program.events()] == [2]


def test_a_full_disk_leaves_whole_lines_and_the_number_of_lost_events(program, client):
    client.ask("flags.set", set={"level": 9})
    size = program.audit.stat().st_size
    program.run(LIMIT.format(size + 100))  # the next line fits in part
    for value in (8, 7, 6):
        client.ask("flags.set", set={"level": value})
    assert program.audit.stat().st_size == size
    assert client.text("level") == "6"
    program.run(LIMIT.format("resource.RLIM_INFINITY"))
    client.ask("flags.set", set={"level": 5})
    lines = program.audit.read_text("utf-8").splitlines()
    events = [json.loads(line) for line in lines]
    assert [each["event"] for each in events] == ["set", "lost", "set"]
    assert events[1]["lost"] == 3
    assert events[2]["change"] == 5


def test_a_part_of_a_line_that_others_wrote_behind_is_separated(program, client):
    client.ask("flags.set", set={"level": 9})
    with program.audit.open("a", encoding="utf-8") as file:
        file.write('{"of": "another process"}\n')
    client.ask("flags.set", set={"level": 8})
    assert len(program.events()) == 3


def test_a_link_is_not_followed(program, client):
    target = program.audit.with_name("target")
    target.write_text("precious\n")
    program.audit.unlink()
    program.audit.symlink_to(target)
    client.ask("flags.set", set={"level": 9})
    assert target.read_text() == "precious\n"


def test_functions_get_each_event_as_a_dictionary(start):
    from serving import Client

    program = start("events=1")
    with Client(program.socket) as client:
        client.ask("flags.set", set={"rate": 2}, reason="why")
    event = until(lambda: program.run("print(seen[0]['reason'] if seen else '')"))
    assert event == "why"


def test_a_function_that_fails_is_reported_and_the_others_are_called(start):
    program = start()
    program.run("sys.unraisablehook = lambda failure: seen.append(str(failure.exc_value))")
    program.run(
        "other = serve('./other.sock', audit=[lambda _: 1 / 0, lambda e: seen.append(e['change'])])"
    )
    change(program.socket.parent / "other.sock", "rate", 2)
    until(lambda: program.run("print(seen)") == "['division by zero', 1]")


@pytest.mark.parametrize("wrong", [3, [3], [["a"]], ["a", "b"]])
def test_another_audit_is_refused(tmp_path, wrong):
    with pytest.raises(pf.FlagError, match="audit: expected"):
        pf.serve(tmp_path / "flags.sock", audit=wrong)
    assert not list(tmp_path.iterdir())


def test_a_warning_lists_the_temporary_changes_when_the_program_ends(start):
    program = start()
    program.run("import logging; logging.basicConfig(filename='log')")
    change(program.socket, "level", 9, for_="1h", reason="why")
    assert program.stop() == 0
    text = (program.socket.parent / "log").read_text()
    assert "the program ends and temporary change 1 is on: level from '6' to '9'" in text


def test_changes_that_are_given_up_are_refusals(program):
    program.hang()
    with Client(program.socket) as client, Client(program.socket) as other:
        client.fail("flags.set", set={"mode": "best"}, timeout=0.5, reason="why")
        other.fail("flags.set", set={"rate": 2}, timeout=0.5)  # it has never begun
    program.go_on()
    events = until(lambda: len(found := program.events()) == 2 and found)
    assert [(each["event"], each["kind"]) for each in events] == [("refused", "timeout")] * 2
    assert (events[0]["flags"], events[0]["reason"]) == ([{"name": "mode", "new": "best"}], "why")
