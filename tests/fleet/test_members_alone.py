"""One member by itself, with a clock and an engine that fail when they are told to."""

from __future__ import annotations

import pytest
from members import Failed, ask, decide, eventually, write
from programs import Program, narrow

from paddle_flags.fleet._clock import Clock
from paddle_flags.fleet._follow import Follower
from paddle_flags.fleet._member import Member
from paddle_flags.fleet._memory import MemoryStore
from paddle_flags.fleet._record import ASK, CHANGE, Change, Record
from paddle_flags.fleet._state import Selected
from paddle_flags.fleet._store import UnreachableError

EPOCH = 1_700_000_000.0
FLAGS = {"a", "b", "x"}  # that the program has at first


class StandingClock(Clock):
    """Goes on when the test says so."""

    time = 100.0

    def monotonic(self):
        return self.time

    def wall_time(self):
        return EPOCH + self.time

    def sleep(self, seconds):
        self.time += seconds

    def random_delay(self, seconds):
        return 0.0


class BreakingStore(MemoryStore):
    """Gives its records, and then no answer when it is asked for the last one, while it breaks."""

    breaks = False

    def last(self):
        if self.breaks:
            message = "no answer"
            raise UnreachableError(message)
        return super().last()


@pytest.fixture
def clock():
    return StandingClock()


@pytest.fixture
def store(clock):
    return BreakingStore(clock=clock.monotonic)


@pytest.fixture
def program():
    return Program(narrow, FLAGS)


@pytest.fixture
def member(store, program, clock):
    made = Member(store, Selected("one", None, "here"), program, None, clock)
    made.start()
    return made


def change(store, clock, values, **fields):
    changes = tuple(Change(name, value) for name, value in values.items())
    follower = Follower(store, clock=clock)
    follower.catch_up()
    return follower.try_append(Record(CHANGE, changes, **fields))


def fail_to_follow(store, member):
    """Let the engine go away when it has given its records."""
    store.breaks = True
    with pytest.raises(UnreachableError):
        member.follow()


def test_a_question_that_was_read_before_the_engine_went_away_is_answered(store, member):
    dry = write(store, Record(ASK, (Change("x", "10"),), patience=9.0, dry_run=True))
    fail_to_follow(store, member)
    store.breaks = False
    member.follow()
    assert member.answers[dry].state == "rejected"


def test_the_log_has_the_records_that_were_read_before_the_engine_went_away(store):
    follower = Follower(store)
    ask(store, {"x": 1})
    store.breaks = True
    with pytest.raises(UnreachableError):
        follower.read_log()
    store.breaks = False
    decide(store, 1)
    assert [each.revision for each in follower.read_log()] == [1, 2]


def test_a_value_that_is_over_before_it_was_taken_is_not_taken(store, member, program, clock):
    first = change(store, clock, {"a": "1"}, duration=4.0)
    member.follow()
    change(store, clock, {"a": "2"}, duration=2.0)
    fail_to_follow(store, member)
    clock.time += 4.5
    member.end_expired_locally()
    assert first in member.answers
    assert program.fleet_values == {}


def test_a_definition_drops_a_batch_also_if_its_value_was_taken_back(store, member, program, clock):
    dropped = change(store, clock, {"a": "1", "late": "9"})
    change(store, clock, {"late": None})
    member.follow()
    assert program.numbers()["a"] == 1
    program.define("late")
    member.follow()
    assert program.numbers()["a"] == 0
    assert member.answers[dropped].state == "rejected"


def test_a_program_checks_a_change_a_few_times_however_many_came_before(
    store, member, program, clock
):
    asked = []
    program.rule = lambda values: bool(asked.append(values)) or True
    for number in range(1, 12):
        change(store, clock, {"x": str(number)})
        member.follow()
    asked.clear()
    change(store, clock, {"x": "12"})
    member.follow()
    assert program.numbers()["x"] == 12
    assert len(asked) == 2  # the check, and the one of `apply`


def test_what_was_rejected_is_taken_when_the_program_accepts_it_at_a_later_change(
    store, member, program, clock
):
    change(store, clock, {"x": "10"})
    member.follow()
    assert program.numbers()["x"] == 0
    program.rule = lambda _: True
    change(store, clock, {"a": "1"})
    member.follow()
    assert program.numbers() == {**program.numbers({}), "x": 10, "a": 1}


def test_a_value_that_fits_no_more_is_not_taken_again_when_a_later_one_ends(
    store, member, program, clock
):
    first = change(store, clock, {"x": "9"})
    member.follow()
    change(store, clock, {"x": "1"}, duration=2.0)
    member.follow()
    program.rule = lambda values: values["x"] <= 5
    clock.time += 3.0
    member.follow()
    assert program.numbers()["x"] == 0
    assert member.answers[first].state == "rejected"


def test_the_second_one_of_a_name_is_refused_though_both_begin_at_once(process, tmp_path):
    slow, other = process(), process()
    slow.do(
        "import pathlib, time\n"
        f"store, place = pf.fleet.open_store({slow.url!r}), pathlib.Path({str(tmp_path)!r})\n"
        "read = store.read\n"
        "def read_late(first):\n"
        "    (place / 'seen').touch()\n"
        "    while not (place / 'go').exists(): time.sleep(0.01)\n"
        "    return read(first)\n"
        "store.read = read_late"
    )
    slow.send("do", "pf.fleet.join(store, name='one')")
    eventually((tmp_path / "seen").exists)
    other.join(name="one")
    (tmp_path / "go").touch()
    with pytest.raises(Failed, match=f"one is a member already, process {other.pid} of this"):
        slow.receive()
