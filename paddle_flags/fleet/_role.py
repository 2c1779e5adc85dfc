"""Who a member is, by what it is given and by the variables that launchers set."""

from __future__ import annotations

import os
import re
import socket
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags.errors import FlagArgumentError, FlagTypeError
from paddle_flags.extend import quote_value
from paddle_flags.fleet._arguments import check_choice, check_count, check_seconds
from paddle_flags.fleet._record import check_text
from paddle_flags.fleet._store import check_name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    OnLost = Literal["keep", "default", "exit"]
    OnLate = Literal["raise", "keep"]

_BIGGEST_RANK = (1 << 31) - 1

AGENT = "PADDLE_FLAGS_FLEET_AGENT"  # in which an agent says which member its program is


class ProcessIdentity(NamedTuple):
    """A process in its job; None: nothing says it."""

    role: str | None
    rank: int | None
    world: int | None  # how many processes the job has, all roles together


def identify_process(environment: Mapping[str, str] | None = None) -> ProcessIdentity:
    """Return what Paddle's variables say, and then those of torchrun and others.

    The rank of a parameter server is its place in the list of servers.
    """
    env = os.environ if environment is None else environment
    servers = [each for each in env.get("PADDLE_PSERVERS_IP_PORT_LIST", "").split(",") if each]
    role = env.get("TRAINING_ROLE", "").lower() or None
    if role == "pserver":
        own = f"{env.get('POD_IP', '')}:{env.get('PADDLE_PORT', '')}"
        rank = servers.index(own) if own in servers else None
    else:
        rank = _read_int(env, "PADDLE_TRAINER_ID")
    trainers = _read_int(env, "PADDLE_TRAINERS_NUM")
    world = None if trainers is None else trainers + len(servers)
    if rank is None and role != "pserver":
        rank = _read_int(env, "RANK")
    return ProcessIdentity(role, rank, _read_int(env, "WORLD_SIZE") if world is None else world)


def _read_int(env: Mapping[str, str], name: str) -> int | None:
    text = env.get(name, "").strip()
    if not text:
        return None
    if text.isascii() and text.isdigit() and len(text) < 10:  # fits int32
        return int(text)
    raise FlagArgumentError(f"{name}={quote_value(text)}: expected a number")


def host_name() -> str:
    return make_storable_name(socket.gethostname() or "localhost")


def make_storable_name(text: str) -> str:
    """Return text as a name that every engine can store."""
    return re.sub(r"[^A-Za-z0-9._@-]", "-", text).lstrip("._@-")[:100] or "x"


def default_member_name(role: str | None, rank: int | None) -> str:
    """Return the name of a member that was given none: `trainer-3`, or `host-4711`."""
    if rank is None:
        return f"{host_name()}-{os.getpid()}"
    return f"{make_storable_name(role) if role else 'rank'}-{rank}"


class Options(NamedTuple):
    """What a member was asked for."""

    name: str
    role: str | None
    rank: int | None
    world: int | None
    ttl: float = 10.0
    on_lost: OnLost = "keep"
    on_late: OnLate = "raise"
    tick_timeout: float = 60.0
    snapshot: str | None = None
    observe: bool = False
    key: bytes | None = None


def make_options(
    role: str | None, rank: int | None, name: str | None, key: str | bytes | None, *others: Any
) -> Options:
    """Return what a member is; `others` are its options from `ttl` on."""
    for parameter, text in (("role", role), ("name", name)):
        if text is not None:
            check_text(parameter, text)
    check_count("rank", rank, _BIGGEST_RANK)
    identity = identify_process()
    role = identity.role if role is None else role
    rank = identity.rank if rank is None else rank
    name = check_name(default_member_name(role, rank) if name is None else name)
    key = os.environ.get("PADDLE_FLAGS_FLEET_KEY") if key is None else key
    if not isinstance(key, (str, bytes, type(None))):
        raise FlagTypeError(f"key: expected text or bytes, not {type(key).__name__}")
    data = key.encode("utf-8", "surrogateescape") if isinstance(key, str) else key
    options = Options(name, role, rank, identity.world, *others)._replace(key=data or None)
    check_seconds("ttl", options.ttl, needed=True)
    check_seconds("tick_timeout", options.tick_timeout, needed=True)
    check_choice("on_lost", options.on_lost, ("keep", "default", "exit"))
    check_choice("on_late", options.on_late, ("raise", "keep"))
    return options
