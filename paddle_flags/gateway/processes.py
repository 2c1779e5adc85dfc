"""The processes that a gateway shows, and connections to them."""

from __future__ import annotations

import asyncio
import os
import re
from typing import TYPE_CHECKING, Any

from paddle_flags.gateway.problems import Refusal
from paddle_flags.live._find import sockets
from paddle_flags.live._processes import Found, find_processes
from paddle_flags.live._rpc_async import AsyncConnection

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PID = re.compile(r"([0-9]{1,10})\.sock")


def of_user() -> list[str]:
    """Return the sockets of all processes that this user may see."""
    return sockets(all_users=True)


class Processes:
    """Processes that serve their flags."""

    def __init__(self, paths: Callable[[], Sequence[str]] = of_user) -> None:
        self._paths = paths

    async def list(self) -> list[dict[str, Any]]:
        """Return what each process is; of one that doesn't answer, `problem` says why."""
        paths = await asyncio.to_thread(self._paths)
        found = await asyncio.to_thread(find_processes, paths=paths)
        return sorted(map(_entry, found), key=lambda each: each["pid"])

    async def connect(self, pid: int, seconds: float) -> AsyncConnection:
        """Return a connection to a process, which isn't open yet."""
        paths = await asyncio.to_thread(self._paths)
        named = [path for path in paths if os.path.basename(path) == f"{pid}.sock"]
        if not named:  # sockets may have other names
            listed = await self.list()
            named = [each["socket"] for each in listed if each["pid"] == pid]
        if not named:
            raise Refusal(404, "unknown", f"{pid}: no such process, or it doesn't serve its flags")
        return AsyncConnection(named[0], seconds)


def _entry(found: Found) -> dict[str, Any]:
    if not found.problem:
        return {**found.process, "uid": found.owner, "socket": found.path}
    name = _PID.fullmatch(os.path.basename(found.path))
    pid = int(name[1]) if name else 0
    return {"pid": pid, "uid": found.owner, "socket": found.path, "problem": found.problem}
