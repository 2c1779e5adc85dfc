"""Measure values of one thread or task with one library: scopes.py WHO WORK COUNT.

WORK is `scope`, to enter and leave one, or `read`, to read the value in it. Prints one line of
JSON: nanoseconds of processor time for each.
"""

from __future__ import annotations

import contextvars
import json
import sys
import timeit
from importlib import import_module
from time import process_time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

REPEATS = 5
UNROLLED = 10  # makes the cost of the loop itself small
Names = dict[str, Any]


def ours() -> Names:
    """Return this library's scope of a flag, and its value."""
    pf = import_module("paddle_flags")

    flag = pf.define("limit", 1, "A flag to scope", scoped=True)
    return {"scope": lambda: pf.scoped(limit=17), "read": lambda: flag.value}


def contextvar() -> Names:
    """Return a context variable, which has no `with` before CPython 3.14."""
    variable = contextvars.ContextVar("limit", default=1)
    return {"enter": lambda: variable.set(17), "leave": variable.reset, "read": variable.get}


def numpy() -> Names:
    """Return numpy's handling of floating-point errors."""
    np = import_module("numpy")

    return {"scope": lambda: np.errstate(divide="ignore"), "read": lambda: np.geterr()["divide"]}


def torch() -> Names:
    """Return PyTorch's switch for gradients."""
    torch = import_module("torch")

    return {"scope": torch.no_grad, "read": torch.is_grad_enabled}


def jax_precision() -> Names:
    """Return an option of JAX with a text."""
    jax = import_module("jax")

    config = jax.config
    return {
        "scope": lambda: jax.default_matmul_precision("float32"),
        "read": lambda: config.jax_default_matmul_precision,
    }


def jax_debug() -> Names:
    """Return an option of JAX that is true or false."""
    jax = import_module("jax")

    config = jax.config
    return {
        "scope": lambda: jax.debug_nans(True),
        "read": lambda: config.jax_debug_nans,
    }


WHO: dict[str, Callable[[], Names]] = {
    "ours": ours,
    "contextvars": contextvar,
    "numpy.errstate": numpy,
    "torch.no_grad": torch,
    "jax.default_matmul_precision": jax_precision,
    "jax.debug_nans": jax_debug,
}


def per_call(names: Names, work: str, count: int) -> float:
    """Return the nanoseconds of one statement, the best of several repeats."""
    scope = "leave(enter())" if "enter" in names else "with scope(): pass"
    statement = "\n".join(["read()" if work == "read" else scope] * UNROLLED)
    timer = timeit.Timer(statement, timer=process_time, globals=names)
    rounds = max(1, count // UNROLLED)
    return min(timer.repeat(REPEATS, rounds)) * 1e9 / (rounds * UNROLLED)


def main() -> None:
    """Run the measurement that the command line names."""
    names, work, count = WHO[sys.argv[1]](), sys.argv[2], int(sys.argv[3])
    if work == "read" and "scope" in names:
        with names["scope"]():
            taken = per_call(names, work, count)
    else:
        taken = per_call(names, work, count)
    print(json.dumps({"ns": taken}))


main()
