"""What every engine must do. engines.py says how each is started."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from engines import ENGINES

from paddle_flags.errors import FlagError
from paddle_flags.fleet._open import open_store
from paddle_flags.fleet._store import (
    MAX_NAME,
    MAX_RECORD,
    CompactedError,
    FleetError,
    LeaseError,
    ReadOnlyError,
    UnreachableError,
)

APPENDING = Path(__file__).with_name("appending.py")
SOON = 60  # seconds until something must have happened, on a slow and busy machine
BINARY = bytes(range(256)) * 3 + b"\0\n\r\n"


def parameter(name):
    return pytest.param(name, marks=[pytest.mark.extended] if ENGINES[name].extended else [])


@pytest.fixture(scope="module", params=[parameter(name) for name in ENGINES])
def engine(request):
    engine = ENGINES[request.param]()
    engine.start()
    yield engine
    engine.end()


@pytest.fixture
def url(engine):
    return engine.new()


@pytest.fixture
def store(url):
    store = open_store(url, timeout=30)
    yield store
    store.close()


def fill(store, count):
    for number in range(store.last() + 1, store.last() + count + 1):
        assert store.append(number, b"record %d" % number)


def records(store, first=1):
    """All records from one on, however many a call returns."""
    found = []
    while more := store.read(first + len(found)):
        found += more
    return found


def in_threads(count, function):
    """What function(0), function(1), ... return, run at once."""
    gate = threading.Barrier(count)

    def run(index):
        gate.wait()
        return function(index)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def eventually(holds):
    end = time.monotonic() + SOON
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


# -- The log --


def test_a_new_fleet_has_nothing(store):
    assert store.last() == 0
    assert store.read(1) == []
    assert store.base() == (0, b"")
    assert store.members() == {}
    assert store.decision("r1") is None


def test_records_are_read_in_order_from_a_number(store):
    fill(store, 7)
    assert store.last() == 7
    assert records(store) == [b"record %d" % n for n in range(1, 8)]
    assert records(store, 5) == [b"record 5", b"record 6", b"record 7"]
    assert store.read(8) == []


def test_other_connections_see_a_record_as_soon_as_it_is_created(store, url):
    other = open_store(url)
    for number in range(1, 20):
        assert store.append(number, b"x")
        assert other.last() == number
        assert len(records(other)) == number
    other.close()


def test_a_record_is_created_once(store, url):
    other = open_store(url)
    assert store.append(1, b"first")
    assert not other.append(1, b"second")
    assert not store.append(1, b"first")
    assert records(other) == [b"first"]
    other.close()


def test_a_record_leaves_no_gap(store):
    fill(store, 2)
    with pytest.raises(FleetError, match="4"):
        store.append(4, b"x")
    with pytest.raises(FleetError):
        store.append(0, b"x")
    assert store.last() == 2


def test_records_may_have_any_bytes_and_none(store):
    assert store.append(1, BINARY)
    assert store.append(2, b"")
    assert records(store) == [BINARY, b""]
    assert store.compact(1, BINARY)
    assert store.base() == (1, BINARY)


def test_the_longest_record_is_stored_and_a_longer_one_is_refused(store):
    longest = os.urandom(MAX_RECORD)
    for number in range(1, 13):  # more than one answer may hold
        assert store.append(number, longest)
    assert records(store) == [longest] * 12
    longer = longest + b"x"
    for call in (
        lambda: store.append(13, longer),
        lambda: store.compact(1, longer),
        lambda: store.announce("a", longer, 10),
        lambda: store.decide("a", longer),
    ):
        with pytest.raises(FleetError, match=f"{MAX_RECORD:,}"):
            call()
    store.announce("a", longest, 30)
    assert store.members() == {"a": longest}
    assert store.decide("a", longest) == longest
    assert store.decision("a") == longest
    assert store.compact(12, longest)
    assert store.base() == (12, longest)


def test_threads_that_append_at_once_win_consecutive_numbers(store, url):
    own = [open_store(url, timeout=SOON) for _ in range(3)]

    def race(index):
        mine = own[index] if index < 3 else store  # some share one store
        won = {}
        while len(won) < 8:
            number = mine.last() + 1
            record = b"%d %d" % (index, len(won))
            if mine.append(number, record):
                won[number] = record
        return won

    won = {}
    for each in in_threads(6, race):
        assert not won.keys() & each.keys()
        won.update(each)
    assert sorted(won) == list(range(1, 49))
    assert records(store) == [won[number] for number in sorted(won)]
    for each in own:
        each.close()


def test_processes_that_append_at_once_win_consecutive_numbers(store, url):
    command = [sys.executable, str(APPENDING), url]
    started = [
        subprocess.Popen(
            [*command, name, "10"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for name in "abcd"
    ]
    for process in started:
        assert process.stdout.readline() == "ready\n"
    for process in started:
        process.stdin.write("\n")
        process.stdin.flush()
    won = {}
    for process in started:
        for line in process.communicate(timeout=300)[0].splitlines():
            number, _, record = line.partition(" ")
            assert int(number) not in won
            won[int(number)] = record.encode()
        assert process.returncode == 0
    assert sorted(won) == list(range(1, 41))
    assert records(store) == [won[number] for number in sorted(won)]


# -- Waiting --


def test_wait_returns_at_once_if_there_is_a_record(store):
    fill(store, 3)
    assert store.wait(0, 1000) == 3
    assert store.wait(2, 1000) == 3


def test_wait_ends_without_a_record_after_its_time(store):
    fill(store, 3)
    assert store.wait(3, 0.2) == 3
    assert store.wait(3, 0) == 3
    assert store.wait(9, 0.2) == 3


def test_a_new_record_wakes_all_that_wait(store, url):
    other = open_store(url)
    stores = [store, store, other, other]
    with ThreadPoolExecutor(4) as pool:
        for number in range(1, 6):
            waiting = [pool.submit(each.wait, number - 1, 1000) for each in stores]
            time.sleep(0.1)
            assert not any(each.done() for each in waiting)
            assert store.append(number, b"x")
            assert [each.result(SOON) for each in waiting] == [number] * 4
    other.close()


def test_no_record_is_missed_between_two_waits(store, url):
    """The waiter counts as fast as it can while records are created."""
    other = open_store(url)
    seen = []

    def follow():
        while len(seen) < 100:
            other.wait(len(seen), 1000)
            seen.extend(records(other, len(seen) + 1))

    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(follow)
        fill(store, 100)
        following.result(SOON)
    assert seen == [b"record %d" % n for n in range(1, 101)]
    other.close()


def test_close_ends_what_waits(url):
    store = open_store(url)
    fill(store, 1)

    def wait():
        try:
            return store.wait(1, 1000)
        except FleetError:
            return None

    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(wait) for _ in range(2)]
        time.sleep(0.3)
        store.close()
        assert {each.result(SOON) for each in waiting} <= {None, 1}
    store.close()
    with pytest.raises(FleetError, match="closed"):
        store.last()


# -- Compaction --


def test_a_base_replaces_records(store, url):
    fill(store, 10)
    assert store.compact(6, b"base")
    for each in (store, open_store(url)):
        assert each.base() == (6, b"base")
        assert each.last() == 10
        assert records(each, 7) == [b"record %d" % n for n in range(7, 11)]
        for first in (1, 6):
            with pytest.raises(CompactedError, match=str(first)):
                each.read(first)
        each.close() if each is not store else None


def test_a_base_may_replace_all_records(store):
    fill(store, 3)
    assert store.compact(3, b"base")
    assert store.last() == 3
    assert store.read(4) == []
    assert not store.append(3, b"x")
    with pytest.raises(FleetError):
        store.append(5, b"x")
    assert store.append(4, b"x")
    assert records(store, 4) == [b"x"]
    assert store.last() == 4


def test_an_earlier_base_replaces_no_later_one(store):
    fill(store, 10)
    assert store.compact(6, b"six")
    assert not store.compact(6, b"other")
    assert not store.compact(3, b"three")
    assert store.base() == (6, b"six")
    assert store.compact(10, b"ten")
    assert store.base() == (10, b"ten")
    assert store.append(11, b"x")


def test_wait_sees_records_that_are_compacted_at_once(store):
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(store.wait, 0, 1000)
        fill(store, 3)
        store.compact(3, b"base")
        assert waiting.result(SOON) >= 1
    assert store.wait(0, 1000) == 3


def test_one_of_many_compactions_at_once_wins(store, url):
    fill(store, 5)
    stores = [open_store(url) for _ in range(4)]
    won = in_threads(4, lambda n: stores[n].compact(5, b"%d" % n))
    assert won.count(True) == 1
    assert store.base() == (5, b"%d" % won.index(True))
    for each in stores:
        each.close()


TOTAL = 60  # records of the race below


def write_and_compact(url, seed, ended):
    store, dice = open_store(url, timeout=SOON), random.Random(seed)
    try:
        while (last := store.last()) < TOTAL:
            store.append(last + 1, b"record %d" % (last + 1))
            number = store.last() - dice.randrange(3)
            if number > 0 and dice.random() < 0.2:
                store.compact(number, b"%d" % number)
    finally:
        ended.set()
        store.close()


def read_on(store, at):
    """Read records from one number on; return that of the last."""
    try:
        for record in store.read(at + 1):
            at += 1
            assert record == b"record %d" % at
    except CompactedError:
        number, base = store.base()
        assert base == b"%d" % number
        assert number > at
        at = number
    assert store.last() >= at
    return at


def follow(url):
    store, at = open_store(url, timeout=SOON), 0
    while at < TOTAL:
        at = read_on(store, at)
    store.close()


def begin_anew(url, ended):
    """Read everything with a new connection, again and again."""
    while not ended.is_set():
        store = open_store(url, timeout=SOON)
        least, at = store.last(), store.base()[0]
        while at < least:
            at = read_on(store, at)
        store.close()


def test_readers_see_old_records_or_the_base_while_others_append_and_compact(url):
    ended = threading.Event()
    jobs = [
        lambda: write_and_compact(url, 1, ended),
        lambda: write_and_compact(url, 2, ended),
        lambda: follow(url),
        lambda: follow(url),
        lambda: begin_anew(url, ended),
    ]
    in_threads(len(jobs), lambda index: jobs[index]())
    store = open_store(url)
    assert store.last() >= TOTAL
    store.close()


# -- Members --


def test_members_are_listed_with_their_documents(store, url):
    other = open_store(url)
    store.announce("trainer-0", b"zero", 30)
    other.announce("trainer-1", BINARY, 30)
    assert store.members() == other.members() == {"trainer-0": b"zero", "trainer-1": BINARY}
    store.announce("trainer-0", b"new", 30)
    assert other.members() == {"trainer-0": b"new", "trainer-1": BINARY}
    other.close()
    assert set(store.members()) == {"trainer-0", "trainer-1"}


def test_a_member_that_withdraws_is_gone(store):
    store.announce("a", b"a", 30)
    store.announce("b", b"b", 30)
    store.withdraw("a")
    store.withdraw("a")
    store.withdraw("unknown")
    assert store.members() == {"b": b"b"}
    with pytest.raises(LeaseError, match="a"):
        store.keep_alive("a")
    store.announce("a", b"again", 30)
    assert set(store.members()) == {"a", "b"}


def test_a_lease_ends_unless_it_is_renewed(engine, store, url):
    other = open_store(url)
    store.announce("dead", b"", engine.ttl)
    store.announce("alive", b"document", engine.ttl)
    end = time.monotonic() + 5 * engine.ttl
    while time.monotonic() < end:
        store.keep_alive("alive")
        time.sleep(engine.ttl / 5)
        assert other.members().get("alive") == b"document"
    assert set(store.members()) == set(other.members()) == {"alive"}
    with pytest.raises(LeaseError, match="dead"):
        store.keep_alive("dead")
    eventually(lambda: not other.members())
    with pytest.raises(LeaseError, match="alive"):
        store.keep_alive("alive")
    newcomer = open_store(url)
    assert newcomer.members() == {}
    store.announce("alive", b"again", 30)
    assert newcomer.members() == other.members() == {"alive": b"again"}
    newcomer.close()
    other.close()


def test_a_lease_runs_until_its_time(store, engine):
    store.announce("long", b"", 100 * engine.ttl)
    time.sleep(3 * engine.ttl)
    assert set(store.members()) == {"long"}
    store.keep_alive("long")


def test_announcing_anew_renews_the_lease(engine, store):
    end = time.monotonic() + 4 * engine.ttl
    count = 0
    while time.monotonic() < end:
        count += 1
        store.announce("a", b"%d" % count, engine.ttl)
        time.sleep(engine.ttl / 4)
        assert store.members() == {"a": b"%d" % count}


def test_keep_alive_of_a_member_that_never_was_is_a_lease_error(store):
    with pytest.raises(LeaseError, match="never"):
        store.keep_alive("never")


# -- Decisions --


def test_a_decision_is_made_once(store, url):
    other = open_store(url)
    assert store.decide("r7", b"commit") == b"commit"
    assert other.decide("r7", b"abort: late") == b"commit"
    assert other.decision("r7") == b"commit"
    assert store.decision("r8") is None
    assert store.decide("r8", BINARY) == BINARY
    assert other.decision("r8") == BINARY
    other.close()


def test_all_that_decide_at_once_learn_the_same(store, url):
    stores = [open_store(url) for _ in range(4)]
    for index in range(10):
        held = in_threads(4, lambda n, i=index: stores[n].decide(f"r{i}", b"%d" % n))
        assert len(set(held)) == 1
        assert held[0] in (b"0", b"1", b"2", b"3")
        assert store.decision(f"r{index}") == held[0]
    for each in stores:
        each.close()


# -- Names --


@pytest.mark.parametrize(
    "name", ["", "a/b", "..", ".hidden", "a b", "ä", "a\n", "x" * (MAX_NAME + 1)]
)
def test_names_that_no_engine_could_store_are_refused(store, name):
    for call in (
        lambda: store.announce(name, b"", 10),
        lambda: store.keep_alive(name),
        lambda: store.withdraw(name),
        lambda: store.decide(name, b""),
        lambda: store.decision(name),
    ):
        with pytest.raises(FleetError, match="letters, digits"):
            call()


def test_the_longest_name_and_all_its_characters_are_stored(store):
    for name in ("x" * MAX_NAME, "aZ0._@-", "1"):
        store.announce(name, b"x", 30)
        store.decide(name, name.encode())
        assert store.decision(name) == name.encode()
        assert name in store.members()


def test_names_may_begin_alike(store):
    store.announce("a", b"1", 30)
    store.announce("ab", b"2", 30)
    store.withdraw("a")
    assert store.members() == {"ab": b"2"}
    store.decide("r1", b"one")
    assert store.decision("r10") is None


# -- Two fleets --


def test_fleets_of_one_engine_see_nothing_of_each_other(engine, store):
    other = open_store(engine.new())
    fill(store, 2)
    store.announce("a", b"", 30)
    store.decide("r1", b"x")
    assert other.last() == 0
    assert other.members() == {}
    assert other.decision("r1") is None
    other.close()


# -- Forks --


def in_child(function, meanwhile=None):
    """Run a function in a forked child; its traceback is shown if it fails."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            function()
            status = 0
        except BaseException:  # noqa: BLE001 - shown
            traceback.print_exc()
        finally:
            os._exit(status)
    try:
        if meanwhile is not None:
            meanwhile()
    finally:
        ended = os.waitpid(pid, 0)[1]
    assert os.waitstatus_to_exitcode(ended) == 0


