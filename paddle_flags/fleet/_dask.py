"""The engine `dask://scheduler:8786/job`: the memory of Dask's scheduler.

A store has a connection to the scheduler of its own, in a thread of our own. So it is the same in a
worker, in a client and in a process that is neither, and tasks that keep an event loop busy don't
matter. If the scheduler has no server for fleets yet, the store asks it to load one.
"""

# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Any

import distributed
from distributed.diagnostics.plugin import SchedulerPlugin

from paddle_flags.fleet._memory import RemoteStore, Server
from paddle_flags.fleet._threads import start_thread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paddle_flags.fleet._url import Url

PORT = 8786  # of a scheduler
HANDLER = "paddle_flags_fleet"

# By process, and connections of the parent: a forked child that freed them would take them from the
# parent's loop.
_loops: dict[int, asyncio.AbstractEventLoop] = {}
_inherited: list[object] = []

# The certificates of this process's worker or client; without it, those of Dask's configuration.
security: distributed.Security | None = None


class FleetPlugin(SchedulerPlugin):  # type: ignore[misc]  # of an optional package
    """Lets a scheduler hold the state of fleets."""

    name = HANDLER
    idempotent = True

    def start(self, scheduler: distributed.Scheduler) -> None:
        """Serve fleets. Their state stays until the scheduler ends."""
        if HANDLER not in scheduler.handlers:
            scheduler.handlers[HANDLER] = Server().call


class DaskStore(RemoteStore):
    """A connection to `dask://scheduler:8786/job`; `dasks://` uses TLS as Dask's settings say."""

    def __init__(self, url: Url, timeout: float) -> None:
        super().__init__(url, timeout)
        if len(url.hosts) != 1 or not self._job:
            url.refuse("expected dask://scheduler:8786/job")
        host, port = url.hosts[0]
        protocol = "tls" if url.scheme == "dasks" else "tcp"
        place = f"[{host}]" if ":" in host else host
        self._address = f"{protocol}://{place}:{port or PORT}"
        self._scheduler: Any = None

    def _forked(self) -> None:
        _inherited.append(self._scheduler)
        self._scheduler = None

    def _disconnect(self) -> None:
        scheduler, self._scheduler = self._scheduler, None
        if scheduler is not None:
            asyncio.run_coroutine_threadsafe(scheduler.close_rpc(), _loop())

    def _reply(self, method: str, args: Sequence[Any], timeout: float) -> tuple[str, Any]:
        call = self._ask({"job": self._job, "method": method, "args": args})
        future = asyncio.run_coroutine_threadsafe(call, _loop())
        try:
            kind, result = future.result(timeout)
        except OSError:
            future.cancel()
            self._disconnect()
            raise
        return kind, result

    async def _ask(self, call: dict[str, Any]) -> Any:
        """Call the scheduler's handler."""
        if self._scheduler is None:
            arguments = dict(_security().get_connection_args("client"))
            self._scheduler = distributed.rpc(
                self._address, timeout=self._timeout, connection_args=arguments
            )
        handler = getattr(self._scheduler, HANDLER)
        reply = await handler(**call)
        if reply is None:  # that is what Dask answers without such a handler
            await self._install()
            reply = await handler(**call)
        return reply

    async def _install(self) -> None:
        client = distributed.Client(
            self._address,
            asynchronous=True,
            set_as_default=False,
            timeout=self._timeout,
            security=_security(),
        )
        async with client:
            try:
                await client.register_plugin(FleetPlugin())
            except ImportError as error:
                what = f"the scheduler needs the package paddle_flags, too: {error}"
                raise self.error(what) from error


def _loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of all stores of this process, which a thread runs."""
    pid, made = os.getpid(), asyncio.new_event_loop()
    if pid not in _loops and _loops.setdefault(pid, made) is made:
        start_thread(made.run_forever, "paddle_flags dask")
    else:
        made.close()
    return _loops[pid]


def _security() -> distributed.Security:
    return security or distributed.Security()
