"""Members of a fleet: real processes, in a folder."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import pytest
from members import FLAGS, SOON, Failed, eventually, files_of

from paddle_flags.fleet import (
    AbortedError,
    Change,
    ConflictError,
    Fleet,
    FleetError,
    open_store,
)


def states(outcome):
    return {name: answer.state for name, answer in outcome.answers.items()}


# ---- Values ----


def test_a_value_is_there_before_parse_and_above_the_command_line(fleet, process):
    fleet.set({"level": 7, "later": "x"})
    one = process()
    one.join()
    one.do(FLAGS)
    assert one.ask("level.value") == 7
    one.do("pf.parse(['prog', '--level=3'])")
    assert one.ask("level.value") == 7
    one.do("later = pf.define('later', 'y', 'Defined after all that')")
    assert one.ask("later.value") == "x"


def test_the_history_of_a_flag_names_the_fleet_and_its_revision(fleet, process, url):
    fleet.set({"level": 7})
    fleet.set({"level": 8})
    one = process().begin()
    assert one.ask("[list(e)[:3] for e in level.history][0]") == [8, "fleet", f"{url} revision 2"]
    assert "the fleet" not in one.ask("pf.explain('level')").splitlines()[0]
    assert f"{url} revision 2" in one.ask("pf.explain('level')")


def test_a_change_reaches_all_members_and_waiting_returns_their_answers(fleet, members):
    two = members()
    outcome = fleet.set({"level": 9}, wait=SOON)
    assert states(outcome) == {"trainer-0": "applied", "trainer-1": "applied"}
    assert outcome.ok
    assert [each.ask("level.value") for each in two] == [9, 9]


def test_one_that_joins_late_has_what_the_others_have(fleet, members, process):
    members(1)
    fleet.set({"level": 9}, wait=SOON)
    late = process().begin(name="late")
    assert late.ask("level.value") == 9


def test_the_most_specific_value_holds(fleet, process):
    trainer = process().begin(role="trainer", rank=0)
    other = process().begin(role="trainer", rank=1)
    server = process().begin(role="pserver", rank=0)
    fleet.set({"level": 1})
    fleet.set({"level": 4}, member="trainer-1")
    fleet.set({"level": 2}, role="trainer", wait=SOON)
    assert [each.ask("level.value") for each in (trainer, other, server)] == [2, 4, 1]
    fleet.unset("level", member="trainer-1", wait=SOON)
    fleet.unset("level", role="trainer", wait=SOON)
    fleet.set({"level": 3}, host=trainer.ask("pf.fleet.member().host"), wait=SOON)
    assert [each.ask("level.value") for each in (trainer, other, server)] == [3, 3, 3]


def test_unset_gives_back_what_the_process_has(fleet, process):
    one = process().begin(name="one")
    one.do("pf.parse(['prog', '--level=3'])")
    fleet.set({"level": 9}, wait=SOON)
    fleet.unset("level", wait=SOON)
    assert one.ask("[level.value, level.source]") == [3, "argv"]


def test_a_value_of_the_program_holds_a_change_back_and_the_answer_says_so(fleet, process):
    one = process().begin(name="one")
    one.do("level.value = 50")
    outcome = fleet.set({"level": 9}, wait=SOON)
    assert states(outcome) == {"one": "held"}
    assert outcome.answers["one"].why == "level by run time"
    assert not outcome.ok
    one.do("del level.value")
    assert one.ask("level.value") == 9
    eventually(lambda: states_of(fleet, "one")[1], "applied")


def states_of(fleet, name):
    found = next(each for each in fleet.status().members if each.name == name)
    return {revision: answer.state for revision, answer in found.answers.items()}


def test_after_parse_a_flag_without_runtime_needs_a_restart_and_its_batch_waits(fleet, process):
    one = process().begin(name="one")
    fleet.set({"name": "early"}, wait=SOON)
    one.do("pf.parse(['prog'])")
    outcome = fleet.set({"name": "late", "level": 9}, wait=SOON)
    assert states(outcome) == {"one": "needs a restart"}
    assert outcome.answers["one"].why == "name: has no attribute runtime"
    assert one.ask("[name.value, level.value]") == ["early", 1]
    one.end()
    again = process().begin(name="one")
    assert again.ask("[name.value, level.value]") == ["late", 9]


def test_a_rejected_batch_changes_nothing_and_the_next_one_applies(fleet, members):
    one, two = members()
    one.do("level.validate(lambda value: value != 13, 'unlucky')")
    outcome = fleet.set({"level": 13, "lr": 0.5}, wait=SOON)
    assert states(outcome) == {"trainer-0": "rejected", "trainer-1": "applied"}
    assert "unlucky" in outcome.answers["trainer-0"].why
    assert one.ask("[level.value, lr.value]") == [1, 0.1]
    fleet.set({"level": 14}, wait=SOON)
    assert one.ask("[level.value, lr.value]") == [14, 0.1]
    assert two.ask("[level.value, lr.value]") == [14, 0.5]


def test_one_that_joins_takes_the_good_batches_and_refuses_the_bad_one(fleet, process):
    fleet.set({"level": 5})
    fleet.set({"lr": "much", "port": 1})
    one = process()
    one.do(FLAGS)
    one.join(name="one")
    assert one.ask("[level.value, lr.value, port.value]") == [5, 0.1, 80]
    assert states_of(fleet, "one") == {1: "applied", 2: "rejected"}


def test_an_undefined_flag_is_pending_and_the_answer_suggests_a_name(fleet, process):
    one = process().begin(name="one")
    outcome = fleet.set({"levle": 5}, wait=SOON)
    assert states(outcome) == {"one": "pending"}
    assert "did you mean" in outcome.answers["one"].why
    one.do("levle = pf.define('levle', 1, 'No misprint')")
    assert one.ask("levle.value") == 5


def test_reset_brings_a_revision_back(fleet, members):
    [one] = members(1)
    fleet.set({"level": 5})
    fleet.set({"level": 6, "lr": 0.5})
    fleet.set({"port": 1}, wait=SOON)
    fleet.reset(1, wait=SOON, reason="worse")
    assert one.ask("[level.value, lr.value, port.value]") == [5, 0.1, 80]
    assert fleet.revision == 4


# ---- Temporary values ----


def test_a_temporary_value_ends_by_itself_even_if_the_engine_is_away(fleet, members, folder):
    [one] = members(1)
    fleet.set({"level": 5}, wait=SOON)
    fleet.set({"level": 6}, duration=2, wait=SOON)
    assert one.ask("level.value") == 6
    folder.rename(folder.with_name("away"))
    one.wait_for("level.value", 5)
    folder.with_name("away").rename(folder)
    eventually(lambda: states_of(fleet, "trainer-0").get(2), "ended")


def test_a_temporary_value_that_is_over_is_not_there_for_those_who_join(fleet, process):
    fleet.set({"level": 6}, duration=0.05)
    time.sleep(0.1)
    assert process().begin(name="one").ask("level.value") == 1


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


# ---- Conflicts ----


def test_a_conflict_says_who_has_changed_what(fleet, url):
    fleet.set({"level": 1})
    seen = fleet.revision
    with Fleet(url, by="bob@desk") as other:
        other.set({"lr": 0.5}, role="trainer")
    with pytest.raises(ConflictError, match=r"revision 2 by bob@desk: lr=0.5 \(role:trainer\)"):
        fleet.set({"level": 2}, expect=seen)
    fleet.set({"level": 2}, expect=2)


def test_two_operators_at_once_lose_no_change(url):
    def change(index: int) -> None:
        with Fleet(url) as each:
            for number in range(10):
                each.set({f"flag{index}_{number}": number})

    threads = [threading.Thread(target=change, args=(index,)) for index in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(SOON)
    with Fleet(url) as fleet:
        assert fleet.revision == 30
        assert len(fleet.values()) == 30


# ---- Being away ----


def test_a_forked_child_has_the_values_and_is_no_member(fleet, process):
    one = process().begin(name="one")
    fleet.set({"level": 9}, wait=SOON)
    one.do(
        """
