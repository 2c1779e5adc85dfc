"""Flags in the tasks and actors of Ray."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from paddle_flags.fleet import _join, _ray
from paddle_flags.fleet._store import FleetError

if TYPE_CHECKING:
    from paddle_flags.fleet._membership import Membership

__all__ = ["address", "runtime_env", "setup", "start"]

JOB = "flags"
ROLE = "worker"
OPTIONS = "PADDLE_FLAGS_FLEET_JOIN"  # what `setup` passes to `join`, as JSON
HOOK = "worker_process_setup_hook"


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
    made = dict(base or {})
    if made.setdefault(HOOK, f"{__name__}.{setup.__name__}") != f"{__name__}.{setup.__name__}":
        message = (
            f"{HOOK}: base has one; put it into what runtime_env returns instead, and call "
            "paddle_flags.fleet.ray.setup() in it"
        )
        raise FleetError(message)
    call = json.dumps({"url": address(job), "role": role, **options})
    made["env_vars"] = {**made.get("env_vars", {}), OPTIONS: call}
    return made


def setup() -> Membership | None:
    """Join the fleet that `runtime_env` names: Ray calls this before a worker's first task."""
    if os.environ.get(_ray.ENGINE):
        return None
    return _join.join(**json.loads(os.environ[OPTIONS]))


def start(job: str = JOB, *, timeout: float = 60.0) -> str:
    """Start the actor that has the fleet, if it doesn't run yet; return the fleet's address.

    The actor is detached: it outlives this program, and programs that come later find it. It ends
    with the Ray cluster, or by `ray.kill(ray.get_actor("fleet", namespace="paddle_flags"))`.
    """
    from paddle_flags.fleet._open import open_store  # noqa: PLC0415

    store = open_store(address(job), timeout=timeout)
    try:
        store.last()
    finally:
        store.close()
    return address(job)
