"""What is taken back: values that wait for a step."""

from __future__ import annotations

import pytest
from members import SOON

from paddle_flags.fleet import Change, FleetError


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
    one.ask("pf.fleet.member().update_document()")
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
