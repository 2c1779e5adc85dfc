"""A fleet in the memory of one process, by a clock of the test."""

from __future__ import annotations

import pytest

from paddle_flags.fleet._memory import METHODS, MemoryStore, RemoteStore
from paddle_flags.fleet._store import REMEMBERED, LeaseError


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(clock):
    return MemoryStore(clock=clock)


def test_a_lease_ends_by_the_clock_and_its_document_a_day_later(store, clock):
    store.announce("a", b"x", 10)
    clock.now += 9
    assert store.members() == {"a": (b"x", True)}
    store.keep_alive("a")
    clock.now += 9
    assert store.member("a") == (b"x", True)
    clock.now += 1
    assert store.member("a") == (b"x", False)
    with pytest.raises(LeaseError, match="a has ended"):
        store.keep_alive("a")
    clock.now += REMEMBERED - 1
    assert store.members() == {"a": (b"x", False)}
    clock.now += 1
    assert store.member("a") is None
    assert store.members() == {}


def test_a_member_that_withdraws_is_remembered_for_a_day_from_then(store, clock):
    store.announce("a", b"x", 1000)
    store.withdraw("a", b"left")
    clock.now += REMEMBERED - 1
    assert store.members() == {"a": (b"left", False)}
    clock.now += 1
    assert store.members() == {}


def test_a_compaction_forgets_members_though_nobody_lists_them(store, clock):
    store.append(1, b"x")
    store.announce("a", b"x", 10)
    clock.now += REMEMBERED + 10
    store.compact(1, b"")
    clock.now = 0.0
    assert store.members() == {}


def test_members_come_in_pages_in_the_order_of_their_names(store):
    names = [f"m{index:02}" for index in range(20)]
    for name in reversed(names):
        store.announce(name, b"x" * (1 << 20), 10)
    pages, last = [], ""
    while page := store.page(last):
        pages.append([name for name, _, _ in page])
        last = page[-1][0]
    assert [name for page in pages for name in page] == names
    assert all(len(page) < 10 for page in pages)


def test_another_process_may_call_what_a_store_has_and_nothing_else():
    assert {name for name in METHODS if name != "page"} < set(dir(RemoteStore))
    assert all(hasattr(MemoryStore, name) for name in METHODS)
    assert "close" not in METHODS
