"""The values of a ConfigMap, or of any fleet, kept in a fleet that has members."""

from __future__ import annotations

import json
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
from configmaps import Mounted
from engines import ENGINES
from members import SOON, eventually

from paddle_flags.fleet import Change, Fleet, FleetError, _mirror, _operate, mirror, open_store
from paddle_flags.fleet._follow import Follower
from paddle_flags.fleet._mirror import Mirror
from paddle_flags.fleet._operate import SensitiveError
from paddle_flags.fleet._record import PROPOSE, Record
from paddle_flags.fleet._state import COMMIT

TARGETS = ["dir", pytest.param("etcd", marks=pytest.mark.extended)]


@pytest.fixture(scope="module", params=TARGETS)
def engine(request):
    engine = ENGINES[request.param]()
    engine.start()
    yield engine
    engine.end()


@pytest.fixture
def url(engine):
    return engine.new()


@pytest.fixture
def mounted(tmp_path):
    return Mounted(tmp_path / "flags")


@pytest.fixture
def source(mounted):
    return f"configmap://{mounted.place}"


@pytest.fixture
def new(source, url):
    """Make mirrors, whose turns the test makes."""
    made = []

    def make(source=source, target=url):
        made.append(Mirror(source, target, 5))
        return made[-1]

    yield make
    for each in made:
        each.close()


class Running:
    """A mirror that runs in a thread, and what it has said."""

    def __init__(self, source, target):
        self.said = []
        self.error = None
        self._stop = threading.Event()
        self._ends = (source, target)
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self):
        try:
            mirror(*self._ends, stop=self._stop, on_problem=self._note, timeout=1)
        except FleetError as error:
            self.error = error

    def _note(self, problem):
        self.said.append(None if problem is None else str(problem))

    def end(self):
        self._stop.set()
        self._thread.join()


@pytest.fixture
def running(source, url, monkeypatch):
    """Start mirrors that look often, and end with the test."""
    monkeypatch.setattr(_mirror, "POLL", 0.02)
    monkeypatch.setattr("paddle_flags.fleet._turns._PAUSE", 0.02)
    started = []

    def start(source=source, target=url):
        started.append(Running(source, target))
        return started[-1]

    yield start
    for each in started:
        each.end()


def values(fleet):
    """Return what the fleet says, as texts."""
    return {
        (on, name): entry.value
        for on, table in fleet.tables().items()
        for name, entry in table.items()
    }


def written(fleet):
    """Return who has changed what."""
    return [(step.record.by, list(step.record.changes)) for step in fleet.log()]


# ---- What is mirrored ----


def test_members_get_each_change_of_a_configmap_as_one_revision(mounted, running, fleet, members):
    trainers = {"role:trainer": {"lr": 0.5}}
    mounted.write(level="3", name="a", selectors__json=json.dumps(trainers))
    running()
    eventually(lambda: fleet.revision, 1)
    one, two = members()
    assert (one.ask("level.value"), two.ask("lr.value")) == (3, 0.5)
    mounted.write(level="4", lr="0.25", selectors__json=json.dumps({"role:trainer": {"port": 1}}))
    for each in (one, two):
        each.wait_for("(level.value, lr.value, port.value)", [4, 0.25, 1])
    assert fleet.revision == 2
    eventually(lambda: [each.state for each in fleet.status().members], ["current"] * 2)


def test_all_that_needs_members_works_in_the_target(mounted, running, fleet, members):
    mounted.write(level="3")
    running()
    eventually(lambda: fleet.revision, 1)
    one, two = members()
    assert fleet.set({"lr": 0.5}, wait=SOON).ok
    for each in (one, two):
        each.do("pf.fleet.tick(1)")
    assert fleet.set({"lr": 0.75}, at_step=2, wait=SOON).ok
    for each in (one, two):
        each.do("pf.fleet.tick(2)")
        assert each.ask("(level.value, lr.value)") == [3, 0.75]
    one.send("do", "pf.fleet.check(expect=2)")
    two.do("pf.fleet.check(expect=2)")
    one.receive()


def test_what_the_configmap_no_longer_has_is_unset_and_all_else_stays(mounted, new, fleet):
    one = new()
    fleet.set({"lr": 0.5, "level": 2})
    fleet.set({"level": 7}, role="trainer")
    mounted.write(level="3", name="a", selectors__json='{"host:h": {"level": 4}}')
    one.turn()
    assert values(fleet) == {
        ("all", "lr"): "0.5",
        ("all", "level"): "3",
        ("all", "name"): "a",
        ("role:trainer", "level"): "7",
        ("host:h", "level"): "4",
    }
    mounted.write(name="b")
    one.turn()
    assert values(fleet) == {
        ("all", "lr"): "0.5",
        ("all", "name"): "b",
        ("role:trainer", "level"): "7",
    }
    assert fleet.revision == 4


