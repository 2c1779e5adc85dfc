"""Members that end, stop, or lose the engine of their fleet."""

from __future__ import annotations

import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from members import FLAGS, SOON, Failed, eventually, member_states
from support import IS_ROOT, WINDOWS, in_url

from paddle_flags.fleet import AbortedError, Fleet


@pytest.mark.skipif(WINDOWS, reason="os.fork is missing")
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
    assert one.wait() == (signal.SIGTERM if WINDOWS else -signal.SIGTERM)


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
    fleet.set({"level": 10}, force=True)
    again.wait_for("level.value", 10)


def test_an_engine_that_lost_its_state_changes_nothing_and_status_says_so(
    fleet, members, folder, url
):
    [one] = members(1)
    for value in (7, 8, 9):
        fleet.set({"level": value}, wait=SOON)
    folder.rename(folder.with_name("old"))
    with Fleet(url) as other:
        other.set({"level": 50}, force=True)
        one.wait_for("'has lost its state' in pf.fleet.member().problem", True)
        for _ in range(5):
            other.set({"level": 60}, force=True)
        one.wait_for("'it is fleet' in pf.fleet.member().problem", True)
        assert one.ask("level.value") == 9
        eventually(lambda: [each.state for each in other.status().members], ["lost"])


def test_an_answer_to_a_question_of_the_log_before_is_no_answer(fleet, members, folder, url):
    [one] = members(1, ttl=SOON)
    for value in (7, 8, 9):
        fleet.set({"level": value}, wait=SOON)
    one.stop()
    shutil.rmtree(folder / "log")
    with Fleet(url) as other:
        with pytest.raises(AbortedError, match=r"no answer of trainer-0 after 0\.5 s") as caught:
            other.set({"level": 50}, wait=0.5)
        assert "lost: it keeps revision 6 of fleet" in caught.value.outcome.silent["trainer-0"]
        outcome = other.set({"level": 50}, force=True, wait=0.5)
        assert list(outcome.silent) == ["trainer-0"]


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


@pytest.mark.extended  # takes a second or more
def test_a_stopped_member_is_named_slow_and_later_gone(fleet, members):
    one, two = members(2, ttl=6.0)
    two.stop()
    outcome = fleet.set({"level": 9}, force=True, wait=0.5)
    assert outcome.silent == {"trainer-1": "slow: it has read revision 0"}
    eventually(lambda: member_states(fleet)["trainer-1"], "slow")
    eventually(lambda: member_states(fleet)["trainer-1"], "gone")
    two.go_on()
    eventually(lambda: member_states(fleet)["trainer-1"], "current")
    assert one.ask("level.value") == 9


def test_a_rank_that_has_not_joined_is_named_missing(fleet, process):
    process(WORLD_SIZE="3", RANK="1").begin()
    found = [(each.name, each.state) for each in fleet.status().members]
    assert found == [("rank-0", "missing"), ("rank-1", "current"), ("rank-2", "missing")]


@pytest.mark.skipif(not IS_ROOT, reason="only root can be two users")
def test_one_that_may_not_write_is_no_silent_member_and_may_observe(process):
    with tempfile.TemporaryDirectory() as place, Fleet(f"dir://{in_url(place)}/job") as fleet:
        fleet.set({"level": 7})
        for path in [Path(place), *Path(place).rglob("*")]:
            path.chmod(0o755)
        one = process()
        one.url = fleet.url
        one.do(f"pf.fleet.join, pf.fleet.Fleet({fleet.url!r}).status()")  # imports what it needs
        one.do("import decimal, paddle_flags._core.history, paddle_flags._report.facts")
        one.do("os.seteuid(65534)")
        with pytest.raises(Failed, match=r"ReadOnlyError: .*expected observe=True"):
            one.begin(name="one")
        one.do(FLAGS)
        assert one.ask("level.value") == 1
        one.join(name="one", observe=True)
        assert one.ask("level.value") == 7
        fleet.set({"level": 8})
        one.wait_for("level.value", 8)
        assert fleet.members() == {}
        one.end()


def test_a_second_process_of_the_name_is_refused_but_a_successor_is_not(process):
    one = process().begin(name="one", ttl=60.0)
    with pytest.raises(Failed, match=f"one is a member already, process {one.pid}"):
        process().begin(name="one")
    one.kill()
    process().begin(name="one")
