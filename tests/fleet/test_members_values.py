"""Values of members of a fleet, which are real processes: in a folder."""

from __future__ import annotations

import threading
import time

import pytest
from members import FLAGS, SOON, Failed, eventually, files_of, states, states_of
from support import WINDOWS, in_url

from paddle_flags.fleet import (
    Change,
    ConflictError,
    Fleet,
    FleetError,
)

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


def test_explain_names_who_has_changed_a_flag_in_the_fleet_and_why(fleet, process):
    fleet.set({"level": 7, "width": 5}, reason="loss is\nNaN\x1b[31m")
    one = process().begin()
    one.do("pf.define('size', 1, old_names=['width'], runtime=True)")
    for name in ("level", "size"):
        found = one.ask(f"pf.explain({name!r})").splitlines()
        assert "  fleet:      revision 1 by ann@desk: loss is\\nNaN\\x1b[31m" in found
    assert "fleet:" not in one.ask("pf.explain('lr')")
    fleet.unset("level", wait=SOON)
    assert "fleet:" not in one.ask("pf.explain('level')")


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
    eventually(lambda: states_of(fleet, "one")[outcome.revision], "applied")


def test_after_parse_a_flag_without_runtime_needs_a_restart_and_its_batch_waits(fleet, process):
    one = process().begin(name="one")
    fleet.set({"name": "early"}, wait=SOON)
    one.do("pf.parse(['prog'])")
    outcome = fleet.set({"name": "late", "level": 9}, force=True, wait=SOON)
    assert states(outcome) == {"one": "needs a restart"}
    assert outcome.answers["one"].why == "name: not defined with runtime=True"
    assert one.ask("[name.value, level.value]") == ["early", 1]
    one.end()
    again = process().begin(name="one")
    assert again.ask("[name.value, level.value]") == ["late", 9]


def test_a_rejected_batch_changes_nothing_and_the_next_one_applies(fleet, members):
    one, two = members()
    one.do("level.validate(lambda value: value != 13, 'unlucky')")
    outcome = fleet.set({"level": 13, "lr": 0.5}, force=True, wait=SOON)
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


def test_one_that_starts_again_has_what_it_had_and_no_half_of_what_it_rejected(fleet, process):
    def start():
        one = process()
        one.do(FLAGS)
        one.join(name="one")
        return one

    one = start()
    fleet.set({"level": 5}, wait=SOON)
    rejected = fleet.set({"level": 500, "lr": 0.5}, force=True, wait=SOON)
    assert states(rejected) == {"one": "rejected"}
    for value in (5, 6):
        fleet.set({"level": value}, wait=SOON)
        assert one.ask("[level.value, lr.value]") == [value, 0.1]
        one.kill()
        one = start()
        assert one.ask("[level.value, lr.value]") == [value, 0.1]
    assert list(fleet.status().members[0].problems) == [rejected.revision]


def test_an_undefined_flag_is_pending_and_the_answer_suggests_a_name(fleet, process):
    one = process().begin(name="one")
    outcome = fleet.set({"levle": 5}, force=True, wait=SOON)
    assert states(outcome) == {"one": "pending"}
    assert "did you mean" in outcome.answers["one"].why
    one.do("levle = pf.define('levle', 1, 'No misprint')")
    assert one.ask("levle.value") == 5


def test_reset_brings_a_revision_back(fleet, members):
    [one] = members(1)
    before = fleet.set({"level": 5}).revision
    fleet.set({"level": 6, "lr": 0.5})
    fleet.set({"port": 1}, wait=SOON)
    fleet.reset(before, wait=SOON, reason="worse")
    assert one.ask("[level.value, lr.value, port.value]") == [5, 0.1, 80]
    assert fleet.log()[-1].record.reason == f"reset to revision {before}: worse"


# ---- Temporary values ----


def test_a_temporary_value_ends_by_itself_even_if_the_engine_is_away(
    fleet, members, process, folder
):
    [one] = members(1)
    fleet.set({"level": 5}, wait=SOON)
    given = fleet.set({"level": 6}, duration=2, wait=SOON).revision
    assert one.ask("level.value") == 6
    folder.rename(folder.with_name("away"))
    one.wait_for("level.value", 5)
    folder.with_name("away").rename(folder)
    eventually(lambda: states_of(fleet, "trainer-0").get(given), "ended")
    eventually(lambda: fleet.log()[-1].record.of, given)  # and for those who come later
    assert process().begin(name="late").ask("level.value") == 5


def test_a_temporary_value_that_is_over_is_not_there_for_those_who_join(fleet, process):
    fleet.set({"level": 6}, duration=0.05)
    time.sleep(0.1)
    assert process().begin(name="one").ask("level.value") == 1


def test_a_temporary_value_that_is_over_is_not_taken_again_by_one_that_was_stopped(fleet, members):
    one, two = members(2, ttl=0.5)
    given = fleet.set({"level": 6}, duration=1.0, wait=SOON).revision
    two.stop()
    one.wait_for("level.value", 1)
    [over] = [each for each in fleet.log() if each.verdict == "ended"]
    assert (over.record.of, over.record.by) == (given, "trainer-0")
    two.send("do", "seen = [level.value]; level.watch(lambda flag: seen.append(flag.value))")
    two.go_on()
    two.receive()
    two.wait_for("level.value", 1)
    fleet.set({"port": 81}, wait=SOON)
    assert two.ask("seen") in ([6, 1], [6], [1])  # it may have ended before it was watched


@pytest.mark.extended  # takes a second or more
def test_a_member_that_joins_has_a_temporary_value_until_it_ends_for_all(fleet, members, process):
    [one] = members(1)
    fleet.set({"level": 6}, duration=8.0, wait=SOON)
    late = process().begin(name="late")
    assert late.ask("level.value") == 6
    for each in (one, late):
        each.wait_for("level.value", 1)
    assert [each.verdict for each in fleet.log()] == ["committed", "ended"]


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


# ---- Compaction ----


@pytest.mark.extended  # takes a second or more
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


@pytest.mark.skipif(WINDOWS, reason="symbolic links are missing, which kubelet makes on Linux only")
def test_a_configmap_gives_values_and_has_no_members(process, tmp_path):
    for version, value in (("..1", "0.5"), ("..2", "0.75")):
        (tmp_path / version).mkdir()
        (tmp_path / version / "lr").write_text(value)
    (tmp_path / "..data").symlink_to("..1")
    (tmp_path / "lr").symlink_to("..data/lr")
    one = process()
    one.url = f"configmap://{in_url(tmp_path)}"
    with pytest.raises(Failed, match=r"ReadOnlyError: .*expected observe=True"):
        one.join(name="one")
    one.begin(name="one", observe=True)
    assert one.ask("lr.value") == 0.5
    with pytest.raises(Failed, match="one observes the fleet: expected a member"):
        one.do("pf.fleet.check(timeout=1)")
    (tmp_path / "next").symlink_to("..2")
    (tmp_path / "next").rename(tmp_path / "..data")
    one.wait_for("lr.value", 0.75)
