"""Connections to every engine: over a fork, while it stops, and without rights."""

from __future__ import annotations

import os
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import pytest
from members import SOON, eventually
from stores import EVERY_ENGINE, fill, records

from paddle_flags.fleet._open import open_store
from paddle_flags.fleet._store import (
    ReadOnlyError,
    UnreachableError,
)

pytestmark = EVERY_ENGINE


@pytest.fixture
def url(engine):
    return engine.new()


# -- Forks --


def in_child(function, meanwhile=None):
    """Run a function in a forked child; its traceback is shown if it fails."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            function()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    try:
        if meanwhile is not None:
            meanwhile()
    finally:
        ended = os.waitpid(pid, 0)[1]
    assert os.waitstatus_to_exitcode(ended) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork is missing")
def test_parent_and_child_use_a_store_at_once(engine, store):
    if not engine.forks:
        pytest.skip("this engine does not support a fork")
    fill(store, 1)

    def use(name):
        for index in range(100):
            value = b"%s %d" % (name.encode(), index)
            store.announce(name, value, 60)
            assert store.member(name) == (value, True)

    in_child(lambda: use("child"), lambda: use("parent"))
    use("after")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="os.fork is missing")
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
            assert store.wait(1, 1000) == 2
            store.close()

        in_child(child)
        assert store.append(3, b"of the parent")
        assert waiting.result(SOON) == 3
    assert records(store) == [b"record 1", b"of the child", b"of the parent"]
    assert store.member("child") == (b"", True)


# -- What goes wrong --


def test_an_engine_that_stops_is_unreachable_and_then_works_again(engine, url):
    if not engine.stops:
        pytest.skip("this engine loses its data")
    store = open_store(url, timeout=2)
    fill(store, 3)
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
            lambda: store.withdraw("a", b""),
            lambda: store.member("a"),
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
    store.close()


def test_a_store_is_opened_while_its_engine_is_away(engine, url):
    engine.stop()
    try:
        store = open_store(url, timeout=SOON)
    finally:
        engine.restart()
    assert store.last() == 0
    assert store.append(1, b"x")
    store.close()


def test_a_user_without_the_right_to_write_reads_and_gets_read_only_errors(engine, store, url):
    if not engine.has_rights:
        pytest.skip("this engine knows no users")
    fill(store, 3)
    store.compact(1, b"base")
    store.announce("a", b"document", 60)
    with engine.reader(url) as reader:
        assert reader.last() == 3
        assert reader.base() == (1, b"base")
        assert records(reader, 2) == [b"record 2", b"record 3"]
        assert reader.members() == {"a": (b"document", True)}
        assert reader.wait(2, 1000) == 3
        for call in (
            lambda: reader.append(4, b"x"),
            lambda: reader.compact(2, b""),
            lambda: reader.announce("b", b"", 10),
            lambda: reader.withdraw("a", b""),
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
