"""What everything costs grows with the number of members, and not faster.

The table, also for 512 members: python -m bench.fleet --costs
"""

from __future__ import annotations

import itertools

import pytest

from bench.fleet import costs
from bench.fleet.costs import Count, Row

pytestmark = pytest.mark.release  # needs much time

SIZES = (32, 128)
MANY = (128, 512)
MOST = 1.15  # of what a straight line gives


@pytest.fixture(scope="module")
def measured():
    """Return the rows of some sizes, each of which is measured once."""
    known: dict[int, list[Row]] = {}

    def rows(*sizes: int) -> list[Row]:
        for size in sizes:
            known.setdefault(size, costs.measure(size))
        return [row for size in sizes for row in known[size]]

    return rows


@pytest.mark.parametrize("sizes", [SIZES, pytest.param(MANY, marks=pytest.mark.release)])
def test_what_all_members_ask_of_an_engine_grows_with_their_number(measured, sizes):
    rows = measured(*sizes)
    for event, what in itertools.product({row.event for row in rows}, Count._fields):
        few, many = (getattr(row.asked, what) for row in rows if row.event == event)
        assert many <= MOST * few * sizes[1] / sizes[0], (event, what)


def test_a_member_asks_a_few_times_for_each_event(measured):
    for row in measured(*SIZES):
        assert row.asked.requests / row.members < 20, row.event


def test_one_member_reads_the_documents_of_all_and_the_others_its_verdict(measured):
    check = next(row for row in measured(SIZES[1]) if row.event == "check")
    assert check.asked.read < 6 * SIZES[1]


def test_an_operator_reads_each_document_once_to_say_how_a_fleet_is(measured):
    status = next(row for row in measured(SIZES[1]) if row.event == "status")
    assert status.asked.read < SIZES[1] + 20
    assert status.asked.requests < 20  # the same for any number of members


def test_the_slope_of_what_each_member_reads_of_all_others_is_two():
    rows = [Row("all read all", n, Count(n, n * n, 0, 0, 0)) for n in (8, 32, 128)]
    _, _, requests, read, *_ = costs.text(rows).splitlines()
    assert requests == "| all read all: requests | 1.0 | 1.0 | 1.0 | 1.00 |"
    assert read == "| all read all: read | 8.0 | 32.0 | 128.0 | 2.00 |"
