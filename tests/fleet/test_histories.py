"""The judge of histories: it agrees with a search of all orders, and finds planted faults."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import histories
import pytest
from histories import COMPACTED, GAP, UNKNOWN, Operation
from hypothesis import event, given, settings
from hypothesis import strategies as st
from searches import State, _meaning, possible

pytestmark = pytest.mark.extended  # needs much time


def made(*lines: tuple) -> list[Operation]:
    """Make a history of (client, name, arguments, result, start, end)."""
    return [Operation(*line) for line in lines]


def faults(*lines: tuple) -> str:
    """Return what is wrong with a history; both judges must agree."""
    history = made(*lines)
    found = histories.check(history)
    if not any(operation.name in ("base", "compact") for operation in history):
        assert possible(history) == (not found)
    return "\n".join(found)


# -- planted faults ---------------------------------------------------------------------------


def test_operations_one_after_the_other_are_linearizable():
    assert not faults(
        ("a", "last", (), 0, 1, 2),
        ("a", "append", (1, b"x"), True, 3, 4),
        ("b", "append", (1, b"y"), False, 5, 6),
        ("b", "read", (1,), (b"x",), 7, 8),
        ("b", "append", (3, b"z"), GAP, 9, 10),
        ("b", "wait", (0, 1.0), 1, 11, 12),
    )


def test_an_acknowledged_record_that_is_lost_is_a_fault():
    assert "record 1 was not there before" in faults(
        ("a", "append", (1, b"x"), True, 1, 2), ("b", "read", (1,), (), 3, 4)
    )


def test_an_acknowledged_record_that_another_one_replaced_is_a_fault():
    found = faults(("a", "append", (1, b"x"), True, 1, 2), ("b", "read", (1,), (b"y",), 3, 4))
    assert "record 1 has two contents" in found


def test_a_last_that_is_older_than_an_acknowledged_record_is_a_fault():
    assert "record 1 was not there" in faults(
        ("a", "append", (1, b"x"), True, 1, 3), ("b", "last", (), 0, 4, 5)
    )


def test_a_last_during_the_append_may_be_the_old_or_the_new_one():
    for result in (0, 1):
        assert not faults(("a", "append", (1, b"x"), True, 1, 4), ("b", "last", (), result, 2, 3))


def test_a_last_that_goes_back_is_a_fault_although_the_append_still_runs():
    assert faults(
        ("a", "append", (1, b"x"), True, 1, 9),
        ("b", "last", (), 1, 2, 3),
        ("c", "last", (), 0, 4, 5),
    )


def test_two_winners_of_one_number_are_a_fault():
    assert "created twice" in faults(
        ("a", "append", (1, b"x"), True, 1, 3), ("b", "append", (1, b"y"), True, 2, 4)
    )


def test_an_append_that_lost_against_nobody_is_a_fault():
    assert "nobody created record 1" in faults(("a", "append", (1, b"x"), False, 1, 3))


def test_an_append_that_was_refused_but_whose_record_is_there_is_a_fault():
    assert "nobody created record 1" in faults(
        ("a", "append", (1, b"x"), False, 1, 3), ("b", "read", (1,), (b"x",), 4, 5)
    )


def test_an_append_without_answer_may_have_happened_late_or_never():
    silent = ("a", "append", (1, b"x"), UNKNOWN, 1, 2)
    assert not faults(silent, ("b", "last", (), 0, 3, 4), ("b", "last", (), 1, 5, 6))
    assert not faults(silent, ("b", "append", (1, b"y"), True, 3, 4))
    assert not faults(silent, ("b", "append", (1, b"y"), False, 3, 4))


def test_an_append_without_answer_did_not_happen_before_it_was_asked_for():
    assert faults(("b", "last", (), 1, 1, 2), ("a", "append", (1, b"x"), UNKNOWN, 3, 4))


def test_a_record_that_nobody_wrote_like_this_is_a_fault():
    assert "nobody created record 1 as it is" in faults(
        ("a", "append", (1, b"x"), UNKNOWN, 1, 2), ("b", "read", (1,), (b"y",), 3, 4)
    )


def test_any_append_without_answer_may_have_created_a_record():
    assert not faults(
        ("a", "append", (1, b"x"), UNKNOWN, 5, 6),
        ("b", "append", (1, b"y"), UNKNOWN, 1, 2),
        ("c", "last", (), 1, 3, 4),
    )


def test_a_gap_that_was_none_is_a_fault():
    assert faults(("a", "append", (1, b"x"), True, 1, 2), ("a", "append", (2, b"y"), GAP, 3, 4))


def test_a_record_before_an_acknowledged_one_must_have_been_created():
    assert "nobody created record 1" in faults(("a", "append", (2, b"x"), True, 1, 2))


def test_records_are_created_in_the_order_of_their_numbers():
    assert faults(("a", "append", (2, b"y"), True, 1, 2), ("b", "append", (1, b"x"), True, 3, 4))


BASE = ("a", "append", (1, b"x"), True, 1, 2), ("a", "compact", (1, b"B"), True, 3, 4)


def test_a_base_replaces_records():
    assert not faults(
        *BASE, ("b", "base", (), (1, b"B"), 5, 6), ("b", "read", (1,), COMPACTED, 7, 8)
    )


def test_a_base_that_is_lost_is_a_fault():
    assert "replaced by an older one" in faults(*BASE, ("b", "base", (), (0, b""), 5, 6))


def test_a_base_that_nobody_wrote_is_a_fault():
    assert "nobody had made" in faults(*BASE, ("b", "base", (), (1, b"C"), 5, 6))


def test_a_replaced_record_without_a_base_is_a_fault():
    assert "no base replaces" in faults(
        ("a", "append", (1, b"x"), True, 1, 2), ("b", "read", (1,), COMPACTED, 3, 4)
    )


def test_a_fault_names_both_operations():
    text = faults(("a", "append", (1, b"x"), True, 1, 2), ("b", "last", (), 0, 3, 4))
    assert "[1 .. 2] a: append(1, b'x') -> True" in text
    assert "[3 .. 4] b: last() -> 0" in text


# -- the same verdict as a search of all orders -----------------------------------------------


class Call(NamedTuple):
    """One call of a generated history."""

    name: str
    arguments: tuple
    before: int  # how long before its moment it was invoked
    after: int  # how long after its moment it had its response
    silent: bool  # nobody saw the response
    happens: bool  # what nobody saw the response of may not have happened
    choice: int  # of the results that are allowed


NUMBERS = st.integers(1, 4)
TEXTS = st.sampled_from([b"x", b"y", b"z"])
CALLS = st.one_of(
    st.tuples(st.just("append"), st.tuples(NUMBERS, TEXTS)),
    st.tuples(st.just("append"), st.tuples(st.just(0), TEXTS)),  # 0: the next number
    st.tuples(st.just("read"), st.tuples(NUMBERS)),
    st.tuples(st.just("last"), st.just(())),
    st.tuples(st.just("wait"), st.tuples(NUMBERS, st.just(0.0))),
)
LENGTHS = st.integers(0, 40)


@st.composite
def calls(draw: st.DrawFn) -> Call:
    name, arguments = draw(CALLS)
    return Call(
        name,
        arguments,
        draw(LENGTHS),
        draw(LENGTHS),
        draw(st.integers(0, 2)) == 0,
        draw(st.booleans()),
        draw(st.integers(0, 9)),
    )


def run(plan: list[Call]) -> list[Operation]:
    """Do the calls one after the other, 10 apart in time, and stretch them around that."""
    state, history = State(), []
    for index, call in enumerate(plan):
        moment = 10 * index + 50
        arguments = call.arguments
        if call.name == "append" and arguments[0] == 0:
            arguments = (len(state.records) + 1, arguments[1])
        asked = Operation(f"c{index}", call.name, arguments, UNKNOWN, 0, 0)
        after, allowed = _meaning(state, asked)
        # Unequal fractions: no two moments are the same.
        start = moment - call.before + index / 100
        end = moment + call.after + index / 100 + 0.5
        result = UNKNOWN if call.silent else allowed[call.choice % len(allowed)]
        if not call.silent or call.happens:
            state = after
        history.append(replace(asked, result=result, start=start, end=end))
    return history


@given(st.lists(calls(), max_size=9))
@settings(max_examples=300, deadline=None)
def test_no_fault_is_found_in_what_an_engine_could_have_done(plan):
    history = run(plan)
    assert possible(history)
    assert histories.check(history) == []


FITTING = {
    "append": (True, False, GAP, UNKNOWN),
    "last": (0, 1, 2, 3, 4, UNKNOWN),
    "wait": (0, 1, 2, 3, 4, UNKNOWN),
}


@st.composite
def changed(draw: st.DrawFn) -> list[Operation]:
    """A history that could have been, with one to three operations changed."""
    history = run(draw(st.lists(calls(), min_size=2, max_size=8)))
    for _ in range(draw(st.integers(1, 3))):
        index = draw(st.integers(0, len(history) - 1))
        operation = history[index]
        if draw(st.booleans()):
            choices = FITTING.get(operation.name)
            result = (
                draw(st.sampled_from(choices))
                if choices
                else draw(st.lists(TEXTS, max_size=3).map(tuple))
            )
            history[index] = replace(operation, result=result)
        else:
            moved = draw(st.integers(-60, 60)) + 0.003
            history[index] = replace(
                operation, start=operation.start + moved, end=operation.end + moved
            )
    return history


@pytest.mark.release  # searches all orders
@given(changed())
@settings(max_examples=1500, deadline=None)
def test_the_verdict_is_that_of_a_search_of_all_orders(history):
    expected = possible(history)
    event("linearizable" if expected else "faulty")
    assert (histories.check(history) == []) == expected


@pytest.mark.release
@given(changed())
@settings(max_examples=4_000, deadline=None)
def test_the_verdict_is_that_of_a_search_for_many_more_histories(history):
    assert (histories.check(history) == []) == possible(history)
