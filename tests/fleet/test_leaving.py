"""Members that leave, and whoever has their names then."""

from __future__ import annotations

import sys

import pytest
from members import SOON, member_states
from native import Native, host

AWAY = "from paddle_flags.fleet import _role; _role.host_name = lambda: 'elsewhere'"


@pytest.fixture(params=["python", pytest.param("c", marks=pytest.mark.extended)])
def leaving(request, url, process):
    """Start a member `one`, in Python or in C."""
    if request.param == "python":
        yield process().begin(name="one")
        return
    if sys.platform != "linux":
        pytest.skip("the module works on Linux")
    made = Native(url, host())
    yield made.begin(name="one")
    made.clean()


def test_one_that_leaves_does_not_hide_a_process_that_has_its_name(fleet, process, leaving):
    fleet.set({"level": 2}, wait=SOON)  # then it has said all that it has to say
    heir = process()
    heir.do(AWAY)  # on the same machine, it would be refused
    heir.begin(name="one")
    assert fleet.members()["one"]["pid"] == heir.pid
    leaving.end()
    assert fleet.members()["one"]["pid"] == heir.pid
    assert fleet.set({"level": 3}, wait=SOON, all_or_none=True).answers.keys() == {"one"}


def test_one_whose_lease_has_ended_says_that_it_has_left(fleet, leaving):
    fleet.set({"level": 2}, wait=SOON)
    (pid,) = [each["pid"] for each in fleet.members().values()]
    assert pid == leaving.pid
    fleet._store.withdraw("one")  # noqa: SLF001 - as when it was stopped for long
    leaving.end()
    assert [each.state for each in fleet.status().members] == ["left"]


def test_a_rank_that_leaves_before_any_change_is_not_missing(fleet, process):
    world = {"WORLD_SIZE": "3"}
    two = [process(**world, RANK=str(rank)).begin(role="worker") for rank in (0, 1)]
    two[1].end()
    found = member_states(fleet)
    assert found == {"worker-0": "current", "worker-1": "left", "worker-2": "missing"}
