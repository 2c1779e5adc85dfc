"""What operators are told about names, unsafe flags, and members that are not here."""

from __future__ import annotations

import os
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from members import SOON, Failed, eventually, member_states, write
from support import IS_ROOT, in_url

import paddle_flags as pf
from paddle_flags.fleet import (
    AbortedError,
    Change,
    Fleet,
    FleetError,
    UnconfirmedError,
    _status,
    open_store,
)
from paddle_flags.fleet._record import CHECK, Record

NOBODY = 65534
RENAMED = 'pf.define("size", 1, "Size", aliases=["extent"], old_names=["width"], runtime=True)'
UNSAFE = 'pf.define("checks", True, "Check", aliases=["tests"], runtime=True, unsafe=True)'


# ---- Fleets that aren't there ----


@pytest.mark.parametrize(
    "tokens",
    [["status"], ["list"], ["get", "level"], ["diff"], ["log"], ["unset", "level"], ["reset", "0"]],
    ids=lambda tokens: tokens[0],
)
def test_a_folder_without_a_fleet_is_an_error_unless_something_is_set(
    fleet_command, tmp_path, tokens
):
    other = tmp_path / "other"
    other.mkdir()
    for place in (other / "misspelt", other):
        ended = fleet_command(*tokens, on=f"dir://{in_url(place)}")
        assert ended.returncode == 1
        assert f"dir://{in_url(place)}: there is no fleet in this folder" in ended.stderr
    assert list(other.iterdir()) == []


def test_a_fleet_is_opened_without_being_made(tmp_path):
    with pytest.raises(FleetError, match="there is no fleet in this folder"):
        Fleet(f"dir://{in_url(tmp_path)}/misspelt", create=False)
    with Fleet(f"dir://{in_url(tmp_path)}/job") as made:
        made.set({"level": 2})
    with Fleet(f"dir://{in_url(tmp_path)}/job", create=False) as found:
        assert found.values()["level"].value == "2"


# ---- Names ----


def test_a_flag_that_no_member_has_is_an_error(fleet, fleet_command, members):
    members()
    ended = fleet_command("set", "levle=2")
    assert ended.returncode == 1
    assert "no member has levle: trainer-0 says: " in ended.stderr
    assert "did you mean 'level'?" in ended.stderr
    assert fleet.values() == {}


def test_a_flag_that_no_member_has_can_be_set_by_force(fleet, fleet_command, members):
    members()
    ended = fleet_command("set", "levle=2", "--force", "--wait", "60")
    assert ended.returncode == 1
    assert "did you mean 'level'?" in ended.stdout
    assert "no member has such a flag yet" in ended.stderr
    assert fleet.values()["levle"].value == "2"


def test_a_flag_that_some_members_have_is_no_error(fleet, members):
    one, _ = members()
    one.do('pf.define("plugin_size", 1, "Size", runtime=True)')
    outcome = fleet.set({"plugin_size": 2}, wait=SOON)
    assert {each.state for each in outcome.answers.values()} == {"applied", "pending"}
    assert outcome.ok


@pytest.mark.extended  # takes a second or more
def test_an_alias_or_former_name_is_found_by_any_name_of_its_flag(fleet, fleet_command, members):
    one, _ = members()
    one.do(RENAMED)
    eventually(lambda: fleet.names("size"), {"size", "extent", "width"})
    assert fleet.set({"extent": 2}, member="trainer-0", wait=SOON).ok
    assert one.ask("FLAGS.size") == 2
    assert fleet.log()[0].record.changes == (Change("extent", "2", "member:trainer-0"),)
    for name in ("size", "extent", "width"):
        assert "extent  2" in fleet_command("list", name).stdout
    assert fleet.unset("width", member="trainer-0", wait=SOON).ok
    assert one.ask("FLAGS.size") == 1
    assert fleet.values() == {}


def test_taking_back_a_name_takes_back_what_was_set_by_its_alias_before(fleet, members):
    fleet.set({"extent": 5})
    fleet.set({"extent": 6}, role="trainer")
    one, _ = members()
    one.do(RENAMED)
    assert one.ask("FLAGS.size") == 6
    eventually(lambda: "extent" in fleet.names("size"))
    assert fleet.unset("size", "extent", role="trainer", wait=SOON).ok
    assert one.ask("FLAGS.size") == 5
    assert fleet.unset("size", wait=SOON).ok
    assert one.ask("FLAGS.size") == 1


# ---- Unsafe flags ----


def test_unsafe_flags_change_only_if_they_are_confirmed(fleet, members):
    one, _ = members()
    one.do(UNSAFE)
    eventually(lambda: "checks" in fleet.members()["trainer-0"]["unsafe"])
    for name, values in [("checks", {"checks": False}), ("tests", {"tests": False, "level": 2})]:
        with pytest.raises(UnconfirmedError, match=f"{name}: unsafe to change") as caught:
            fleet.set(values)
        assert caught.value.names == (name,)
    with pytest.raises(UnconfirmedError):
        fleet.unset("checks")
    assert fleet.revision == 0
    assert fleet.set({"tests": False}, confirm=["tests"], wait=SOON).ok
    assert one.ask("FLAGS.checks") is False


@pytest.mark.extended  # takes a second or more
def test_the_command_names_the_option_that_confirms(fleet, fleet_command, members):
    one, _ = members()
    one.do(UNSAFE)
    eventually(lambda: "checks" in fleet.members()["trainer-0"]["unsafe"])
    ended = fleet_command("set", "checks=false", "--wait", "60")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "checks: is unsafe to change; add --confirm checks" in ended.stderr
    ended = fleet_command("set", "checks=false", "--wait", "60", "--confirm", "checks")
    assert ended.returncode == 0, ended.stderr


