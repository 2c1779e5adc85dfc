"""Trains digits in one process, then with two trainers and two servers that a fleet gives flags.

    run.py [--steps=660] [--folder=build/fluid/run] [--picture=loss.svg]

On the way a server is killed and comes back, `paddle-flags fleet set` switches check_nan_inf on at
one step of all trainers, and an image that one of them reads as NaN is found.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from fluid import native
from fluid.digits import Digits
from fluid.executor import DTYPES
from fluid.job import Job, Told
from fluid.model import Trained, train_alone
from fluid.plot import Moment, draw

import paddle_flags as pf

TRAINERS = SERVERS = 2
ACCURACY = 0.95
NOISE = {"f32": 1e-4, "f64": 1e-10}  # between the losses of one process and of four

steps = pf.define("steps", 660, "Batches to train", min=60)
batch_size = pf.define("batch_size", 64, "Samples of a batch", min=2)
dtype = pf.define("dtype", "f32", "Type of all numbers", choices=list(DTYPES))
pause = pf.define("pause", 0.01, "Seconds that a trainer waits after each batch", min=0)
folder = pf.define("folder", str(native.BUILD / "run"), "Directory for logs, parameters, picture")
picture = pf.define("picture", "", "Another file for the picture of the losses")


@dataclass
class Story:
    """What is to happen in the job, and what has."""

    steps: int
    losses: dict[int, dict[int, float]] = field(default_factory=dict)  # by step and trainer
    checked: dict[int, int] = field(default_factory=dict)  # the first step with the flag on
    found: list[Told] = field(default_factory=list)
    ends: dict[int, Told] = field(default_factory=dict)

    @property
    def kill_at(self) -> int:
        return self.steps // 6

    @property
    def ask_at(self) -> int:
        return self.steps // 3

    @property
    def switch_at(self) -> int:
        return self.steps * 2 // 3

    @property
    def damaged_at(self) -> int:
        return self.switch_at + self.steps // 12

    def note(self, told: Told) -> bool:
        """Remember what a trainer told; return whether it is the first to end a step."""
        event, step = told.facts.get("event"), told.facts.get("step", 0)
        if event == "step":
            if told.facts["check"]:
                self.checked.setdefault(told.rank, step)
            self.losses.setdefault(step, {})[told.rank] = told.facts["loss"]
            return len(self.losses[step]) == 1
        if event == "not finite":
            self.found.append(told)
        elif event == "end":
            self.ends[told.rank] = told
        return False

    def mean_losses(self) -> list[float]:
        return [sum(each.values()) / len(each) for _, each in sorted(self.losses.items())]


def say(text: str) -> None:
    print(text, flush=True)


def fleet(url: str, *words: str) -> None:
    """Run `paddle-flags fleet`, as an operator would."""
    command = ["fleet", url, *words]
    say(f"$ paddle-flags {shlex.join(command)}")
    ended = subprocess.run(
        [sys.executable, "-m", "paddle_flags", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    say("".join(f"    {line}\n" for line in (ended.stdout + ended.stderr).splitlines()).rstrip())
    if ended.returncode:
        sys.exit(f"paddle-flags ended with {ended.returncode}")


def report(told: Told) -> None:
    who, facts = f"{told.role} {told.rank}", told.facts
    if facts.get("event") == "lost":
        say(f"{who} at step {facts['step']}: server {facts['server']} is gone; I send again")
    elif facts.get("event") == "serving":
        say(f"{who} serves, from step {facts['step']} on")
    elif facts.get("event") == "not finite":
        say(f"{who} at step {facts['step']}: {facts['text']}; I read the images again")
    elif facts.get("event") == "end":
        say(f"{who} has finished: {facts['accuracy']:.1%} of the test images are right")


def train_together(place: Path, url: str) -> Story:
    story = Story(steps.value)
    damaged = f"{story.damaged_at}:1:7:20"
    flags = [
        *(f"--steps={steps.value}", f"--batch_size={batch_size.value}", f"--dtype={dtype.value}"),
        *(f"--pause={pause.value}", f"--damaged={damaged}", f"--checkpoints={place}"),
    ]
    with Job(TRAINERS, SERVERS, fleet=url, flags=flags, folder=place) as job:
        while len(story.ends) < TRAINERS:
            told = job.next()
            report(told)
            if told.facts.get("event") == "not finite":
                fleet(url, "status")
            if not story.note(told):
                continue
            step = told.facts["step"]
            if step % 50 == 0:
                say(f"step {step:4}: loss {told.facts['loss']:.4f}")
            if step == story.kill_at:
                say("server 1 is killed, and started again")
                job.kill("pserver", 1)
                job.start("pserver", 1)
            if step == story.ask_at:
                fleet(
                    *(url, "set", "--role", "trainer", "check_nan_inf=true"),
                    *("--at-step", str(story.switch_at), "--wait", "20"),
                    *("--reason", "is the loss still a number?"),
                )
        fleet(url, "log")
    return story


def lite(place: Path, story: Story) -> None:
    """Give the parameters to a program that has the kernels and nothing else."""
    program = native.BUILD / "lite"
    if not program.exists() or dtype.value != "f32":
        return
    test = Digits(DTYPES["f32"], batch_size.value).test
    parameters = [np.array(each) for each in story.ends[0].facts["parameters"].values()]
    with (place / "model.txt").open("w") as out:
        for matrix in (*parameters, test.images, test.labels):
            print(*matrix.shape, *matrix.ravel().tolist(), file=out)
    for plugin in ([], [native.BUILD / "libblocked.so"]):
        subprocess.run([program, place / "model.txt", *plugin], check=True)


def judge(story: Story, alone: Trained) -> list[str]:
    """What is not as it must be."""
    wrong = []
    difference = np.abs(np.subtract(story.mean_losses(), alone.losses)).max()
    say(f"Losses of one process and of four differ by at most {difference:.1e}.")
    if difference > NOISE[dtype.value]:
        wrong.append("the losses differ by more than noise")
    if min(end.facts["accuracy"] for end in story.ends.values()) < ACCURACY:
        wrong.append(f"less than {ACCURACY:.0%} of the test images are right")
    if story.checked != dict.fromkeys(range(TRAINERS), story.switch_at):
        wrong.append(f"check_nan_inf was on from {story.checked}, expected {story.switch_at}")
    found = [(told.rank, told.facts["step"], told.facts["index"]) for told in story.found]
    if found != [(1, story.damaged_at, [7, 0])]:
        wrong.append(f"NaN was found at {found}")
    return wrong


def main() -> None:
    native.runtime()
    pf.parse(env_prefix="FLAGS_")
    begin = time.monotonic()
    place = Path(folder.value)
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    say(f"One process trains {steps.value} batches of {batch_size.value} digits.")
    alone = train_alone(steps.value, batch_size.value, dtype.value)
    say(f"It has finished: {alone.accuracy:.1%} of the test images are right.")
    say(f"{TRAINERS} trainers and {SERVERS} servers do the same.")
    story = train_together(place, f"dir://{place / 'fleet'}")
    lite(place, story)
    wrong = judge(story, alone)
    moments = [
        Moment(story.kill_at, "a server is killed", "#e69f00"),
        Moment(story.switch_at, "check_nan_inf is on", "#009e73"),
        Moment(story.damaged_at, "NaN found by trainer 1", "#d55e00"),
    ]
    for file in filter(None, (str(place / "loss.svg"), picture.value)):
        draw(Path(file), alone.losses, story.mean_losses(), moments)
        say(f"The losses are drawn in {file}.")
    say(f"That took {time.monotonic() - begin:.0f} s.")
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
