"""The verbs of paddle-flags for a fleet, as operators use them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from members import SOON

pytestmark = pytest.mark.extended  # each test starts processes


def lines(ended):
    """Return the lines of a table, without its spaces."""
    return [" ".join(line.split()) for line in ended.stdout.splitlines()]


@pytest.mark.parametrize(
    ("tokens", "what"),
    [
        (["set"], "expected NAME=VALUE, --unset NAME or --file FILE"),
        (["set", "level"], "level: expected NAME=VALUE"),
        (["set", "level=1", "level=2"], "level: is given twice"),
        (["set", "level=1", "--role", "a", "--host", "b"], "role:a and host:b: expected one of"),
        (["set", "level=1", "--for", "soon"], "'soon': expected a time such as 90s, 10m or 1h30m"),
        (["set", "level=1", "--at-step", "-1"], "'-1': expected a whole number"),
        (["set", "level=1", "--wait", "1e300"], "a positive number of seconds, up to 1000000"),
        (["reset", "x"], "'x': expected the number of a change, as 'log' lists them"),
        (["reset", "-1"], "'-1': expected the number of a change, as 'log' lists them"),
    ],
)
def test_a_wrong_command_line_ends_with_2_and_says_what_is_wrong(fleet_command, tokens, what):
    ended = fleet_command(*tokens)
    assert ended.returncode == 2
    assert what in ended.stderr


def test_an_engine_that_is_away_ends_with_3(fleet_command, tmp_path):
    ended = fleet_command("status", on=f"dir://{tmp_path}/not/there")
    assert ended.returncode == 3
    assert "there is no folder" in ended.stderr or "not" in ended.stderr


@pytest.mark.parametrize(
    ("place", "what"),
    [
        ("dir:{}/job", "expected dir:///path, with three slashes and an absolute path, such as"),
        ("dir://{}/file", "is a file, expected a folder"),
        ("redis://{}", " expected one of configmap, dask, "),
    ],
)
def test_a_wrong_address_is_told_with_the_right_one(fleet_command, tmp_path, place, what):
    (tmp_path / "file").touch()
    assert what in fleet_command("status", on=place.format(tmp_path)).stderr


def test_a_misspelt_flag_is_told_with_the_nearest_one(fleet_command):
    fleet_command("set", "level=3")
    assert "no value here; did you mean 'level'?" in fleet_command("get", "levle").stderr


def test_a_change_without_effect_can_not_be_undone(fleet_command):
    fleet_command("set", "level=3", "--dry-run")
    assert "revision 1 can't be undone: dry run" in fleet_command("undo", "1").stderr


def test_a_long_value_is_shortened_in_a_conflict(fleet_command):
    fleet_command("set", "level=" + 1000 * "3")
    error = fleet_command("set", "level=4", "--expect", "level=5").stderr
    assert error.count("3") < 60
    assert "expected 5" in error


def test_an_engine_has_as_long_to_answer_as_the_command_line_says(fleet_command):
    for verb, *rest in (["status"], ["join", "--", "true"]):
        ended = fleet_command(verb, "--timeout", "1.25", *rest, on="etcd://127.0.0.1:1/job")
        assert ended.returncode == 3
        assert "no answer from etcd within 1.25 s" in ended.stderr


def test_a_fleet_without_members_stores_values(fleet_command):
    ended = fleet_command("set", "level=3", "lr=0.5", "--role", "trainer", "--reason", "try")
    assert ended.returncode == 0
    assert lines(ended) == ["no member has checked it", "revision 1: committed"]
    assert lines(fleet_command("status")) == ["revision 1, no members"]
    found = lines(fleet_command("list"))
    assert found[0] == "flag value for revision by reason"
    assert found[1].startswith("level 3 role:trainer 1 ")
    assert found[1].endswith(" try")
    assert len(lines(fleet_command("list", "l?"))) == 2


def test_set_waits_for_the_answers_and_prints_them(fleet_command, members):
    one, _ = members()
    one.do("level.validate(lambda value: value != 13, 'unlucky')")
    ended = fleet_command("set", "level=12")
    assert ended.returncode == 0
    assert lines(ended)[1:3] == ["trainer-0 accepted", "trainer-1 accepted"]
    ended = fleet_command("set", "level=14", "--wait", "60")
    assert ended.returncode == 0
    assert lines(ended)[1:] == ["trainer-0 applied", "trainer-1 applied", "revision 4: committed"]
    ended = fleet_command("set", "level=13", "--force", "--wait", "60")
    assert ended.returncode == 1
    assert lines(ended)[1].startswith("trainer-0 rejected ")
    assert lines(ended)[2] == "trainer-1 applied"


def test_a_change_that_is_aborted_ends_with_1_and_says_why(fleet_command, members):
    one, _ = members()
    one.do("level.validate(lambda value: value != 13, 'unlucky')")
    ended = fleet_command("set", "level=13", "--wait", "60")
    assert ended.returncode == 1
    assert "error: revision 1: aborted: trainer-0 rejects it: " in ended.stderr
    assert "unlucky" in ended.stderr
    assert "aborted: trainer-0 rejects it: " in lines(fleet_command("log"))[1]
    ended = fleet_command("set", "level=13", "--dry-run", "--json")
    assert ended.returncode == 1
    document = json.loads(ended.stdout)
    assert document["verdict"] == "dry run"
    assert document["answers"]["trainer-0"]["state"] == "rejected"


def test_a_member_that_does_not_answer_is_named_and_ends_with_4_by_force(fleet_command, members):
    _, two = members(2, ttl=60.0)
    two.stop()
    ended = fleet_command("set", "level=12", "--wait", "0.5")
    assert ended.returncode == 1
    assert "trainer-1 no answer slow: it has read revision 0" in lines(ended)
    assert "aborted: no answer of trainer-1 after 0.5 s" in ended.stderr
    ended = fleet_command("set", "level=12", "--wait", "0.5", "--force")
    assert ended.returncode == 4
    assert "trainer-1 no answer slow: it has read revision 0" in lines(ended)
    two.kill()


def test_status_names_what_is_wrong(fleet_command, members):
    one, two = members()
    assert lines(fleet_command("status"))[1].startswith("trainer-0 current 0 ")
    one.do("level.value = 5")
    ended = fleet_command("set", "level=12", "--wait", "60")
    assert ended.returncode == 1
    two.kill()
    ended = fleet_command("status")
    assert "trainer-0: revision 2: held: level by run time" in lines(ended)
    assert ended.returncode in (1, 4)
    document = json.loads(fleet_command("status", "--json").stdout)
    assert document["revision"] == 2


def test_a_change_that_concerns_nobody_says_that_nobody_has_checked_it(fleet_command, members):
    members(1)
    for options in ([], ["--wait", "60"], ["--at-step", "5"], ["--dry-run"]):
        ended = fleet_command("set", "level=3", "--role", "trainr", *options)
        assert ended.returncode == 0
        near = "no member has role trainr; did you mean trainer?"
        assert lines(ended)[0] == f"no member has checked it: {near}"


def test_a_problem_ends_in_status_with_the_change_that_replaces_its_values(fleet_command, members):
    one, _ = members()
    one.do("level.validate(lambda value: value != 13, 'unlucky')")
    assert fleet_command("set", "level=13", "lr=0.5", "--force", "--wait", "60").returncode == 1
    assert fleet_command("set", "level=12", "--wait", "60").returncode == 0
    ended = fleet_command("status")  # trainer-0 has no lr of the fleet
    assert (ended.returncode, "revision 1: rejected" in ended.stdout) == (1, True)
    assert "unlucky" in ended.stdout
    assert fleet_command("unset", "lr", "--wait", "60").returncode == 0
    ended = fleet_command("status")
    assert (ended.returncode, "rejected" in ended.stdout) == (0, False)


def test_diff_lists_values_sources_and_members(fleet_command, members):
    one, _ = members()
    assert (fleet_command("diff").returncode, fleet_command("diff").stdout) == (0, "")
    one.do("level.value = 5; pf.fleet.member().follow_and_publish()")
    ended = fleet_command("diff")
    assert ended.returncode == 1
    assert lines(ended)[0] == "flag value source members"
    assert lines(ended)[1].startswith("level 5 run time ")
    assert lines(ended)[2] == "1 default trainer-1"
    [found] = json.loads(fleet_command("diff", "--json").stdout)["different"]
    assert found["name"] == "level"


def test_a_batch_comes_from_a_file(fleet_command, tmp_path):
    toml = tmp_path / "batch.toml"
    toml.write_text("level = 4\n[beta]\nports = [1, 2]\n")
    assert fleet_command("set", "--file", str(toml), "lr=0.5").returncode == 0
    flagfile = tmp_path / "batch.flags"
    flagfile.write_text("# what was found\n--lr=0.25\n")
    assert fleet_command("set", "--file", str(flagfile)).returncode == 0
    found = json.loads(fleet_command("list", "--json").stdout)["all"]
    values = {name: (each["value"], each["revision"]) for name, each in found.items()}
    assert values == {"level": ("4", 1), "beta.ports": ("1,2", 1), "lr": ("0.25", 2)}
    flagfile.write_text("lr 0.25\n")
    ended = fleet_command("set", "--file", str(flagfile))
    assert ended.returncode == 2
    assert f"{flagfile}:1: lr 0.25: expected --NAME=VALUE" in ended.stderr


def test_log_and_reset_bring_a_revision_back(fleet_command):
    fleet_command("set", "level=1", "--for", "10m")
    fleet_command("set", "lr=1")
    fleet_command("unset", "lr", "--reason", "too much")
    assert fleet_command("reset", "2").returncode == 0
    found = lines(fleet_command("log"))
    assert found[0] == "revision at change state by reason"
    changes = ["reset to revision 2", "-lr", "lr=1", "level=1 for 600 s"]
    for line, number, change in zip(found[1:], (4, 3, 2, 1), changes):
        assert line.startswith(f"{number} ")
        assert change in line
    assert len(lines(fleet_command("log", "--last", "2"))) == 3
    values = json.loads(fleet_command("list", "--json").stdout)
    assert list(values["all"]) == ["lr"]


def test_a_conflict_ends_with_1_and_names_the_changes(fleet_command):
    fleet_command("set", "level=1")
    ended = fleet_command("set", "level=2", "--expect", "0")
    assert ended.returncode == 1
    assert "was changed by revision 1, expected 0" in ended.stderr
    assert ": level=1" in ended.stderr
    assert fleet_command("set", "level=2", "--expect", "1").returncode == 0


def complete(line: str) -> list[str]:
    """Return what a shell would offer at the end of a line."""
    env = {**os.environ, "_PD_FLAGS_COMPLETE": f"fish 1 0 {line}"}
    command = f"exec 8>&1; {sys.executable} -m paddle_flags"
    ended = subprocess.run(
        ["sh", "-c", command], env=env, capture_output=True, text=True, timeout=SOON, check=True
    )
    return [each.partition("\t")[0] for each in ended.stdout.splitlines()[1:]]


def test_a_shell_completes_options_flags_and_members(fleet, members, url):
    one, _ = members()
    fleet.set({"lr": 0.5})
    one.do("level.value = 5; pf.fleet.member().follow_and_publish()")
    assert complete(f"paddle-flags set {url} --fo") == ["--for", "--force"]
    assert complete(f"paddle-flags set {url} l") == ["level=", "lr="]
    assert complete(f"paddle-flags get {url} lr") == ["lr"]
    assert complete(f"paddle-flags diff {url} lr") == ["lr"]
    assert complete(f"paddle-flags set {url} --member ") == ["trainer-0", "trainer-1"]
    assert complete(f"paddle-flags set {url} --role=") == ["--role=trainer"]


# ---- One flag ----


def test_get_prints_a_value_alone_or_several_by_name(fleet_command):
    fleet_command("set", "level=3", "lr=0.5")
    fleet_command("set", "lr=0.1", "--role", "trainer")
    fleet_command("set", "rate=1", "--role", "trainer")
    assert fleet_command("get", "level").stdout == "3\n"
    assert fleet_command("get", "level", "lr").stdout == "level=3\nlr=0.5\n"
    assert fleet_command("get", "lr", "--role", "trainer").stdout == "0.1\n"
    ended = fleet_command("get", "rate", "none")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert [line.partition(" error: ")[2] for line in ended.stderr.splitlines()] == [
        "rate: the fleet gives it a value for role:trainer only; add --role trainer",
        "none: the fleet gives it no value here",
    ]


def test_explain_lists_values_members_that_differ_and_changes(fleet_command, members):
    one, _ = members()
    fleet_command("set", "level=3", "--reason", "try", "--wait", "60")
    one.do("level.value = 5; pf.fleet.member().follow_and_publish()")
    found = lines(fleet_command("explain", "level"))
    assert found[:2] == ["level", ""]
    assert found[2:4] == ["values of the fleet:", "flag value for revision by reason"]
    assert found[4].startswith("level 3 all 2 ")
    assert "members that differ:" in found
    assert found[-3:-1] == ["changes, the latest first:", "revision at change state by reason"]
    assert found[-1].endswith(" try")
    assert lines(fleet_command("explain", "none"))[-1] == "the fleet gives it no value"


# ---- Expectations and undo ----


def test_expected_values_are_those_of_the_fleet(fleet_command):
    fleet_command("set", "level=1", "lr=0.5")
    ended = fleet_command("set", "level=2", "--expect", "level=3", "--expect", "none=1")
    assert ended.returncode == 1
    assert [line.partition(" error: ")[2] for line in ended.stderr.splitlines()] == [
        "level: is 1, expected 3",
        "none: isn't set, expected 1",
    ]
    assert fleet_command("set", "level=2", "--expect", "level=1").returncode == 0
    assert fleet_command("get", "level").stdout == "2\n"


def test_undo_takes_one_change_back(fleet_command):
    fleet_command("set", "level=1", "--reason", "first")
    fleet_command("set", "level=2", "lr=0.5")
    fleet_command("set", "rate=1")
    assert lines(fleet_command("undo", "2", "--reason", "no"))[-1] == "revision 4: committed"
    assert fleet_command("get", "level", "rate").stdout == "level=1\nrate=1\n"
    assert fleet_command("get", "lr").returncode == 1
    assert lines(fleet_command("log"))[1].endswith("undo of revision 2: no")


def test_undo_takes_the_last_change_of_its_user_that_stands(fleet_command, fleet):
    fleet_command("set", "level=1")
    fleet_command("set", "lr=0.5")
    fleet.set({"rate": 1})  # by somebody else
    assert fleet_command("undo").returncode == 0
    assert fleet_command("undo").returncode == 0
    assert list(fleet.values()) == ["rate"]
    ended = fleet_command("undo")
    assert (ended.returncode, "can be undone" in ended.stderr) == (1, True)


def test_a_change_that_a_later_one_has_replaced_cannot_be_undone(fleet_command):
    fleet_command("set", "level=1", "lr=0.5")
    fleet_command("set", "level=2")
    ended = fleet_command("undo", "1")
    assert ended.returncode == 1
    assert ended.stderr.endswith("error: level: changed since revision 1\n")
    assert "the log has no change 9" in fleet_command("undo", "9").stderr


def test_all_that_forbids_a_change_is_reported_together(fleet, fleet_command, members):
    one, _ = members()
    one.do("pf.define('checks', True, '', unsafe=True)")
    one.do("pf.define('token', '', '', sensitive=True); pf.fleet.member().follow_and_publish()")
    ended = fleet_command("set", "checks=false", "token=x", "--wait", "60")
    assert ended.returncode == 1
    first, second = (line.partition(" error: ")[2] for line in ended.stderr.splitlines())
    assert first == "checks: is unsafe to change; add --confirm checks"
    assert second.startswith("token: is sensitive in trainer-0")
    assert fleet.revision == 0
