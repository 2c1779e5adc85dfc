"""A mounted ConfigMap as a source of a fleet."""

from __future__ import annotations

import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from members import SOON
from support import in_url

from paddle_flags.fleet._open import open_store
from paddle_flags.fleet._record import Change, decode
from paddle_flags.fleet._store import FleetError, ReadOnlyError, Store, UnreachableError


@pytest.fixture
def store(mounted):
    store = open_store(f"configmap://{in_url(mounted.place)}?poll=0.01", timeout=5)
    yield store
    store.close()


def changes(store: Store, number: int) -> list[Change]:
    return list(decode(store.read(number)[0], number).changes)


def test_each_file_is_a_flag_of_all_members(store, mounted):
    mounted.write(level="3\n", check_nan_inf="true", net__size="a\nb\n")
    assert store.last() == 1
    assert changes(store, 1) == [
        Change("check_nan_inf", "true", "all"),
        Change("level", "3", "all"),
        Change("net.size", "a\nb", "all"),
    ]
    assert store.base() == (0, b"")
    assert store.read(2) == []


def test_selectors_have_a_file(store, mounted):
    tables = {"role:trainer": {"level": 4, "check": True}, "host:h1": {"name": "text"}}
    mounted.write(level="3", selectors__json=json.dumps(tables))
    assert set(changes(store, 1)) == {
        Change("level", "3", "all"),
        Change("level", "4", "role:trainer"),
        Change("check", "true", "role:trainer"),
        Change("name", "text", "host:h1"),
    }


def test_each_change_of_the_content_is_a_record_of_what_changed(store, mounted):
    mounted.write(a="1", b="2")
    assert store.last() == 1
    mounted.write(a="1", b="2")
    assert store.last() == 1
    mounted.write(a="1", c="3")
    assert store.last() == 2
    assert changes(store, 2) == [Change("b", None, "all"), Change("c", "3", "all")]
    mounted.write(a="1", b="2")
    assert store.last() == 3
    ids = [decode(each, 1).id for each in store.read(1)]
    assert ids[0] == ids[2] != ids[1]


def test_the_same_content_has_the_same_identity_in_every_process(store, mounted):
    mounted.write(a="0")
    assert store.last() == 1
    mounted.write(a="1")
    assert store.last() == 2
    other = open_store(store.url)
    assert other.last() == 1
    assert decode(other.read(1)[0], 1).id == decode(store.read(2)[0], 2).id
    other.close()


def test_an_empty_configmap_has_nothing(store, mounted):
    mounted.write()
    assert store.last() == 0
    mounted.write(a="1")
    assert store.last() == 1


def test_wait_wakes_and_times_out_and_ends_by_close(store, mounted):
    mounted.write(a="1")
    assert store.wait(0, 1000) == 1
    assert store.wait(1, 0.05) == 1
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(store.wait, 1, 1000) for _ in range(2)]
        mounted.write(a="2")
        assert [each.result(SOON) for each in waiting] == [2, 2]
        ending = pool.submit(store.wait, 2, 1000)
        time.sleep(0.1)
        store.close()
        with pytest.raises(FleetError, match="closed"):
            ending.result(SOON)


def test_all_files_are_read_of_one_version_while_versions_are_switched(store, mounted):
    mounted.write(a="0", b="0", c="0")
    ended = threading.Event()

    def switch():
        for count in range(1, 200):
            mounted.write(a=str(count), b=str(count), c=str(count))
        ended.set()

    with ThreadPoolExecutor(1) as pool:
        switching = pool.submit(switch)
        while not ended.is_set():
            store.last()
        switching.result(SOON)
    assert store.last() > 1
    for number, record in enumerate(store.read(1), 1):
        assert len({change.value for change in decode(record, number).changes}) == 1
    assert {change.value for change in changes(store, store.last())} == {"199"}


def test_a_plain_folder_works_too(tmp_path):
    (tmp_path / "level").write_text("3")
    store = open_store(f"configmap://{in_url(tmp_path)}?poll=0.01")
    assert changes(store, 1) == [Change("level", "3", "all")]
    (tmp_path / "level").write_text("44")
    assert store.wait(1, 1000) == 2
    store.close()


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("1st", "x", "1st: .*expected the name of a flag"),
        ("selectors__json", "{", "selectors.json: .*role:trainer"),
        ("selectors__json", "[]", "selectors.json: expected JSON"),
        pytest.param("selectors__json", "[" * 100_000, "selectors.json: .*role:", id="deep"),
        pytest.param("text", "\n" * 600_000, "flags.*: 1,200,.* bytes: a fleet", id="big"),
        ("selectors__json", '{"rolle:a": {"x": "1"}}', "selectors.json: .*role:ROLE"),
    ],
)
def test_a_file_that_is_no_flag_is_told(store, mounted, name, text, told):
    mounted.write(good="1", **{name: text})
    with pytest.raises(FleetError, match=told):
        store.last()
    mounted.write(good="1")
    assert store.last() == 1


def test_bytes_that_are_no_text_are_told(store, mounted):
    mounted.write(good="1")
    (mounted.place / "..data" / "bad").write_bytes(b"\xff")
    with pytest.raises(FleetError, match="bad: expected UTF-8"):
        store.last()


def test_writing_asks_for_a_second_store(store, mounted):
    mounted.write(a="1")
    for call in (
        lambda: store.append(2, b"x"),
        lambda: store.compact(1, b""),
        lambda: store.announce("a", b"", 10),
        lambda: store.keep_alive("a"),
        lambda: store.withdraw("a", b""),
        store.members,
    ):
        with pytest.raises(
            ReadOnlyError, match=r"second, writable store, .* mirror configmap:\S+ URL"
        ):
            call()


def test_a_folder_that_is_not_mounted_is_unreachable_until_it_is(store, mounted):
    mounted.write(a="1")
    away = mounted.place.rename(mounted.place.with_name("away"))
    with pytest.raises(UnreachableError, match="flags"):
        store.last()
    away.rename(mounted.place)
    assert store.last() == 1


def test_a_store_is_usable_after_a_fork(store, mounted):
    mounted.write(a="1")
    assert store.last() == 1
    pid = os.fork()
    if pid == 0:
        mounted.write(a="2")
        os._exit(0 if store.wait(1, 100) == 2 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert store.wait(1, 100) == 2
