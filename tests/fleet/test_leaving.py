"""Members that leave, and whoever has their names then."""

from __future__ import annotations

import json

from members import SOON, member_states

AWAY = "from paddle_flags.fleet import _role; _role.host_name = lambda: 'elsewhere'"


def test_one_that_leaves_does_not_hide_a_process_that_has_its_name(fleet, process):
    one = process().begin(name="one")
    fleet.set({"level": 2}, wait=SOON)  # then it has said all that it has to say
    heir = process()
    heir.do(AWAY)  # on the same machine, it would be refused
    heir.begin(name="one")
    assert fleet.members()["one"]["pid"] == heir.pid
    one.end()
    assert fleet.members()["one"]["pid"] == heir.pid
    assert fleet.set({"level": 3}, wait=SOON).answers.keys() == {"one"}


def test_one_whose_lease_has_ended_says_that_it_has_left(fleet, process, store):
    one = process().begin(name="one")
    fleet.set({"level": 2}, wait=SOON)
    document = fleet.members()["one"]
    assert document["pid"] == one.pid
    store.withdraw("one", json.dumps(document).encode())  # as when it was stopped for long
    one.end()
    assert member_states(fleet) == {"one": "left"}


def test_a_rank_that_leaves_before_any_change_is_not_missing(fleet, process):
    world = {"WORLD_SIZE": "3"}
    two = [process(**world, RANK=str(rank)).begin(role="worker") for rank in (0, 1)]
    two[1].end()
    found = member_states(fleet)
    assert found == {"worker-0": "current", "worker-1": "left", "worker-2": "missing"}
