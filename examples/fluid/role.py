"""One process of the job: a trainer or a parameter server, as the environment says.

TRAINING_ROLE, PADDLE_TRAINER_ID, PADDLE_TRAINERS_NUM, PADDLE_PSERVERS_IP_PORT_LIST, POD_IP and
PADDLE_PORT are those of Paddle. FLUID_FLEET is the URL of the fleet. What happens is told on
stdout, one JSON object a line.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

from fluid import native
from fluid.client import Client
from fluid.digits import Batch, Digits
from fluid.executor import DTYPES, Executor, NotFiniteError, Scope
from fluid.model import accuracy, feed, perceptron
from fluid.server import ParameterServer, serve
from fluid.transpiler import Transpiler

import paddle_flags as pf

steps = pf.define("steps", 600, "Batches to train", min=1)
batch_size = pf.define("batch_size", 64, "Samples of a batch, for all trainers together", min=2)
dtype = pf.define("dtype", "f32", "Type of all numbers", choices=list(DTYPES))
damaged = pf.define("damaged", "", "STEP:RANK:ROW:PIXEL of an image that is read as NaN once")
pause = pf.define("pause", 0.0, "Seconds to wait after each batch", min=0, runtime=True)
checkpoints = pf.define("checkpoints", "", "Directory of the servers' parameters; empty: none")

ROLE = os.environ["TRAINING_ROLE"].lower()
TRAINERS = int(os.environ["PADDLE_TRAINERS_NUM"])
SERVERS = os.environ["PADDLE_PSERVERS_IP_PORT_LIST"].split(",")
FLEET = os.environ.get("FLUID_FLEET", "")


def tell(**facts: Any) -> None:  # noqa: ANN401
    print(json.dumps(facts), flush=True)


def transpiled() -> tuple[Transpiler, Any]:
    made = perceptron(dtype.value)
    return Transpiler(made.model, made.optimizers, SERVERS, TRAINERS), made


class Reader:
    """Reads the batches of one trainer; one image is damaged the first time."""

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self._digits = Digits(DTYPES[dtype.value], batch_size.value)
        self._damaged = [int(each) for each in damaged.value.split(":") if each]
        self.test = self._digits.test

    def read(self, step: int) -> Batch:
        batch = self._digits.batch(step, self._rank, TRAINERS)
        if self._damaged[:2] == [step, self._rank]:
            batch.images[self._damaged[2], self._damaged[3]] = float("nan")
            self._damaged = []
        return batch


def train(rank: int) -> None:
    transpiler, made = transpiled()
    reader = Reader(rank)
    client = Client(rank, transpiler.slices)
    scope = Scope()
    Executor(made.model.startup).run(scope)
    step = 0

    def send(_: object, batch: Scope) -> None:
        names = [each.gradient.name for each in transpiler.slices]
        for name, value in client.exchange(step, {name: batch[name] for name in names}).items():
            batch[name] = value

    def lost(endpoint: str) -> None:
        tell(event="lost", step=step, server=SERVERS.index(endpoint))

    client.lost = lost
    executor = Executor(transpiler.trainer_program(), hosts={"send": send})
    for step in range(steps.value):
        if FLEET:
            pf.fleet.tick(step)
        try:
            (loss,) = executor.run_batch(scope, feed(reader.read(step)), ["loss"])
        except NotFiniteError as error:  # before anything was sent: read the images again
            tell(event="not finite", step=step, op=error.op, text=str(error), index=error.index)
            (loss,) = executor.run_batch(scope, feed(reader.read(step)), ["loss"])
        tell(event="step", step=step, loss=float(loss[0, 0]), check=pf.FLAGS.check_nan_inf)
        time.sleep(pause.value)
    parameters = {each.name: scope[each.name].tolist() for each in made.model.parameters}
    tell(
        event="end",
        accuracy=accuracy(made.inference, scope, reader.test),
        parameters=parameters if rank == 0 else None,
    )
    client.close()


def serve_parameters(endpoint: str, file: Path | None) -> None:
    transpiler, _ = transpiled()
    server = ParameterServer(
        transpiler.server_program(endpoint), transpiler.server_startup(endpoint), TRAINERS, file
    )
    asked_to_end = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: asked_to_end.set())

    def start() -> None:
        answering = serve(server, endpoint)
        tell(event="serving", step=server.step)
        asked_to_end.wait()
        answering.stop(grace=1).wait()

    server.run(start)


def check() -> None:
    """Wait for all processes of the job, and check that their flags are the same."""
    if FLEET:
        pf.fleet.check(expect=TRAINERS + len(SERVERS))


def main() -> None:
    native.runtime()
    if FLEET:
        pf.fleet.join(FLEET)  # the role and the rank are in the environment
    pf.parse(env_prefix="FLAGS_")
    if ROLE == "trainer":
        check()
        train(int(os.environ["PADDLE_TRAINER_ID"]))
        return
    endpoint = f"{os.environ['POD_IP']}:{os.environ['PADDLE_PORT']}"
    name = f"server-{SERVERS.index(endpoint)}.npz"
    file = Path(checkpoints.value, name) if checkpoints.value else None
    if not (file and file.exists()):  # a server that is back finds the others at work
        check()
    serve_parameters(endpoint, file)


if __name__ == "__main__":
    main()
