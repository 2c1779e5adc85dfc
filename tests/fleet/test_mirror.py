"""The values of a ConfigMap, or of any fleet, kept in a fleet that has members."""

from __future__ import annotations

import json

import pytest
from configmaps import Mounted
from members import SOON, ask, decide, eventually
from mirrors import TARGETS, values, written
from support import in_url

from paddle_flags.fleet import Change, Fleet

pytestmark = TARGETS


@pytest.fixture
def url(engine):
    return engine.new()


# ---- What is mirrored ----


def test_members_get_each_change_of_a_configmap_as_one_revision(mounted, running, fleet, members):
    trainers = {"role:trainer": {"lr": 0.5}}
    mounted.write(level="3", name="a", selectors__json=json.dumps(trainers))
    running()
    eventually(lambda: fleet.revision, 1)
    one, two = members()
    assert (one.ask("level.value"), two.ask("lr.value")) == (3, 0.5)
    mounted.write(level="4", lr="0.25", selectors__json=json.dumps({"role:trainer": {"port": 1}}))
    for each in (one, two):
        each.wait_for("(level.value, lr.value, port.value)", [4, 0.25, 1])
    assert fleet.revision == 2
    eventually(lambda: [each.state for each in fleet.status().members], ["current"] * 2)


def test_all_that_needs_members_works_in_the_target(mounted, running, fleet, members):
    mounted.write(level="3")
    running()
    eventually(lambda: fleet.revision, 1)
    one, two = members()
    assert fleet.set({"lr": 0.5}, wait=SOON).ok
    for each in (one, two):
        each.do("pf.fleet.tick(1)")
    assert fleet.set({"lr": 0.75}, at_step=2, wait=SOON).ok
    for each in (one, two):
        each.do("pf.fleet.tick(2)")
        assert each.ask("(level.value, lr.value)") == [3, 0.75]
    one.send("do", "pf.fleet.check(expect=2)")
    two.do("pf.fleet.check(expect=2)")
    one.receive()


def test_what_the_configmap_no_longer_has_is_unset_and_all_else_stays(mounted, new, fleet):
    one = new()
    fleet.set({"lr": 0.5, "level": 2})
    fleet.set({"level": 7}, role="trainer")
    mounted.write(level="3", name="a", selectors__json='{"host:h": {"level": 4}}')
    one.copy_changes()
    assert values(fleet) == {
        ("all", "lr"): "0.5",
        ("all", "level"): "3",
        ("all", "name"): "a",
        ("role:trainer", "level"): "7",
        ("host:h", "level"): "4",
    }
    mounted.write(name="b")
    one.copy_changes()
    assert values(fleet) == {
        ("all", "lr"): "0.5",
        ("all", "name"): "b",
        ("role:trainer", "level"): "7",
    }
    assert fleet.revision == 4


def test_an_empty_configmap_unsets_all_that_was_mirrored(mounted, new, fleet):
    one = new()
    fleet.set({"lr": 0.5})
    mounted.write(level="3", name="a")
    one.copy_changes()
    mounted.write()
    one.copy_changes()
    assert values(fleet) == {("all", "lr"): "0.5"}
    assert fleet.revision == 3


def test_the_log_names_the_configmap_and_says_why(mounted, new, source, fleet):
    mounted.write(level="3")
    new(f"{source}?poll=5").copy_changes()
    entry = fleet.values()["level"]
    assert (entry.by, entry.reason) == (source, f"mirrored from {source}")


def test_an_empty_file_is_an_empty_value(mounted, new, fleet):
    mounted.write(name="")
    new().copy_changes()
    assert values(fleet) == {("all", "name"): ""}
    assert new().copy_changes() is None


def test_what_is_the_same_is_not_written_again(mounted, new, fleet):
    one = new()
    mounted.write(level="3", name="a")
    assert one.copy_changes()[0] == 1
    assert one.copy_changes() is None
    mounted.write(level="3", name="a")
    assert one.copy_changes() is None
    assert fleet.revision == 1


def test_a_mirror_that_starts_again_goes_on_where_it_was(mounted, new, fleet):
    mounted.write(level="3", name="a")
    new().copy_changes()
    assert new().copy_changes() is None
    mounted.write(level="4")
    new().copy_changes()
    assert values(fleet) == {("all", "level"): "4"}
    assert fleet.revision == 2


def test_a_fleet_is_mirrored_without_temporary_values_and_steps(tmp_path, new, fleet):
    with Fleet(f"dir://{in_url(tmp_path)}/source") as other:
        other.set({"level": 3, "lr": 0.5}, role="trainer")
        one = new(other.url)
        other.set({"level": 4}, role="trainer", duration=100)
        other.set({"name": "a"}, at_step=7)
        other.set({"name": "aborted"}, dry_run=True)
        one.copy_changes()
        assert values(fleet) == {
            ("role:trainer", "level"): "3",
            ("role:trainer", "lr"): "0.5",
            ("all", "name"): "a",
        }
        other.reset(1)
        one.copy_changes()
    assert values(fleet) == {("role:trainer", "level"): "3", ("role:trainer", "lr"): "0.5"}
    assert fleet.revision == 2


# ---- Operators ----


def test_a_flag_that_an_operator_changes_is_set_back_and_the_log_shows_both(
    mounted, new, source, fleet
):
    one = new()
    mounted.write(level="3", name="a")
    one.copy_changes()
    fleet.set({"level": 9, "lr": 0.5})
    one.copy_changes()
    fleet.unset("level")
    one.copy_changes()
    assert values(fleet) == {("all", "level"): "3", ("all", "name"): "a", ("all", "lr"): "0.5"}
    assert written(fleet)[1:] == [
        ("ann@desk", [Change("level", "9"), Change("lr", "0.5")]),
        (source, [Change("level", "3")]),
        ("ann@desk", [Change("level", None)]),
        (source, [Change("level", "3")]),
    ]
    assert one.copy_changes() is None


