"""What a log says: the fold, selectors, values that end or wait, and records as JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paddle_flags.errors import FlagArgumentError
from paddle_flags.fleet import Fleet, FleetError
from paddle_flags.fleet._record import (
    CHANGE,
    PROPOSE,
    Change,
    Record,
    check_batch,
    decode,
    encode,
    selector,
)
from paddle_flags.fleet._state import (
    Selected,
    State,
    concerned,
    from_json,
    lasting,
    to_json,
    values_of,
)

NAMES = st.sampled_from(["a", "b", "c"])
ON = st.sampled_from(["all", "role:x", "host:h", "member:m"])
CHANGES = st.lists(
    st.builds(Change, NAMES, st.none() | st.sampled_from(["1", "2", "3"]), ON),
    min_size=1,
    max_size=4,
    unique_by=lambda each: (each.name, each.on),
).map(tuple)
TEXT = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=4)
RECORDS = st.builds(
    Record,
    st.sampled_from([CHANGE, CHANGE, PROPOSE]),
    CHANGES,
    id=st.text("0123456789abcdef", max_size=4),
    fleet=st.just("f"),
    by=TEXT,
    time=st.floats(0, 1e9),
    reason=TEXT,
    duration=st.none() | st.floats(1, 100),
    at_step=st.none() | st.integers(0, 100),
    patience=st.floats(0, 100),
    dry_run=st.booleans(),
    reset=st.none() | st.integers(0, 1 << 62),
    members=st.lists(TEXT, max_size=3).map(tuple),
)
VERDICTS = st.sampled_from(["commit", "abort: why"])
LOGS = st.lists(st.tuples(RECORDS, VERDICTS), max_size=12)

ME = Selected("m", "x", "h")


def always(_):
    return True


def fold(log, state=None):
    for record, verdict in log:
        state = (state or State()).with_record(record, verdict if record.kind == PROPOSE else None)
    return state or State()


def log_of(*changes, **fields):
    return [(Record(CHANGE, tuple(changes), fleet="f", **fields), "commit")]


@given(LOGS, st.integers(0, 12))
def test_the_fold_of_a_log_is_the_fold_of_its_rest_from_a_base(log, cut):
    base = fold(log[:cut])
    again = from_json(to_json(base.tables, base.revision, base.fleet), "base")
    assert fold(log[cut:], again).tables == fold(log).tables


@given(LOGS, st.randoms())
def test_decisions_in_any_order_give_the_same_state_as_if_they_had_been_known(log, random):
    late = State()
    for record, _ in log:
        late = late.with_record(record)
    decisions = [
        (n, verdict) for n, (record, verdict) in enumerate(log, 1) if record.kind == PROPOSE
    ]
    random.shuffle(decisions)
    for revision, verdict in decisions:
        late = late.with_decision(revision, verdict)
    assert late.tables == fold(log).tables
    assert late.tail == ()


@given(LOGS)
def test_an_aborted_proposal_leaves_the_state_as_it_was(log):
    kept = [each for each in log if each[0].kind == CHANGE or each[1] == "commit"]
    shown = {
        on: {name: entry.value for name, entry in table.items()}
        for on, table in fold(log).tables.items()
    }
    assert shown == {
        on: {name: entry.value for name, entry in table.items()}
        for on, table in fold(kept).tables.items()
    }


@given(LOGS, VERDICTS)
def test_a_second_decision_changes_nothing(log, verdict):
    state = fold(log)
    for revision in range(1, len(log) + 1):
        assert state.with_decision(revision, verdict) == state


@given(RECORDS)
def test_a_record_is_the_same_after_json(record):
    assert decode(encode(record), 1) == record


@given(
    st.binary(max_size=40)
    | st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda each: (
            st.lists(each, max_size=3)
            | st.dictionaries(
                st.sampled_from(["kind", "changes", "time", "members"]), each, max_size=4
            )
        ),
    ).map(lambda each: json.dumps(each).encode())
)
def test_what_is_no_record_is_refused_with_an_error_of_the_fleet(data):
    with pytest.raises(FleetError, match=r"revision 7: .*expected a record"):
        decode(data, 7)


@given(st.permutations(["all", "role:x", "host:h", "member:m"]))
def test_the_most_specific_selector_wins_in_any_order(order):
    log = [log_of(Change("a", on, on))[0] for on in order]
    found = []
    for on in ("member:m", "host:h", "role:x", "all"):
        found.append(values_of(fold(log).tables, ME, always)["a"].value)
        log += log_of(Change("a", None, on))
    assert found == ["member:m", "host:h", "role:x", "all"]
    assert values_of(fold(log).tables, ME, always) == {}


def test_selectors_of_others_do_not_fit():
    log = log_of(
        Change("a", "1", "role:y"), Change("b", "1", "host:g"), Change("c", "1", "member:n")
    )
    assert values_of(fold(log).tables, ME, always) == {}
    assert concerned(log[0][0], ME) == set()
    assert concerned(log[0][0], Selected("n", "y", "g")) == {"a", "b", "c"}


def test_a_temporary_value_lies_above_the_lasting_one_and_replaces_another():
    log = log_of(Change("a", "1")) + log_of(Change("a", "2"), duration=9.0)
    log += log_of(Change("a", "3"), duration=9.0)
    tables = fold(log).tables
    assert values_of(tables, ME, always)["a"].value == "3"
    ended = values_of(tables, ME, lambda entry: entry.revision != 3)
    assert ended["a"].value == "1"
    assert lasting(tables)["all"]["a"].value == "1"


def test_a_lasting_value_ends_a_temporary_one():
    log = log_of(Change("a", "2"), duration=9.0) + log_of(Change("a", "1"))
    assert fold(log).tables["all"]["a"].below is None


def test_a_value_that_waits_for_its_step_leaves_what_is_below():
    log = log_of(Change("a", "1")) + log_of(Change("a", "2"), at_step=5)
    log += log_of(Change("a", None), at_step=9)
    tables = fold(log).tables

    def at(step):
        found = values_of(tables, ME, lambda e: e.at_step is None or e.at_step <= step)
        return {name: entry.value for name, entry in found.items()}

    assert [at(4), at(5), at(8), at(9)] == [{"a": "1"}, {"a": "2"}, {"a": "2"}, {}]


def test_what_lies_below_is_bounded():
    log = []
    for step in range(100):
        log += log_of(Change("a", str(step)), at_step=step)
    entry, depth = fold(log).tables["all"]["a"], 0
    while entry is not None:
        entry, depth = entry.below, depth + 1
    assert depth <= 9


def test_a_reset_replaces_all_values():
    log = log_of(Change("a", "1"), Change("b", "1", "role:x"))
    log += log_of(Change("a", "2"), reset=0)
    assert {on: list(table) for on, table in fold(log).tables.items()} == {"all": ["a"]}


@pytest.mark.parametrize("name", ["", "1a", "a b", "a=b", "a\n", "x" * 300, "--a"])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(FlagArgumentError):
        check_batch([Change(name, "1")])


@pytest.mark.parametrize("value", ["a\0b", "\ud800"])
def test_what_no_engine_stores_is_refused(value):
    with pytest.raises(FlagArgumentError, match="expected text"):
        check_batch([Change("a", value)])


@pytest.mark.parametrize("on", ["", "rank:1", "role:", "all:x", "role", "role:\0"])
def test_what_is_no_selector_is_refused(on):
    with pytest.raises(FlagArgumentError, match="expected all, role:ROLE"):
        check_batch([Change("a", "1", on)])


def test_a_flag_twice_in_a_batch_is_refused_however_it_is_written():
    with pytest.raises(FlagArgumentError, match="a_b: is given twice for all"):
        check_batch([Change("a-b", "1"), Change("a_b", "2")])


def test_what_no_record_can_have_is_refused_before_it_is_written(tmp_path):
    url = f"dir://{tmp_path}/job"
    with pytest.raises(FlagArgumentError, match=r"by is .*: expected text without NUL"):
        Fleet(url, by="a\0b")
    with Fleet(url) as fleet:
        with pytest.raises(FlagArgumentError, match=r"reason is .*: expected text without NUL"):
            fleet.set({"a": 1}, reason="\0")
        with pytest.raises(FlagArgumentError, match=r"at_step is .*: expected an integer"):
            fleet.set({"a": 1}, at_step=1 << 63)
        assert fleet.revision == 0


def test_one_selector_is_given_at_a_time():
    with pytest.raises(FlagArgumentError, match="role and member: expected one of"):
        selector("x", None, "y")
    with pytest.raises(FlagArgumentError, match="host: expected a name"):
        selector(host="")
    assert selector() == "all"


def test_a_state_that_is_none_is_refused_with_its_name():
    for data in (b"", b"[]", b"{}", b'{"revision": 1, "fleet": "", "tables": {"all": {"a": [1]}}}'):
        with pytest.raises(FleetError, match=r"last\.json: expected the values of a fleet"):
            from_json(data, "last.json")