def test_confirm_is_a_list_of_names(fleet):
    with pytest.raises(pf.FlagTypeError, match="confirm is 'level': expected a list of names"):
        fleet.set({"level": 2}, confirm="level")


@pytest.mark.parametrize("parameter", ["expect", "at_step"])
@pytest.mark.parametrize("value", ["3", 1.5, True, -1])
def test_revisions_and_steps_are_whole_numbers(fleet, parameter, value):
    with pytest.raises(pf.FlagArgumentError, match=f"{parameter} is .*: expected an integer"):
        fleet.set({"level": 2}, **{parameter: value})


def test_check_expects_a_whole_number_of_members(members):
    one, _ = members()
    with pytest.raises(Failed, match="expect is '2': expected an integer"):
        one.do("pf.fleet.check(expect='2')")


# ---- Members ----


@pytest.mark.extended  # takes a second or more
def test_members_that_left_are_told_from_those_that_died(
    fleet, fleet_command, members, monkeypatch
):
    ended, left, killed = members(3, ttl=1.0)
    fleet.set({"level": 2}, wait=SOON)
    ended.end()
    left.do("pf.fleet.leave()")
    assert member_states(fleet)["trainer-0"] == member_states(fleet)["trainer-1"] == "left"
    killed.kill()
    eventually(lambda: member_states(fleet)["trainer-2"], "gone")
    assert fleet_command("status").returncode == 4
    monkeypatch.setattr(_status, "_RECENT", 0)
    assert "trainer-2" in member_states(fleet)
    fleet.set({"level": 3})
    assert member_states(fleet) == {"trainer-0": "left", "trainer-1": "left"}


def test_status_is_well_when_all_have_left(fleet_command, members):
    for each in members():
        each.end()
    assert fleet_command("status").returncode == 0


def test_status_has_no_bound(fleet, fleet_command, store):
    names = [f"m{number:03}" for number in range(300)]
    for name in names:
        store.announce(name, b'{"revision": 0}', SOON)
    assert [each.name for each in fleet.status().members] == names
    assert fleet_command("status").stdout.endswith("revision 0, 300 members\n")


def test_a_member_is_behind_only_while_it_has_not_read_a_change(fleet, store, members):
    one, two = members(2, ttl=SOON)
    two.stop()
    write(store, Record(CHECK))
    one.wait_for("pf.fleet.member().revision", 1)
    assert member_states(fleet) == {"trainer-0": "current", "trainer-1": "current"}
    fleet.set({"level": 3}, force=True)
    eventually(lambda: member_states(fleet), {"trainer-0": "current", "trainer-1": "slow"})
    assert "has read revision 0 of 2" in fleet.status().members[1].why
    two.go_on()
    eventually(lambda: member_states(fleet)["trainer-1"], "current")


def test_a_member_that_has_left_may_come_again(fleet, process):
    one = process().begin(name="one")
    fleet.set({"level": 2}, wait=SOON)
    one.do("pf.fleet.leave()")
    two = process().begin(name="one")
    assert member_states(fleet) == {"one": "current"}
    assert fleet.set({"level": 3}, wait=SOON).ok
    two.end()
    assert member_states(fleet) == {"one": "left"}


def test_ranks_that_left_are_not_missing(fleet, process):
    world = {"WORLD_SIZE": "3"}
    two = [process(**world, RANK=str(rank)).begin() for rank in (0, 1)]
    fleet.set({"level": 2}, wait=SOON)
    two[1].end()
    assert member_states(fleet) == {"rank-0": "current", "rank-1": "left", "rank-2": "missing"}


@pytest.mark.skipif(not IS_ROOT, reason="only root can be two users")
def test_a_member_whose_document_is_hidden_counts_as_one_that_has_not_answered():
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        root = Path(place, "fleet")
        with closing(open_store(f"dir://{in_url(root)}")) as made:
            made.announce("one", b"{}", 60)
            for folder in [root, *root.iterdir()]:
                folder.chmod(0o777)
            (root / "members" / "one").chmod(0)
            os.seteuid(NOBODY)
            try:
                with Fleet(f"dir://{in_url(root)}") as operator:
                    assert member_states(operator) == {"one": "lost"}
                    with pytest.raises(AbortedError, match=r"no answer of one after 0\.2 s") as got:
                        operator.set({"level": 2}, wait=0.2)
                    assert got.value.outcome.silent == {
                        "one": "this user may not read what it says"
                    }
            finally:
                os.seteuid(0)


# ---- What is said ----


def test_a_change_that_members_reject_says_how_many(fleet_command, members):
    one, _ = members()
    one.do("level.validate(lambda value: value != 13, 'unlucky')")
    ended = fleet_command("set", "level=13", "--force", "--wait", "60")
    last = ended.stdout.splitlines()[-1]
    assert last == "revision 1: committed, and 1 of 2 members did not take it"


def test_the_reason_of_a_member_is_cut(fleet, members):
    one, _ = members()
    one.do('pf.define("text", "", "Text", runtime=True, choices=["", "a"])')
    outcome = fleet.set({"text": "x" * 100_000}, force=True, wait=SOON)
    assert len(outcome.answers["trainer-0"].why) <= 1000


def test_the_log_lists_at_least_one_change(fleet_command):
    ended = fleet_command("log", "--last", "0")
    assert ended.returncode == 2
    assert "'0': expected a whole number, 1 or more" in ended.stderr


@pytest.mark.parametrize("sign", ["/", "?", "#"])
def test_a_password_with_signs_of_addresses_is_in_no_message(sign):
    with pytest.raises(FleetError) as caught:
        open_store(f"etcd://ann:top{sign}secret@localhost:2379/job")
    assert "%2F" in str(caught.value)
    assert "top" not in str(caught.value)
    assert "secret" not in str(caught.value)
