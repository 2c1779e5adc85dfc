"""Flags in the workers of Dask: from a client, or by `--preload paddle_flags.fleet.dask`."""

# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING, Any

import click
from distributed import Scheduler, Worker
from distributed.diagnostics.plugin import WorkerPlugin

from paddle_flags.fleet import _dask, _join
from paddle_flags.fleet._store import FleetError

if TYPE_CHECKING:
    from distributed import Client, Security

__all__ = ["JoinPlugin", "address", "dask_setup", "install"]

JOB = "flags"
ROLE = "worker"


def address(scheduler: str, job: str = JOB) -> str:
    """Return the address of a fleet in a scheduler, such as `dask://10.0.0.5:8786/flags`."""
    protocol, _, place = scheduler.partition("://")
    if protocol not in ("tcp", "tls"):
        message = (
            f"{scheduler}: expected a scheduler with an address that begins with tcp:// or tls://"
        )
        raise FleetError(message)
    return f"{'dasks' if protocol == 'tls' else 'dask'}://{place}/{job}"


def install(client: Client, job: str = JOB, *, role: str = ROLE, **options: Any) -> str:
    """Make all workers of a cluster members of a fleet, those that come later too.

    Each worker joins before it runs its first task. `options` are those of `join`. Returns the
    address of the fleet: the client's own program may join it, or change its flags.
    """
    _use(client.security)
    client.register_plugin(_dask.FleetPlugin())
    client.register_plugin(JoinPlugin(job, role=role, **options))
    return address(client.scheduler.address, job)


class JoinPlugin(WorkerPlugin):  # type: ignore[misc]  # of an optional package
    """Makes a worker a member of the fleet in its scheduler."""

    def __init__(self, job: str = JOB, *, role: str = ROLE, **options: Any) -> None:
        """Remember what to pass to `join`."""
        self.name = f"paddle_flags fleet {job}"
        self._job = job
        self._options = {"role": role, **options}

    async def setup(self, worker: Worker) -> None:
        """Join: Dask gives the worker no task before this has returned."""
        _use(worker.security)
        url = address(worker.scheduler.address, self._job)
        join = functools.partial(_join.join, url, **self._options)
        await asyncio.get_running_loop().run_in_executor(None, join)

    async def teardown(self, worker: Worker) -> None:  # noqa: ARG002 - as Dask calls it
        """Leave."""
        await asyncio.get_running_loop().run_in_executor(None, _join.leave)


@click.command()
@click.option("--fleet-job", default=JOB, help="The name of the fleet in the scheduler.")
@click.option("--fleet-role", default=ROLE, help="The role of the worker in it.")
async def dask_setup(server: Scheduler | Worker, fleet_job: str, fleet_role: str) -> None:
    """Serve fleets in a scheduler; make a worker a member of the scheduler's fleet."""
    if isinstance(server, Scheduler):
        _dask.FleetPlugin().start(server)
    elif isinstance(server, Worker):
        await JoinPlugin(fleet_job, role=fleet_role).setup(server)


def _use(security: Security) -> None:
    _dask.security = security
