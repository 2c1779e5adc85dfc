"""Trains digits in one process, then with two trainers and two servers that a fleet gives flags.

    run.py [--steps=660] [--folder=build/fluid/run]

On the way a server is killed and comes back, `paddle-flags set` switches check_nan_inf on at
one step of all trainers, and an image that one of them reads as NaN is found.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from fluid import native
from fluid.digits import Digits
from fluid.executor import DTYPES
from fluid.job import Job, Told
from fluid.model import train_alone
from fluid.plot import draw

import paddle_flags as pf

TRAINERS = SERVERS = 2
ACCURACY = 0.95
NOISE = {"f32": 1e-4, "f64": 1e-10}  # between the losses of one process and of four

steps = pf.define("steps", 660, "Batches to train", min=60)
batch_size = pf.define("batch_size", 64, "Samples of a batch", min=2)
dtype = pf.define("dtype", "f32", "Type of all numbers", choices=list(DTYPES))
pause = pf.define("pause", 0.01, "Seconds that a trainer waits after each batch", min=0)
folder = pf.define("folder", str(native.BUILD / "run"), "Directory for logs, parameters, picture")


def say(text: str) -> None:
    print(text, flush=True)


def fleet(url: str, verb: str, *words: str) -> None:
    """Run `paddle-flags` on the fleet, as an operator would."""
    say(f"$ paddle-flags {shlex.join([verb, url, *words])}")
    command = [sys.executable, "-m", "paddle_flags", verb, url, *words]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    say("\n".join(f"    {line}" for line in (ended.stdout + ended.stderr).splitlines()))
    if ended.returncode:
        sys.exit(f"paddle-flags ended with {ended.returncode}")


class Training:
    """The job: what is to happen in it, and what its processes have told."""

    def __init__(self, place: Path) -> None:
        self.kill_at, self.ask_at = steps.value // 6, steps.value // 3
        self.switch_at = 2 * self.ask_at
        self.damaged_at = self.switch_at + steps.value // 12
        self.url = f"dir://{place / 'fleet'}"
        self._place = place
        self._losses: dict[int, dict[int, float]] = {}  # by step and trainer
        self.checked: dict[int, int] = {}  # the first step with the flag on
        self.found: list[tuple[int, int, list[int]]] = []
        self.ends: dict[int, dict[str, Any]] = {}

    def run(self) -> None:
        same = [f"--{flag.name}={flag.value}" for flag in (steps, batch_size, dtype, pause)]
        flags = [*same, f"--damaged={self.damaged_at}:1:7:20", f"--checkpoints={self._place}"]
        with Job(TRAINERS, SERVERS, fleet=self.url, flags=flags, folder=self._place) as job:
            while len(self.ends) < TRAINERS:
                told = job.next()
                if told.facts.get("event") == "step":
                    self._note_step(job, told)
                elif told.facts:
                    self._note(told)
            fleet(self.url, "log")

    def losses(self) -> list[float]:
        return [sum(each.values()) / len(each) for _, each in sorted(self._losses.items())]

    def _note(self, told: Told) -> None:
        who, facts = f"{told.role} {told.rank}", told.facts
        if facts["event"] == "serving":
            say(f"{who} serves, from step {facts['step']} on")
        elif facts["event"] == "lost":
            say(f"{who} at step {facts['step']}: server {facts['server']} is gone; I send again")
        elif facts["event"] == "not finite":
            self.found.append((told.rank, facts["step"], facts["index"]))
            say(f"{who} at step {facts['step']}: {facts['text']}; I read the images again")
            fleet(self.url, "status")
        elif facts["event"] == "end":
            self.ends[told.rank] = facts
            say(f"{who} has finished: {facts['accuracy']:.1%} of the test images are right")

    def _note_step(self, job: Job, told: Told) -> None:
        step, loss = told.facts["step"], told.facts["loss"]
        if told.facts["check"]:
            self.checked.setdefault(told.rank, step)
        losses = self._losses.setdefault(step, {})
        losses[told.rank] = loss
        if len(losses) > 1:
            return  # the other trainer was here before
        if step % 50 == 0:
            say(f"step {step:4}: loss {loss:.4f}")
        if step == self.kill_at:
            say("server 1 is killed, and started again")
            job.kill("pserver", 1)
            job.start("pserver", 1)
        if step == self.ask_at:
            what = ["set", "--role", "trainer", "check_nan_inf=true"]
            when = ["--at-step", str(self.switch_at), "--wait", "20"]
            fleet(self.url, *what, *when, "--reason", "is the loss still a number?")


def run_lite(place: Path, parameters: dict[str, Any]) -> None:
    """Give the parameters to a program that has the kernels and nothing else."""
    program = native.BUILD / "lite"
    if not program.exists() or dtype.value != "f32":
        return
    test = Digits(DTYPES["f32"], batch_size.value).test
    with (place / "model.txt").open("w") as out:
        for matrix in (*map(np.array, parameters.values()), *test):
            print(*matrix.shape, *matrix.ravel().tolist(), file=out)
    for plugin in ([], [native.BUILD / "libblocked.so"]):
        subprocess.run([program, place / "model.txt", *plugin], check=True)


def judge(job: Training, difference: float) -> list[str]:
    """What is not as it must be."""
    at = dict.fromkeys(range(TRAINERS), job.switch_at)
    checks = {
        "the losses differ by more than noise": difference > NOISE[dtype.value],
        "too few images are right": any(e["accuracy"] < ACCURACY for e in job.ends.values()),
        f"check_nan_inf was on from {job.checked}, expected {at}": job.checked != at,
        f"NaN was found at {job.found}": job.found != [(1, job.damaged_at, [7, 0])],
    }
    return [text for text, is_wrong in checks.items() if is_wrong]


def main() -> None:
    native.runtime()
    pf.parse(env_prefix="FLAGS_")
    begin, place = time.monotonic(), Path(folder.value)
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    say(f"One process trains {steps.value} batches of {batch_size.value} digits.")
    losses, right = train_alone(steps.value, batch_size.value, dtype.value)
    say(f"It has finished: {right:.1%} of the test images are right.")
    say(f"{TRAINERS} trainers and {SERVERS} servers do the same.")
    job = Training(place)
    job.run()
    run_lite(place, job.ends[0]["parameters"])
    difference = np.abs(np.subtract(job.losses(), losses)).max()
    say(f"Losses of one process and of four differ by at most {difference:.1e}.")
    moments = [
        (job.kill_at, "a server is killed", "#e69f00"),
        (job.switch_at, "check_nan_inf is on", "#009e73"),
        (job.damaged_at, "NaN found by trainer 1", "#d55e00"),
    ]
    draw(place / "loss.svg", losses, job.losses(), moments)
    say(f"The losses are drawn in {place / 'loss.svg'}.")
    say(f"That took {time.monotonic() - begin:.0f} s.")
    sys.exit("\n".join(judge(job, difference)) or None)


if __name__ == "__main__":
    main()
