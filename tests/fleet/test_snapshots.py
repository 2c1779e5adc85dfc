"""The snapshot of a member, in a folder in which others may put what they like."""

from __future__ import annotations

import os

import pytest
from members import SOON, Failed
from support import IS_ROOT, in_url

NOBODY = 65534
VALUABLE = "valuable"

NO_FOLLOW = pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="os.O_NOFOLLOW is missing")


@pytest.fixture
def path(tmp_path):
    """Where a snapshot is to be, in a folder of others."""
    place = tmp_path / "shared"
    place.mkdir(mode=0o777)
    return place / "last.json"


@pytest.fixture
def victim(tmp_path):
    made = tmp_path / "victim"
    made.write_text(VALUABLE)
    return made


@NO_FOLLOW
def test_a_link_in_the_place_of_a_snapshot_is_replaced_and_not_followed(
    fleet, process, path, victim
):
    fleet.set({"level": 8})
    path.symlink_to(victim)
    process().begin(name="one", snapshot=str(path))
    assert fleet.set({"level": 9}, wait=SOON).ok
    assert victim.read_text() == VALUABLE
    assert not path.is_symlink()
    assert b'"9"' in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600


@NO_FOLLOW
def test_a_link_in_the_place_of_the_new_file_is_not_followed(fleet, process, path, victim):
    one = process()
    one.do("import secrets; secrets.token_hex = lambda _: 'guessed'")
    path.with_name(".guessed").symlink_to(victim)
    one.begin(name="one", snapshot=str(path))
    assert fleet.set({"level": 9}, wait=SOON).ok
    assert "last.json: File exists" in one.ask("pf.fleet.member().problem")
    assert victim.read_text() == VALUABLE


@NO_FOLLOW
def test_no_values_are_read_through_a_link(fleet, process, path, tmp_path):
    real = tmp_path / "real.json"
    one = process().begin(name="one", snapshot=str(real))
    assert fleet.set({"level": 9}, wait=SOON).ok
    one.end()
    path.symlink_to(real)
    other = process()
    other.url = f"dir://{in_url(tmp_path)}/none/job"
    with pytest.raises(Failed, match=r"FlagFileError: .*last\.json: Too many levels of symbolic"):
        other.join(name="two", snapshot=str(path))
    assert other.ask("pf.fleet.member()") is None
    other.join(name="two", snapshot=str(real))


@pytest.mark.skipif(not IS_ROOT, reason="only root can be two users")
def test_no_values_are_read_from_a_file_of_others(fleet, process, path, tmp_path):
    one = process().begin(name="one", snapshot=str(path))
    assert fleet.set({"level": 9}, wait=SOON).ok
    one.end()
    os.chown(path, NOBODY, NOBODY)
    other = process()
    other.url = f"dir://{in_url(tmp_path)}/none/job"
    with pytest.raises(Failed, match=f"belongs to user {NOBODY}: expected a file of this user"):
        other.join(name="two", snapshot=str(path))


def test_the_name_of_a_snapshot_moves_no_cursor(process, tmp_path):
    path = tmp_path / "\x1b[31mred"
    path.symlink_to(tmp_path)
    one = process()
    one.url = f"dir://{in_url(tmp_path)}/none/job"
    with pytest.raises(Failed) as failed:
        one.join(name="one", snapshot=str(path))
    assert "\\x1b[31mred" in str(failed.value)