def test_an_empty_configmap_unsets_all_that_was_mirrored(mounted, new, fleet):
    one = new()
    fleet.set({"lr": 0.5})
    mounted.write(level="3", name="a")
    one.turn()
    mounted.write()
    one.turn()
    assert values(fleet) == {("all", "lr"): "0.5"}
    assert fleet.revision == 3


def test_the_log_names_the_configmap_and_says_why(mounted, new, source, fleet):
    mounted.write(level="3")
    new(f"{source}?poll=5").turn()
    entry = fleet.values()["level"]
    assert (entry.by, entry.reason) == (source, f"mirrored from {source}")


def test_an_empty_file_is_an_empty_value(mounted, new, fleet):
    mounted.write(name="")
    new().turn()
    assert values(fleet) == {("all", "name"): ""}
    assert new().turn() is None


def test_what_is_the_same_is_not_written_again(mounted, new, fleet):
    one = new()
    mounted.write(level="3", name="a")
    assert one.turn().revision == 1
    assert one.turn() is None
    mounted.write(level="3", name="a")
    assert one.turn() is None
    assert fleet.revision == 1


def test_a_mirror_that_starts_again_goes_on_where_it_was(mounted, new, fleet):
    mounted.write(level="3", name="a")
    new().turn()
    assert new().turn() is None
    mounted.write(level="4")
    new().turn()
    assert values(fleet) == {("all", "level"): "4"}
    assert fleet.revision == 2


def test_a_fleet_is_mirrored_without_temporary_values_and_steps(tmp_path, new, fleet):
    with Fleet(f"dir://{tmp_path}/source") as other:
        one = new(other.url)
        other.set({"level": 3, "lr": 0.5}, role="trainer")
        other.set({"level": 4}, role="trainer", duration=100)
        other.set({"name": "a"}, at_step=7)
        other.set({"name": "aborted"}, dry_run=True)
        one.turn()
        assert values(fleet) == {
            ("role:trainer", "level"): "3",
            ("role:trainer", "lr"): "0.5",
            ("all", "name"): "a",
        }
        other.reset(1)
        one.turn()
    assert values(fleet) == {("role:trainer", "level"): "3", ("role:trainer", "lr"): "0.5"}
    assert fleet.revision == 2


# ---- Operators ----


def test_a_flag_that_an_operator_changes_is_set_back_and_the_log_shows_both(
    mounted, new, source, fleet
):
    one = new()
    mounted.write(level="3", name="a")
    one.turn()
    fleet.set({"level": 9, "lr": 0.5})
    one.turn()
    fleet.unset("level")
    one.turn()
    assert values(fleet) == {("all", "level"): "3", ("all", "name"): "a", ("all", "lr"): "0.5"}
    assert written(fleet)[1:] == [
        ("ann@desk", [Change("level", "9"), Change("lr", "0.5")]),
        (source, [Change("level", "3")]),
        ("ann@desk", [Change("level", None)]),
        (source, [Change("level", "3")]),
    ]
    assert one.turn() is None


def test_a_change_that_is_committed_later_is_set_back(mounted, new, url, fleet):
    one = new()
    mounted.write(level="3")
    one.turn()
    follower = Follower(open_store(url))
    record = Record(PROPOSE, (Change("level", "9"),), by="ann@desk", patience=1e6)
    revision = _operate.write(follower, record, None).revision
    assert one.turn() is None
    follower.decide(revision, COMMIT)
    follower.store.close()
    assert values(fleet) == {("all", "level"): "9"}
    one.turn()
    assert values(fleet) == {("all", "level"): "3"}
    assert fleet.revision == 3


def test_a_temporary_value_of_an_operator_holds_until_it_ends(mounted, running, fleet, process):
    mounted.write(level="3")
    running()
    eventually(lambda: fleet.revision, 1)
    one = process().begin(name="one")
    fleet.set({"level": 9}, duration=1.5, wait=SOON)
    assert one.ask("level.value") == 9
    one.wait_for("level.value", 3)
    assert fleet.revision == 2
    mounted.write(level="4")
    one.wait_for("level.value", 4)


def test_a_reset_by_an_operator_does_not_take_flags_from_the_configmap(mounted, new, source, fleet):
    one = new()
    mounted.write(level="3")
    one.turn()
    mounted.write(level="4")
    one.turn()
    fleet.set({"lr": 0.5})
    fleet.reset(1)
    assert values(fleet) == {("all", "level"): "3"}
    one.turn()
    assert values(fleet) == {("all", "level"): "4"}
    fleet.reset(5)
    one.turn()
    assert fleet.values()["level"].by == source
    mounted.write()
    one.turn()
    assert values(fleet) == {}


