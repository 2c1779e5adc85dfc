"""Flags in the tasks and actors of Ray.

The engine `ray:///job` is a named, detached actor. It answers on its own port, as setup hooks
and forked children can call no methods. The port's address and a token are in the key-value store
of Ray's head. Drivers make the actor if there is none, and workers wait for it. Ray restarts an
actor that died, without its state.
"""

# pyright: reportMissingImports=false, reportMissingModuleSource=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import math
import os
import secrets
import struct
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import msgpack
import ray
from ray.experimental import internal_kv

from paddle_flags.fleet import _join
from paddle_flags.fleet._memory import RemoteStore, Server, ensure_event_loop
from paddle_flags.fleet._open import open_store
from paddle_flags.fleet._store import MAX_RECORD, FleetError
from paddle_flags.fleet._threads import call_in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paddle_flags.fleet._membership import Membership
    from paddle_flags.fleet._open import Url

__all__ = ["address", "runtime_env", "setup", "start"]

JOB = "flags"
ROLE = "worker"
OPTIONS = "PADDLE_FLAGS_FLEET_JOIN"  # what `setup` passes to `join`, as JSON
HOOK = "worker_process_setup_hook"
NAMESPACE = "paddle_flags"
ACTOR = "fleet"
ENGINE = "PADDLE_FLAGS_FLEET_ENGINE"  # is set in the actor's process, which is no member
_START = 60.0  # seconds for Ray to start the actor
_POLL = 0.05  # seconds between two looks for it
_KEY = b"paddle_flags/fleet"
_LENGTH = struct.Struct(">Q")
_LONGEST = 2 * MAX_RECORD  # bytes of a call; a reply may be longer
_GREETING = 5.0  # seconds within which a new connection must show the token
_connecting = threading.Lock()


def address(job: str = JOB) -> str:
    """Return the address of a fleet in the Ray of this process."""
    return f"ray:///{job}"


def runtime_env(
    job: str = JOB, *, role: str = ROLE, base: dict[str, Any] | None = None, **options: Any
) -> dict[str, Any]:
    """Return a runtime environment in whose workers all tasks and actors have the fleet's flags.

    Use it as `ray.init(runtime_env=runtime_env())`, and then call `start`: workers wait for it.
    `base` is an environment to add to, and `options` are those of `join`.
    """
    made, hook = dict(base or {}), f"{__name__}.{setup.__name__}"
    if made.setdefault(HOOK, hook) != hook:
        what = "base has one; put it into what runtime_env returns instead, and call"
        raise FleetError(f"{HOOK}: {what} {hook}() in it")
    call = json.dumps({"url": address(job), "role": role, **options})
    made["env_vars"] = {**made.get("env_vars", {}), OPTIONS: call}
    return made


def setup() -> Membership | None:
    """Join the fleet that `runtime_env` names: Ray calls this before a worker's first task."""
    if os.environ.get(ENGINE):
        return None
    return _join.join(**json.loads(os.environ[OPTIONS]))


def start(job: str = JOB, *, timeout: float = 60.0) -> str:
    """Start the actor that has the fleet, if it doesn't run yet; return the fleet's address.

    The actor is detached: it outlives this program, and programs that come later find it. It ends
    with the Ray cluster, or by `ray.kill(ray.get_actor("fleet", namespace="paddle_flags"))`.
    """
    with contextlib.closing(open_store(address(job), timeout=timeout)) as store:
        store.last()
    return address(job)


class ActorAddress(NamedTuple):
    """Where the actor answers."""

    host: str
    port: int
    token: bytes
    pid: int


class FleetActor:
    """Holds the state of fleets."""

    def __init__(self) -> None:
        """Serve, and say where."""
        host, token = ray.util.get_node_ip_address(), secrets.token_bytes(32)
        port = asyncio.run_coroutine_threadsafe(_serve(host, token), ensure_event_loop()).result()
        place = ActorAddress(host, port, token, os.getpid())
        internal_kv._internal_kv_put(_KEY, msgpack.packb(place))


async def _serve(host: str, token: bytes) -> int:
    """Serve fleets to those who know a token. Return the port."""
    fleets = Server()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, EOFError, ValueError):
            shown = await asyncio.wait_for(_receive_message(reader, _LONGEST), _GREETING)
            while hmac.compare_digest(shown, token):
                call = await _receive_message(reader, _LONGEST)
                writer.write(_encode_message(await fleets.call_store(*call)))
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, host, 0)
    port: int = server.sockets[0].getsockname()[1]
    return port


async def _receive_message(reader: asyncio.StreamReader, longest: float = math.inf) -> Any:
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    if length > longest:
        raise ValueError(length)
    return msgpack.unpackb(await reader.readexactly(length))


def _encode_message(content: object) -> bytes:
    data: bytes = msgpack.packb(content)
    return _LENGTH.pack(len(data)) + data


