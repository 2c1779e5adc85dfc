"""The log of every engine: records, waiting for them, and bases."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from members import SOON
from stores import BINARY, EVERY_ENGINE, fill, in_threads, records

from paddle_flags.fleet._open import open_store
from paddle_flags.fleet._store import (
    MAX_RECORD,
    CompactedError,
    FleetError,
    StoredMember,
    UnreachableError,
)

APPENDING = Path(__file__).with_name("appending.py")
pytestmark = EVERY_ENGINE


@pytest.fixture
def url(engine):
    return engine.new()


# -- The log --


def test_a_new_fleet_has_nothing(store):
    assert store.last() == 0
    assert store.read(1) == []
    assert store.base() == (0, b"")
    assert store.members() == {}


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
    ):
        with pytest.raises(FleetError, match=f"{MAX_RECORD:,}"):
            call()
    store.announce("a", longest, 30)
    assert store.members() == {"a": StoredMember(longest, alive=True)}
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
            # One that slept while the other appended and compacted can't tell whose record it is.
            with contextlib.suppress(UnreachableError):
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


@pytest.mark.extended  # takes a second or more
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
