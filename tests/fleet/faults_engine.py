"""What happens to a fleet when etcd is in trouble. Each returns figures, in seconds or counts.

What is guaranteed is asserted; how long things take is not.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from unittest import mock

import pytest
from crews import Crew, until
from etcds import Cluster
from writers import Writer, check_changes

import paddle_flags as pf
from paddle_flags.fleet import _follow

Figures = dict[str, float]

MEMBERS = 6
TIMEOUT = 2.0  # seconds of the operator's store
_numbers = itertools.count()


def new_fleet() -> str:
    """Return a name that no other fleet of the cluster has."""
    return f"job{next(_numbers)}-{time.monotonic_ns()}"


def urls(cluster: Cluster, fleet: str) -> list[str]:
    return [cluster.url(fleet, index) for index in range(len(cluster.nodes))]


def leader_killed(cluster: Cluster) -> Figures:
    """The leader is killed while changes are made, and comes back."""
    return leader_in_trouble(cluster, cluster.kill, 5)


def leader_stopped(cluster: Cluster) -> Figures:
    """The leader is stopped by SIGSTOP: its connections stay open, and nothing comes."""
    return leader_in_trouble(cluster, cluster.stop, 10)


def leader_in_trouble(cluster: Cluster, trouble: Callable[[str], None], changes: int) -> Figures:
    """Let a number of changes be made after something has happened to the leader."""
    name = new_fleet()
    with Crew() as crew, pf.fleet.Fleet(cluster.url(name), timeout=TIMEOUT) as fleet:
        names = crew.start_many(MEMBERS, urls(cluster, name))
        with Writer(fleet) as writer:
            writer.wait_acknowledged(5)
            trouble(cluster.leader())
            writer.wait_acknowledged(changes)
            cluster.heal()
            writer.wait_acknowledged(5)
        behind = check_changes(fleet, writer, crew, names)
        return {
            "changes acknowledged": len(writer.acknowledged),
            "changes without answer": len(writer.errors),
            "longest pause": writer.longest_pause(),
            "last change until all have it": behind,
        }


def quorum_lost(cluster: Cluster) -> Figures:
    """Two of three nodes are killed, and come back."""
    name = new_fleet()
    with Crew() as crew, pf.fleet.Fleet(cluster.url(name), timeout=TIMEOUT) as fleet:
        names = crew.start_many(MEMBERS, urls(cluster, name))
        fleet.set({"pair_a": 1, "pair_b": 1})
        crew.wait_applied(1, names)
        for node in ("n2", "n3"):
            cluster.kill(node)
        with pytest.raises(pf.fleet.UnreachableError):
            fleet.set({"pair_a": 2, "pair_b": 2})
        until(lambda: all(crew.look(each)["stale"] is not None for each in names))
        assert all(crew.look(each)["b"] == 1 for each in names), "members keep their values"
        for node in ("n2", "n3"):
            cluster.start(node)
        begin = time.monotonic()
        with first_read(cluster, name) as read:
            cluster.wait()
        fleet.set({"pair_a": 3, "pair_b": 3})
        changed = time.monotonic()
        taken = crew.wait_applied(3, names)
        assert not crew.halves()
        last = max(taken.values()) / 1e9
        return {
            "nodes started until the first quorum read": read[0] - begin,
            "first quorum read until the change was acknowledged": changed - read[0],
            "first quorum read until all have it": last - read[0],
            "acknowledged until all have it": max(0.0, last - changed),
        }


def node_cut_off(cluster: Cluster) -> Figures:
    """A node is cut off from the others; clients still reach it."""
    name = new_fleet()
    with Crew() as crew, pf.fleet.Fleet(cluster.url(name), timeout=TIMEOUT) as fleet:
        names = crew.start_many(MEMBERS, urls(cluster, name))
        with Writer(fleet) as writer:
            writer.wait_acknowledged(5)
            leader = cluster.leader()
            cluster.isolate(leader)
            writer.wait_acknowledged(10)
            writer.stop()
            alone = check_changes(fleet, writer, crew, names)
        cluster.heal()
        return {
            "changes acknowledged": len(writer.acknowledged),
            "longest pause": writer.longest_pause(),
            "last change until all have it, in the partition": alone,
        }


def members_cut_off(cluster: Cluster, *, compacts: bool) -> Figures:
    """Some members reach no node while changes are made; then they do again."""
    name = new_fleet()
    far_url = cluster.url_from("far", name)
    kept = mock.patch.multiple(_follow, _MOST=20, _KEPT=5) if compacts else contextlib.nullcontext()
    with kept, Crew() as crew, pf.fleet.Fleet(cluster.url(name), timeout=TIMEOUT) as fleet:
        near = crew.start_many(MEMBERS // 2, urls(cluster, name))
        far = [f"far{index}" for index in range(MEMBERS // 2)]
        for each in far:
            crew.start(each, far_url, join={"ttl": 3})
        crew.wait_joined(far)
        fleet.set({"pair_a": 1, "pair_b": 1})
        crew.wait_applied(1, near + far)
        cluster.cut_off("far")
        for value in range(2, 42):
            fleet.set({"pair_a": value, "pair_b": value})
        crew.wait_applied(41, near)
        until(lambda: all(crew.look(each)["stale"] is not None for each in far))
        assert all(crew.look(each)["b"] == 1 for each in far), "members keep their values"
        until(lambda: not set(far) & set(fleet.members()), 30)
        gone = [each.name for each in fleet.status().members if each.state == "gone"]
        healed = time.monotonic()
        cluster.network.mend_all()
        taken = crew.wait_applied(41, far)
        until(lambda: set(far) <= set(fleet.members()))
        back = time.monotonic()
        assert not crew.halves()
        log = fleet.log()
        assert (log[0].revision > 2) == compacts
        return {
            "changes in the partition": 40,
            "records left in the log": len(log),
            "members named as gone": len(set(gone) & set(far)),
            "mended until all have all": max(taken.values()) / 1e9 - healed,
            "mended until all are announced": back - healed,
        }


@contextlib.contextmanager
def first_read(cluster: Cluster, fleet: str) -> Iterator[list[float]]:
    """Note when the first quorum read succeeds."""
    found: list[float] = []

    def look() -> None:
        store = pf.fleet.open_store(cluster.url(fleet), timeout=0.5)
        while not found:
            with contextlib.suppress(pf.fleet.UnreachableError):
                store.last()
                found.append(time.monotonic())
        store.close()

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield found
    finally:
        thread.join()
