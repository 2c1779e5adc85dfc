"""Flags in the tasks and actors of Ray. Each driver is a process, as Ray's users start them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest
from servers import RayCluster

pytestmark = pytest.mark.release  # needs gigabytes of packages

COMMON = """
import os, ray, time
import paddle_flags as pf
from paddle_flags import fleet
from paddle_flags.fleet import ray as flags

def level():
    try:
        pf.define("level", 1, "Level", runtime=True)
    except pf.FlagError:
        pass
    return pf.FLAGS.level

def until(function, wanted):
    end = time.monotonic() + 60
    while (found := function()) != wanted:
        assert time.monotonic() < end, found
        time.sleep(0.1)
"""


@pytest.fixture(scope="module")
def cluster():
    cluster = RayCluster()
    yield cluster
    cluster.end()


def drive(cluster, program):
    """Run a driver."""
    ran = subprocess.run(
        [sys.executable, "-c", COMMON + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "RAY_ADDRESS": cluster.address},
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_tasks_and_actors_have_the_values_and_later_drivers_find_them(cluster):
    drive(
        cluster,
        """
        ray.init(runtime_env=flags.runtime_env("job", role="learner"), log_to_driver=False)
        with fleet.Fleet(flags.start("job")) as operator:
            operator.set({"level": 7})
            assert ray.get(ray.remote(level).remote()) == 7

            @ray.remote(num_cpus=0)
            class Learner:
                def level(self):
                    return level()
            learner = Learner.remote()
            assert ray.get(learner.level.remote()) == 7
            operator.set({"level": 8}, wait=60)
            assert ray.get(learner.level.remote()) == 8
            assert {m["role"] for m in operator.members().values()} == {"learner"}
        """,
    )
    drive(
        cluster,
        """
        ray.init(runtime_env=flags.runtime_env("job"), log_to_driver=False)
        assert ray.get(ray.remote(level).remote()) == 8
        assert pf.fleet.Fleet(flags.address("job")).values()["level"].value == "8"
        """,
    )


def test_an_actor_that_died_is_back_without_its_state(cluster):
    out = drive(
        cluster,
        """
        ray.init(log_to_driver=False)
        store = fleet.open_store(flags.address("other"), timeout=30)
        assert store.append(1, b"x")
        os.kill(flags.read_actor_address().pid, 9)
        try:
            store.last()
        except fleet.UnreachableError:
            print("unreachable")

        def last():
            try:
                return store.last()
            except fleet.UnreachableError:
                return None
        until(last, 0)  # Ray has restarted it
        assert store.append(1, b"x")
        ray.kill(ray.get_actor("fleet", namespace="paddle_flags"))  # for good
        until(last, 0)  # the driver has made another one
        print("back")
        """,
    )
    assert out.split() == ["unreachable", "back"]


def test_a_member_notices_that_the_state_is_lost_and_keeps_its_values(cluster):
    drive(
        cluster,
        """
        ray.init(log_to_driver=False)
        with fleet.Fleet(flags.start("third"), timeout=30) as operator:
            operator.set({"level": 7})
            member = fleet.join(flags.address("third"), ttl=1)
            assert level() == 7
            os.kill(flags.read_actor_address().pid, 9)
            until(lambda: "lost" in member.problem, True)
            assert level() == 7
        """,
    )
