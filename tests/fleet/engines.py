"""How the engines of a fleet are started, made unreachable and used without rights, for tests.

To let an engine pass test_store_*.py, add its class to ENGINES.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from etcd_cluster import Cluster
from servers import DaskScheduler, RayCluster, TcpStoreServer, pause, resume
from support import IS_ROOT, WINDOWS, in_url, package

from paddle_flags.fleet import _open
from paddle_flags.fleet._store import Store

NOBODY = 65534  # the user nobody


class Engine:
    """One running engine. A test module starts it once; each test has a fleet of its own in it."""

    ttl = 1.0  # the shortest lease that the engine keeps, in seconds
    forks = True  # whether a store can be used after a fork
    stops = True  # whether the engine can be stopped and started again with its data
    has_rights = True  # whether users without the right to write can be told apart
    tier = ""  # the marker of its tests, if not each run of tests has them

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
        return f"dir://{in_url(self.here)}/{secrets.token_hex(4)}?poll=0.01"

    def stop(self) -> None:
        self.here.rename(self.place / "away")

    def restart(self) -> None:
        (self.place / "away").rename(self.here)

    @contextlib.contextmanager
    def reader(self, url: str) -> Iterator[Store]:
        if WINDOWS:
            pytest.skip("modes are missing: a folder's list of rights is inherited")
        root = Path(url.partition("://")[2].partition("?")[0])
        for path in [root, *root.rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)
        if IS_ROOT:
            os.seteuid(NOBODY)
        try:
            store = _open.open_store(url)
            yield store
            store.close()
        finally:
            if IS_ROOT:
                os.seteuid(0)
            for path in [root, *root.rglob("*")]:
                path.chmod(0o700)


class EtcdEngine(Engine):
    """One node of etcd, with users."""

    tier = "extended"
    ttl = 2.0
    nodes = 1

    def start(self) -> None:
        self._cluster = Cluster(self.nodes)
        self._cluster.__enter__()
        self._cluster.add_users()

    def end(self) -> None:
        self._cluster.__exit__()

    def new(self) -> str:
        fleet = f"/jobs/{secrets.token_hex(4)}"
        return f"etcd://operator:password@{self._cluster.hosts}{fleet}"

    def stop(self) -> None:
        self._cluster.stop()

    def restart(self) -> None:
        self._cluster.restart()

    @contextlib.contextmanager
    def reader(self, url: str) -> Iterator[Store]:
        store = _open.open_store(url.replace("operator", "reader"))
        yield store
        store.close()


class Etcd3Engine(EtcdEngine):
    """Three nodes of etcd."""

    tier = "release"
    nodes = 3


class _Paused(Engine):
    """An engine that is stopped by a signal, since its data ends with its process."""

    has_rights = False
    tier = "release"

    def stop(self) -> None:
        self.stopped = self.pid()
        pause(self.stopped)

    def restart(self) -> None:
        resume(self.stopped)

    def pid(self) -> int:
        """Return the process that has the data."""
        raise NotImplementedError


class TcpStoreEngine(_Paused):
    """A TCPStore of torch.distributed."""

    def start(self) -> None:
        self.server = TcpStoreServer()

    def end(self) -> None:
        self.server.end()

    def new(self) -> str:
        return f"tcpstore://{self.server.address}/{secrets.token_hex(4)}?poll=0.01"

    def pid(self) -> int:
        return self.server.pid


class DaskEngine(_Paused):
    """A scheduler of Dask."""

    def start(self) -> None:
        self.scheduler = DaskScheduler()

    def end(self) -> None:
        self.scheduler.end()

    def new(self) -> str:
        return f"dask://{self.scheduler.address}/{secrets.token_hex(4)}"

    def pid(self) -> int:
        return self.scheduler.pid


class RayEngine(_Paused):
    """An actor of Ray."""

    def start(self) -> None:
        self.cluster = RayCluster()
        store = _open.open_store(self.new())
        store.last()  # only then has Ray the process that can be stopped
        store.close()

    def end(self) -> None:
        package("ray").shutdown()
        self.cluster.end()

    def new(self) -> str:
        return f"ray://{self.cluster.address}/{secrets.token_hex(4)}"

    def pid(self) -> int:
        place = importlib.import_module("paddle_flags.fleet.ray").read_actor_address()
        return int(place.pid)


ENGINES: dict[str, type[Engine]] = {
    "dask": DaskEngine,
    "dir": DirEngine,
    "etcd": EtcdEngine,
    "etcd3": Etcd3Engine,
    "ray": RayEngine,
    "tcpstore": TcpStoreEngine,
}
