"""Random lives of a fleet in processes, on a folder and on three nodes of etcd: as the model's.

Longer: python tests/fleet/real_lives.py etcd --seed 1 --seconds 60 --rounds 20
"""

from __future__ import annotations

import pytest
import real_lives
import schedules
from schedules import Folder

SECONDS = 10.0


def judged(outcome: real_lives.Outcome) -> None:
    assert not outcome.faults, str(outcome)
    count = outcome.counts
    assert count["looks"] > 20, str(outcome)
    assert count["acknowledged"] > 2, str(outcome)


@pytest.mark.extended  # takes a second or more
def test_processes_have_what_the_log_says_whatever_happens(tmp_path):
    judged(real_lives.run(Folder(tmp_path), "1", SECONDS, tmp_path))


@pytest.mark.release
@pytest.mark.parametrize("seed", range(2, 5))
def test_processes_have_what_the_log_says_with_other_seeds(tmp_path, seed):
    judged(real_lives.run(Folder(tmp_path), str(seed), 2 * SECONDS, tmp_path))


@pytest.mark.release
@pytest.mark.parametrize("name", ["etcd", "tcpstore", "dask", "ray"])
def test_processes_on_an_engine_that_has_faults_have_what_the_log_says(tmp_path, name):
    with schedules.engine(name, tmp_path) as new:
        judged(real_lives.run(new(), "1", 1.5 * SECONDS, tmp_path))


@pytest.mark.release
@pytest.mark.parametrize(
    ("planted", "told"),
    [
        ("a_member_takes_half_of_a_batch", "and the log says"),
        ("half_of_a_rejected_batch_is_taken_with_the_next", "and the log says"),
        ("an_acknowledged_change_is_lost", "acknowledged, and not in the log"),
    ],
)
def test_a_planted_fault_is_found(tmp_path, planted, told):
    outcome = real_lives.run(Folder(tmp_path), "1", SECONDS, tmp_path, planted)
    assert told in str(outcome.faults)
