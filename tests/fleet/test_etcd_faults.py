"""A fleet in three nodes of etcd, of which some are killed, stopped or cut off."""

from __future__ import annotations

import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from etcd_cluster import Cluster
from members import SOON
from swallowing import Swallowing

from paddle_flags.fleet import _etcd
from paddle_flags.fleet._open import open_store
from paddle_flags.fleet._store import FleetError, UnreachableError

pytestmark = pytest.mark.release  # needs minutes


@pytest.fixture(scope="module")
def running():
    with Cluster(3) as made:
        yield made


@pytest.fixture
def cluster(running):
    yield running
    running.restart()


@pytest.fixture
def url(cluster, request):
    return f"etcd://{cluster.hosts}/jobs/{request.node.name}"


def append(store, record):
    """Append a record at the next number, whoever else does so."""
    while True:
        number = store.last() + 1
        if store.append(number, record):
            return number


@pytest.mark.parametrize("node", [0, 1, 2])
def test_any_node_may_die(cluster, url, node):
    stores = [open_store(url, timeout=SOON) for _ in range(4)]  # they begin at different nodes
    for store in stores:
        append(store, b"before")
    cluster.nodes[node].kill()
    for store in stores:
        append(store, b"after")
        assert store.last() >= 5
        store.announce("a", b"", 60)
        store.keep_alive("a")
        assert store.members() == {"a": (b"", True)}
    assert stores[0].read(1) == [b"before"] * 4 + [b"after"] * 4
    for store in stores:
        store.close()


def test_without_a_quorum_the_engine_is_unreachable_until_it_has_one(cluster, url):
    store = open_store(url, timeout=2)
    append(store, b"before")
    others = cluster.nodes[:2]
    for node in others:
        node.kill()
    for call in (store.last, lambda: store.append(2, b"x"), lambda: store.wait(1, 1000)):
        with pytest.raises(UnreachableError, match=r"127\.0\.0\.1"):
            call()
    cluster.restart()
    patient = open_store(url, timeout=SOON)
    append(patient, b"after")
    found = patient.read(1)
    assert found[0] == b"before"
    assert found[-1] == b"after"
    assert set(found) <= {b"before", b"after", b"x"}  # what raised may have happened
    for each in (store, patient):
        assert each.wait(len(found) - 1, SOON) == len(found)
        each.close()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("role", ["leader", "follower"])
def test_what_waits_at_a_node_that_dies_or_hangs_is_woken_by_another_node(cluster, url, how, role):
    stores = [open_store(url, timeout=10) for _ in range(6)]  # some of them wait at that node
    writer = open_store(url, timeout=SOON)
    append(writer, b"first")
    with ThreadPoolExecutor(6) as pool:
        waiting = [pool.submit(store.wait, 1, 1000) for store in stores]
        time.sleep(1)
        leader = cluster.leader()
        node = cluster.nodes[leader if role == "leader" else (leader + 1) % 3]
        if how == signal.SIGKILL:
            node.kill()
        else:
            node.signal(how)
        append(writer, b"second")
        assert [each.result(SOON) for each in waiting] == [2] * 6
    for store in [*stores, writer]:
        store.close()


def test_etcd_forgets_its_history_and_waiters_miss_nothing(cluster, url):
    store, writer = open_store(url), open_store(url)
    append(writer, b"1")
    assert store.wait(1, 0.1) == 1  # a watch is kept for the next wait
    with ThreadPoolExecutor(1) as pool:
        for number in range(2, 8):
            for _ in range(5):
                append(writer, b"x") if number % 2 else writer.announce("m", b"", 60)
            last = writer.last()
            waiting = pool.submit(store.wait, last, 1000)
            # As etcd does by itself with --auto-compaction-retention.
            cluster.ctl("compact", revision(cluster), "--physical")
            time.sleep(0.1)
            assert append(writer, b"y") == last + 1
            assert waiting.result(SOON) == last + 1
    assert len(store.read(1)) == store.last()
    for each in (store, writer):
        each.close()


def test_a_watch_from_a_revision_that_etcd_has_forgotten_ends_at_once(cluster, url):
    store = open_store(url)
    append(store, b"1")
    then = int(revision(cluster))
    for _ in range(3):
        append(store, b"x")
    cluster.ctl("compact", revision(cluster), "--physical")
    create = {"key": store._encode_key("head"), "start_revision": str(then)}
    stream, _ = store._request("watch", {"create_request": create})
    assert _etcd._read_watched_number(stream, SOON) == 0
    assert _etcd._read_watched_number(stream, SOON) is None
    stream.close()
    store.close()


