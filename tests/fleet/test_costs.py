"""What everything costs grows with the number of members, and not faster."""

from __future__ import annotations

import pytest

from bench.fleet import costs

SIZES = (32, 128)


@pytest.fixture(scope="module")
def rows():
    return [row for size in SIZES for row in costs.measure(size)]


@pytest.mark.parametrize("what", costs.Count._fields)
def test_what_all_members_ask_of_an_engine_grows_with_their_number(rows, what):
    for event in {row.event for row in rows}:
        few, many = (getattr(row.asked, what) for row in rows if row.event == event)
        assert many <= 1.15 * few * SIZES[1] / SIZES[0], event


def test_a_member_asks_a_few_times_for_each_event(rows):
    most = {row.event: row.asked.requests / row.members for row in rows}
    for event, requests in most.items():
        assert requests < 20, event


def test_one_member_reads_the_documents_of_all_and_the_others_its_verdict(rows):
    check = next(row for row in rows if row.event == "check" and row.members == SIZES[1])
    assert check.asked.read < 6 * SIZES[1]
