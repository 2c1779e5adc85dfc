"""Flags in the workers of Dask: from a client, or by `--preload paddle_flags.fleet.dask`.

The engine `dask://scheduler:8786/job` is the memory of Dask's scheduler. A store has its own
connection to it, in an event loop of ours, which tasks don't keep busy. If the scheduler has no
server for fleets yet, the store asks it to load one.
"""

# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING, Any

import click
import distributed
from distributed.diagnostics.plugin import SchedulerPlugin, WorkerPlugin

from paddle_flags.fleet import _join
from paddle_flags.fleet._memory import RemoteStore, Server
from paddle_flags.fleet._store import FleetError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paddle_flags.fleet._open import Url

__all__ = ["JoinPlugin", "address", "dask_setup", "install"]

JOB = "flags"
ROLE = "worker"
_PORT = 8786  # of a scheduler
_HANDLER = "paddle_flags_fleet"


def address(scheduler: str, job: str = JOB) -> str:
    """Return the address of a fleet in a scheduler, such as `dask://10.0.0.5:8786/flags`."""
    protocol, _, place = scheduler.partition("://")
    if protocol not in ("tcp", "tls"):
        expected = "a scheduler with an address that begins with tcp:// or tls://"
        raise FleetError(f"{scheduler}: expected {expected}")
    return f"{'dasks' if protocol == 'tls' else 'dask'}://{place}/{job}"


def install(client: distributed.Client, job: str = JOB, *, role: str = ROLE, **options: Any) -> str:
    """Make all workers of a cluster members of a fleet, those that come later too.

    Each worker joins before it runs its first task. `options` are those of `join`. Returns the
    address of the fleet: the client's own program may join it, or change its flags.
    """
    DaskStore.security = client.security
    client.register_plugin(FleetPlugin())
    client.register_plugin(JoinPlugin(job, role=role, **options))
    return address(client.scheduler.address, job)


class JoinPlugin(WorkerPlugin):  # type: ignore[misc]  # of an optional package
    """Makes a worker a member of the fleet in its scheduler."""

    def __init__(self, job: str = JOB, *, role: str = ROLE, **options: Any) -> None:
        self.name = f"paddle_flags fleet {job}"
        self._job = job
        self._options = {"role": role, **options}

    async def setup(self, worker: distributed.Worker) -> None:
        """Join: Dask gives the worker no task before this has returned."""
        DaskStore.security = worker.security
        url = address(worker.scheduler.address, self._job)
        join = functools.partial(_join.join, url, **self._options)
        await asyncio.get_running_loop().run_in_executor(None, join)

    async def teardown(self, worker: distributed.Worker) -> None:
        """Leave."""
        await asyncio.get_running_loop().run_in_executor(None, _join.leave)


@click.command()
@click.option("--fleet-job", default=JOB, help="The name of the fleet in the scheduler.")
@click.option("--fleet-role", default=ROLE, help="The role of the worker in it.")
async def dask_setup(
    server: distributed.Scheduler | distributed.Worker, fleet_job: str, fleet_role: str
) -> None:
    """Serve fleets in a scheduler; make a worker a member of the scheduler's fleet."""
    if isinstance(server, distributed.Scheduler):
        FleetPlugin().start(server)
    elif isinstance(server, distributed.Worker):
        await JoinPlugin(fleet_job, role=fleet_role).setup(server)


class FleetPlugin(SchedulerPlugin):  # type: ignore[misc]  # of an optional package
    """Lets a scheduler hold the state of fleets."""

    name = _HANDLER
    idempotent = True

    def start(self, scheduler: distributed.Scheduler) -> None:
        """Serve fleets. Their state stays until the scheduler ends."""
        if _HANDLER not in scheduler.handlers:
            scheduler.handlers[_HANDLER] = Server().call_store


class DaskStore(RemoteStore):
    """A connection to `dask://scheduler:8786/job`; `dasks://` uses TLS as Dask's settings say."""

    # The certificates of this process's worker or client; otherwise, those of Dask's configuration.
    security: distributed.Security | None = None

    def __init__(self, url: Url, timeout: float) -> None:
        super().__init__(url, timeout)
        if len(url.hosts) != 1 or not self._job:
            url.refuse("expected dask://scheduler:8786/job")
        host, port = url.hosts[0]
        protocol = "tls" if url.scheme == "dasks" else "tcp"
        place = f"[{host}]" if ":" in host else host
        self._address = f"{protocol}://{place}:{port or _PORT}"

    def _close_connections(self) -> None:
        while self._links:
            closing = self._links.pop().close_rpc()
            asyncio.run_coroutine_threadsafe(closing, asyncio.get_running_loop())

    async def _ask(self, method: str, args: Sequence[Any]) -> tuple[str, Any]:
        security = self.security or distributed.Security()
        if not self._links:
            arguments = dict(security.get_connection_args("client"))
            options = {"timeout": self._timeout, "connection_args": arguments}
            self._links.append(distributed.rpc(self._address, **options))
        [scheduler] = self._links
        serve = getattr(scheduler, _HANDLER)
        call = {"job": self._job, "method": method, "args": args}
        try:
            reply = await serve(**call)
            if reply is None:  # that is what Dask answers without such a handler
                await self._install_plugin(security)
                reply = await serve(**call)
        except (OSError, asyncio.CancelledError):
            if self._links == [scheduler]:
                self._close_connections()
            raise
        return reply[0], reply[1]

    async def _install_plugin(self, security: distributed.Security) -> None:
        options = {"asynchronous": True, "set_as_default": False, "security": security}
        async with distributed.Client(self._address, timeout=self._timeout, **options) as client:
            try:
                await client.register_plugin(FleetPlugin())
            except ImportError as error:
                what = f"the scheduler needs the package paddle_flags, too: {error}"
                raise self.error(what) from error
