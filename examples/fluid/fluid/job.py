"""The processes of a job on this machine, and what they tell."""

from __future__ import annotations

import json
import os
import queue
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

ROLE = Path(__file__).parents[1] / "role.py"
SILENCE = 60  # seconds without a word from any process after which the job has failed


class Told(NamedTuple):
    role: str
    rank: int
    facts: dict[str, Any]  # {} when the process has ended


def free_endpoints(count: int) -> list[str]:
    """Addresses of this machine that nobody listens on."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    endpoints = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    return endpoints


class Job:
    """Trainers and servers. Use it in a `with`: all of them have ended behind it."""

    def __init__(
        self, trainers: int, servers: int, *, fleet: str, flags: list[str], folder: Path
    ) -> None:
        self.endpoints = free_endpoints(servers)
        self._trainers = trainers
        self._flags = flags
        self._folder = folder
        self._environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROLE.parent), *sys.path]),
            "PADDLE_TRAINERS_NUM": str(trainers),
            "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(self.endpoints),
            "POD_IP": "127.0.0.1",
            "FLUID_FLEET": fleet,
            "OMP_NUM_THREADS": "1",
        }
        self._processes: dict[tuple[str, int], subprocess.Popen[str]] = {}
        self._told: queue.Queue[tuple[Told, subprocess.Popen[str]]] = queue.Queue()
        self._killed: set[subprocess.Popen[str]] = set()

    def __enter__(self) -> Job:  # noqa: PYI034 - as Scope
        for rank in range(len(self.endpoints)):
            self.start("pserver", rank)
        for rank in range(self._trainers):
            self.start("trainer", rank)
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(10)
            process.kill()
            process.wait()

    def start(self, role: str, rank: int) -> None:
        own = {"TRAINING_ROLE": role.upper()}
        if role == "trainer":
            own["PADDLE_TRAINER_ID"] = str(rank)
        else:
            own["PADDLE_PORT"] = self.endpoints[rank].rpartition(":")[2]
        with self._log(role, rank).open("a") as log:
            process = subprocess.Popen(
                [sys.executable, str(ROLE), *self._flags],
                env={**self._environment, **own},
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._processes[role, rank] = process
        threading.Thread(target=self._read, args=(role, rank, process), daemon=True).start()

    def kill(self, role: str, rank: int) -> None:
        """End a process without a chance to clean up."""
        process = self._processes[role, rank]
        self._killed.add(process)
        process.kill()
        process.wait()

    def next(self) -> Told:
        """The next thing that a process tells. Raises RuntimeError if a process fails."""
        try:
            told, process = self._told.get(timeout=SILENCE)
        except queue.Empty:
            raise RuntimeError(f"no process has told anything for {SILENCE} s") from None
        if not told.facts and process.wait() != 0 and process not in self._killed:
            text = self._log(told.role, told.rank).read_text()
            raise RuntimeError(f"{told.role} {told.rank} ended with {process.returncode}:\n{text}")
        return told

    def _log(self, role: str, rank: int) -> Path:
        return self._folder / f"{role}-{rank}.log"

    def _read(self, role: str, rank: int, process: subprocess.Popen[str]) -> None:
        for line in process.stdout or ():
            self._told.put((Told(role, rank, json.loads(line)), process))
        self._told.put((Told(role, rank, {}), process))
