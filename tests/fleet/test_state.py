"""What a log says: batches, questions, selectors, values that end or wait, and both as JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from members import ask, decide, write
from support import in_url

from paddle_flags.errors import FlagArgumentError
from paddle_flags.fleet import Fleet, FleetError, _follow
from paddle_flags.fleet._follow import Follower
from paddle_flags.fleet._record import (
    ABORT,
    ASK,
    CHANGE,
    CHECK,
    END,
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
    apply_batches,
    build_tables,
    entries_of,
    from_json,
    history_of,
    to_json,
)

pytestmark = pytest.mark.extended  # needs much time

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
    st.sampled_from([CHANGE, CHANGE, ASK, ABORT, END, CHECK]),
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
    of=st.just(0) | st.integers(0, 12),
    peers=st.integers(0, 9),
    check=st.just({}) | st.just({"round": 1, "stage": "alike", "lines": ["x"]}),
)
LOGS = st.lists(RECORDS, max_size=16)

NOTHING = Record(CHECK, fleet="f")
ME = Selected("m", "x", "h")


def numbered(log):
    return [record._replace(revision=number) for number, record in enumerate(log, 1)]


def state_of(log, state=None):
    state = state or State()
    for record in log:
        state = state.after(record)
    return state


def change(*changes, **fields):
    return Record(CHANGE, tuple(changes), fleet="f", **fields)


def asked(*changes, **fields):
    return change(*changes, **fields)._replace(kind=ASK)


def takes(_batch, _wanted):
    """Judge as a member that takes everything."""
    return


def texts(state, selected=ME, judge=takes):
    values, _ = apply_batches(state.batches, selected, judge)
    return {name: entry.value for name, entry in values.items()}


# ---- The log decides ----


@given(LOGS, st.integers(0, 16))
def test_a_log_says_the_same_as_its_rest_from_a_base(log, cut):
    base = state_of(log[:cut])
    assume(base.question is None)  # a base has none
    again = from_json(to_json(base), "base")
    assert again == base
    assert state_of(log[cut:], again) == state_of(log)


@given(LOGS)
def test_a_batch_is_what_its_record_says_or_the_question_that_it_names(log):
    state = State()
    for record in log:
        question, state = state.question, state.after(record)
        for batch in state.batches:
            if batch.revision == state.revision:
                assert record.kind == CHANGE
                made = record
                if record.of:
                    assert question is not None
                    assert question.revision == record.of
                    made = question
                assert batch.changes == made.changes
                assert batch.time == record.time  # when it has begun, not when it was asked


@given(LOGS, CHANGES, LOGS)
def test_a_dry_run_never_becomes_real_whatever_follows(before, changes, after):
    state = state_of(before)
    dry = state.after(asked(*changes, dry_run=True))
    assert state_of(after, dry) == state_of(after, state.after(NOTHING))


@given(LOGS, st.sampled_from([CHANGE, ABORT]), LOGS, st.sampled_from([CHANGE, ABORT]))
def test_no_decision_is_overturned(before, kind, between, late):
    state = state_of(before).after(asked(Change("a", "asked")))
    question = state.revision
    state = state_of(between, state.after(Record(kind, of=question)))
    assert state.after(Record(late, of=question)) == state.after(NOTHING)


@given(LOGS)
def test_a_decision_that_names_no_question_or_another_one_is_none(log):
    state = state_of(log).after(asked(Change("a", "1")))
    for of in (state.revision + 1, state.revision + 7, -state.revision):
        for kind in (CHANGE, ABORT):
            assert state.after(Record(kind, (Change("a", "2"),), of=of)).question == state.question
    assert state.after(Record(ABORT)).question == state.question


@given(LOGS, st.sampled_from([CHANGE, ASK]), CHANGES)
def test_nothing_comes_before_the_decision_of_an_open_question(log, kind, changes):
    state = state_of([*log, asked(Change("a", "1"))])
    assert state.after(Record(kind, changes)) == state.after(NOTHING)


@given(LOGS)
def test_the_last_change_is_the_last_record_that_changes_values(log):
    state = State()
    for record in log:
        before, state = state, state.after(record)
        if record.kind in (CHECK, ASK, ABORT):
            assert state.changed == before.changed
        if build_tables(state.batches) != build_tables(before.batches):
            assert state.changed == state.revision


@given(LOGS)
def test_the_history_has_each_change_that_took_effect_and_says_so(log):
    history = {each.revision: each for each in history_of(numbered(log))}
    for batch in state_of(log).batches:
        assert history[batch.revision].verdict == "committed"
        assert history[batch.revision].record.changes == batch.changes


def test_the_history_says_what_became_of_each_change():
    log = [
        asked(Change("a", "1")),
        Record(CHANGE, of=1),
        asked(Change("a", "2")),
        Record(ABORT, of=3, reason="m rejects it"),
        asked(Change("a", "3"), dry_run=True),
        change(Change("a", "4"), duration=9.0),
        Record(END, of=6),
        asked(Change("a", "5")),
        change(Change("a", "6")),
        asked(Change("a", "7")),
        asked(Change("a", "8"), dry_run=True),
    ]
    assert [(each.revision, each.verdict) for each in history_of(numbered(log))] == [
        (2, "committed"),
        (3, "aborted: m rejects it"),
        (5, "dry run"),
        (6, "committed"),
        (7, "ended"),
        (8, None),
        (11, "dry run"),
    ]


# ---- Members ----


@given(LOGS)
def test_what_a_member_has_does_not_depend_on_how_often_it_looked(log):
    state = State()
    for record in log:
        state = state.after(record)
        texts(state, judge=rejects_threes)
    assert texts(state, judge=rejects_threes) == texts(state_of(log), judge=rejects_threes)


def rejects_threes(_batch, wanted):
    return "3" if any(entry.value == "3" for entry in wanted.values()) else None


@given(LOGS)
def test_a_member_that_rejects_a_batch_has_what_it_would_have_without_it(log):
    state = state_of(log)
    values, verdicts = apply_batches(state.batches, ME, rejects_threes)
    taken = [each.batch for each in verdicts if each.why is None]
    assert values == apply_batches(taken, ME, takes)[0]
    assert "3" not in {entry.value for entry in values.values()}


def test_the_values_below_a_rejected_batch_are_those_of_the_batch_before():
    log = [
        change(Change("a", "1"), Change("b", "1")),
        change(Change("a", "3"), Change("b", "2")),
        change(Change("a", "2")),
    ]
    assert texts(state_of(log[:2]), judge=rejects_threes) == {"a": "1", "b": "1"}
    assert texts(state_of(log), judge=rejects_threes) == {"a": "2", "b": "1"}


@given(LOGS)
def test_a_batch_for_others_is_not_judged(log):
    other = Selected("n", "y", "g")
    _, verdicts = apply_batches(state_of(log).batches, other, takes)
    assert all(any(each.on == "all" for each in one.batch.changes) for one in verdicts)


@given(st.permutations(["all", "role:x", "host:h", "member:m"]))
def test_the_most_specific_selector_wins_in_any_order(order):
    log = [change(Change("a", on, on)) for on in order]
    found = []
    for on in ("member:m", "host:h", "role:x", "all"):
        found.append(texts(state_of(log))["a"])
        log.append(change(Change("a", None, on)))
    assert found == ["member:m", "host:h", "role:x", "all"]
    assert texts(state_of(log)) == {}


def test_selectors_of_others_do_not_fit():
    changes = Change("a", "1", "role:y"), Change("b", "1", "host:g"), Change("c", "1", "member:n")
    assert texts(state_of([change(*changes)])) == {}
    assert not ME.is_affected_by(changes)
    assert Selected("n", None, "").is_affected_by(changes)
    assert texts(state_of([change(*changes)]), Selected("n", "y", "g")).keys() == {"a", "b", "c"}


# ---- Values that end ----


def test_a_temporary_value_that_has_ended_shows_the_one_below():
    log = [change(Change("a", "1")), change(Change("a", "2"), duration=9.0), Record(END, of=2)]
    assert texts(state_of(log[:2])) == {"a": "2"}
    assert texts(state_of(log)) == {"a": "1"}
    assert entries_of(state_of(log[:2]))["all", "a"].value == "1"


def test_an_end_is_a_change_and_none_of_a_value_that_lasts():
    lasting, temporary = (state_of([change(Change("a", "1"), duration=d)]) for d in (None, 9.0))
    assert lasting.after(Record(END, of=1)) == replace(lasting, revision=2)
    assert temporary.after(Record(END, of=1)) == State(2, 2, "f")


def test_an_end_does_not_bring_back_what_was_changed_since():
    log = [change(Change("a", "2"), duration=9.0), change(Change("a", "1")), Record(END, of=1)]
    assert texts(state_of(log)) == {"a": "1"}


# ---- What is kept ----


def test_a_member_may_reject_the_last_seven_changes_of_a_flag():
    log = []
    for number in range(1, 40):
        log.append(change(Change("a", str(number))))
        last = [str(each) for each in range(number - 6, number + 1)]
        rejects = lambda _, wanted, last=last: "no" if wanted["a"].value in last else None  # noqa: E731
        expected = {"a": str(number - 7)} if number > 7 else {}
        assert texts(state_of(log), judge=rejects) == expected


def test_a_batch_is_kept_while_one_of_its_values_is_in_effect():
    log = [change(Change("a", "0"), Change("b", "0"))]
    log += [change(Change("a", str(number))) for number in range(40)]
    assert texts(state_of(log)) == {"a": "39", "b": "0"}


def test_temporary_values_replace_no_batch_for_ever():
    log = [change(Change("a", "lasts"))]
    log += [change(Change("a", str(number)), duration=9.0) for number in range(40)]
    assert texts(state_of(log)) == {"a": "39"}
    log += [Record(END, of=number) for number in range(2, 42)]
    assert texts(state_of(log)) == {"a": "lasts"}


@pytest.mark.parametrize("fields", [{}, {"duration": 9.0}, {"at_step": 5}], ids=str)
def test_what_is_kept_of_one_flag_is_bounded(fields):
    state = State()
    for number in range(500):
        state = state.after(change(Change("a", str(number)), **fields))
        assert len(state.batches) <= 80
    assert texts(state) == {"a": "499"}


def test_a_question_that_nobody_decides_keeps_what_is_before_it_from_no_base(store, monkeypatch):
    monkeypatch.setattr(_follow, "_MOST", 8)
    monkeypatch.setattr(_follow, "_KEPT", 2)
    for _ in range(12):
        write(store, change(Change("a", "1")))
    question = ask(store, {"a": 2})
    for _ in range(12):
        write(store, NOTHING)
    follower = Follower(store)
    follower.catch_up()
    assert follower.compact()
    assert store.base()[0] == question - 1
    decide(store, question)
    late = Follower(store)
    late.catch_up()
    assert texts(late.state) == {"a": "2"}


def test_a_base_before_a_decided_question_is_found_without_looking_at_each_record(
    store, monkeypatch
):
    monkeypatch.setattr(_follow, "_MOST", 80)
    monkeypatch.setattr(_follow, "_KEPT", 10)
    write(store, change(Change("a", "1")))
    question = ask(store, {"a": 2})
    follower = Follower(store)
    follower.catch_up()
    for _ in range(90):
        assert follower.try_append(NOTHING)
    assert store.base()[0] == 0
    reads = []
    read = store.read
    monkeypatch.setattr(store, "read", lambda first: reads.append(first) or read(first))
    assert follower.try_append(Record(CHANGE, of=question))
    assert store.base()[0] == question - 1
    assert len(reads) < 10


# ---- As JSON ----


@given(RECORDS)
def test_a_record_is_the_same_after_json(record):
    assert decode(encode(record), 7) == record._replace(revision=7)


@given(LOGS)
def test_a_state_is_the_same_after_json(log):
    state = state_of(log)
    assert from_json(to_json(state), "base", state.revision) == replace(state, question=None)


@given(
    st.binary(max_size=40)
    | st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda each: (
            st.lists(each, max_size=3)
            | st.dictionaries(st.sampled_from(["kind", "changes", "time", "of"]), each, max_size=4)
        ),
    ).map(lambda each: json.dumps(each).encode())
)
def test_what_is_no_record_is_refused_with_an_error_of_the_fleet(data):
    with pytest.raises(FleetError, match=r"revision 7: .*expected a record"):
        decode(data, 7)


NO_DECISIONS = [
    b"commit",
    b"commit\0",
    b'{"kind":"change\0","of":1}',
    b'{"kind":"Change","of":1}',
    b'{"kind":"change","of":"1"}',
    b'{"kind":"change","of":true}',
    b'{"kind":"change","of":1.0}',
    b'{"kind":"change","of":1',
    b'{"kind":"change","of":1}{}',
    b'{"kind":"change","of":1,"changes":[["a"]]}',
]


@pytest.mark.parametrize("data", NO_DECISIONS)
def test_a_decision_that_is_not_whole_decides_nothing(store, data):
    question = ask(store, {"a": 1})
    assert store.append(question + 1, data)
    follower = Follower(store)
    follower.catch_up()
    assert (follower.state.revision, follower.state.batches) == (question + 1, ())
    assert follower.state.question is not None


ODD_BASES = [
    b"",
    b"[]",
    b"{}",
    b'{"fleet":"f","revision":1,"changed":1,"batches":[[1]]}',
    b'{"fleet":"f","revision":1,"changed":1,"batches":[[1,0,"","",null,null,[["a"]]]]}',
    b'{"fleet":"f","revision":1,"changed":1,"batches":[[1,0,"","","9",null,[["a","1","all"]]]]}',
    b'{"fleet":"f","revision":true,"changed":1,"batches":[]}',
]


@pytest.mark.parametrize("data", ODD_BASES)
def test_a_state_that_is_none_is_refused_with_its_name(data):
    with pytest.raises(FleetError, match=r"last\.json: expected the values of a fleet"):
        from_json(data, "last.json")


def test_a_state_of_another_revision_is_refused():
    data = to_json(state_of([change(Change("a", "1"))]))
    assert from_json(data, "base 1", 1).revision == 1
    with pytest.raises(FleetError, match="base 2: expected the values of a fleet"):
        from_json(data, "base 2", 2)


# ---- What operators give ----


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
    url = f"dir://{in_url(tmp_path)}/job"
    with pytest.raises(FlagArgumentError, match=r"by is .*: expected text without NUL"):
        Fleet(url, by="a\0b")
    with Fleet(url) as fleet:
        with pytest.raises(FlagArgumentError, match=r"reason is .*: expected text without NUL"):
            fleet.set({"a": 1}, reason="\0")
        with pytest.raises(FlagArgumentError, match=r"at_step is .*: expected an integer"):
            fleet.set({"a": 1}, at_step=1 << 63)
        assert fleet.revision == 0


def test_one_selector_is_given_at_a_time():
    with pytest.raises(FlagArgumentError, match="role:x and member:y: expected one of"):
        selector("x", None, "y")
    with pytest.raises(FlagArgumentError, match="expected all, role:ROLE, host:HOST"):
        selector(host="")
    assert selector() == "all"
