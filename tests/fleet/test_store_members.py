"""Members in every engine, and their names."""

from __future__ import annotations

import time
from contextlib import closing

import pytest
from members import eventually
from stores import BINARY, EVERY_ENGINE, fill, living

from paddle_flags.fleet._open import open_store
from paddle_flags.fleet._store import (
    FleetError,
    LeaseError,
)

pytestmark = EVERY_ENGINE

MAX_NAME = 128  # characters


@pytest.fixture
def url(engine):
    return engine.new()


# -- Members --


def test_members_are_listed_with_their_documents(store, url):
    other = open_store(url)
    store.announce("trainer-0", b"zero", 30)
    other.announce("trainer-1", BINARY, 30)
    both = {"trainer-0": (b"zero", True), "trainer-1": (BINARY, True)}
    assert store.members() == other.members() == both
    store.announce("trainer-0", b"new", 30)
    assert other.members() == {**both, "trainer-0": (b"new", True)}
    other.close()
    assert set(living(store)) == {"trainer-0", "trainer-1"}


def test_one_member_is_found_by_its_name(store, url):
    store.announce("a", b"document", 60)
    store.announce("ab", BINARY, 60)
    with closing(open_store(url)) as other:
        assert other.member("a") == (b"document", True)
        assert other.member("ab") == (BINARY, True)
        assert other.member("b") is None
        store.announce("short", b"x", 1)
        eventually(lambda: other.member("short"), (b"x", False))


def test_a_member_that_withdraws_leaves_a_document(store, url):
    store.announce("a", b"a", 30)
    store.announce("b", b"b", 30)
    store.withdraw("a", b"left")
    with closing(open_store(url)) as other:
        for each in (store, other):
            assert each.member("a") == (b"left", False)
            assert each.members() == {"a": (b"left", False), "b": (b"b", True)}
        with pytest.raises(LeaseError, match="a"):
            other.keep_alive("a")
    store.withdraw("a", BINARY)
    assert store.member("a") == (BINARY, False)
    with pytest.raises(LeaseError, match="a"):
        store.keep_alive("a")
    store.announce("a", b"again", 30)
    assert store.members() == {"a": (b"again", True), "b": (b"b", True)}


def test_what_never_was_a_member_may_leave_a_document(store):
    store.withdraw("unknown", b"x")
    assert store.members() == {"unknown": (b"x", False)}


def test_the_document_of_a_member_stays_when_its_lease_has_ended(engine, store, url):
    store.announce("dead", BINARY, engine.ttl)
    with closing(open_store(url)) as other:
        eventually(lambda: other.member("dead"), (BINARY, False))
    eventually(lambda: store.member("dead"), (BINARY, False))
    with closing(open_store(url)) as newcomer:
        eventually(newcomer.members, {"dead": (BINARY, False)})
    store.announce("dead", b"again", 30)
    assert store.members() == {"dead": (b"again", True)}


def test_more_members_than_one_answer_may_hold_are_listed(store, url):
    names = {f"m{index:03}" for index in range(300)}
    for name in names:
        store.announce(name, name.encode(), 60)
    store.withdraw("m007", b"left")
    with closing(open_store(url)) as other:
        for each in (store, other):
            assert living(each) == {name: name.encode() for name in names - {"m007"}}
            assert set(each.members()) == names


def test_documents_that_are_long_together_are_listed(store):
    for index in range(12):
        store.announce(f"m{index}", bytes([index]) * (1 << 20), 60)
    assert living(store) == {f"m{index}": bytes([index]) * (1 << 20) for index in range(12)}


def test_a_lease_ends_unless_it_is_renewed(engine, store, url):
    other = open_store(url)
    store.announce("dead", b"", engine.ttl)
    store.announce("alive", b"document", engine.ttl)
    end = time.monotonic() + 5 * engine.ttl
    while time.monotonic() < end:
        store.keep_alive("alive")
        time.sleep(engine.ttl / 5)
        assert other.member("alive") == (b"document", True)
    assert set(living(store)) == set(living(other)) == {"alive"}
    with pytest.raises(LeaseError, match="dead"):
        store.keep_alive("dead")
    eventually(lambda: not living(other))
    with pytest.raises(LeaseError, match="alive"):
        store.keep_alive("alive")
    newcomer = open_store(url)
    assert living(newcomer) == {}
    store.announce("alive", b"again", 30)
    assert living(newcomer) == living(other) == {"alive": b"again"}
    newcomer.close()
    other.close()


def test_a_lease_runs_until_its_time(store, engine):
    store.announce("long", b"", 100 * engine.ttl)
    time.sleep(3 * engine.ttl)
    assert set(living(store)) == {"long"}
    store.keep_alive("long")


def test_announcing_anew_renews_the_lease(engine, store):
    end = time.monotonic() + 4 * engine.ttl
    count = 0
    while time.monotonic() < end:
        count += 1
        store.announce("a", b"%d" % count, engine.ttl)
        time.sleep(engine.ttl / 4)
        assert store.members() == {"a": (b"%d" % count, True)}


def test_keep_alive_of_a_member_that_never_was_is_a_lease_error(store):
    with pytest.raises(LeaseError, match="never"):
        store.keep_alive("never")


# -- Names --


@pytest.mark.parametrize(
    "name",
    [
        *("", "a/b", "..", ".hidden", "a b", "ä", "a\n", "x" * (MAX_NAME + 1)),
        *("nul", "CON", "com1.txt", "a."),  # of which Windows makes no files of their own
    ],
)
def test_names_that_no_engine_could_store_are_refused(store, name):
    for call in (
        lambda: store.announce(name, b"", 10),
        lambda: store.keep_alive(name),
        lambda: store.withdraw(name, b""),
        lambda: store.member(name),
    ):
        with pytest.raises(FleetError, match="letters, digits"):
            call()


def test_the_longest_name_and_all_its_characters_are_stored(store):
    for name in ("x" * MAX_NAME, "aZ0._@-", "1", "null", "con-0", "com10", "a.nul"):
        store.announce(name, b"x", 30)
        assert name in living(store)
        store.withdraw(name, b"y")
        assert store.member(name) == (b"y", False)


def test_names_may_begin_alike(store):
    names = ["a", "a-b", "a.b", "a0", "a@b", "ab"]
    for name in names:
        store.announce(name, name.encode(), 30)
    store.withdraw("a", b"left")
    assert living(store) == {name: name.encode() for name in names[1:]}
    for name in names[1:]:
        assert store.member(name) == (name.encode(), True)


# -- Two fleets --


def test_fleets_of_one_engine_see_nothing_of_each_other(engine, store):
    other = open_store(engine.new())
    fill(store, 2)
    store.announce("a", b"", 30)
    assert other.last() == 0
    assert other.members() == {}
    assert other.member("a") is None
    other.close()
