"""Measure fleets: python -m bench.fleet --members 50 --engine etcd."""

import sys

from bench.places import ROOT

# The members, the cluster and the faults are those of the tests.
sys.path[:0] = [str(ROOT / "tests" / "fleet"), str(ROOT / "tests")]