def test_parent_and_child_use_a_store_at_once(engine, store):
    if not engine.forks:
        pytest.skip("this engine does not support a fork")
    fill(store, 1)

    def use(name):
        for index in range(100):
            value = b"%s %d" % (name.encode(), index)
            assert store.decide(f"{name}{index}", value) == value
            assert store.decision(f"{name}{index}") == value

    in_child(lambda: use("child"), lambda: use("parent"))
    use("after")


def test_a_store_is_usable_after_a_fork_in_parent_and_child(engine, store):
    if not engine.forks:
        pytest.skip("this engine does not support a fork")
    fill(store, 1)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(store.wait, 2, 1000)  # the child has no such thread
        time.sleep(0.2)

        def child():
            assert store.last() == 1
            assert store.append(2, b"of the child")
            store.announce("child", b"", 30)
            assert store.decide("r1", b"child") == b"child"
            assert store.wait(1, 1000) == 2
            store.close()

        in_child(child)
        assert store.append(3, b"of the parent")
        assert waiting.result(SOON) == 3
    assert records(store) == [b"record 1", b"of the child", b"of the parent"]
    assert "child" in store.members()
    assert store.decision("r1") == b"child"


# -- What goes wrong --


def test_an_engine_that_stops_is_unreachable_and_then_works_again(engine, url):
    if not engine.stops:
        pytest.skip("this engine loses its data")
    store = open_store(url, timeout=2)
    fill(store, 3)
    store.decide("r1", b"x")
    engine.stop()
    try:
        for call in (
            store.last,
            store.base,
            store.members,
            lambda: store.append(4, b"x"),
            lambda: store.read(1),
            lambda: store.wait(3, 1000),
            lambda: store.compact(2, b""),
            lambda: store.announce("a", b"", 10),
            lambda: store.decide("r2", b""),
            lambda: store.decision("r1"),
        ):
            with pytest.raises(UnreachableError) as raised:
                call()
            assert store.url.partition("?")[0] in str(raised.value)
    finally:
        engine.restart()

    def answers():
        try:
            return store.last() >= 3
        except UnreachableError:
            return False

    eventually(answers)
    number = store.last() + 1
    assert store.append(number, b"after")
    at, _ = store.base()  # what raised an error may have happened since
    assert records(store, at + 1)[: 3 - at] == [b"record 1", b"record 2", b"record 3"][at:]
    assert store.wait(number - 1, 1000) == number
    assert store.decision("r1") == b"x"
    store.close()


