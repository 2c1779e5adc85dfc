"""A fleet in a folder that has two paths, as if two machines had mounted it.

PD_MOUNTS names them, such as /mnt/a:/mnt/b: each a mount with caches of its own, on one machine in
two network namespaces and with the option nosharecache. The default is a local folder and a link.
"""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import time
from pathlib import Path

import pytest
from members import SOON, eventually
from support import in_url

from paddle_flags.fleet._open import open_store

AT_ONCE = 2.0  # seconds to wait for a record; the caches of NFS last for 3 to 60 by default


@pytest.fixture
def places(tmp_path):
    """The folder of a new fleet, by both paths."""
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    name = secrets.token_hex(4)
    mounts = os.environ.get("PD_MOUNTS", f"{tmp_path}{os.pathsep}{link}")
    return [Path(mount, name) for mount in mounts.split(os.pathsep)]


@pytest.fixture
def urls(places):
    return [f"dir://{in_url(place)}?poll=0.01" for place in places]


@pytest.fixture
def stores(urls):
    made = [open_store(url) for url in urls]
    yield made
    for each in made:
        each.close()


def test_a_record_that_a_reader_has_missed_is_seen_as_soon_as_it_is_there(stores):
    here, there = stores
    for number in range(1, 10):
        assert there.last() == number - 1
        assert there.read(number) == []
        time.sleep(0.05)
        assert here.append(number, b"%d" % number)
        assert there.wait(number - 1, AT_ONCE) == number
        assert there.read(number) == [b"%d" % number]


def test_whoever_looks_for_the_first_time_sees_leases_that_were_just_renewed(stores, urls):
    here, there = stores
    here.announce("m", b"document", 2.0)
    for _ in range(5):
        assert there.members() == {"m": (b"document", True)}
        time.sleep(1)
        here.keep_alive("m")
        newcomer = open_store(urls[1])
        assert newcomer.members() == {"m": (b"document", True)}
        newcomer.close()


def test_a_member_that_ends_or_changes_is_seen_at_the_other_mount(stores):
    here, there = stores
    for number in range(5):
        here.announce("m", b"%d" % number, 60)
        assert there.members() == {"m": (b"%d" % number, True)}
        here.withdraw("m", b"left")
        assert there.member("m") == (b"left", False)
    here.announce("m", b"x", 0.5)
    eventually(there.members, {"m": (b"x", False)})


def test_those_that_append_at_once_at_both_mounts_win_each_number_once(stores, urls, places):
    program, count = Path(__file__).with_name("appending.py"), 30
    racers = [
        subprocess.Popen(
            [sys.executable, program, url, f"racer{index}", str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for index, url in enumerate(urls * 2)
    ]
    for racer in racers:
        assert racer.stdout
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin
        racer.stdin.write("go\n")
        racer.stdin.flush()
    won = {}
    for racer in racers:
        for line in racer.communicate(timeout=4 * SOON)[0].splitlines():
            number, _, record = line.partition(" ")
            assert int(number) not in won
            won[int(number)] = record.encode()
    assert len(won) == count * len(racers)
    for store in stores:
        assert store.last() == len(won)
        found = []
        while len(found) < len(won):
            found += store.read(len(found) + 1)
        assert found == [won[number] for number in sorted(won)]
        assert {path.name[0] for path in (places[0] / "log").iterdir()} <= {"0", "."}


def test_a_base_of_one_mount_is_that_of_the_other(stores):
    here, there = stores
    for number in range(1, 31):
        assert here.append(number, b"x")
        assert there.last() == number
        if number % 10 == 0:
            assert here.compact(number, b"base %d" % number)
            assert there.base() == (number, b"base %d" % number)
    assert not there.compact(20, b"late")
    assert there.last() == 30
