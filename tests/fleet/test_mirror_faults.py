"""Mirrors when something goes wrong, and their command in a container."""

from __future__ import annotations

import json
import shutil
import signal
import threading
import time

import pytest
from members import SOON, eventually
from mirrors import TARGETS, values
from support import in_url

from paddle_flags.fleet import Fleet, FleetError, mirror
from paddle_flags.fleet._operate import SensitiveError

pytestmark = TARGETS


@pytest.fixture
def url(engine):
    return engine.new()


# ---- What goes wrong ----


def test_values_stay_while_the_folder_is_away_or_wrong(mounted, running, fleet):
    mounted.write(level="3")
    one = running()
    eventually(lambda: fleet.revision, 1)
    away = mounted.place.rename(mounted.place.with_name("away"))
    eventually(lambda: len(one.said), 1)
    time.sleep(0.2)  # for more turns
    away.rename(mounted.place)
    eventually(lambda: len(one.said), 2)
    mounted.write(level="4", **{"1st": "x"})
    eventually(lambda: len(one.said), 3)
    assert values(fleet) == {("all", "level"): "3"}
    mounted.write(level="4")
    eventually(lambda: values(fleet), {("all", "level"): "4"})
    eventually(lambda: len(one.said), 4)
    assert "cannot be reached" in one.said[0]
    assert "'1st': expected the name of a flag" in one.said[2]
    assert one.said[1::2] == [None, None]
    assert one.error is None


def test_a_folder_that_is_not_mounted_yet_is_waited_for(mounted, running, fleet):
    mounted.write(level="3")
    away = mounted.place.rename(mounted.place.with_name("away"))
    one = running()
    eventually(lambda: len(one.said), 1)
    away.rename(mounted.place)
    eventually(lambda: values(fleet), {("all", "level"): "3"})


def test_an_error_is_raised_at_first_and_if_nobody_takes_problems(mounted, running, source, url):
    mounted.write(**{"1st": "x"})
    one = running()
    eventually(lambda: "'1st': expected the name of a flag" in str(one.error))
    assert one.said == []
    mounted.write(level="3")
    errors = []

    def work():
        try:
            mirror(source, url)
        except FleetError as error:
            errors.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    with Fleet(url) as fleet:
        eventually(lambda: fleet.revision, 1)
    mounted.write(level="3", **{"2nd": "x"})
    thread.join(SOON)
    assert "'2nd': expected the name of a flag" in errors[0]


def test_a_target_that_is_away_for_a_while_gets_what_has_changed_since(
    mounted, running, fleet, engine
):
    mounted.write(level="3")
    one = running()
    eventually(lambda: fleet.revision, 1)
    engine.stop()
    try:
        eventually(lambda: len(one.said), 1)
        mounted.write(level="4")
    finally:
        engine.restart()
    eventually(lambda: values(fleet), {("all", "level"): "4"})
    eventually(lambda: one.said[-1], None)
    assert one.error is None


def test_a_target_that_has_lost_its_state_gets_the_values_again(tmp_path, mounted, running):
    place = tmp_path / "target"
    mounted.write(level="3")
    one = running(target=f"dir://{in_url(place)}")
    with Fleet(f"dir://{in_url(place)}") as fleet:
        eventually(lambda: fleet.revision, 1)
        mounted.write(level="4")  # for it, the mirror reads the first revision, which it will miss
        eventually(lambda: fleet.revision, 2)
    shutil.rmtree(place)
    place.mkdir()
    for name in ("log", "base", "members"):
        (place / name).mkdir()
    with Fleet(f"dir://{in_url(place)}") as fleet:
        eventually(lambda: values(fleet), {("all", "level"): "4"})
    eventually(lambda: one.said[-1:], [None])
    assert any("has lost its state" in each for each in one.said if each)


def test_values_stay_if_the_source_has_lost_its_state(tmp_path, running, fleet):
    place = tmp_path / "source"
    with Fleet(f"dir://{in_url(place)}") as other:
        other.set({"level": 3})
    one = running(source=f"dir://{in_url(place)}")
    eventually(lambda: fleet.revision, 1)
    for path in (place / "log").iterdir():
        path.unlink()
    eventually(lambda: len(one.said), 1)
    assert "has lost its state" in one.said[0]
    assert values(fleet) == {("all", "level"): "3"}


def test_a_sensitive_flag_keeps_the_whole_batch_from_being_written(
    mounted, running, new, fleet, process
):
    one = process().begin(name="one")
    one.do("pf.define('token', '', 'Token', sensitive=True, runtime=True)")
    eventually(lambda: fleet.members()["one"].get("sensitive"), ["token"])
    mounted.write(level="3", token="hidden")  # noqa: S106 - no secret
    with pytest.raises(SensitiveError, match=r"token: is sensitive in one, .* nothing is mirrored"):
        new().copy_changes()
    assert fleet.revision == 0
    mounted.write(level="3")
    other = running()
    one.wait_for("level.value", 3)
    mounted.write(level="4", token="hidden")  # noqa: S106 - no secret
    eventually(lambda: len(other.said), 1)
    assert "hidden" not in str(other.said)
    mounted.write(level="4")
    one.wait_for("level.value", 4)


