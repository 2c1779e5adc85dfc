"""Who a process is in its job, from the variables that launchers set."""

from __future__ import annotations

import os
import re
import socket
from typing import TYPE_CHECKING, NamedTuple

from paddle_flags._core.status import shown
from paddle_flags.errors import FlagArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

AGENT = "PADDLE_FLAGS_FLEET_AGENT"
"""The environment variable in which an agent says which member its program is."""


class Place(NamedTuple):
    """A process in its job; None: nothing says it."""

    role: str | None
    rank: int | None
    world: int | None
    """How many processes the job has, all roles together."""


def place_of(environment: Mapping[str, str] | None = None) -> Place:
    """Return what the environment says: Paddle's variables, then those of torchrun and others.

    Paddle's parameter servers have no rank of their own: it is their place in the list of servers.
    """
    env = os.environ if environment is None else environment
    servers = [each for each in env.get("PADDLE_PSERVERS_IP_PORT_LIST", "").split(",") if each]
    role = env.get("TRAINING_ROLE", "").lower() or None
    if role == "pserver":
        own = f"{env.get('POD_IP', '')}:{env.get('PADDLE_PORT', '')}"
        rank = servers.index(own) if own in servers else None
    else:
        rank = _number(env, "PADDLE_TRAINER_ID")
    trainers = _number(env, "PADDLE_TRAINERS_NUM")
    world = None if trainers is None else trainers + len(servers)
    if rank is None and role != "pserver":
        rank = _number(env, "RANK")
    return Place(role, rank, _number(env, "WORLD_SIZE") if world is None else world)


def _number(env: Mapping[str, str], name: str) -> int | None:
    text = env.get(name, "").strip()
    if not text:
        return None
    if text.isascii() and text.isdigit() and len(text) < 10:  # noqa: PLR2004 - fits int32
        return int(text)
    message = f"{name}={shown(text)}: expected a number"
    raise FlagArgumentError(message)


def host_name() -> str:
    """Return the name of this machine."""
    return storable(socket.gethostname() or "localhost")


def process_of(pid: int) -> str:
    """Return what tells a process from all others that have its number; "" if it doesn't run.

    That is the boot of the machine, and the moment since then at which it began. One that has
    ended, and was not waited for, doesn't run.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
    except OSError:
        return ""
    return "" if fields[0] in (b"Z", b"X") else f"{boot} {pid} {fields[19].decode()}"


def storable(text: str) -> str:
    """Return text as a name that every engine can store."""
    return re.sub(r"[^A-Za-z0-9._@-]", "-", text).lstrip("._@-")[:100] or "x"


def name_for(role: str | None, rank: int | None) -> str:
    """Return the name of a member that was given none: `trainer-3`, or `host-4711`."""
    if rank is None:
        return f"{host_name()}-{os.getpid()}"
    return f"{storable(role) if role else 'rank'}-{rank}"
