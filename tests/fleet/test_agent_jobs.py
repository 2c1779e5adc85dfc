"""A job of torchrun whose workers are programs in C: each has an agent."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys

import agents
import pytest
from etcd_node import free_ports
from members import SOON, eventually
from support import installed

from paddle_flags.fleet import Fleet, FleetError

pytestmark = pytest.mark.release  # needs gigabytes of packages


@pytest.fixture
def job(tmp_path):
    """Start two workers, which begin when both are there; return the process and the fleet."""
    installed("torch")
    program, [port] = agents.build(tmp_path, steps=True), free_ports(1)
    join = ("-m", "paddle_flags", "join", "tcpstore://env/flags", "--check", "2", "--", program)
    run = (sys.executable, "-m", "torch.distributed.run", f"--master-port={port}")
    with open(tmp_path / "output", "w", encoding="utf-8") as output:
        process = subprocess.Popen(
            [*run, "--nproc-per-node=2", "--no-python", "--tee=3", sys.executable, *join],
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TORCH_CPP_LOG_LEVEL": "ERROR"},
        )
    with Fleet(f"tcpstore://127.0.0.1:{port}/flags") as fleet:
        yield process, fleet, lambda: (tmp_path / "output").read_text("utf-8")
    process.send_signal(signal.SIGTERM)
    process.wait(SOON)


def test_programs_in_c_that_torchrun_starts_take_a_change_at_one_step(job):
    process, fleet, output = job

    def both_are_here() -> bool:
        assert process.poll() is None, output()
        try:
            found = fleet.members()
        except FleetError:  # torchrun has no store yet
            return False
        steps = [each.get("step") for each in found.values()]
        return sorted(found) == ["rank-0", "rank-1"] and None not in steps

    eventually(both_are_here)
    step = max(each["step"] for each in fleet.members().values()) + 2000
    outcome = fleet.set({"threads": 10}, at_step=step, wait=SOON)
    assert sorted(outcome.answers) == ["rank-0", "rank-1"]
    eventually(lambda: len(re.findall(r"step \d+ 10\b", output())) == 2)
    assert re.findall(r"step (\d+) 10\b", output()) == [str(step)] * 2
