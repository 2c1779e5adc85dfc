"""Changes that all members are asked about first, and those that they take at a step."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time

import pytest
from members import SOON, Failed, ask, decide, eventually, states

from paddle_flags.errors import FlagArgumentError
from paddle_flags.fleet import AbortedError, Fleet, FleetError

pytestmark = pytest.mark.extended  # each test starts processes

# ---- Asked first ----


def test_one_that_rejects_keeps_all_from_changing(fleet, members):
    one, two = members()
    one.do("level.validate(lambda value: value != 13, 'unlucky')")
    with pytest.raises(AbortedError, match=r"trainer-0 rejects it: .*unlucky") as raised:
        fleet.set({"level": 13}, wait=SOON)
    assert states(raised.value.outcome)["trainer-0"] == "rejected"
    assert [each.ask("level.value") for each in (one, two)] == [1, 1]
    assert fleet.values() == {}


def test_if_all_accept_all_change(fleet, members):
    two = members()
    outcome = fleet.set({"level": 12}, wait=SOON)
    assert states(outcome) == {"trainer-0": "applied", "trainer-1": "applied"}
    assert [each.ask("level.value") for each in two] == [12, 12]


def test_without_waiting_the_answers_are_those_to_the_question(fleet, members):
    members()
    outcome = fleet.set({"level": 12})
    assert states(outcome) == {"trainer-0": "accepted", "trainer-1": "accepted"}
    assert outcome.is_checked


def test_by_force_members_change_that_can_and_those_that_reject_are_named(fleet, members):
    two = members()
    two[0].do("level.validate(lambda value: value != 13, 'unlucky')")
    outcome = fleet.set({"level": 13}, force=True, wait=SOON)
    assert states(outcome) == {"trainer-0": "rejected", "trainer-1": "applied"}
    assert not outcome.is_checked
    assert [each.ask("level.value") for each in two] == [1, 13]


def test_a_change_that_concerns_nobody_is_committed_and_says_that_nobody_has_checked_it(
    fleet, members
):
    assert not fleet.set({"level": 12}).is_checked
    members(1)
    outcome = fleet.set({"level": 13}, role="pserver", wait=SOON)
    assert (outcome.verdict, outcome.answers, outcome.is_checked) == ("committed", {}, False)


def test_a_name_that_no_member_has_is_refused_and_one_that_some_have_is_not(fleet, members):
    one, _ = members()
    with pytest.raises(AbortedError, match=r"no member has levle: .*did you mean 'level'"):
        fleet.set({"levle": 2, "level": 2})
    one.do("pf.define('levle', 1, 'No misprint', runtime=True)")
    assert fleet.set({"levle": 2, "level": 2}, wait=SOON).ok
    assert one.ask("[pf.FLAGS.levle, level.value]") == [2, 2]


def test_a_question_to_one_member_asks_nobody_else(fleet, members):
    one, two = members()
    two.do("level.validate(lambda value: value != 13, 'unlucky')")
    outcome = fleet.set({"level": 13}, member="trainer-0", wait=SOON)
    assert states(outcome) == {"trainer-0": "applied"}
    assert [each.ask("level.value") for each in (one, two)] == [13, 1]


# ---- Dry runs ----


def test_a_dry_run_asks_all_and_changes_nothing(fleet, members):
    one, two = members()
    one.do("level.validate(lambda value: value != 13, 'unlucky')")
    outcome = fleet.set({"level": 13}, dry_run=True, wait=SOON)
    assert outcome.verdict == "dry run"
    assert states(outcome) == {"trainer-0": "rejected", "trainer-1": "accepted"}
    assert [each.ask("level.value") for each in (one, two)] == [1, 1]
    assert fleet.log()[-1].verdict == "dry run"


@pytest.mark.parametrize("kind", ["change", "abort", "end"])
def test_a_dry_run_never_becomes_real_whatever_is_written(fleet, store, members, kind):
    two = members()
    asked = fleet.set({"level": 13}, dry_run=True, wait=SOON).revision
    for number, of in ((asked + 1, asked), (asked + 2, 0)):
        changes = [] if of else [["lr", "0.5", "all"]]
        record = {"kind": kind, "of": of, "changes": changes, "by": "eve"}
        assert store.append(number, json.dumps(record).encode())
    fleet.set({"port": 81}, wait=SOON)
    assert [each.ask("level.value") for each in two] == [1, 1]
    assert "level" not in fleet.values()


# ---- Operators and members that die ----


def test_when_an_operator_dies_members_abort_what_it_had_asked(fleet, store, members):
    two = members()
    asked = ask(store, {"level": 13}, patience=0.2)
    assert fleet.set({"lr": 0.5}, wait=SOON).ok
    assert fleet.log()[0].revision == asked
    assert fleet.log()[0].verdict.startswith("aborted: nobody had decided after 0.2 s")
    assert [each.ask("[level.value, lr.value]") for each in two] == [[1, 0.5]] * 2


def test_members_abort_what_nobody_decides_without_any_operator(store, members):
    [one] = members(1)
    ask(store, {"level": 13}, patience=0.2)
    one.wait_for("pf.fleet.member().revision", 2)
    assert json.loads(store.read(2)[0])["kind"] == "abort"


def test_a_member_that_is_killed_before_it_answers_is_passed_over_and_named(fleet, members):
    one, two = members()
    two.stop()
    outcomes = []
    changing = threading.Thread(target=lambda: outcomes.append(fleet.set({"level": 13}, wait=SOON)))
    changing.start()
    one.wait_for("pf.fleet.member().answers", {"1": ["accepted", "", []]})
    two.kill()
    changing.join(SOON)
    assert outcomes[0].silent == {"trainer-1": "gone: its lease has ended, or it left"}
    assert not outcomes[0].ok
    assert one.ask("level.value") == 13


def test_without_an_answer_in_time_nothing_changes(fleet, members):
    one, two = members(2, ttl=30.0)
    two.stop()
    with pytest.raises(AbortedError, match=r"no answer of trainer-1 after 0.5 s") as caught:
        fleet.set({"level": 13}, wait=0.5)
    assert caught.value.outcome.silent == {"trainer-1": "slow: it has read revision 0"}
    two.go_on()
    assert [each.ask("level.value") for each in (one, two)] == [1, 1]


def test_a_commit_that_comes_after_the_abort_changes_nothing(fleet, store, members):
    [one] = members(1)
    asked = ask(store, {"level": 13}, patience=0.2)
    one.wait_for("pf.fleet.member().revision", 2)
    decide(store, asked)
    assert fleet.set({"lr": 0.5}, wait=SOON).ok
    assert one.ask("level.value") == 1


# ---- Two operators ----

ORDERED = """
lo = pf.define("lo", 1, "Low", runtime=True)
hi = pf.define("hi", 10, "High", runtime=True)
@pf.validator("lo", "hi", message="lo must be <= hi")
def ordered(lo: int, hi: int) -> bool: return lo <= hi
"""


def test_two_operators_at_once_give_all_members_the_same(fleet, store, members):
    one, two = members(2, ttl=30.0)
    for each in (one, two):
        each.do(ORDERED)
    slow = ask(store, {"lo": 8})
    eventually(lambda: len(accepted(fleet, slow)), 2)
    two.stop()  # between its answer and the decisions
    refused = []

    def change() -> None:
        try:
            fleet.set({"hi": 5}, wait=SOON)
        except AbortedError as error:
            refused.append(str(error))

    fast = threading.Thread(target=change)
    fast.start()
    one.wait_for("pf.fleet.member().revision", slow)
    decide(store, slow)
    two.go_on()
    fast.join(SOON)
    assert "lo must be <= hi" in refused[0]
    for each in (one, two):
        assert each.ask("[lo.value, hi.value]") == [8, 10]
    two.kill()


def accepted(fleet, revision):
    return [n for n, d in fleet.members().items() if revision in d["answers"]]


def test_another_open_question_is_waited_for_as_long_as_the_caller_says(
    fleet, store, members, fleet_command
):
    [one] = members(1, ttl=SOON)
    one.stop()
    ask(store, {"level": 8}, patience=600)
    expected = r"waited 0\.2 s for the decision on another change: revision 1 by test \(level=8\)"
    for options in ({}, {"dry_run": True}):
        with pytest.raises(FleetError, match=f"{expected}, which ends at 2"):
            fleet.set({"lr": 0.5}, wait=0.2, **options)
    assert "not decided yet: revision 1 by test (level=8), which ends at 2" in (
        fleet_command("status").stdout
    )
    assert fleet.revision == 0


def test_force_aborts_an_open_question_first(fleet, store, members):
    [one] = members(1)
    asked = ask(store, {"level": 8}, patience=600)
    assert fleet.set({"lr": 0.5}, force=True, wait=SOON).ok
    step = fleet.log()[0]
    assert (step.revision, step.verdict) == (asked, "aborted: forced aside by ann@desk")
    assert one.ask("[level.value, lr.value]") == [1, 0.5]


def test_an_operator_that_is_forced_aside_says_so(fleet, members, url):
    [one] = members(1, ttl=SOON)
    one.stop()
    refused = []

    def change() -> None:
        with Fleet(url) as other, pytest.raises(AbortedError) as caught:
            other.set({"level": 8}, wait=SOON)
        refused.append(str(caught.value))

    slow = threading.Thread(target=change)
    slow.start()
    eventually(lambda: len(fleet.status().undecided), 1)
    fleet.set({"lr": 0.5}, force=True)
    one.go_on()
    slow.join(SOON)
    assert refused[0].endswith("nothing was changed: forced aside by ann@desk")
    one.wait_for("[level.value, lr.value]", [1, 0.5])


# ---- Steps ----


def test_a_change_at_a_step_cannot_be_forced(fleet, fleet_command):
    with pytest.raises(FlagArgumentError, match="at_step and force: expected one of them"):
        fleet.set({"level": 12}, at_step=5, force=True)
    ended = fleet_command("set", "level=12", "--at-step", "5", "--force")
    assert ended.returncode == 2
    assert "at_step and force: expected one of them" in ended.stderr
    assert fleet.revision == 0


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
    with pytest.raises(AbortedError, match=r"counts no steps: it doesn't call fleet\.tick"):
        fleet.set({"level": 12}, at_step=5, wait=SOON)


def test_a_tick_waits_for_the_decision_and_raises_when_there_is_none(store, members):
    [one] = members(1, tick_timeout=0.3)
    one.do("pf.fleet.tick(1)")
    asked = ask(store, {"level": 13}, at_step=5)
    one.wait_for("pf.fleet.member().revision", asked)
    with pytest.raises(Failed, match=r"TickTimeoutError: .*step 5: .*revision 1 .* within 0.3 s"):
        one.do("pf.fleet.tick(5)")


def test_with_on_late_keep_the_loop_goes_on_and_a_late_commit_is_reported(store, members):
    [one] = members(1, tick_timeout=0.3, on_late="keep")
    one.do("pf.fleet.tick(1)")
    asked = ask(store, {"level": 13}, at_step=5)
    one.wait_for("pf.fleet.member().revision", asked)
    one.do("pf.fleet.tick(5); pf.fleet.tick(6)")
    assert one.ask("level.value") == 1
    made = decide(store, asked)
    one.wait_for("level.value", 13)
    one.wait_for(f"list(pf.fleet.member().answers[{made}])[:2]", ["applied", "at step 6, not 5"])


def test_a_tick_goes_on_as_soon_as_the_change_is_aborted(store, members):
    [one] = members(1)
    one.do("pf.fleet.tick(1)")
    ask(store, {"level": 13}, at_step=5, patience=0.3)
    one.wait_for("pf.fleet.member().revision", 1)
    one.do("pf.fleet.tick(5)")
    assert one.ask("[level.value, pf.fleet.member().revision]") == [1, 2]


INTERRUPTED = """
import os, sys
from paddle_flags.fleet import Fleet, _follow
def written(self, data, take=_follow.Follower._follow_record):
    _follow.Follower._follow_record = take
    os.kill(os.getpid(), 2)  # the record is there, and its writer doesn't know it yet
    return take(self, data)
