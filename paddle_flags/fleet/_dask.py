"""The engine `dask://scheduler:8786/job`: the memory of Dask's scheduler.

A store has a connection to the scheduler of its own, in a thread of its own. So it is the same in a
worker, in a client and in a process that is neither, and tasks that keep an event loop busy don't
matter. If the scheduler has no server for fleets yet, the store asks it to load one.
"""

# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import TYPE_CHECKING, Any

import distributed
from distributed.diagnostics.plugin import SchedulerPlugin

from paddle_flags.fleet._memory import Server
from paddle_flags.fleet._remote import RemoteStore
from paddle_flags.fleet._store import FleetError, UnreachableError

if TYPE_CHECKING:
    from paddle_flags.fleet._url import Url

PORT = 8786  # of a scheduler
HANDLER = "paddle_flags_fleet"

# Connections of the parent; a forked child that freed them would take them from the parent's loop.
_inherited: list[_Line] = []

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


def open_url(url: Url, timeout: float) -> DaskStore:
    """Connect to `dask://scheduler:8786/job`; `dasks://` uses TLS as Dask's configuration says."""
    job = url.path.strip("/")
    url.option({})
    if len(url.hosts) != 1 or not job:
        message = "expected dask://scheduler:8786/job"
        raise url.refuse(message)
    host, port = url.hosts[0]
    protocol = "tls" if url.scheme == "dasks" else "tcp"
    place = f"[{host}]" if ":" in host else host
    return DaskStore(url.text, f"{protocol}://{place}:{port or PORT}", job, timeout)


class DaskStore(RemoteStore):
    """A connection to a fleet in the scheduler."""

    def __init__(self, url: str, address: str, job: str, timeout: float) -> None:
        """Remember where the scheduler is. The first call connects."""
        super().__init__(url, timeout)
        self._address = address
        self._job = job
        self._lock = threading.Lock()
        self._line: _Line | None = None
        self._pid = os.getpid()

    def _reply(self, method: str, args: tuple[Any, ...], timeout: float) -> tuple[str, Any]:
        line = self._current()
        try:
            future = line.submit({"job": self._job, "method": method, "args": args})
            kind, result = future.result(timeout)
        except (FutureTimeoutError, CancelledError, OSError) as error:
            self._hang_up(line)
            if self._closed.is_set():
                raise self._is_closed() from error
            what = str(error) or f"no answer in {timeout:g} seconds"
            raise UnreachableError(
                f"{self.url}: the scheduler cannot be reached: {what}"
            ) from error
        return kind, result

    def _current(self) -> _Line:
        if self._pid != os.getpid():  # a forked child, in which another thread had the lock
            self._lock = threading.Lock()
            self._pid = os.getpid()
            if self._line:
                _inherited.append(self._line)
                self._line = None
        with self._lock:
            self._line = self._line or _Line(self.url, self._address, self._timeout)
            return self._line

    def _hang_up(self, line: _Line | None) -> None:
        with self._lock:
            if line is self._line:
                self._line = None
        if line:
            line.end()

    def close(self) -> None:
        """See Store."""
        super().close()
        if self._pid == os.getpid():
            self._hang_up(self._line)


class _Line:
    """A connection, and the thread with its event loop."""

    def __init__(self, url: str, address: str, timeout: float) -> None:
        self._url = url
        self._address = address
        self._timeout = timeout
        self._scheduler: Any = None
        self._loop = asyncio.new_event_loop()
        self._ended = asyncio.Event()
        threading.Thread(target=self._run, name="paddle_flags dask", daemon=True).start()

    def submit(self, call: dict[str, Any]) -> Future[Any]:
        """Let the thread call the scheduler's handler."""
        coroutine = self._call(call)
        try:
            return asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        except RuntimeError as error:  # another thread has ended it just now
            coroutine.close()
            raise ConnectionAbortedError(str(error)) from error

    def end(self) -> None:
        """Disconnect; calls that wait are cancelled. It may be called again."""
        with contextlib.suppress(RuntimeError):  # it has ended
            self._loop.call_soon_threadsafe(self._ended.set)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._live())

    async def _live(self) -> None:
        await self._ended.wait()
        if self._scheduler is not None:
            await self._scheduler.close_rpc()

    async def _call(self, call: dict[str, Any]) -> Any:
        if self._scheduler is None:
            self._scheduler = distributed.rpc(
                self._address, timeout=self._timeout, connection_args=_connection_args()
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
                what = f"{self._url}: the scheduler needs the package paddle_flags, too: {error}"
                raise FleetError(what) from error


def _security() -> distributed.Security:
    return security or distributed.Security()


def _connection_args() -> dict[str, Any]:
    return dict(_security().get_connection_args("client"))