def test_a_change_by_an_operator_meanwhile_is_kept_and_the_batch_written_behind_it(
    mounted, new, fleet, monkeypatch
):
    one = new()
    mounted.write(level="3", name="a")
    left = [9, 8]
    write = one._write  # noqa: SLF001 - the moment between looking and writing

    def write_late(changes):
        if left:
            fleet.set({"level": left.pop(), "lr": 0.5})
        return write(changes)

    monkeypatch.setattr(one, "_write", write_late)
    assert one.turn().revision == 3
    assert values(fleet) == {("all", "level"): "3", ("all", "name"): "a", ("all", "lr"): "0.5"}


def test_a_change_by_an_operator_right_behind_that_of_the_mirror_is_set_back(
    mounted, new, fleet, monkeypatch
):
    one = new()
    mounted.write(level="3")
    follower = one._target  # noqa: SLF001 - the moment between writing and reading back
    append = follower.append

    def append_and_more(record):
        revision = append(record)
        fleet.set({"level": 9})
        return revision

    with monkeypatch.context() as patch:
        patch.setattr(follower, "append", append_and_more)
        one.turn()
    assert values(fleet) == {("all", "level"): "9"}
    one.turn()
    assert values(fleet) == {("all", "level"): "3"}


def test_a_change_that_a_base_has_replaced_meanwhile_is_set_back(mounted, new, fleet, monkeypatch):
    one = new()
    mounted.write(level="3")
    one.turn()
    one.turn()
    monkeypatch.setattr("paddle_flags.fleet._follow._MOST", 3)
    monkeypatch.setattr("paddle_flags.fleet._follow._KEPT", 1)
    fleet.set({"level": 9})
    fleet.unset("level")
    for lr in range(6):
        fleet.set({"lr": lr})
    monkeypatch.setattr(one, "_notice", lambda _: None)  # the log that is left says nothing of it
    one.turn()
    assert fleet.values()["level"].value == "3"


# ---- Two mirrors ----


def test_two_mirrors_write_each_change_once(mounted, running, fleet):
    mounted.write(level="0")
    both = running(), running()
    eventually(lambda: fleet.revision, 1)
    for level in ("1", "2", "3", "4", "5"):
        mounted.write(level=level, name="a")
        eventually(lambda: fleet.values()["level"].value, level)
    fleet.set({"level": 9})
    eventually(lambda: fleet.values()["level"].value, "5")
    for each in both:
        each.end()
        assert (each.said, each.error) == ([], None)
    levels = [step.record.changes[0].value for step in fleet.log()]
    assert levels == ["0", "1", "2", "3", "4", "5", "9", "5"]


def test_a_mirror_that_sees_a_change_later_does_not_set_back_what_the_other_has_written(
    mounted, new, fleet, tmp_path
):
    late = Mounted(tmp_path / "late")
    one, two = new(), new(f"configmap://{late.place}")
    two.name = one.name  # as on another machine
    for each in (mounted, late):
        each.write(level="3", name="a")
    one.turn()
    two.turn()
    mounted.write(level="4")
    for _ in range(3):
        one.turn()
        two.turn()
    assert values(fleet) == {("all", "level"): "4"}
    late.write(level="4")
    two.turn()
    late.write(level="3")  # and back, which this one sees first
    for _ in range(3):
        two.turn()
        one.turn()
    assert values(fleet) == {("all", "level"): "3"}
    mounted.write(level="5")
    one.turn()
    late.write(level="6")
    two.turn()
    one.turn()
    assert values(fleet) == {("all", "level"): "6"}
    assert fleet.revision == 5


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
    assert "cannot read it" in one.said[0]
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
    one = running(target=f"dir://{place}")
    with Fleet(f"dir://{place}") as fleet:
        eventually(lambda: fleet.revision, 1)
    shutil.rmtree(place)
    place.mkdir()
    for name in ("log", "base", "members", "decisions"):
        (place / name).mkdir()
    with Fleet(f"dir://{place}") as fleet:
        eventually(lambda: values(fleet), {("all", "level"): "3"})
    eventually(lambda: one.said[-1:], [None])
    assert any("has lost its state" in each for each in one.said if each)


