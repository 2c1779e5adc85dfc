"""A TCPStore, a Dask and a Ray for tests, each in processes of its own that end with the test."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from support import installed

HERE = Path(__file__).parent  # has the tasks that workers run

TCPSTORE = """
import sys
from torch.distributed import TCPStore
store = TCPStore("127.0.0.1", int(sys.argv[1]), is_master=True, wait_for_workers=False)
print(store.port, flush=True)
sys.stdin.read()
"""

RAY = """
import sys, ray
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=sys.argv[1])
print(ray.get_runtime_context().gcs_address, flush=True)
sys.stdin.read()
ray.shutdown()
"""


class TcpStoreServer:
    """A process that has a TCPStore, as the agent of torchrun has."""

    def __init__(self, port: int = 0) -> None:
        installed("torch")
        # torch looks up the names of addresses; a name server that is busy should cost little.
        os.environ.setdefault("RES_OPTIONS", "timeout:1")
        self._process = _python(TCPSTORE, str(port))
        self.pid = self._process.pid
        self.address = f"localhost:{_first_line(self._process)}"

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


class DaskScheduler:
    """A scheduler without workers, as `dask scheduler` starts it."""

    def __init__(self, *options: str) -> None:
        installed("distributed")
        self._processes: list[subprocess.Popen[str]] = []
        found = self._start("scheduler", r"Scheduler at: *tcp://(\S+)", "--port", "0", *options)
        self.address = found[1]
        self.pid = self._processes[0].pid

    def add_worker(self, *options: str) -> int:
        """Start a worker with a nanny; return the nanny's process."""
        where = f"tcp://{self.address}"
        self._start("worker", r"Registered to: *tcp:", where, "--nthreads", "2", *options)
        return self._processes[-1].pid

    def _start(self, command: str, pattern: str, *options: str) -> re.Match[str]:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", f"distributed.cli.dask_{command}", *options),
                *("--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"),
            ],
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": f"{HERE}:{os.environ.get('PYTHONPATH', '')}"},
        )
        self._processes.append(process)
        assert process.stderr
        seen = ""
        for line in process.stderr:
            seen += line
            if found := re.search(pattern, line):
                threading.Thread(target=_drain, args=(process,), daemon=True).start()
                return found
        raise AssertionError(seen)

    def end(self) -> None:
        for process in self._processes:
            os.killpg(process.pid, signal.SIGKILL)  # a nanny and its worker
            process.wait()


class RayCluster:
    """A Ray of this machine alone. Drivers connect to its address."""

    def __init__(self) -> None:
        installed("ray")
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))  # ray reads it once
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        self._place = tempfile.mkdtemp(prefix="ray-")
        self._process = _python(RAY, self._place)
        self.address = _first_line(self._process)

    def end(self) -> None:
        self._process.communicate(timeout=120)
        shutil.rmtree(self._place)


def _drain(process: subprocess.Popen[str]) -> None:
    """Read what a process still writes, until it ends."""
    assert process.stderr
    with process.stderr:
        process.stderr.read()


def pause(pid: int) -> None:
    """Stop a process by a signal, and wait until each of its threads has stopped."""
    os.kill(pid, signal.SIGSTOP)
    for task in Path(f"/proc/{pid}/task").iterdir():
        while (task / "stat").read_text().rpartition(") ")[2][0] not in "TZX":
            time.sleep(0.01)


def resume(pid: int) -> None:
    os.kill(pid, signal.SIGCONT)


def _python(program: str, argument: str) -> subprocess.Popen[str]:
    """Start a program that prints a line when it is ready and ends with its input."""
    command = [sys.executable, "-c", program, argument]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    line = process.stdout.readline().strip()
    assert line, "it did not start"
    return line
