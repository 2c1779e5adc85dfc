"""Flags in the workers of a Dask cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import closing

import pytest
from dask_tasks import append_from_a_task, level
from members import eventually
from servers import DaskScheduler, pause, resume
from support import package

from paddle_flags.fleet import Fleet, UnreachableError, open_store

pytestmark = pytest.mark.release  # needs gigabytes of packages


@pytest.fixture
def scheduler():
    scheduler = DaskScheduler()
    yield scheduler
    scheduler.end()


@pytest.fixture
def client(scheduler):
    with package("distributed").Client(scheduler.address, timeout=60) as client:
        yield client


def processes(client):
    """The processes of the workers; none while one of them dies."""
    try:
        return set(client.run(os.getpid).values())
    except OSError:
        return set()


def test_workers_have_the_values_before_their_first_task_also_late_and_restarted_ones(
    scheduler, client
):
    scheduler.add_worker("--name", "early")
    url = package("paddle_flags.fleet.dask").install(client, "job", ttl=2)
    with Fleet(url, timeout=30) as fleet:
        fleet.set({"level": 7}, force=True)  # no worker has imported what defines it
        eventually(lambda: client.submit(level, workers="early", pure=False).result(60), 7)

        scheduler.add_worker("--name", "late")
        assert client.submit(level, workers="late", pure=False).result(60) == 7

        fleet.set({"level": 8}, wait=30)
        killed = processes(client)
        for pid in killed:
            os.kill(pid, signal.SIGKILL)  # the nannies start others
        eventually(lambda: len(processes(client) - killed), 2)
        assert list(client.run(level).values()) == [8, 8]
        eventually(lambda: len(fleet.members()), 2)
        client.restart()
        assert list(client.run(level).values()) == [8, 8]
        assert fleet.values()["level"].value == "8"


def test_a_preloaded_module_serves_and_joins():
    other = DaskScheduler("--preload", "paddle_flags.fleet.dask")
    try:
        url = f"dask://{other.address}/job"
        with Fleet(url, timeout=30) as fleet:
            fleet.set({"level": 5})
            other.add_worker(
                *("--preload", "paddle_flags.fleet.dask", "--fleet-job", "job"),
                *("--fleet-role", "reader"),
            )
            [member] = fleet.members().values()
            assert member["role"] == "reader"
            with package("distributed").Client(other.address, timeout=60) as client:
                assert client.submit(level).result(60) == 5
    finally:
        other.end()


def test_a_store_is_the_same_in_a_worker_and_in_a_plain_process(scheduler, client):
    scheduler.add_worker()
    url = f"dask://{scheduler.address}/job"
    store = open_store(url, timeout=30)
    assert store.append(1, b"of the program")
    assert client.submit(append_from_a_task, url).result(60)
    assert store.wait(1, 60) == 2
    assert store.read(1) == [b"of the program", b"of a task"]
    store.close()


DISCONNECTS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from paddle_flags.fleet import UnreachableError, open_store
store = open_store(sys.argv[1], timeout=3)
store.last()
print("ready", flush=True)
sys.stdin.readline()
def give_up(_):
    try:
        store.last()
    except UnreachableError:
        return "gave up"
with ThreadPoolExecutor(4) as pool:
    print(*pool.map(give_up, range(4)), sep=", ")
store.close()
"""


def test_calls_that_are_given_up_at_once_write_nothing_on_stderr(scheduler):
    command = [sys.executable, "-c", DISCONNECTS, f"dask://{scheduler.address}/job"]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, text=True, **pipes) as process:
        assert process.stdout.readline() == "ready\n"
        pause(scheduler.pid)
        try:
            out, errors = process.communicate("\n", timeout=60)
        finally:
            resume(scheduler.pid)
    assert (out, errors) == ("gave up, gave up, gave up, gave up\n", "")


MEMBER = """
import sys
import paddle_flags as pf
pf.fleet.join(sys.argv[1], name="one", ttl=1)
pf.define("level", 1, "Level", runtime=True)
pf.parse(["program"])
print("ready", flush=True)
sys.stdin.readline()
print(pf.fleet.member().stale is not None, pf.FLAGS.level, flush=True)
"""


@pytest.mark.parametrize("is_killed", [True, False])
def test_a_member_whose_scheduler_goes_away_ends_without_a_word_on_stderr(scheduler, is_killed):
    url = f"dask://{scheduler.address}/job"
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with (
        subprocess.Popen([sys.executable, "-c", MEMBER, url], text=True, **pipes) as process,
        closing(open_store(url, timeout=1)) as store,
    ):
        assert process.stdout.readline() == "ready\n"
        os.kill(scheduler.pid, signal.SIGKILL if is_killed else signal.SIGTERM)
        eventually(lambda: is_away(store))
        time.sleep(2)  # its lease ends meanwhile, and it connects again and again
        out, errors = process.communicate("\n", timeout=60)
    assert (out, errors, process.returncode) == ("True 1\n", "", 0)


def is_away(store):
    try:
        store.last()
    except UnreachableError:
        return True
    return False
