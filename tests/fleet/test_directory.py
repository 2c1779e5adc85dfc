"""The engine `dir`: rights, clocks, and what processes leave that die."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from stores import living
from support import IS_ROOT, WINDOWS, in_url, make_fifo

from paddle_flags.errors import FlagError
from paddle_flags.fleet import _directory, _files
from paddle_flags.fleet._directory import Ages, DirectoryStore
from paddle_flags.fleet._open import open_store, parse_url
from paddle_flags.fleet._store import (
    REMEMBERED,
    CompactedError,
    FleetError,
    LeaseError,
    ReadOnlyError,
    UnreachableError,
)

NOBODY = 65534
HOUR = 3600.0


@pytest.fixture
def root(folder):
    return folder


@pytest.fixture
def case_ignored(tmp_path):
    (tmp_path / "case").touch()
    if not (tmp_path / "CASE").exists():
        pytest.skip("needs a file system that ignores case")


# -- Names --


@pytest.mark.usefixtures("case_ignored")
def test_a_member_whose_name_differs_only_in_case_is_refused(store):
    for _ in range(2):
        store.announce("worker-A", b"first", 30)
    for _ in range(2):
        with pytest.raises(FleetError, match="worker-a: there is a member worker-A: their names"):
            store.announce("worker-a", b"second", 30)
    assert living(store) == {"worker-A": b"first"}


# -- Addresses --


def test_only_the_last_folder_of_a_path_is_created(tmp_path):
    deep = open_store(f"dir://{in_url(tmp_path)}/a/b")
    for _ in range(2):
        with pytest.raises(UnreachableError, match=r"there is no folder .*a.b"):
            deep.last()
    assert open_store(f"dir://{in_url(tmp_path)}/a").last() == 0
    assert deep.last() == 0


def test_a_path_may_have_spaces_and_percent_signs(tmp_path):
    store = open_store(f"dir://{in_url(tmp_path)}/a%20b%25c")
    store.last()
    assert (tmp_path / "a b%c" / "log").is_dir()
    store.close()


# -- Rights --


@pytest.mark.skipif(WINDOWS, reason="modes are missing: a folder's list of rights is inherited")
def test_a_new_fleet_is_its_owners_alone(store, root):
    mask = os.umask(0)
    try:
        store.append(1, b"x")
        store.announce("a", b"", 30)
    finally:
        os.umask(mask)
    for path in [root, *root.rglob("*")]:
        expected = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == expected


@contextlib.contextmanager
def as_nobody():
    """Be another user, of the group that the commands below give rights."""
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


@pytest.mark.skipif(not IS_ROOT, reason="only root can be two users")
def test_members_of_a_group_read_the_log_and_write_members():
    """The commands are those of docs/reference/fleet-engines.md."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        root = Path(place, "fleet")
        operator = open_store(f"dir://{in_url(root)}")
        assert operator.last() == 0
        commands = f"""
            cd {root}
            chgrp -R {NOBODY} .
            chmod 2750 . log base
            chmod 3770 members
        """
        subprocess.run(["sh", "-ec", commands], check=True)
        assert operator.append(1, b"one")
        operator.announce("mine", b"document", 60)
        with as_nobody():
            member = open_store(f"dir://{in_url(root)}")
            assert member.read(1) == [b"one"]
            member.announce("theirs", b"answer", 60)
            member.keep_alive("theirs")
            assert living(member) == {"mine": b"document", "theirs": b"answer"}
            for call in (
                lambda: member.append(2, b"x"),
                lambda: member.compact(1, b"x"),
                lambda: member.announce("mine", b"x", 60),
                lambda: member.withdraw("mine", b"x"),
            ):
                with pytest.raises(ReadOnlyError):
                    call()
            member.announce("shut", b"", 60)
            (root / "members" / "shut").chmod(0)
            assert "mine" in living(member)
            with pytest.raises(PermissionError):
                (root / "members" / "mine").write_bytes(b"60\nforged")
            member.withdraw("theirs", b"left")
        assert operator.member("theirs") == (b"left", False)
        assert operator.append(2, b"two")
        assert operator.compact(1, b"base")
        with as_nobody():
            assert member.base() == (1, b"base")
            assert member.read(2) == [b"two"]
            member.close()
        operator.close()


