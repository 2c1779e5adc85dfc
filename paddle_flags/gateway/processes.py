"""The processes that a gateway shows, and what it asks them."""

from __future__ import annotations

import asyncio
import os
import re
from typing import TYPE_CHECKING, Any

from paddle_flags.gateway.problems import Refusal
from paddle_flags.live import _find
from paddle_flags.live._errors import LiveError
from paddle_flags.live._rpc import Connection, one
from paddle_flags.live._rpc_async import AsyncConnection

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_BRIEF = 2.0  # seconds for a process to say what it is
_AT_A_TIME = 16  # processes that are asked
_PID = re.compile(r"([0-9]{1,10})\.sock")


def of_user() -> list[str]:
    """Return the sockets of all processes that this user may see."""
    return _find.sockets()


def only(targets: Sequence[str]) -> Callable[[], Sequence[str]]:
    """Return what gives the sockets of some processes, which must be there now."""
    paths = [_find.endpoint_of(each).path for each in targets]
    for path in paths:
        with Connection(path, _BRIEF) as connection:
            connection.run(one("hello"))
    return lambda: paths


class Processes:
    """Processes that serve their flags."""

    def __init__(self, sockets: Callable[[], Sequence[str]] = of_user) -> None:
        self._sockets = sockets

    async def list(self) -> list[dict[str, Any]]:
        """Return what each process is; of one that doesn't answer, `problem` says why."""
        turns = asyncio.Semaphore(_AT_A_TIME)

        async def look(path: str) -> dict[str, Any] | None:
            async with turns:
                return await _hello(path)

        paths = await asyncio.to_thread(self._sockets)
        found = await asyncio.gather(*map(look, paths))
        return sorted(filter(None, found), key=lambda each: each["pid"])

    async def connect(self, pid: int, seconds: float) -> AsyncConnection:
        """Return a connection to a process, which isn't open yet."""
        paths = await asyncio.to_thread(self._sockets)
        named = [path for path in paths if os.path.basename(path) == f"{pid}.sock"]
        if not named:  # sockets may have other names
            listed = await self.list()
            named = [each["socket"] for each in listed if each["pid"] == pid]
        if not named:
            raise Refusal(404, "unknown", f"{pid}: no such process, or it doesn't serve its flags")
        return AsyncConnection(named[0], seconds)


async def _hello(path: str) -> dict[str, Any] | None:
    """Return what a process is; None if nobody listens there any more."""
    try:
        async with AsyncConnection(path, _BRIEF) as connection:
            hello = await connection.run(one("hello"))
            document = {key: value for key, value in hello.items() if key != "you"}
            return {**document, "pid": int(document["pid"]), "socket": path}
    except (LiveError, KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error.__cause__, (ConnectionRefusedError, FileNotFoundError)):
            return None
        named = _PID.fullmatch(os.path.basename(path))
        why = str(error) if isinstance(error, LiveError) else "it doesn't say what it is"
        return {"pid": int(named[1]) if named else 0, "socket": path, "problem": why}
