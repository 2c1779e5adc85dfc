"""Members and decisions in every engine, and their names."""

from __future__ import annotations

import time
from contextlib import closing

import pytest
from members import eventually
from stores import BINARY, EVERY_ENGINE, fill, in_threads

from paddle_flags.fleet._open import open_store
from paddle_flags.fleet._store import (
    MAX_NAME,
    FleetError,
    LeaseError,
)

pytestmark = EVERY_ENGINE


@pytest.fixture
def url(engine):
    return engine.new()


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


def test_one_member_is_found_by_its_name(store, url):
    store.announce("a", b"document", 60)
    store.announce("ab", BINARY, 60)
    with closing(open_store(url)) as other:
        assert (other.member("a"), other.member("ab"), other.member("b")) == (
            b"document",
            BINARY,
            None,
        )
        store.withdraw("a")
        assert other.member("a") is None
        store.announce("short", b"x", 1)
        eventually(lambda: other.member("short"), None)


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