def test_values_stay_if_the_source_has_lost_its_state(tmp_path, running, fleet):
    place = tmp_path / "source"
    with Fleet(f"dir://{place}") as other:
        other.set({"level": 3})
    one = running(source=f"dir://{place}")
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
        new().turn()
    assert fleet.revision == 0
    mounted.write(level="3")
    other = running()
    one.wait_for("level.value", 3)
    mounted.write(level="4", token="hidden")  # noqa: S106 - no secret
    eventually(lambda: len(other.said), 1)
    assert "hidden" not in str(other.said)
    mounted.write(level="4")
    one.wait_for("level.value", 4)


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
    one.turn()
    member = process()
    member.join(name="one")
    member.do("level = pf.define('level', 1, 'Level', aliases=['grade'], runtime=True)")
    assert member.ask("level.value") == 3
    eventually(lambda: fleet.members()["one"].get("aliases"), {"grade": "level"})
    assert new().turn() is None
    mounted.write(grade="4")
    one.turn()
    member.wait_for("level.value", 4)
    assert (one.turn(), new().turn(), fleet.revision) == (None, None, 2)
    fleet.set({"grade": 9}, wait=SOON)
    one.turn()
    member.wait_for("level.value", 4)
    mounted.write()
    one.turn()
    member.wait_for("level.value", 1)
    assert values(fleet) == {}


def test_a_fleet_is_not_mirrored_into_itself(tmp_path, new, fleet, url, mounted):
    fleet.set({"level": 3})
    with pytest.raises(FleetError, match=r"is the fleet .* itself: expected another one"):
        new(url).turn()
    place = f"dir://{tmp_path}/one"
    (tmp_path / "link").symlink_to(tmp_path / "one")
    with Fleet(place) as other:
        with pytest.raises(FleetError, match="itself"):
            new(f"{place}?poll=7", place).turn()
        other.set({"level": 3})
        with pytest.raises(FleetError, match="itself"):
            new(place, f"dir://{tmp_path}/link").turn()
    mounted.write(level="3")
    with pytest.raises(FleetError, match="read-only"):
        new(target=f"configmap://{tmp_path}").turn()


# ---- The commands ----


class Command:
    """`paddle-flags fleet`, as it runs in a container."""

    def __init__(self, *tokens):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "paddle_flags", "fleet", *tokens],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._out, self._err = _lines(self.process.stdout), _lines(self.process.stderr)

    def line(self):
        return self._out.get(timeout=SOON)

    def problem(self):
        return self._err.get(timeout=SOON)

    def end(self, by=None):
        """Return the exit status and the lines that are left, after a signal or by itself."""
        if by is not None:
            self.process.send_signal(by)
        status = self.process.wait(SOON)
        return status, [*iter(self._out.get, None)], [*iter(self._err.get, None)]


def _lines(stream):
    """Return the lines of a stream as they come, and None at its end."""
    lines = queue.SimpleQueue()

    def read():
        with stream:
            for line in stream:
                lines.put(line.rstrip("\n"))
        lines.put(None)

    threading.Thread(target=read).start()
    return lines


@pytest.fixture
def command():
    started = []

    def start(*tokens):
        started.append(Command(*tokens))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.wait()


@pytest.fixture
def side_car(command, source, url):
    """Start the command that mirrors the ConfigMap."""
    return lambda *tokens: command(source, "mirror", url, *tokens)


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


def test_once_makes_one_turn(mounted, source, url, command, side_car):
    mounted.write(level="3")
    assert side_car("--once").end() == (0, ["revision 1: level=3"], [])
    one = command(source, "mirror", "--once", url)
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


def test_a_mirror_that_cannot_begin_ends_with_an_exit_status(
    tmp_path, url, mounted, command, side_car
):
    mounted.write(**{"1st": "x"})
    for one, status, told in (
        (command(f"configmap://{tmp_path}/missing", "mirror", url, "--once"), 3, "cannot read it"),
        (command(f"dir://{tmp_path}/typo", "mirror", url), 1, "there is no fleet in this folder"),
        (side_car(), 1, "'1st': expected the name of a flag"),
        (command(url, "mirror"), 2, "TARGET"),
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


def test_the_command_relays_until_sigterm_and_takes_its_members_with_it(
    tmp_path, url, command, process, fleet
):
    place = f"dir://{tmp_path}/relayed?poll=0.01"
    one = command(url, "relay", place, "--ttl", "30")
    eventually((tmp_path / "relayed").is_dir)
    here = process()
    here.url = place
    here.begin(name="here")
    eventually(lambda: set(fleet.members()), {"here"})
    assert fleet.set({"level": 9}, wait=SOON).ok
    assert here.ask("level.value") == 9
    assert one.end(signal.SIGTERM) == (0, [], [])
    assert fleet.members() == {}
