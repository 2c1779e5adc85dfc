"""What is taken back, or ends: values that wait for a step, and flags that can't change."""

from __future__ import annotations

import pytest
from members import SOON, answer, eventually

from paddle_flags.fleet import Change, FleetError

# ---- Values that wait for a step ----


def test_no_value_comes_before_its_step_by_an_undo_or_a_reset(fleet, members):
    [one] = members(1)
    one.do("pf.fleet.tick(1)")
    fleet.set({"level": 9}, at_step=100)
    first = fleet.revision
    second = fleet.set({"level": 3}, wait=SOON).revision
    for take_back in (lambda: fleet.undo(second), lambda: fleet.reset(first)):
        with pytest.raises(FleetError, match="from step 100 on, which not all"):
            take_back()
    assert one.ask("level.value") == 3
    one.do("pf.fleet.tick(100)")
    one.ask("pf.fleet.member().follow_and_publish()")
    fleet.undo(second, wait=SOON)
    assert one.ask("level.value") == 9


def test_a_reset_leaves_what_is_as_it_was(fleet, members):
    [one] = members(1)
    one.do("pf.fleet.tick(1)")
    fleet.set({"level": 9}, at_step=100)
    first = fleet.revision
    fleet.set({"lr": 0.5}, wait=SOON)
    fleet.reset(first, wait=SOON)
    assert fleet.log()[-1].record.changes == (Change("lr", None, "all"),)
    assert one.ask("level.value") == 1
    one.do("pf.fleet.tick(100)")
    assert one.ask("level.value") == 9


# ---- Flags that can't change any more ----


def test_the_end_of_a_value_changes_no_flag_that_needs_a_restart(fleet, process):
    revision = fleet.set({"name": "brief", "level": 9}, duration=4.0).revision
    one = process().begin(name="one")
    one.do("pf.parse(['train.py'])")
    assert one.ask("(FLAGS.name, FLAGS.level)") == ["brief", 9]
    eventually(lambda: fleet.log()[-1].verdict, "ended")
    one.wait_for("(FLAGS.name, FLAGS.level)", ["brief", 1])
    why = ("needs a restart", "name: not defined with runtime=True")
    eventually(lambda: answer(fleet, "one", revision), why)
    assert not fleet.status().ok
    one.kill()
    assert process().begin(name="one").ask("FLAGS.name") == "none"


def test_a_value_that_fits_when_another_one_has_ended_changes_no_flag_that_needs_a_restart(
    fleet, process
):
    one = process()
    one.join(name="one")
    one.do('mode = pf.define("mode", 0); level = pf.define("level", 0, runtime=True)')
    one.do('pf.validator("mode", "level", message="no")(lambda mode, level: not (mode and level))')
    fleet.set({"level": 9}, duration=4.0, force=True)
    revision = fleet.set({"mode": 5}, force=True).revision
    eventually(lambda: revision in fleet.members()["one"]["answers"])
    one.do("pf.parse(['train.py'])")
    eventually(lambda: fleet.log()[-1].verdict, "ended")
    one.wait_for("(mode.value, level.value)", [0, 0])
    why = ("needs a restart", "mode: not defined with runtime=True")
    eventually(lambda: answer(fleet, "one", revision), why)