def read_actor_address() -> ActorAddress | None:
    """Return where the actor answered last, from Ray's head, also in a setup hook."""
    found = internal_kv._internal_kv_get(_KEY)
    return ActorAddress(*msgpack.unpackb(found)) if found else None


class RayStore(RemoteStore):
    """A connection to `ray:///job`, in the Ray of this process, or to `ray://head:6379/job`.

    A process without Ray connects as a driver: `ray:///job` to that which runs on this machine.
    """

    def __init__(self, url: Url, timeout: float) -> None:
        super().__init__(url, timeout)
        if len(url.hosts) > 1 or not self._job:
            url.refuse("expected ray:///job for the Ray of this process, or ray://head:6379/job")
        if os.environ.get(ENGINE):
            url.refuse("the process that has the state of the fleet is no member of it")
        host, port = url.hosts[0] if url.hosts else ("auto", None)
        if port is None and host != "auto":
            url.refuse("expected a port, as in ray://head:6379/job")
        self._address = f"{host}:{port}" if port else host
        self._ray_process = os.getpid() if ray.is_initialized() else 0  # 0: that of the first call
        self._place: Any = None

    def _ask_and_wait(self, method: str, args: Sequence[Any], timeout: float) -> tuple[str, Any]:
        # Ray may need its time to start the process of an actor.
        place = self._place or self._ensure_actor(time.monotonic() + max(self._timeout, _START))
        end = time.monotonic() + timeout
        try:
            return super()._ask_and_wait(method, args, timeout)
        except ConnectionRefusedError:  # the actor had ended before it was asked
            self._ensure_actor(end, ended=place)
            return super()._ask_and_wait(method, args, end - time.monotonic())

    async def _ask(self, method: str, args: Sequence[Any]) -> tuple[str, Any]:
        if self._links:
            reader, writer = self._links.pop()
        else:
            reader, writer = await asyncio.open_connection(self._place.host, self._place.port)
            writer.write(_encode_message(self._place.token))
        try:
            writer.write(_encode_message([self._job, method, args]))
            kind, result = await _receive_message(reader)
        except BaseException as error:
            writer.transport.abort()
            self._close_connections()
            if isinstance(error, EOFError):
                raise ConnectionResetError("the engine closed the connection") from error
            raise
        self._links.append((reader, writer))
        if self.closed.is_set():
            self._close_connections()  # again: that of `close` came in between
        return kind, result

    def _close_connections(self) -> None:
        while self._links:
            self._links.pop()[1].transport.abort()

    def _ensure_actor(self, end: float, ended: ActorAddress | None = None) -> Any:
        """Return where the actor answers, which is not where one of them has ended; or make it."""
        self._connect()
        is_worker = getattr(ray.get_runtime_context().worker, "mode", None) == ray.WORKER_MODE
        place: ActorAddress | None = self._run_in_thread(read_actor_address, end)
        if place in (None, ended) and not is_worker:  # only drivers may create an actor safely
            self._run_in_thread(_create_actor, end)
        while place in (None, ended):
            if time.monotonic() > end:
                who = ": the driver makes it, by paddle_flags.fleet.ray" if is_worker else ""
                raise self.unreachable(f"Ray has no actor with the fleet{who}")
            time.sleep(_POLL)
            place = self._run_in_thread(read_actor_address, end)
        self._place = place
        return place

    def _connect(self) -> None:
        if os.getpid() != (self._ray_process or os.getpid()):
            raise self.unreachable("a forked child finds no new actor of Ray")
        options = {"namespace": NAMESPACE, "log_to_driver": False, "configure_logging": False}
        with _connecting:
            if not ray.is_initialized():
                try:
                    ray.init(self._address, **options)
                except (OSError, RuntimeError, ValueError) as error:
                    raise self.unreachable(f"Ray cannot be reached: {error}") from error
        self._ray_process = os.getpid()

    def _run_in_thread(self, function: Callable[[], Any], end: float) -> Any:
        """Call a function of Ray in a thread: some wait for ever for a head that is gone."""
        answer = call_in_thread(function, "paddle_flags ray")
        try:
            return answer.result(max(0.1, end - time.monotonic()))
        except Exception as error:  # many kinds, of Ray and of gRPC
            is_late = isinstance(error, TimeoutError)
            what = "its head does not answer" if is_late else str(error).strip().partition("\n")[0]
            raise self.unreachable(f"Ray cannot be reached: {what}") from error


def _create_actor() -> None:
    ray.remote(FleetActor).options(
        name=ACTOR,
        namespace=NAMESPACE,
        lifetime="detached",
        get_if_exists=True,
        max_restarts=-1,
        num_cpus=0,
        runtime_env={"env_vars": {ENGINE: "1"}},
    ).remote()
