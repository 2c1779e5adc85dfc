"""Engines and members in faults: what was acknowledged is there, and nobody has half of it.

The same with figures: python -m bench.fleet --faults. Longer: tests/fleet/schedules.py.
"""

from __future__ import annotations

import tempfile

import faults_engine
import faults_members
import pytest
import schedules
import support
from etcds import Cluster
from schedules import Etcd, Folder

SECONDS = 4.0


@pytest.fixture
def place():
    """A short path: what is in it has sockets."""
    with tempfile.TemporaryDirectory(prefix="fleet-") as name:
        yield schedules.Path(name)


@pytest.fixture(scope="module")
def cluster():
    """Three nodes of etcd. Each test heals what it breaks, or begins with that."""
    support.tool("etcd", "etcd-server")
    with (
        tempfile.TemporaryDirectory(prefix="etcd-") as name,
        Cluster(schedules.Path(name)) as cluster,
    ):
        yield cluster


@pytest.fixture
def healed(cluster):
    """The cluster, with all nodes well, before and after the test."""
    cluster.heal()
    yield cluster
    cluster.heal()


def judged(outcome: schedules.Outcome) -> schedules.Outcome:
    assert not outcome.faults, str(outcome)
    assert outcome.counts["records"] > 10, str(outcome)
    return outcome


# -- the log, with random faults --------------------------------------------------------------


def test_a_seed_always_gives_the_same_faults():
    faults = {
        "kill": schedules.Fault(print, print, ["a", "b"]),
        "stop": schedules.Fault(print, print, ["c"]),
    }
    assert schedules.plan("7", 30, faults) == schedules.plan("7", 30, faults)
    assert schedules.plan("7", 30, faults) != schedules.plan("8", 30, faults)


@pytest.mark.extended  # takes a second or more
def test_a_folder_is_linearizable_while_its_clients_are_killed_and_stopped(place):
    judged(schedules.run(Folder(place), "1", SECONDS, place))


@pytest.mark.release
@pytest.mark.parametrize("seed", range(2, 6))
def test_a_folder_is_linearizable_with_other_seeds(place, seed):
    judged(schedules.run(Folder(place), str(seed), 2 * SECONDS, place))


@pytest.mark.extended  # takes a second or more
@pytest.mark.parametrize(
    "fault",
    ["last is stale", "append has two winners", "read loses records"],
)
def test_a_store_that_is_broken_is_found_out(place, fault):
    outcome = schedules.run(Folder(place), "1", 2.0, place, fault)
    assert outcome.faults


@pytest.mark.release
@pytest.mark.parametrize("seed", range(1, 5))
def test_etcd_is_linearizable_while_nodes_die_hang_and_are_cut_off(healed, place, seed):
    judged(schedules.run(Etcd(healed), str(seed), 3 * SECONDS, place))


@pytest.mark.release
@pytest.mark.parametrize("name", ["tcpstore", "dask", "ray"])
def test_other_engines_are_linearizable_while_they_hang_and_clients_die(place, name):
    with schedules.engine(name, place) as new:
        judged(schedules.run(new(), "1", 3 * SECONDS, place))


# -- members while etcd is in trouble ---------------------------------------------------------


@pytest.mark.release
@pytest.mark.parametrize(
    "fault",
    [faults_engine.leader_killed, faults_engine.leader_stopped, faults_engine.node_cut_off],
)
def test_no_acknowledged_change_is_lost_with_a_node(healed, fault):
    fault(healed)


@pytest.mark.release
def test_without_a_quorum_members_keep_their_values_and_with_one_they_go_on(healed):
    faults_engine.quorum_lost(healed)


@pytest.mark.release
@pytest.mark.parametrize("compacts", [False, True])
def test_members_that_were_cut_off_get_what_they_missed(healed, compacts):
    faults_engine.members_cut_off(healed, compacts=compacts)


# -- members in trouble -----------------------------------------------------------------------


@pytest.fixture(params=["dir", "etcd"])
def url(request, place):
    """A new fleet."""
    if request.param == "dir":
        return f"dir://{place}/fleet"
    cluster = request.getfixturevalue("healed")
    return cluster.url(faults_engine.new_fleet())


@pytest.mark.release
@pytest.mark.parametrize(
    "fault",
    [
        faults_members.leases_under_load,
        faults_members.slow_member,
        faults_members.members_killed,
        faults_members.two_phases,
        faults_members.at_one_step,
    ],
)
def test_members_that_die_hang_or_are_slow_lose_nothing(url, fault):
    fault(url)


@pytest.mark.release
def test_a_clock_that_jumps_ends_no_value_and_no_lease(url, place):
    faults_members.clock_jumps(url, place)