def test_a_user_without_the_right_to_write_reads_and_gets_read_only_errors(engine, store, url):
    if not engine.has_rights:
        pytest.skip("this engine knows no users")
    fill(store, 3)
    store.compact(1, b"base")
    store.decide("r1", b"x")
    store.announce("a", b"document", 60)
    with engine.reader(url) as reader:
        assert reader.last() == 3
        assert reader.base() == (1, b"base")
        assert records(reader, 2) == [b"record 2", b"record 3"]
        assert reader.members() == {"a": b"document"}
        assert reader.decision("r1") == b"x"
        assert reader.wait(2, 1000) == 3
        for call in (
            lambda: reader.append(4, b"x"),
            lambda: reader.compact(2, b""),
            lambda: reader.announce("b", b"", 10),
            lambda: reader.decide("r2", b""),
        ):
            with pytest.raises(ReadOnlyError) as raised:
                call()
            assert "://" in str(raised.value)
    assert store.last() == 3


def test_the_url_of_a_store_is_that_of_the_user_without_a_password(url):
    scheme, _, rest = url.partition("://")
    store = open_store(url)
    assert "password" not in store.url
    assert store.url.startswith(f"{scheme}://")
    assert store.url.endswith(rest.rpartition("@")[2])
    store.close()


def test_errors_of_a_store_are_errors_of_flags():
    for kind in (UnreachableError, CompactedError, ReadOnlyError, LeaseError):
        assert issubclass(kind, FleetError)
        assert issubclass(kind, FlagError)
