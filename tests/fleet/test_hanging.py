"""Members whose engine answers no call any more: neither soon, nor with an error, nor ever."""

from __future__ import annotations

import contextlib
import signal
import threading
import time

import pytest
from etcd_cluster import Cluster
from members import FLAGS, SOON

LONG = 20.0  # seconds: a member leaves in two, and etcd has five to answer

HANGING = """
import threading
from paddle_flags.fleet import open_store

class Hanging:
    def __init__(self, url):
        self._store = open_store(url)
        self.url = self._store.url
        self.hangs = False

    def __getattr__(self, name):
        def call(*arguments):
            if self.hangs:
                threading.Event().wait()
            return getattr(self._store, name)(*arguments)
        return call
"""


@contextlib.contextmanager
def ended_in_time(process):
    """Kill a process that has not answered for long."""
    timer = threading.Timer(SOON, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@pytest.fixture
def member(process, url):
    """Start a member, whose engine hangs as soon as it is told to."""

    def start(**options):
        one = process()
        one.do(HANGING + f"store = Hanging({url!r})")
        arguments = {"name": "one", "ttl": 1.0, **options}
        one.do(f"pf.fleet.join(store, **{arguments!r})")
        one.do(FLAGS)
        return one

    return start


def test_one_that_leaves_does_not_wait_for_its_engine(member):
    one = member()
    one.do("store.hangs = True")
    begin = time.monotonic()
    with ended_in_time(one):
        one.do("pf.fleet.leave()")
    assert time.monotonic() < begin + LONG
    assert one.ask("pf.fleet.member()") is None


def test_a_program_ends_while_its_engine_hangs(member):
    one = member()
    one.do("store.hangs = True")
    assert one.end() == 0


def test_a_lease_ends_for_its_member_while_the_engine_hangs(member, fleet):
    fleet.set({"level": 7})
    one, other = member(on_lost="exit"), member(name="other", on_lost="default")
    assert other.ask("level.value") == 7
    for each in (one, other):
        each.do("store.hangs = True")
    assert one.wait() == -signal.SIGTERM
    other.wait_for("level.value", 1)


@pytest.mark.extended
def test_a_program_ends_while_etcd_is_stopped(process):
    with Cluster(1) as cluster:
        one = process()
        one.url = f"etcd://{cluster.hosts}/jobs/hangs"
        one.begin(name="one", ttl=SOON)
        [node] = cluster.nodes
        node.signal(signal.SIGSTOP)
        try:
            begin = time.monotonic()
            assert one.end() == 0
            assert time.monotonic() < begin + LONG
        finally:
            node.signal(signal.SIGCONT)