_follow.Follower._follow_record = written
Fleet(sys.argv[1]).set({"level": 13}, at_step=5, wait=600)
"""


ONCE = [(name, 1) for name in ("SIGINT", "SIGTERM", "SIGHUP")]


@pytest.fixture
def waiting(members):
    """Start two members that count steps, one of which is stopped and doesn't answer."""
    one, two = members(2, ttl=SOON, tick_timeout=SOON)
    for each in (one, two):
        each.do("pf.fleet.tick(1)")
    two.stop()
    return one


@pytest.mark.parametrize(("name", "times"), [*ONCE, ("SIGINT", 20)])
def test_an_operator_that_is_ended_at_a_step_aborts_and_members_go_on(
    fleet, waiting, url, name, times
):
    command = ["set", url, "level=13", "--at-step", "5", "--wait", "600"]
    operator = subprocess.Popen([sys.executable, "-m", "paddle_flags", *command])
    eventually(lambda: len(fleet.status().undecided), 1)
    for _ in range(times):
        operator.send_signal(getattr(signal, name))
        time.sleep(0.001)
    assert operator.wait(SOON) == 128 + getattr(signal, name)
    assert fleet.log()[-1].verdict == "aborted: its operator gave up"
    waiting.do("pf.fleet.tick(5)")
    assert waiting.ask("level.value") == 1


@pytest.mark.usefixtures("waiting")
def test_an_operator_that_is_interrupted_while_it_asks_aborts_too(fleet, url):
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, url], capture_output=True, timeout=SOON, check=False
    )
    assert b"KeyboardInterrupt" in ended.stderr
    assert fleet.log()[-1].verdict == "aborted: its operator gave up"


def test_a_question_at_a_step_is_overdue_before_members_stop_waiting_for_it(fleet, members):
    one, two = members(2, ttl=60.0, tick_timeout=5.0)
    for each in (one, two):
        each.do("pf.fleet.tick(1)")
    two.stop()
    one.send("do", "while not pf.fleet.member().answers: pass\npf.fleet.tick(5)")
    with pytest.raises(AbortedError, match=r"no answer of trainer-1 after 4 s"):
        fleet.set({"level": 13}, at_step=5, wait=600)
    one.receive()
    two.kill()


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
