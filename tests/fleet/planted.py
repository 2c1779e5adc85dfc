"""Faults of members and operators that tests must find: each breaks one rule of a fleet.

Each function is called with something that has `setattr`, such as pytest's monkeypatch.
"""

from __future__ import annotations

from paddle_flags.fleet import _member, _membership, _operate, _state
from paddle_flags.fleet._member import Member
from paddle_flags.fleet._membership import Membership
from paddle_flags.fleet._operate import Operator
from paddle_flags.fleet._record import CHANGE


def ends_are_not_written(patch):
    patch.setattr(Member, "_write_end", lambda *_: False)


def an_end_takes_nothing_back(patch):
    patch.setattr(_state, "_end_temporary_batch", lambda state, _: state)


def a_newcomer_trusts_its_clock(patch):
    patch.setattr(Member, "_has_other_seen_begin", lambda *_: False)


def an_aborted_change_is_made(patch):
    def write(operator, record):
        while not (revision := operator._follower.try_append(record)):
            operator._follower.catch_up()
        return revision

    patch.setattr(Operator, "_write_decision", write)


def a_tick_does_not_wait(patch):
    patch.setattr(Member, "is_undecided", lambda *_: False)


def an_operator_does_not_wait_for_answers(patch):
    patch.setattr(Operator, "_wait_for_answers", lambda *_: "")


def a_member_takes_half_of_a_batch(patch):
    whole = _state.add_batch_to_tables
    patch.setattr(
        _state,
        "add_batch_to_tables",
        lambda tables, batch: whole(tables, batch._replace(changes=batch.changes[:1])),
    )


def half_of_a_rejected_batch_is_taken_with_the_next(patch):
    def apply_batches(batches, selected, judge):
        tables, values, verdicts = {}, {}, []
        for batch in batches:
            if selected.is_affected_by(batch.changes):
                tables = _state.add_batch_to_tables(tables, batch)
                wanted = selected.values(tables)
                why = judge(batch, wanted)
                values = wanted if why is None else values
                verdicts.append(_state.Verdict(batch, why, values))
        return values, verdicts

    patch.setattr(_member, "apply_batches", apply_batches)


def a_member_keeps_what_it_had(patch):
    apply_batches, had = _member.apply_batches, {}

    def keep(batches, selected, judge):
        values, verdicts = apply_batches(batches, selected, judge)
        if any(each.why is not None for each in verdicts):
            values = had.get(judge, values)
        had[judge] = values
        return values, verdicts

    patch.setattr(_member, "apply_batches", keep)


def nobody_aborts_what_is_overdue(patch):
    patch.setattr(Member, "_abort_overdue_change", lambda _: None)


def an_acknowledged_change_is_lost(patch):
    append = Operator._append

    def forget(operator, record):
        is_lost = record.kind == CHANGE and operator._state.revision % 3 == 0
        return operator._state.revision + 1 if is_lost else append(operator, record)

    patch.setattr(Operator, "_append", forget)


def a_lease_that_ends_is_not_noticed(patch):
    patch.setattr(Membership, "_watch_lease", lambda _: None)


def one_that_leaves_waits_for_the_engine(patch):
    patch.setattr(_membership, "_PATIENCE", 30.0)


def an_answer_is_as_of_the_day_it_was_given(patch):
    answer = Member._renew_answers

    def keep(member, verdicts, why):
        before = dict(member.answers)
        answer(member, verdicts, why)
        member.answers.update(before)

    patch.setattr(Member, "_renew_answers", keep)


def an_operator_waits_for_ever(patch):
    patch.setattr(_operate, "_limit_patience", lambda *_: 500.0)


# Each fault with the first of the random lives that shows it.
FAULTS = {
    ends_are_not_written: 1,
    an_end_takes_nothing_back: 1,
    a_newcomer_trusts_its_clock: 6,
    an_aborted_change_is_made: 1,
    a_tick_does_not_wait: 7,
    an_operator_does_not_wait_for_answers: 1,
    a_member_takes_half_of_a_batch: 1,
    half_of_a_rejected_batch_is_taken_with_the_next: 1,
    a_member_keeps_what_it_had: 1,
    nobody_aborts_what_is_overdue: 2,
    an_acknowledged_change_is_lost: 1,
    a_lease_that_ends_is_not_noticed: 4,
    one_that_leaves_waits_for_the_engine: 54,
    an_answer_is_as_of_the_day_it_was_given: 1,
    an_operator_waits_for_ever: 2,
}