def revision(cluster):
    """The current revision of etcd."""
    fields = cluster.ctl("get", "nothing", "--write-out=fields").splitlines()
    return next(line.split()[-1] for line in fields if line.startswith('"Revision"'))


def test_a_record_whose_answer_is_lost_is_created_once_and_known(cluster, url):
    """The connection ends after the request has passed, before the answer does."""
    with Swallowing(cluster.nodes[0].port) as proxy:
        store = open_store(url.replace(cluster.hosts, f"127.0.0.1:{proxy.port}"), timeout=SOON)
        assert store.last() == 0
        proxy.swallow(b"/kv/txn")
        assert store.append(1, b"mine")
        assert proxy.swallowed == 1
        assert store.read(1) == [b"mine"]
        proxy.swallow(b"/kv/txn")
        assert not store.append(1, b"mine")
        assert not store.append(1, b"other")
        proxy.swallow(b"/kv/txn")
        store.announce("m", b"document", 60)
        assert store.member("m") == (b"document", True)
        proxy.swallow(b"/kv/txn")
        assert store.compact(1, b"base")
        assert store.base() == (1, b"base")
        store.close()


def test_a_store_is_closed_while_nodes_are_away(cluster, url):
    store = open_store(url, timeout=SOON)
    append(store, b"x")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(store.wait, 1, 1000)
        time.sleep(0.5)
        cluster.stop()
        time.sleep(0.5)
        store.close()
        with pytest.raises(FleetError, match="closed"):
            waiting.result(SOON)


# -- Random faults --

FAULTS = 10


def misfortune(cluster, dice, ended):
    """Kill, stop and start nodes, and then let the writers end."""
    try:
        for _ in range(FAULTS):
            time.sleep(dice.uniform(0.1, 1))
            node = dice.choice(cluster.nodes)
            if not node.runs:
                node.start()
            elif dice.random() < 0.6:
                node.kill()
            else:
                node.signal(signal.SIGSTOP)
                time.sleep(dice.uniform(0.1, 3))
                node.signal(signal.SIGCONT)
    finally:
        cluster.restart()
        ended.set()


class Writer:
    """Appends records under a name, and remembers what was acknowledged."""

    def __init__(self, url, name):
        self.url, self.name = url, name
        self.acknowledged = {}
        self.doubtful = set()

    def run(self, ended):
        store, index = open_store(self.url, timeout=2), 0
        while not ended.is_set():
            index += 1
            record = b"%s %d" % (self.name, index)
            try:
                number = store.last() + 1
                if store.append(number, record):
                    self.acknowledged[record] = number
            except UnreachableError:
                self.doubtful.add(record)
            time.sleep(0.002)
        store.close()


def follow(url, ended):
    """Read as a member does, to the end; return what was seen."""
    store, seen, is_last = open_store(url, timeout=2), [], False
    while not is_last:
        is_last = ended.is_set()
        try:
            store.wait(len(seen), 1)
            while more := store.read(len(seen) + 1):
                seen += more
        except UnreachableError:
            is_last = False
    store.close()
    return seen


@pytest.mark.parametrize("seed", range(3))
def test_no_acknowledged_record_is_lost_whatever_dies(cluster, url, seed):
    ended = threading.Event()
    writers = [Writer(url, b"w%d" % n) for n in range(3)]
    with ThreadPoolExecutor(8) as pool:
        writing = [pool.submit(writer.run, ended) for writer in writers]
        following = [pool.submit(follow, url, ended) for _ in range(2)]
        misfortune(cluster, random.Random(seed), ended)
        for job in writing:
            job.result(300)
        seen = [job.result(300) for job in following]
    store = open_store(url, timeout=SOON)
    found = []
    while more := store.read(len(found) + 1):
        found += more
    store.close()
    assert len(found) == len(set(found)) > 10  # writers came through, on a slow machine too
    assert seen == [found] * 2
    for writer in writers:
        for record, number in writer.acknowledged.items():
            assert found[number - 1] == record
    known = set().union(*({*each.acknowledged, *each.doubtful} for each in writers))
    assert set(found) <= known  # what was refused is not there
