"""How the engines of a fleet are started, made unreachable and used without rights, for tests.

To let an engine pass test_store.py, add its class to ENGINES.
"""

from __future__ import annotations

import contextlib
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
from collections.abc import Iterator
from pathlib import Path

from support import installed

from paddle_flags.fleet import _open
from paddle_flags.fleet._store import Store

NOBODY = 65534  # the user nobody


class Engine:
    """One running engine. A test module starts it once; each test has a fleet of its own in it."""

    ttl = 1.0  # the shortest lease that the engine keeps, in seconds
    forks = True  # whether a store can be used after a fork
    stops = True  # whether the engine can be stopped and started again with its data
    has_rights = True  # whether users without the right to write can be told apart
    extended = False  # whether its tests run only with all tests
    processes = True  # whether other processes can connect by the URL

    def start(self) -> None:
        """Start the engine; skip the tests if something is missing."""

    def end(self) -> None:
        """End it, and remove everything."""

    def new(self) -> str:
        """Return the URL of a new, empty fleet."""
        raise NotImplementedError

    def stop(self) -> None:
        """Make the engine unreachable."""

    def restart(self) -> None:
        """Make it reachable again, with the data that it had."""

    @contextlib.contextmanager
    def reader(self, url: str) -> Iterator[Store]:
        """Connect as a user who may only read."""
        raise NotImplementedError(url)
        yield


class DirEngine(Engine):
    """A folder. Others may pass through it, so that root can become nobody, who may only read."""

    def start(self) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="fleet-"))
        self.place.chmod(0o755)
        self.here = self.place / "here"
        self.here.mkdir()

    def end(self) -> None:
        shutil.rmtree(self.place)

    def new(self) -> str:
        return f"dir://{self.here}/{secrets.token_hex(4)}?poll=0.01"

    def stop(self) -> None:
        self.here.rename(self.place / "away")

    def restart(self) -> None:
        (self.place / "away").rename(self.here)

    @contextlib.contextmanager
    def reader(self, url: str) -> Iterator[Store]:
        root = Path(url.partition("://")[2].partition("?")[0])
        for path in [root, *root.rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        is_root = os.geteuid() == 0
        if is_root:
            os.seteuid(NOBODY)
        try:
            store = _open.open_store(url)
            yield store
            store.close()
        finally:
            if is_root:
                os.seteuid(0)
            for path in [root, *root.rglob("*")]:
                path.chmod(0o700)


TCPSTORE = """
import sys
from torch.distributed import TCPStore
store = TCPStore("127.0.0.1", int(sys.argv[1]), is_master=True, wait_for_workers=False)
print(store.port, flush=True)
sys.stdin.read()
"""


def serve_tcpstore(port: int = 0) -> tuple[subprocess.Popen[str], int]:
    """Start a process that has a TCPStore; return it and its port."""
    process = subprocess.Popen(
        [sys.executable, "-c", TCPSTORE, str(port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    return process, int(process.stdout.readline())


def pause(pid: int) -> None:
    """Stop a process by a signal, and wait until each of its threads has stopped."""
    os.kill(pid, signal.SIGSTOP)
    for task in Path(f"/proc/{pid}/task").iterdir():
        while (task / "stat").read_text().rpartition(") ")[2][0] not in "TZX":
            time.sleep(0.01)


class TcpStoreEngine(Engine):
    """It is stopped by a signal, since its data ends with it."""

    has_rights = False
    extended = True

    def start(self) -> None:
        installed("torch")
        # torch looks up the names of addresses; a name server that is busy should cost little.
        os.environ.setdefault("RES_OPTIONS", "timeout:1")
        self.process, self.port = serve_tcpstore()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()

    def new(self) -> str:
        return f"tcpstore://localhost:{self.port}/{secrets.token_hex(4)}?poll=0.01"

    def stop(self) -> None:
        pause(self.process.pid)

    def restart(self) -> None:
        self.process.send_signal(signal.SIGCONT)


class DaskEngine(Engine):
    """A scheduler without workers, as `dask scheduler` starts it."""

    has_rights = False
    extended = True

    def start(self) -> None:
        installed("distributed")
        self.process, self.address = serve_dask()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()

    def new(self) -> str:
        return f"dask://{self.address}/{secrets.token_hex(4)}"

    def stop(self) -> None:
        pause(self.process.pid)

    def restart(self) -> None:
        self.process.send_signal(signal.SIGCONT)


def serve_dask(*options: str) -> tuple[subprocess.Popen[str], str]:
    """Start a scheduler; return its process and its address."""
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1"]
    process = subprocess.Popen(
        [*command, "--port", "0", "--no-dashboard", "--dashboard-address", "127.0.0.1:0", *options],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr
    for line in process.stderr:
        if found := re.search(r"Scheduler at: *tcp://(\S+)", line):
            threading.Thread(target=process.stderr.read, daemon=True).start()  # what follows
            return process, found[1]
    raise AssertionError("the scheduler did not start")


RAY = """
import os, sys, ray
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=sys.argv[1])
print(ray.get_runtime_context().gcs_address, flush=True)
sys.stdin.read()
ray.shutdown()
"""


class RayEngine(Engine):
    """A Ray of one machine, in a process of its own. Tests connect to it as drivers."""

    has_rights = False
    extended = True

    def start(self) -> None:
        installed("ray")
        os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
        self.place = tempfile.mkdtemp(prefix="ray-")
        self.process, self.address = serve_ray(self.place)

    def end(self) -> None:
        import ray

        ray.shutdown()
        self.process.communicate(timeout=120)
        shutil.rmtree(self.place)

    def new(self) -> str:
        return f"ray://{self.address}/{secrets.token_hex(4)}"

    def stop(self) -> None:
        from paddle_flags.fleet import _ray

        self.place_of_actor = _ray.find_place()
        pause(self.place_of_actor.pid)

    def restart(self) -> None:
        os.kill(self.place_of_actor.pid, signal.SIGCONT)


def serve_ray(place: str) -> tuple[subprocess.Popen[str], str]:
    """Start a Ray and return the process that has it, and its address."""
    process = subprocess.Popen(
        [sys.executable, "-c", RAY, place],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    return process, process.stdout.readline().strip()


ENGINES: dict[str, type[Engine]] = {"dir": DirEngine, "dask": DaskEngine, "ray": RayEngine, "tcpstore": TcpStoreEngine}
