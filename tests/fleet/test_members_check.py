"""What members have differently: the check at the start, and diff."""

from __future__ import annotations

import time

import pytest
from members import SOON, Failed, eventually

from paddle_flags.fleet import open_store
from paddle_flags.fleet._record import decode

pytestmark = pytest.mark.extended  # each test starts processes


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


def test_check_waits_for_as_many_as_any_member_expects(process):
    two = [process(WORLD_SIZE="2", RANK=str(rank)).begin() for rank in range(2)]
    for each, expect in zip(two, (2, 3)):
        each.send("do", f"pf.fleet.check(expect={expect}, timeout=1)")
        time.sleep(0.2 * (3 - expect))
    text = outcomes(two)[1]
    assert "2 of 3 members are here" in text


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
    assert "level: '1' from default in rank-0; '3' from run time" in text
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
        ("1", ("trainer-1",)),
    ]
    assert two.ask("level.value") == 1


def test_diff_names_a_value_of_the_fleet_that_one_member_could_not_take(fleet, members):
    _, two = members()
    two.do("level.validate(lambda value: value != 13, 'unlucky')")
    fleet.set({"level": 13}, force=True, wait=SOON)
    eventually(lambda: [each.name for each in fleet.diff()], ["level"])
    [found] = fleet.diff()
    assert {(each.value, each.members) for each in found.holders} == {
        ("13", ("trainer-0",)),
        ("1", ("trainer-1",)),
    }


def stages(fleet):
    """Return what members have said of checks."""
    return [decode(data, 0).check["stage"] for data in open_store(fleet.url).read(1)]


@pytest.mark.extended  # takes a second or more
def test_one_member_compares_for_all_that_come_at_the_same_time(fleet, process):
    four = [process().begin(role="trainer", rank=rank) for rank in range(4)]
    start_check(four, expect=4)
    assert outcomes(four) == [""] * 4
    assert stages(fleet) == ["compares", "alike"]


def test_one_member_compares_for_all_that_join_while_it_waits(fleet, process):
    three = []
    for rank in range(3):
        three.append(process().begin(role="trainer", rank=rank))
        start_check(three[-1:], expect=3)
        eventually(lambda: stages(fleet)[:1], ["compares"])
    assert outcomes(three) == [""] * 3
    assert stages(fleet) == ["compares", "alike"]


def test_a_change_right_behind_a_check_keeps_no_member_from_passing(fleet, process):
    first, late = process().begin(name="first"), process()
    late.url = late.url.partition("?")[0] + "?poll=1"  # it reads verdict and change at once
    late.begin(name="late")
    start_check([first], expect=2)
    eventually(lambda: stages(fleet), ["compares"])
    start_check([late], expect=2, timeout=5.0)
    assert outcomes([first]) == [""]
    fleet.set({"level": 5}, force=True)
    first.do("pf.fleet.leave()")
    assert outcomes([late]) == [""]
    late.wait_for("level.value", 5)


def test_members_that_check_at_each_start_fill_no_log(store, process):
    one = process().begin(name="one")
    one.do("from paddle_flags.fleet import _follow; _follow._MOST, _follow._KEPT = 30, 5")
    one.do("for _ in range(30): pf.fleet.check()")
    assert store.last() == 60
    assert store.base()[0] > 20
