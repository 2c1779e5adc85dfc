"""Changes that all members take or none, and those that they take at a step."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest
from members import SOON, Failed, eventually, states

from paddle_flags.fleet import (
    AbortedError,
    open_store,
)

# ---- All or none ----


def test_one_that_rejects_keeps_all_from_changing(fleet, members):
    one, two = members()
    one.do("level.validate(lambda value: value != 13, 'unlucky')")
    with pytest.raises(AbortedError, match=r"trainer-0 rejects it: .*unlucky") as raised:
        fleet.set({"level": 13}, all_or_none=True, wait=SOON)
    assert states(raised.value.outcome)["trainer-0"] == "rejected"
    assert [each.ask("level.value") for each in (one, two)] == [1, 1]


def test_if_all_accept_all_change(fleet, members):
    two = members()
    outcome = fleet.set({"level": 12}, all_or_none=True, wait=SOON)
    assert states(outcome) == {"trainer-0": "applied", "trainer-1": "applied"}
    assert [each.ask("level.value") for each in two] == [12, 12]


def test_a_dry_run_asks_all_and_changes_nothing(fleet, members):
    one, two = members()
    one.do("level.validate(lambda value: value != 13, 'unlucky')")
    outcome = fleet.set({"level": 13}, dry_run=True, wait=SOON)
    assert outcome.verdict == "dry run"
    assert states(outcome) == {"trainer-0": "rejected", "trainer-1": "applied"}
    assert [each.ask("level.value") for each in (one, two)] == [1, 1]


OPERATOR = """
import os, sys
from paddle_flags.fleet import Fleet, _operate
_operate._votes = lambda *_: os._exit(9)  # it dies when it has proposed
Fleet(sys.argv[1]).set({"level": 13}, all_or_none=True, wait=0.2)
"""


def test_when_an_operator_dies_members_abort_what_it_had_proposed(fleet, members, url):
    two = members()
    ended = subprocess.run([sys.executable, "-c", OPERATOR, url], timeout=SOON, check=False)
    assert ended.returncode == 9
    outcome = fleet.set({"lr": 0.5}, wait=SOON)  # nothing waits for the proposal
    assert outcome.ok
    eventually(lambda: fleet.status().undecided, [])
    assert fleet.log()[0].verdict.startswith("abort: nobody had decided")
    assert [each.ask("[level.value, lr.value]") for each in two] == [[1, 0.5]] * 2


def test_when_a_member_is_killed_before_it_votes_nothing_changes(fleet, members):
    one, two = members()
    two.stop()
    failed: list[AbortedError] = []

    def change() -> None:
        try:
            fleet.set({"level": 13}, all_or_none=True, wait=SOON)
        except AbortedError as error:
            failed.append(error)

    changing = threading.Thread(target=change)
    changing.start()
    two.kill()
    changing.join(SOON)
    assert "trainer-1 went before it voted" in str(failed[0])
    assert one.ask("level.value") == 1


def test_without_a_vote_in_time_nothing_changes(fleet, members):
    one, two = members(2, ttl=30.0)
    two.stop()
    with pytest.raises(AbortedError, match=r"no vote of trainer-1 after 0.5 s"):
        fleet.set({"level": 13}, all_or_none=True, wait=0.5)
    two.go_on()
    assert [each.ask("level.value") for each in (one, two)] == [1, 1]


def test_a_record_behind_an_open_proposal_applies_at_once_and_wins(fleet, members, url):
    [one] = members(1)
    store = open_store(url)
    ended = subprocess.run([sys.executable, "-c", OPERATOR, url], timeout=SOON, check=False)
    assert ended.returncode == 9
    fleet.set({"level": 20}, wait=SOON)
    store.decide("r1", b"commit")
    one.wait_for("pf.fleet.member().answers.get(1) is not None", True)
    assert one.ask("level.value") == 20
    store.close()


# ---- Steps ----


def test_a_change_at_a_step_happens_at_it_in_all(fleet, members):
    two = members()
    for each in two:
        each.do("pf.fleet.tick(0); seen = []")
    outcome = fleet.set({"level": 12}, at_step=50, wait=SOON)
    assert states(outcome) == dict.fromkeys(("trainer-0", "trainer-1"), "waits for its step")
    for each in two:
        each.send("do", "for i in range(1, 100): pf.fleet.tick(i); seen.append(level.value)")
    for each in two:
        each.receive()
        assert each.ask("seen") == [1] * 49 + [12] * 50


def test_two_changes_of_a_flag_happen_each_at_its_step(fleet, members):
    [one] = members(1)
    one.do("pf.fleet.tick(0); seen = []")
    fleet.set({"level": 12}, at_step=5, wait=SOON)
    fleet.set({"level": 13}, at_step=8, wait=SOON)
    one.do("for i in range(1, 10): pf.fleet.tick(i); seen.append(level.value)")
    assert one.ask("seen") == [1] * 4 + [12] * 3 + [13] * 2


def test_a_loop_that_runs_gets_a_change_at_its_step_or_not_at_all(fleet, members):
    two = members()
    run = "import time\nfor i in range(1000):\n pf.fleet.tick(i); seen.append(level.value)\n"
    for each in two:
        each.do("pf.fleet.tick(0); seen = []")
        each.send("do", run + " time.sleep(0.002)")
    try:
        done = fleet.set({"level": 12}, at_step=500, wait=SOON).verdict == "committed"
    except AbortedError:
        done = False
    for each in two:
        each.receive()
        assert each.ask("seen") == ([1] * 500 + [12] * 500 if done else [1] * 1000)


def test_a_member_that_has_passed_the_step_rejects_and_nothing_changes(fleet, members):
    one, two = members()
    one.do("pf.fleet.tick(5)")
    two.do("pf.fleet.tick(4)")
    with pytest.raises(AbortedError, match="trainer-0 rejects it: has begun step 5"):
        fleet.set({"level": 12}, at_step=5, wait=SOON)
    two.do("pf.fleet.tick(5)")
    assert two.ask("level.value") == 1


def test_a_member_that_counts_no_steps_rejects(fleet, members):
    members(1)
    with pytest.raises(AbortedError, match="counts no steps"):
        fleet.set({"level": 12}, at_step=5, wait=SOON)


def test_a_tick_waits_for_the_decision_and_raises_when_there_is_none(fleet, members, url):
    [one] = members(1, tick_timeout=0.3)
    one.do("pf.fleet.tick(1)")
    code = OPERATOR.replace("all_or_none=True, wait=0.2", "at_step=5, wait=60")
    subprocess.run([sys.executable, "-c", code, url], timeout=SOON, check=False)
    eventually(lambda: fleet.members()["trainer-0"]["votes"], {"1": "accept"})
    with pytest.raises(Failed, match=r"TickTimeoutError: .*step 5: revision 1 .* within 0.3 s"):
        one.do("pf.fleet.tick(5)")


def test_with_on_late_keep_the_loop_goes_on_and_a_late_commit_is_reported(fleet, members, url):
    [one] = members(1, tick_timeout=0.3, on_late="keep")
    one.do("pf.fleet.tick(1)")
    code = OPERATOR.replace("all_or_none=True, wait=0.2", "at_step=5, wait=60")
    subprocess.run([sys.executable, "-c", code, url], timeout=SOON, check=False)
    eventually(lambda: fleet.members()["trainer-0"]["votes"], {"1": "accept"})
    one.do("pf.fleet.tick(5); pf.fleet.tick(6)")
    assert one.ask("level.value") == 1
    store = open_store(url)
    store.decide("r1", b"commit")
    store.close()
    one.wait_for("level.value", 13)
    assert one.ask("list(pf.fleet.member().answers[1])") == ["applied", "at step 6, not 5"]


def test_one_that_starts_again_before_the_step_applies_at_it(fleet, members, process):
    one, two = members()
    for each in (one, two):
        each.do("pf.fleet.tick(1)")
    fleet.set({"level": 12}, at_step=5, wait=SOON)
    two.kill()
    again = process().begin(role="trainer", rank=1)
    assert again.ask("level.value") == 1
    again.do("pf.fleet.tick(4)")
    assert again.ask("level.value") == 1
    again.do("pf.fleet.tick(5)")
    assert again.ask("level.value") == 12