def test_what_hostile_members_leave_does_not_stop_others(store, root, monkeypatch):
    store.announce("good", b"x", 60)
    make_fifo(root / "members" / "pipe")
    (root / "members" / "a\n\x1b[31mb").write_bytes(b"60\nx")
    (root / "members" / "negative").write_bytes(b"-1\nx")
    (root / "members" / "empty").write_bytes(b"")
    (root / "members" / "text").write_bytes(b"no lease\nx")
    (root / "members" / "endless").write_bytes(b"nan\nx")
    (root / "members" / "folder").mkdir()
    monkeypatch.chdir(root / "members")  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
    (root / "members" / "link").symlink_to("/etc/passwd")
    assert store.members() == {"good": (b"x", True)}


# -- Clocks --


class Files:
    """The times of a member's file, by a clock that can be set."""

    def __init__(self, place):
        self.path = place / "member"
        self.path.write_text("x")
        self.now = 1e9
        self.ages = Ages(lambda: self.now)
        self.touch()

    def touch(self):
        self.now += 0.1
        os.utime(self.path, (self.now, self.now))

    def runs(self, ttl=10.0):
        self.ages.reset_measured_time()
        return self.ages.get_lease_age("member", self.path.stat()) < ttl


@pytest.mark.parametrize("jump", [-HOUR, HOUR])
def test_a_jump_of_the_clock_ends_no_lease_that_was_seen(tmp_path, jump):
    files = Files(tmp_path)
    assert files.runs()
    files.now += jump
    assert files.runs()
    files.touch()
    assert files.runs()
    files.now += jump
    files.touch()
    assert files.runs()
    files.touch()
    files.now += jump  # between a renewal and the next look at it
    assert files.runs()


def test_a_newcomer_knows_that_an_old_lease_has_ended(tmp_path):
    files = Files(tmp_path)
    files.now += 11
    assert not files.runs()
    files.touch()
    assert files.runs()


def test_a_lease_that_ended_stays_ended_when_the_clock_jumps_back(tmp_path):
    files = Files(tmp_path)
    assert files.runs(ttl=0.05)
    time.sleep(0.1)
    files.now -= HOUR
    assert not files.runs(ttl=0.05)


def test_the_clock_of_a_reader_does_not_matter(tmp_path):
    files = Files(tmp_path)  # thirty years behind ours
    assert abs(files.now - time.time()) > HOUR
    assert files.runs()


def age(root, name, seconds):
    """Let the file of a member be so old."""
    then = time.time() - seconds
    os.utime(root / "members" / name, (then, then))


@pytest.mark.parametrize("looks", [True, False])
def test_what_a_killed_member_has_left_is_removed_after_a_day(store, root, url, looks):
    store.append(1, b"x")
    for name in ("old", "dead", "alive", "torn"):
        store.announce(name, b"x", 60)
    (root / "members" / "torn").write_bytes(b"")  # as after a power failure
    age(root, "old", REMEMBERED + 61)
    age(root, "torn", REMEMBERED + 61)
    age(root, "dead", REMEMBERED - 60)
    with contextlib.closing(open_store(url)) as newcomer:
        if looks:
            assert newcomer.members() == {"alive": (b"x", True), "dead": (b"x", False)}
        else:
            newcomer.compact(1, b"base")
    assert {path.name for path in (root / "members").iterdir()} == {"alive", "dead"}


def test_what_a_member_has_left_that_withdrew_is_removed_after_a_day(store, root, url):
    for name in ("a", "b"):
        store.announce(name, b"", 1000 * REMEMBERED)
        store.withdraw(name, b"left")
    age(root, "a", REMEMBERED + 1)
    with contextlib.closing(open_store(url)) as newcomer:
        assert newcomer.members() == {"b": (b"left", False)}
    assert {path.name for path in (root / "members").iterdir()} == {"b"}


def test_a_jump_of_the_clock_removes_nothing_that_was_seen(store, root, monkeypatch):
    store.announce("a", b"x", 60)
    age(root, "a", 0)
    assert living(store) == {"a": b"x"}
    ahead = time.time() + 2 * REMEMBERED
    monkeypatch.setattr(_directory, "file_system_time", lambda _folder: ahead)
    store.announce("b", b"y", 60)
    age(root, "a", 0)
    assert living(store) == {"a": b"x", "b": b"y"}


# -- What dies --

