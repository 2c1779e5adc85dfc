"""Random lives of a fleet in processes, on a folder and on three nodes of etcd: as the model's.

Longer: python tests/fleet/real_lives.py etcd --seed 1 --seconds 60 --rounds 20
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
import real_lives
import schedules
from schedules import Folder

SECONDS = 10.0


@pytest.fixture
def place():
    """A short path: what is in it has sockets."""
    with tempfile.TemporaryDirectory(prefix="fleet-") as name:
        yield Path(name)


def judged(outcome: real_lives.Outcome) -> None:
    assert not outcome.faults, str(outcome)
    count = outcome.count()
    assert count["looks"] > 20, str(outcome)
    assert count["acknowledged"] > 2, str(outcome)


def test_processes_have_what_the_log_says_whatever_happens(place):
    judged(real_lives.run(Folder(place), "1", SECONDS, place))


@pytest.mark.extended
@pytest.mark.parametrize("seed", range(2, 5))
def test_processes_have_what_the_log_says_with_other_seeds(place, seed):
    judged(real_lives.run(Folder(place), str(seed), 2 * SECONDS, place))


@pytest.mark.extended
@pytest.mark.parametrize("name", ["etcd", "tcpstore", "dask", "ray"])
def test_processes_on_an_engine_that_has_faults_have_what_the_log_says(place, name):
    with schedules.engine(name, place) as new:
        judged(real_lives.run(new(), "1", 1.5 * SECONDS, place))


@pytest.mark.extended
@pytest.mark.parametrize(
    ("planted", "told"),
    [
        ("a_member_takes_half_of_a_batch", "and the log says"),
        ("half_of_a_rejected_batch_is_taken_with_the_next", "and the log says"),
        ("an_acknowledged_change_is_lost", "acknowledged, and not in the log"),
    ],
)
def test_a_planted_fault_is_found(place, planted, told):
    outcome = real_lives.run(Folder(place), "1", SECONDS, place, planted)
    assert told in str(outcome.faults)
