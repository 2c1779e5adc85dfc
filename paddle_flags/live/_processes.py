"""The processes behind sockets, of which none is trusted."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags.live._errors import LiveError
from paddle_flags.live._find import sockets
from paddle_flags.live._rpc import Connection

if TYPE_CHECKING:
    from collections.abc import Sequence

_AT_ONCE = 32  # sockets that are asked at a time
_PATIENCE = 1.0  # seconds for all that one of them says


class Found(NamedTuple):
    """What is behind a socket."""

    path: str
    owner: int | None
    """The user whose socket it is, if it is known."""
    process: dict[str, Any]
    """What the process says of itself, as in `hello`, without `you`. Empty after a problem."""
    problem: str


def find_processes(*, all_users: bool = False, paths: Sequence[str] | None = None) -> list[Found]:
    """Ask sockets, by default all of this user; those of dead processes are left out."""
    asked = sockets(all_users=all_users) if paths is None else paths
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = list(pool.map(_ask, asked))
    return [each for each in answers if each is not None]


def _ask(path: str) -> Found | None:
    process: dict[str, Any] = {}
    problem = ""
    owner: int | None = None
    try:
        owner = os.lstat(path).st_uid
        with Connection(path, _PATIENCE) as connection:
            process = dict(connection.ask("hello", {}))
        process.pop("you", None)
    except LiveError as error:
        if isinstance(error.__cause__, (ConnectionRefusedError, FileNotFoundError)):
            return None
        problem = str(error).removeprefix(f"{path}: ")
    except FileNotFoundError:
        return None
    return Found(path, owner, process, problem)