WRITER = """
import sys
from paddle_flags.fleet._open import open_store
store = open_store(sys.argv[1])
while True:
    number = store.last() + 1
    if store.append(number, b"record %d" % number):
        print(number, flush=True)
    if number % 7 == 0:
        store.compact(number - 3, b"%d" % (number - 3))
    store.announce("m", b"x" * 1000, 60)
"""


@pytest.mark.extended  # takes a second or more
@pytest.mark.parametrize("seed", range(3))
def test_processes_that_are_killed_leave_nothing_that_is_in_the_way(store, root, seed):
    dice = random.Random(seed)
    acknowledged = 0
    for _ in range(8):
        command = [sys.executable, "-c", WRITER, f"dir://{in_url(root)}"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout
        process.stdout.readline()
        time.sleep(dice.uniform(0, 0.1))
        process.kill()
        numbers = process.communicate()[0].split()
        acknowledged = max([acknowledged, *(int(number) for number in numbers)])
        assert store.last() >= acknowledged
    last = store.last()
    number, base = store.base()
    assert base == b"%d" % number
    assert store.read(number + 1) == [b"record %d" % n for n in range(number + 1, last + 1)]
    assert store.append(last + 1, b"x")
    assert store.compact(last + 1, b"base")
    assert store.base() == (last + 1, b"base")
    assert store.members() == {"m": (b"x" * 1000, True)}


def test_temporary_files_are_removed_when_they_are_old(store, root, monkeypatch):
    monkeypatch.setattr("paddle_flags.fleet._directory._TEMPORARY", 2.0)
    store.append(1, b"x")
    for folder in ("log", "base", "members"):
        (root / folder / ".old").write_bytes(b"half")
    time.sleep(2.1)
    for folder in ("log", "base", "members"):
        path = root / folder / ".new"
        path.write_bytes(b"half")
        if not WINDOWS:  # Wine takes it for the time of creation, too
            os.utime(path, (1.0, 1.0))  # as a file on NFS may have it for a moment
    store.compact(1, b"base")
    assert not list(root.rglob(".old"))
    assert len(list(root.rglob(".new"))) == 3


def test_compactions_remove_what_the_base_before_has_replaced(store, root):
    for number in range(1, 31):
        store.append(number, b"x")
        if number % 10 == 0:
            store.compact(number, b"base")
    assert sorted(int(path.name) for path in (root / "log").iterdir()) == list(range(21, 31))
    assert sorted(int(path.name) for path in (root / "base").iterdir()) == [20, 30]
    with pytest.raises(CompactedError):
        store.read(25)  # although its file is there


class Sleeping(DirectoryStore):
    """A process that is stopped between its look at the log and its append."""

    stale = 0

    def _last(self) -> int:
        return self.stale or super()._last()


def test_an_append_that_slept_through_two_compactions_is_not_acknowledged(store, root):
    sleeping = Sleeping(parse_url(f"dir://{in_url(root)}"), 5)
    for number in range(1, 9):
        store.append(number, b"x")
    sleeping.stale = 3
    store.compact(5, b"base")
    assert not sleeping.append(4, b"late")
    store.compact(6, b"base")
    with pytest.raises(UnreachableError, match="4 may have been created"):
        sleeping.append(4, b"late")
    sleeping.stale = 0
    for each in (store, sleeping):
        assert each.last() == 8
        assert each.read(7) == [b"x", b"x"]


def test_a_link_that_a_file_server_made_although_its_answer_was_lost_counts(tmp_path):
    temporary = _files.write_temporary(tmp_path, b"x", durable=True)
    target = tmp_path / "target"
    os.link(temporary, target)  # the first call, whose answer is lost
    assert _files._link_if_absent(temporary, target)
    other = _files.write_temporary(tmp_path, b"y", durable=True)
    assert not _files._link_if_absent(other, target)


def test_a_folder_that_lost_its_files_begins_anew(store, root):
    for number in range(1, 4):
        store.append(number, b"x")
    for path in (root / "log").iterdir():
        path.unlink()
    assert store.last() == 0
    assert store.append(1, b"again")
    assert store.read(1) == [b"again"]


def test_errors_of_a_store_are_errors_of_flags():
    for kind in (UnreachableError, CompactedError, ReadOnlyError, LeaseError):
        assert issubclass(kind, FleetError)
        assert issubclass(kind, FlagError)
