"""A fleet of any engine relayed into a folder, for members that read only folders."""

from __future__ import annotations

import sys
import threading
from contextlib import closing

import pytest
from members import SOON, Failed, Process, eventually, member_states, states
from native import Native, host

from paddle_flags.fleet import AbortedError, Fleet, FleetError, open_store, relay
from paddle_flags.fleet._relay import Relay

SOURCES = ["dir", pytest.param("etcd", marks=pytest.mark.extended)]
pytestmark = pytest.mark.parametrize("engine", SOURCES, indirect=True, scope="module")


@pytest.fixture
def url(engine):
    return engine.new()


@pytest.fixture
def place(tmp_path):
    return f"dir://{tmp_path}/relayed?poll=0.01"


@pytest.fixture
def relayed(url, place):
    """Relay the fleet at `url` into `place` as long as the test runs."""
    stop = threading.Event()
    errors = []

    def work():
        try:
            relay(url, place, ttl=2.0, stop=stop)
        except FleetError as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    yield errors
    stop.set()
    thread.join()


@pytest.fixture
def two(relayed, process, place, url):
    """Start a member of the engine, and one of the folder."""
    there, here = process(), process()
    there.begin(name="there")
    here.url = place
    here.begin(name="here")
    eventually(lambda: names(url), {"there", "here"})
    eventually(lambda: names(place), {"there", "here"})
    assert not relayed
    return there, here


def names(url):
    with Fleet(url) as fleet:
        return set(fleet.members())


def test_a_change_reaches_both_sides_and_both_answer(fleet, two):
    there, here = two
    outcome = fleet.set({"level": 9}, wait=SOON)
    assert states(outcome) == {"there": "applied", "here": "applied"}
    assert (there.ask("level.value"), here.ask("level.value")) == (9, 9)


def test_a_member_of_the_folder_votes(fleet, two):
    with pytest.raises(AbortedError, match="here reject"):
        fleet.set({"level": 101}, member="here", all_or_none=True, wait=SOON)
    assert fleet.set({"level": 9}, all_or_none=True, wait=SOON).ok
    for each in two:
        each.do("pf.fleet.tick(1)")
    assert fleet.set({"level": 8}, at_step=3, wait=SOON).ok
    for each in two:
        each.do("pf.fleet.tick(3)")
        assert each.ask("level.value") == 8


def test_check_waits_for_both_sides(two):
    there, here = two
    here.do("lr.value = 0.5")
    here.send("do", "pf.fleet.check(expect=2)")
    with pytest.raises(Failed, match=r"lr: '0.5' from run time .* in here; '0.1' from"):
        there.do("pf.fleet.check(expect=2)")
    with pytest.raises(Failed, match="lr: "):
        here.receive()


def test_one_that_leaves_is_gone_on_the_other_side(two, url, place):
    there, here = two
    here.do("pf.fleet.leave()")
    eventually(lambda: names(url), {"there"})
    there.do("pf.fleet.leave()")
    eventually(lambda: names(place), set())


def test_one_that_has_left_the_folder_is_known_when_the_relay_has_ended(fleet, url, place, process):
    one = Relay(open_store(url), open_store(place), 2.0)
    here = process()
    here.url = place
    here.begin(name="here")
    one.turn()
    fleet.set({"level": 9})
    here.end()
    one.turn()
    one.close()
    assert member_states(fleet) == {"here": "left"}


def test_a_farewell_in_the_folder_does_not_hide_a_process_that_has_the_name(
    fleet, url, place, process
):
    here, heir = process(), process()
    with closing(open_store(url)) as source, closing(open_store(place)) as folder:
        one = Relay(source, folder, 2.0)
        here.url = place
        here.begin(name="one")
        one.turn()
        here.end()
        one.turn()
        heir.do("from paddle_flags.fleet import _role; _role.host_name = lambda: 'elsewhere'")
        heir.begin(name="one")
        for each in (one, Relay(source, folder, 2.0)):
            each.turn()
            each.turn()
            assert (names(url), names(place)) == ({"one"}, {"one"})
            assert fleet.members()["one"]["pid"] == heir.pid


def test_a_folder_begins_where_the_log_begins(fleet, place, monkeypatch, request):
    monkeypatch.setattr("paddle_flags.fleet._follow._MOST", 3)
    monkeypatch.setattr("paddle_flags.fleet._follow._KEPT", 1)
    for level in range(6):
        fleet.set({"level": level})
    request.getfixturevalue("relayed")
    here = Process(place)
    try:
        here.begin(name="here")
        here.wait_for("level.value", 5)
        fleet.set({"level": 7})
        here.wait_for("level.value", 7)
    finally:
        here.clean()


def test_a_folder_of_another_fleet_is_refused(fleet, place, request):
    with Fleet(place) as other:
        other.set({"level": 1})
    fleet.set({"level": 1})
    fleet.set({"level": 2})
    errors = request.getfixturevalue("relayed")
    eventually(lambda: len(errors), 1)
    assert "is fleet" in str(errors[0])
    with Fleet(place) as other:
        assert other.revision == 1


@pytest.mark.extended
@pytest.mark.skipif(sys.platform != "linux", reason="the module works on Linux")
def test_a_c_program_is_a_member_of_the_engine(fleet, relayed, place, url):
    one = Native(place, host()).begin(name="one")
    try:
        eventually(lambda: names(url), {"one"})
        assert fleet.set({"level": 9}, wait=SOON).ok
        assert one.value("level") == "9"
        one.do("tick 1")
        with pytest.raises(AbortedError, match="one rejects it: has begun step 1"):
            fleet.set({"level": 8}, at_step=1, wait=SOON)
        assert one.do("leave") == "ok"
    finally:
        one.clean()
    assert not relayed
