"""Status tells the truth: also of members that can't write, and to readers with a wrong clock."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from etcd_cluster import Cluster
from members import FLAGS, SOON, eventually, member_states
from support import IS_ROOT, in_url

from paddle_flags.fleet import AbortedError, Fleet
from paddle_flags.fleet._process import read_process_start_id
from paddle_flags.fleet._role import host_name

NOBODY = 65534


# ---- Numbers of processes ----


def announced(store, pid, process):
    """Announce a member of this machine, as a process that has been killed had done."""
    document = {"name": "one", "host": host_name(), "pid": pid, "process": process}
    store.announce("one", json.dumps(document).encode(), SOON)


def test_a_restarted_container_joins_although_its_old_pid_is_another_process_now(
    fleet, store, process
):
    announced(store, os.getpid(), f"another-boot {os.getpid()} 1234")
    one = process().begin(name="one")
    [found] = fleet.status().members
    assert (found.state, found.pid) == ("current", one.pid)


def test_a_restarted_container_joins_although_it_has_its_old_pid_itself(fleet, store, process):
    one = process()
    announced(store, one.pid, read_process_start_id(one.pid))
    one.begin(name="one")
    assert [each.pid for each in fleet.status().members] == [one.pid]


# ---- Members that can't write ----


@pytest.fixture
def shared():
    """A fleet whose members any user may write."""
    with (
        tempfile.TemporaryDirectory() as place,
        Fleet(f"dir://{in_url(place)}/job?poll=0.01") as fleet,
    ):
        fleet.set({"level": 7})
        for path in [Path(place), *Path(place).rglob("*")]:
            path.chmod(0o755)
        members = Path(place, "job", "members")
        members.chmod(0o777)
        yield fleet, members


@pytest.mark.skipif(not IS_ROOT, reason="only root can be two users")
def test_a_member_that_can_write_no_longer_is_named_and_no_change_passes_over_it(shared, process):
    fleet, folder = shared
    one = process()
    one.url = fleet.url
    one.do(f"pf.fleet.join, pf.fleet.Fleet({fleet.url!r}).status()")  # imports what it needs
    one.do("import decimal, paddle_flags._core.history, paddle_flags._report.facts")
    one.do(f"os.seteuid({NOBODY})")
    one.join(name="one", ttl=2.0)
    one.do(FLAGS)
    assert fleet.set({"level": 8}, wait=SOON).ok
    folder.chmod(0o755)
    with pytest.raises(AbortedError, match=r"no answer of one after 0\.5 s"):
        fleet.set({"level": 9}, wait=0.5)
    one.wait_for("'Permission denied' in pf.fleet.member().problem", True)
    outcome = fleet.set({"level": 9}, force=True, wait=0.5)
    assert outcome.silent.keys() == {"one"}
    eventually(lambda: member_states(fleet), {"one": "slow"})
    assert not fleet.status().ok
    one.end()


def as_root(cluster, *words):
    cluster.ctl(*words, "--user=root:password")


@pytest.mark.extended
def test_a_member_whose_user_was_deleted_is_named(process):
    with Cluster(1) as cluster:
        cluster.add_users()
        as_root(cluster, "user", "add", "leaver:password")
        as_root(cluster, "user", "grant-role", "leaver", "member")
        url = "etcd://{}:password@{}/jobs/one"
        one = process()
        one.url = url.format("leaver", cluster.hosts)
        with Fleet(url.format("operator", cluster.hosts)) as fleet:
            one.begin(name="one", ttl=2.0)
            assert fleet.set({"level": 8}, wait=SOON).ok
            as_root(cluster, "user", "delete", "leaver")
            fleet.set({"level": 9}, force=True)
            one.wait_for("'etcd has no user leaver' in pf.fleet.member().problem", True)
            eventually(lambda: member_states(fleet), {"one": "gone"})
            assert not fleet.status().ok
            assert one.ask("level.value") == 8


# ---- Clocks ----

AHEAD = """
import sys, time
real, skew = time.time, float(sys.argv[1])
time.time = lambda: real() + skew
from paddle_flags.__main__ import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.extended  # takes a second or more
@pytest.mark.parametrize("skew", [30, -30, 100_000])
def test_the_clock_of_an_operator_does_not_matter(members, url, skew):
    members(2, ttl=2.0)
    assert run_with(skew, "set", url, "level=8", "--wait", "60").returncode == 0
    ended = run_with(skew, "status", url)
    assert ended.returncode == 0, ended.stdout
    assert ended.stdout.count("current") == 2


@pytest.mark.parametrize("skew", [30, -30])
def test_a_member_that_hangs_is_slow_by_every_clock(fleet, members, url, skew):
    [one] = members(1, ttl=60.0)
    one.stop()
    fleet.set({"level": 8}, force=True)
    eventually(lambda: fleet.status().members[0].state, "slow")
    ended = run_with(skew, "status", url)
    assert ended.returncode == 4, ended.stdout
    assert "trainer-0 is slow: has read revision 0 of 1" in ended.stdout
    one.kill()


def run_with(skew, *tokens):
    """Run a command whose clock is wrong by some seconds."""
    command = [sys.executable, "-c", AHEAD, str(skew), *tokens]
    return subprocess.run(command, capture_output=True, text=True, timeout=SOON, check=False)


# ---- Values ----


def test_diff_names_the_default_of_members_with_the_same_definitions(fleet, members):
    every = members(3)
    for each in every:
        each.do("pf.fleet.member().follow_and_publish()")
    every[0].do("level.value = 5; pf.fleet.member().follow_and_publish()")
    [found] = fleet.diff()
    assert [(each.value, each.members) for each in found.holders] == [
        ("1", ("trainer-1", "trainer-2")),
        ("5", ("trainer-0",)),
    ]
    assert fleet.status().revision == 0


def test_diff_names_the_defaults_of_members_with_other_definitions(fleet, members):
    one, two = members(2)
    two.do("pf.define('extra', 1, 'Of this one')")
    one.do("level.value = 5; pf.fleet.member().follow_and_publish()")
    two.do("pf.fleet.member().follow_and_publish()")
    found = {each.name: [h.value for h in each.holders] for each in fleet.diff()}
    assert found == {"extra": [None, "1"], "level": ["5", "1"]}


def test_diff_says_whose_values_it_does_not_know(fleet, members):
    one, two = members(2, ttl=SOON)
    two.do("pf.define('extra', 1, 'Of this one'); pf.fleet.member().follow_and_publish()")
    one.do("level.value = 5; pf.fleet.member().follow_and_publish()")
    two.stop()
    [found] = [each for each in fleet.diff() if each.name == "level"]
    assert [each.value for each in found.holders] == ["5", "its own default, or not defined"]
    two.go_on()