read, write = os.pipe()
pid = os.fork()
if pid == 0:
    try:
        found = [level.value, repr(pf.fleet.member())]
        try: pf.fleet.tick(1)
        except pf.fleet.FleetError as error: found.append(str(error))
        child = pf.fleet.join(URL, name="child", ttl=1)
        found.append(child.name)
        found.append(sorted(pf.fleet.Fleet(URL).members()))
        pf.fleet.leave()
    except BaseException as error:
        found = repr(error)
    os.write(write, json.dumps(found).encode())
    os._exit(0)
os.waitpid(pid, 0)
found = json.loads(os.read(read, 10000))
""".replace("URL", repr(one.url))
    )
    value, member, refused, name, names = one.ask("found")
    assert (value, member, name, names) == (9, "None", "child", ["child", "one"])
    assert "no member of a fleet: call fleet.join first" in refused
    assert fleet.set({"level": 10}, wait=SOON).ok


def test_a_program_that_ends_is_no_member_any_longer(fleet, members):
    one, two = members(2, ttl=60.0)
    assert one.end() == 0
    assert list(fleet.members()) == ["trainer-1"]
    two.do("pf.fleet.leave()")
    assert fleet.members() == {}
    assert two.ask("level.value") == 1


def test_while_the_engine_is_away_values_are_kept_and_stale(fleet, members, folder):
    [one] = members(1)
    fleet.set({"level": 9}, wait=SOON)
    folder.rename(folder.with_name("away"))
    one.wait_for("pf.fleet.member().stale is not None", True)
    assert one.ask("level.value") == 9
    folder.with_name("away").rename(folder)
    one.wait_for("pf.fleet.member().stale", None)
    assert fleet.set({"level": 10}, wait=SOON).ok


def test_on_lost_default_drops_the_values_and_takes_them_again(fleet, members, folder):
    [one] = members(1, on_lost="default")
    fleet.set({"level": 9}, wait=SOON)
    folder.rename(folder.with_name("away"))
    one.wait_for("level.value", 1)
    folder.with_name("away").rename(folder)
    one.wait_for("level.value", 9)


def test_on_lost_exit_ends_the_program(members, folder):
    [one] = members(1, on_lost="exit")
    folder.rename(folder.with_name("away"))
    assert one.wait() == -signal.SIGTERM


def test_with_a_snapshot_a_program_starts_without_the_engine(fleet, process, folder, tmp_path):
    snapshot = str(tmp_path / "last.json")
    one = process().begin(name="one", snapshot=snapshot)
    fleet.set({"level": 9}, wait=SOON)
    one.wait_for(f"b'\"9\"' in open({snapshot!r}, 'rb').read()", True)
    one.kill()
    engine = folder.parent
    engine.rename(engine.with_name("away"))
    with pytest.raises(Failed, match="UnreachableError"):
        process().join(name="two")
    again = process().begin(name="one", snapshot=snapshot)
    assert again.ask("level.value") == 9
    assert "last.json" in again.ask("pf.fleet.member().problem")
    engine.with_name("away").rename(engine)
    assert fleet.set({"level": 10}).revision == 2
    again.wait_for("level.value", 10)


def test_an_engine_that_lost_its_state_changes_nothing_and_status_says_so(
    fleet, members, folder, url
):
    [one] = members(1)
    for value in (7, 8, 9):
        fleet.set({"level": value}, wait=SOON)
    folder.rename(folder.with_name("old"))
    with Fleet(url) as other:
        other.set({"level": 50})
        one.wait_for("'has lost its state' in pf.fleet.member().problem", True)
        for _ in range(5):
            other.set({"level": 60})
        one.wait_for("'it is fleet' in pf.fleet.member().problem", True)
        assert one.ask("level.value") == 9
        eventually(lambda: [each.state for each in other.status().members], ["lost"])


def test_a_snapshot_is_worth_more_than_an_engine_that_lost_its_state(
    fleet, process, folder, tmp_path
):
    snapshot = str(tmp_path / "last.json")
    one = process().begin(name="one", snapshot=snapshot)
    fleet.set({"level": 9}, wait=SOON)
    one.end()
    folder.rename(folder.with_name("old"))
    again = process().begin(name="one", snapshot=snapshot)
    assert again.ask("level.value") == 9
    assert "has lost its state" in again.ask("pf.fleet.member().problem")


def test_a_lease_that_has_ended_is_taken_again(fleet, members):
    [one] = members(1)
    one.stop()
    eventually(fleet.members, {})
    one.go_on()
    eventually(lambda: list(fleet.members()), ["trainer-0"])
    assert fleet.set({"level": 9}, wait=SOON).ok


def test_a_stopped_member_is_named_slow_and_later_gone(fleet, members):
    one, two = members(2, ttl=6.0)
    two.stop()
    outcome = fleet.set({"level": 9}, wait=0.5)
    assert outcome.silent == {"trainer-1": "slow: it has read revision 0"}
    eventually(lambda: {m.name: m.state for m in fleet.status().members}["trainer-1"], "slow")
    eventually(lambda: {m.name: m.state for m in fleet.status().members}["trainer-1"], "gone")
    two.go_on()
    eventually(lambda: {m.name: m.state for m in fleet.status().members}["trainer-1"], "current")
    assert one.ask("level.value") == 9


def test_a_rank_that_has_not_joined_is_named_missing(fleet, process):
    process(WORLD_SIZE="3", RANK="1").begin()
    found = [(each.name, each.state) for each in fleet.status().members]
    assert found == [("rank-0", "missing"), ("rank-1", "current"), ("rank-2", "missing")]


def test_a_second_process_of_the_name_is_refused_but_a_successor_is_not(process):
    one = process().begin(name="one", ttl=60.0)
    with pytest.raises(Failed, match=f"one is a member already, process {one.pid}"):
        process().begin(name="one")
    one.kill()
    process().begin(name="one")


# ---- Secrets ----


def test_the_value_of_a_sensitive_flag_is_in_no_file(fleet, process, folder):
    code = "key = pf.define('api_key', 'none', 'Secret', sensitive=True, runtime=True)"
    one = process(FLAGS_api_key="hunter2", PADDLE_FLAGS_FLEET_KEY="pepper")
    one.do(code)
    one.join(name="one", ttl=60.0)
    one.do("pf.parse(['prog'], env_prefix='FLAGS_')")
    one.do("pf.fleet.check()")
    with pytest.raises(FleetError, match="api_key: is sensitive in one"):
        fleet.set({"api_key": "swordfish"})
    stored = files_of(folder)
    assert b"hunter2" not in stored
    assert b"swordfish" not in stored
    assert b"hmac:" in stored


def test_a_member_refuses_a_value_for_a_flag_that_is_sensitive(fleet, process):
    fleet.set({"api_key": "open"})
    one = process()
    one.do("key = pf.define('api_key', 'none', 'Secret', sensitive=True, runtime=True)")
    one.join(name="one")
    assert one.ask("key.value") == "none"
    assert states_of(fleet, "one") == {1: "rejected"}


# ---- Differences ----


def start_check(processes, **options):
    for each in processes:
        each.send("do", f"pf.fleet.check(**{options!r})")


def outcomes(processes):
    found = []
    for each in processes:
        try:
            each.receive()
            found.append("")
        except Failed as error:
            found.append(str(error))
    return found


def test_check_waits_for_all_and_passes_if_they_are_alike(process):
    three = [process(WORLD_SIZE="3", RANK=str(rank)).begin() for rank in range(3)]
    for rank, each in enumerate(three):
        each.do(f"port.value = {rank + 1}")
    start_check(three)
    assert outcomes(three) == ["", "", ""]


def test_check_names_every_difference_in_every_member(process):
    two = [
        process(WORLD_SIZE="2", RANK=str(rank), NCCL_ALGO=algorithm).begin()
        for rank, algorithm in enumerate(("Ring", "Tree"))
    ]
    two[0].do("pf.parse(['prog', '--level=3'])")
    start_check(two, environment=["NCCL_*"])
    for text in outcomes(two):
        assert "CheckError" in text
        assert "level: '3' from argv argv[1] in rank-0; '1' from default in rank-1" in text
        assert "$NCCL_ALGO: 'Ring' in rank-0; 'Tree' in rank-1" in text


def test_check_names_a_flag_whose_default_differs(process):
    two = [process(WORLD_SIZE="2", RANK=str(rank)).begin() for rank in range(2)]
    two[0].do("pf.define('mode', 'a', 'Mode')")
    two[1].do("pf.define('mode', 'b', 'Mode'); pf.define('extra', 1, 'Extra')")
    start_check(two)
    for text in outcomes(two):
        assert "mode: 'a' from default in rank-0; 'b' from default in rank-1" in text
        assert "extra: not defined in rank-0; '1' from default in rank-1" in text


def test_check_lets_roles_differ_as_the_fleet_says(fleet, process):
    fleet.set({"level": 5}, role="trainer")
    three = [
        process().begin(role="trainer", rank=0),
        process().begin(role="trainer", rank=1),
        process().begin(role="pserver", rank=0),
    ]
    start_check(three, expect=3)
    assert outcomes(three) == ["", "", ""]
    three[1].do("level.value = 6")
    start_check(three, expect=3)
    for text in outcomes(three):
        assert "level: '5' from fleet" in text
        assert "'6' from run time" in text
        assert "pserver-0" not in text


def test_a_rank_that_is_started_again_passes_where_the_others_have_passed(process):
    two = [process(WORLD_SIZE="2", RANK=str(rank), NCCL_ALGO="Ring").begin() for rank in range(2)]
    start_check(two, environment=["NCCL_*"])
    assert outcomes(two) == ["", ""]
    two[1].kill()
    two[1] = process(WORLD_SIZE="2", RANK="1", NCCL_ALGO="Ring").begin()
    start_check(two[1:], environment=["NCCL_*"])
    assert outcomes(two[1:]) == [""]
    start_check(two, environment=["NCCL_*"])  # again: both wait for each other
    assert outcomes(two) == ["", ""]


def test_a_rank_that_is_started_again_with_something_else_is_told_what(process):
    two = [process(WORLD_SIZE="2", RANK=str(rank), NCCL_ALGO="Ring").begin() for rank in range(2)]
    start_check(two, environment=["NCCL_*"])
    assert outcomes(two) == ["", ""]
    two[1].kill()
    two[1] = process(WORLD_SIZE="2", RANK="1", NCCL_ALGO="Tree").begin()
    two[1].do("level.value = 3")
    start_check(two[1:], environment=["NCCL_*"])
    [text] = outcomes(two[1:])
    assert "level: 'the default' in rank-0; '3' from run time" in text.replace(" from default", "")
    assert "$NCCL_ALGO: 'Ring' in rank-0; 'Tree' in rank-1" in text


def test_check_that_times_out_names_who_is_missing_and_who_is_slow(process):
    three = [process(WORLD_SIZE="4", RANK=str(rank)).begin() for rank in range(3)]
    start_check(three[:2], timeout=1.0)
    for text in outcomes(three[:2]):
        assert "2 of 4 members are here after 1 s" in text
        assert "rank-2 is a member and has not called check" in text
        assert "rank 3 has not joined" in text


def test_diff_names_flags_that_differ_and_not_those_that_should(fleet, members):
    one, two = members()
    fleet.set({"lr": 0.5}, member="trainer-0", wait=SOON)
    one.do("level.value = 6; port.value = 1")
    eventually(lambda: [each.name for each in fleet.diff()], ["level"])
    [found] = fleet.diff()
    assert [(each.value, each.members) for each in found.holders] == [
        ("6", ("trainer-0",)),
        ("the default", ("trainer-1",)),
    ]
    assert two.ask("level.value") == 1


# ---- Compaction ----


def test_old_records_become_a_base_and_nothing_changes(fleet, members, process, monkeypatch):
    from paddle_flags.fleet import _follow

    monkeypatch.setattr(_follow, "_MOST", 30)
    monkeypatch.setattr(_follow, "_KEPT", 5)
    [one] = members(1)
    for value in range(50):
        fleet.set({"level": value})
    fleet.set({"lr": 0.5}, wait=SOON)
    assert one.ask("[level.value, lr.value]") == [49, 0.5]
    late = process().begin(name="late")
    assert late.ask("[level.value, lr.value]") == [49, 0.5]
    assert len(fleet.log()) < 31
    with pytest.raises(FleetError, match="revision 1: expected one from"):
        fleet.reset(1)


def test_changes_of_a_batch_may_be_for_different_members(fleet, members):
    two = members()
    batch = [Change("level", str(rank + 5), f"member:trainer-{rank}") for rank in range(2)]
    fleet.change(batch, wait=SOON)
    assert [each.ask("level.value") for each in two] == [5, 6]


# ---- A ConfigMap ----


def test_a_configmap_gives_values_and_has_no_members(process, tmp_path):
    for version, value in (("..1", "0.5"), ("..2", "0.75")):
        (tmp_path / version).mkdir()
        (tmp_path / version / "lr").write_text(value)
    (tmp_path / "..data").symlink_to("..1")
    (tmp_path / "lr").symlink_to("..data/lr")
    one = process()
    one.url = f"configmap://{tmp_path}"
    one.begin(name="one")
    assert one.ask("lr.value") == 0.5
    with pytest.raises(Failed, match="ReadOnlyError"):
        one.do("pf.fleet.check(timeout=1)")
    (tmp_path / "next").symlink_to("..2")
    (tmp_path / "next").rename(tmp_path / "..data")
    one.wait_for("lr.value", 0.75)