@pytest.mark.extended  # takes a second or more
def test_an_unsafe_flag_is_mirrored_only_if_it_is_confirmed(mounted, side_car, fleet, process):
    one = process().begin(name="one")
    one.do("wipe = pf.define('wipe', 0, 'Wipe', unsafe=True, runtime=True)")
    eventually(lambda: fleet.members()["one"].get("unsafe"), ["wipe"])
    mounted.write(level="3", wipe="1")
    refused = side_car()
    status, _, problems = refused.end()
    assert status == 1
    assert problems[0].endswith("error: wipe: is unsafe to change; add --confirm wipe")
    assert fleet.revision == 0
    side_car("--confirm", "wipe")
    one.wait_for("(level.value, wipe.value)", [3, 1])


def test_an_alias_in_the_configmap_is_the_flag(mounted, new, fleet, process):
    mounted.write(grade="3")
    one = new()
    one.copy_changes()
    member = process()
    member.join(name="one")
    member.do("level = pf.define('level', 1, 'Level', aliases=['grade'], runtime=True)")
    assert member.ask("level.value") == 3
    eventually(lambda: fleet.members()["one"].get("aliases"), {"grade": "level"})
    assert new().copy_changes() is None
    mounted.write(grade="4")
    one.copy_changes()
    member.wait_for("level.value", 4)
    assert (one.copy_changes(), new().copy_changes(), fleet.revision) == (None, None, 2)
    fleet.set({"grade": 9}, wait=SOON)
    one.copy_changes()
    member.wait_for("level.value", 4)
    mounted.write()
    one.copy_changes()
    member.wait_for("level.value", 1)
    assert values(fleet) == {}


def test_a_fleet_is_not_mirrored_into_itself(tmp_path, new, fleet, url, mounted):
    fleet.set({"level": 3})
    with pytest.raises(FleetError, match=r"is the fleet .* itself: expected another one"):
        new(url).copy_changes()
    place = f"dir://{in_url(tmp_path)}/one"
    (tmp_path / "link").symlink_to(tmp_path / "one")
    with Fleet(place) as other:
        other.set({"level": 3})
        with pytest.raises(FleetError, match="itself"):
            new(f"{place}?poll=7", place).copy_changes()
        with pytest.raises(FleetError, match="itself"):
            new(place, f"dir://{in_url(tmp_path)}/link").copy_changes()
    mounted.write(level="3")
    with pytest.raises(FleetError, match="read-only"):
        new(target=f"configmap://{in_url(tmp_path)}").copy_changes()


# ---- The commands ----


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT])
def test_the_command_mirrors_until_a_signal_and_prints_changes_and_new_problems(
    mounted, side_car, by
):
    mounted.write(level="3", selectors__json='{"role:trainer": {"lr": 1}}')
    one = side_car()
    assert one.line() == "revision 1: level=3, lr=1 (role:trainer)"
    mounted.write(level="3", **{"1st": "x"})
    assert "'1st': expected the name of a flag" in one.problem()
    mounted.write(level="4")
    assert one.problem() == "all is well again"
    assert one.line() == "revision 2: level=4, -lr (role:trainer)"
    assert one.end(by) == (0, [], [])


@pytest.mark.extended  # takes a second or more
def test_once_makes_one_turn(mounted, source, url, command, side_car):
    mounted.write(level="3")
    assert side_car("--once").end() == (0, ["revision 1: level=3"], [])
    one = command("mirror", source, "--once", url)
    assert one.end() == (0, ["revision 1: nothing differs"], [])
    mounted.write(name="a")
    status, lines, _ = side_car("--once", "--json").end()
    assert status == 0
    assert json.loads(*lines) == {
        "revision": 2,
        "changes": [
            {"name": "level", "value": None, "on": "all"},
            {"name": "name", "value": "a", "on": "all"},
        ],
    }


@pytest.mark.extended  # takes a second or more
def test_a_mirror_that_cannot_begin_ends_with_an_exit_status(
    tmp_path, url, mounted, command, side_car
):
    mounted.write(**{"1st": "x"})
    for one, status, told in (
        (
            command("mirror", f"configmap://{in_url(tmp_path)}/missing", url, "--once"),
            3,
            "cannot be reached",
        ),
        (
            command("mirror", f"dir://{in_url(tmp_path)}/typo", url),
            1,
            "there is no fleet in this folder",
        ),
        (side_car(), 1, "'1st': expected the name of a flag"),
        (command("mirror", url), 2, "expected URL after "),
    ):
        ended, _, problems = one.end()
        assert ended == status
        assert told in problems[-1]


def test_a_mirror_that_is_killed_leaves_whole_batches(mounted, side_car, fleet):
    mounted.write(level="3", name="a")
    one = side_car()
    assert one.line()
    one.end(signal.SIGKILL)
    mounted.write(level="4")
    two = side_car()
    assert two.line() == "revision 2: level=4, -name"
    assert values(fleet) == {("all", "level"): "4"}
