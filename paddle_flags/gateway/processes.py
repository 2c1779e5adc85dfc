"""The processes that a gateway shows, and connections to them."""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import anyio

from paddle_flags.gateway.problems import Refusal
from paddle_flags.live._find import Found, find_processes, find_sockets
from paddle_flags.live._rpc import Connection

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.requests import Request

    Paths = Sequence[str] | Callable[[], Sequence[str]] | None

_PID = re.compile(r"([0-9]{1,10})\.sock")
_T = TypeVar("_T")


async def run_in_thread(function: Callable[..., _T], *arguments: Any) -> _T:
    """Return what a function returns, in a thread that is left alone if the request ends.

    Guard bounds how many requests, and so threads, there are.
    """
    own = anyio.CapacityLimiter(1)  # not that of the program which mounts a gateway
    return await anyio.to_thread.run_sync(function, *arguments, abandon_on_cancel=True, limiter=own)


class Processes:
    """Processes that serve their flags."""

    def __init__(self, paths: Paths = None) -> None:
        """`paths` has their sockets, or returns them; None: those that this user may see."""
        self._given = paths

    def _socket_paths(self) -> Sequence[str]:
        if self._given is None:
            return find_sockets(all_users=True)
        return self._given() if callable(self._given) else self._given

    async def list_processes(self) -> list[dict[str, Any]]:
        """Return what each process is; of one that doesn't answer, `problem` says why."""
        return await run_in_thread(self._list)

    def _list(self) -> list[dict[str, Any]]:
        found = find_processes(paths=self._socket_paths())
        return sorted(map(_describe_process, found), key=lambda each: each["pid"])

    async def connection(self, request: Request, seconds: float) -> Connection:
        """Return a connection to the process in the path of a request, which isn't made yet."""
        return Connection(
            await run_in_thread(self._socket_path_of, request.path_params["pid"]), seconds
        )

    def _socket_path_of(self, pid: int) -> str:
        named = [path for path in self._socket_paths() if os.path.basename(path) == f"{pid}.sock"]
        if not named:  # sockets may have other names
            named = [each["socket"] for each in self._list() if each["pid"] == pid]
        if not named:
            raise Refusal(404, "unknown", f"{pid}: no such process, or it doesn't serve its flags")
        return named[0]

    async def ask(
        self, request: Request, seconds: float, method: str, params: dict[str, Any] | bytes
    ) -> Any:
        """Return the answer of a process, which gives a change up if the client goes."""
        connection = await self.connection(request, seconds)
        gone = asyncio.ensure_future(_abort_on_disconnect(request, connection))
        try:
            return await run_in_thread(connection.ask_once, method, params)
        finally:
            gone.cancel()
            connection.abort()


async def _abort_on_disconnect(request: Request, connection: Connection) -> None:
    with suppress(Refusal):  # of a body that is too slow, or too large
        while (await request.receive())["type"] != "http.disconnect":
            pass
    connection.abort()


def _describe_process(found: Found) -> dict[str, Any]:
    if not found.problem:
        return {**found.process, "uid": found.owner, "socket": found.path}
    name = _PID.fullmatch(os.path.basename(found.path))
    pid = int(name[1]) if name else 0
    return {"pid": pid, "uid": found.owner, "socket": found.path, "problem": found.problem}
