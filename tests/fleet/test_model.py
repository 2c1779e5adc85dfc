"""Random lives of a fleet, with the real members and operators, a clock that is not real, and
faults of all kinds; and that what the rules are for is missed as soon as one of them is broken.

Longer: python tests/fleet/scenarios.py --seed 1 --count 1000
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import scenarios
from planted import FAULTS
from worlds import FaultError

pytestmark = pytest.mark.extended  # needs much time

SEEDS = range(1, 13)
MOST = 80  # lives in which a fault must be found


@pytest.mark.parametrize("seed", SEEDS)
def test_members_have_what_the_log_says_whatever_happens(seed):
    scenarios.run(seed)


DIGEST = """
import sys
sys.path.insert(0, sys.argv[1])
import scenarios
for turn in scenarios.run(3).world.trace:
    print(turn)
"""


def test_a_seed_always_gives_the_same_life():
    here = Path(__file__).parent
    found = {
        subprocess.run(
            [sys.executable, "-c", DIGEST, here],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert len(found) == 1


# ---- Faults that must be found ----


def run_all(seeds):
    for seed in seeds:
        scenarios.run(seed)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_is_found_when(fault, monkeypatch):
    fault(monkeypatch)
    seeds = sorted(range(1, MOST), key=lambda seed: seed != FAULTS[fault])
    with pytest.raises(FaultError):
        run_all(seeds)
