"""Flags that members know by different names, and what one member says alone."""

from __future__ import annotations

import json
from contextlib import closing

import pytest
from configmaps import Mounted
from members import SOON, eventually
from support import in_url

from paddle_flags.fleet import Change, UnconfirmedError, open_store
from paddle_flags.fleet._mirror import Mirror

OLD = 'pf.define("width", 1, "Width", runtime=True)'
NEW = 'pf.define("size", 1, "Size", old_names=["width"], runtime=True)'


@pytest.fixture
def announced(url):
    """Announce members that say what a test wants."""
    with closing(open_store(url)) as store:
        yield lambda name, **said: store.announce(name, json.dumps(said).encode(), 60.0)


@pytest.fixture
def upgraded(process):
    """Start a member of an old program, and one in which the flag has a new name."""
    old, new = process(), process()
    old.join(name="old")
    old.do(OLD)
    new.join(name="new")
    new.do(NEW)
    return old, new


def changes(fleet):
    return fleet.log()[-1].record.changes


def test_a_former_name_reaches_old_and_new_programs(fleet, upgraded):
    old, new = upgraded
    eventually(lambda: fleet.names("size"), {"size", "width"})
    outcome = fleet.set({"width": 5}, wait=SOON)
    assert {each.state for each in outcome.answers.values()} == {"applied"}
    assert (old.ask("FLAGS.width"), new.ask("FLAGS.size")) == (5, 5)
    assert fleet.unset("size", wait=SOON).ok
    assert (old.ask("FLAGS.width"), new.ask("FLAGS.size")) == (1, 1)


@pytest.mark.parametrize("name", ["wd", "no flag", "other.lr"])
def test_a_member_cannot_give_the_flags_of_others_other_names(fleet, process, announced, name):
    one = process().begin(name="one")
    announced("odd", aliases={"lr": name, "level": "lr"})
    fleet.set({"lr": 0.25, "level": 3}, force=True)
    assert changes(fleet) == (Change("lr", "0.25", "all"), Change("level", "3", "all"))
    one.wait_for("(lr.value, level.value)", [0.25, 3])


def test_names_that_two_members_have_the_other_way_round_stay(fleet, announced):
    announced("one", aliases={"a": "b"})
    announced("two", aliases={"b": "a"})
    fleet.set({"a": 1, "b": 2}, force=True)
    assert changes(fleet) == (Change("a", "1", "all"), Change("b", "2", "all"))
    fleet.unset("a", "b", force=True)
    assert fleet.values() == {}


def test_an_unsafe_flag_is_unsafe_by_names_that_some_members_know(fleet, announced):
    announced("one", unsafe=["wipe", "clear"], aliases={"clear": "wipe"})
    announced("odd", aliases={"wipe": "other"})
    for name in ("wipe", "clear"):
        with pytest.raises(UnconfirmedError):
            fleet.set({name: 1})
    fleet.set({"clear": 1}, confirm=["clear"], force=True)


def test_a_mirror_keeps_flags_apart_that_one_member_takes_for_one(tmp_path, fleet, url, announced):
    mounted = Mounted(tmp_path / "flags")
    mounted.write(lr="0.5", wd="0.1")
    announced("one", aliases={})
    announced("odd", aliases={"lr": "wd"})
    with closing(Mirror(f"configmap://{in_url(mounted.place)}", url, 5)) as one:
        one.copy_changes()
        assert one.copy_changes() is None
    assert {name: each.value for name, each in fleet.values().items()} == {"lr": "0.5", "wd": "0.1"}


def test_an_undo_leaves_what_was_set_by_another_name_of_the_flag(fleet, upgraded):
    _, new = upgraded
    eventually(lambda: fleet.names("size"), {"size", "width"})
    fleet.set({"width": 5}, wait=SOON)
    fleet.set({"size": 7}, wait=SOON)
    assert new.ask("FLAGS.size") == 7
    fleet.undo(wait=SOON)
    assert new.ask("FLAGS.size") == 5
    assert changes(fleet) == (Change("size", None, "all"),)