def test_a_change_that_is_committed_later_is_set_back(mounted, new, store, fleet):
    one = new()
    mounted.write(level="3")
    one.copy_changes()
    asked = ask(store, {"level": 9})
    assert one.copy_changes() is None
    decide(store, asked)
    assert values(fleet) == {("all", "level"): "9"}
    one.copy_changes()
    assert values(fleet) == {("all", "level"): "3"}


def test_a_temporary_value_of_an_operator_holds_until_it_ends(
    mounted, running, source, fleet, process
):
    mounted.write(level="3")
    running()
    eventually(lambda: fleet.revision, 1)
    one = process().begin(name="one")
    fleet.set({"level": 9}, duration=1.5, wait=SOON)
    assert one.ask("level.value") == 9
    one.wait_for("level.value", 3)
    assert [by for by, _ in written(fleet)] == [source, "ann@desk", "one"]
    mounted.write(level="4")
    one.wait_for("level.value", 4)


def test_a_reset_by_an_operator_does_not_take_flags_from_the_configmap(mounted, new, source, fleet):
    one = new()
    mounted.write(level="3")
    one.copy_changes()
    mounted.write(level="4")
    one.copy_changes()
    fleet.set({"lr": 0.5})
    fleet.reset(1)
    assert values(fleet) == {("all", "level"): "3"}
    one.copy_changes()
    assert values(fleet) == {("all", "level"): "4"}
    fleet.reset(5)
    one.copy_changes()
    assert fleet.values()["level"].by == source
    mounted.write()
    one.copy_changes()
    assert values(fleet) == {}


def test_a_change_by_an_operator_meanwhile_is_kept_and_the_batch_written_behind_it(
    mounted, new, fleet, monkeypatch
):
    one = new()
    mounted.write(level="3", name="a")
    left = [9, 8]
    write = one._write

    def write_late(changes):
        if left:
            fleet.set({"level": left.pop(), "lr": 0.5})
        return write(changes)

    monkeypatch.setattr(one, "_write", write_late)
    assert one.copy_changes()[0] == 3
    assert values(fleet) == {("all", "level"): "3", ("all", "name"): "a", ("all", "lr"): "0.5"}


def test_a_change_by_an_operator_right_behind_that_of_the_mirror_is_set_back(
    mounted, new, fleet, monkeypatch
):
    one = new()
    mounted.write(level="3")
    follower = one._target
    append = follower.try_append

    def append_and_more(record):
        revision = append(record)
        fleet.set({"level": 9})
        return revision

    with monkeypatch.context() as patch:
        patch.setattr(follower, "try_append", append_and_more)
        one.copy_changes()
    assert values(fleet) == {("all", "level"): "9"}
    one.copy_changes()
    assert values(fleet) == {("all", "level"): "3"}


def test_a_change_that_a_base_has_replaced_meanwhile_is_set_back(mounted, new, fleet, monkeypatch):
    one = new()
    mounted.write(level="3")
    one.copy_changes()
    one.copy_changes()
    monkeypatch.setattr("paddle_flags.fleet._follow._MOST", 3)
    monkeypatch.setattr("paddle_flags.fleet._follow._KEPT", 1)
    fleet.set({"level": 9})
    fleet.unset("level")
    for lr in range(6):
        fleet.set({"lr": lr})
    follower = one._target
    catch_up = follower.catch_up
    # The log that is left says nothing of it.
    monkeypatch.setattr(follower, "catch_up", lambda: catch_up() and [])
    one.copy_changes()
    assert fleet.values()["level"].value == "3"


# ---- Two mirrors ----


def test_two_mirrors_write_each_change_once(mounted, running, fleet):
    mounted.write(level="0")
    both = running(), running()
    eventually(lambda: fleet.revision, 1)
    for level in ("1", "2", "3", "4", "5"):
        mounted.write(level=level, name="a")
        eventually(lambda: fleet.values()["level"].value, level)
    fleet.set({"level": 9})
    eventually(lambda: fleet.values()["level"].value, "5")
    for each in both:
        each.end()
        assert (each.said, each.error) == ([], None)
    levels = [step.record.changes[0].value for step in fleet.log()]
    assert levels == ["0", "1", "2", "3", "4", "5", "9", "5"]


def test_a_mirror_that_sees_a_change_later_does_not_set_back_what_the_other_has_written(
    mounted, new, fleet, tmp_path
):
    late = Mounted(tmp_path / "late")
    one, two = new(), new(f"configmap://{in_url(late.place)}")
    two.name = one.name  # as on another machine
    for each in (mounted, late):
        each.write(level="3", name="a")
    one.copy_changes()
    two.copy_changes()
    mounted.write(level="4")
    for _ in range(3):
        one.copy_changes()
        two.copy_changes()
    assert values(fleet) == {("all", "level"): "4"}
    late.write(level="4")
    two.copy_changes()
    late.write(level="3")  # and back, which this one sees first
    for _ in range(3):
        two.copy_changes()
        one.copy_changes()
    assert values(fleet) == {("all", "level"): "3"}
    mounted.write(level="5")
    one.copy_changes()
    late.write(level="6")
    two.copy_changes()
    one.copy_changes()
    assert values(fleet) == {("all", "level"): "6"}
    assert fleet.revision == 5
