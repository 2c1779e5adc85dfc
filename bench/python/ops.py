"""Measure calls that pick an implementation: ops.py LIBRARY WORK COUNT.

Prints one line of JSON: nanoseconds of processor time for each call.
"""

from __future__ import annotations

import json
import sys
import timeit
from functools import singledispatch
from time import process_time
from typing import Any

REPEATS = 5


def made(library: str, plugin: str) -> dict[str, Any]:
    """Return the names that the statements use: `add`, two signatures of it."""
    if library == "ours":
        import paddle_flags as pf  # noqa: PLC0415

        pf.load_plugin(plugin)
        return {"add": pf.op("add"), "python_add": _brought(pf)}
    if library == "plum":
        from plum import dispatch  # noqa: PLC0415
    elif library == "multimethod":
        from multimethod import multimethod as dispatch  # noqa: PLC0415
    elif library == "singledispatch":
        return {"add": _single()}
    else:
        return {"add": lambda x, y: x + y}

    @dispatch
    def add(x: float, y: float) -> float:
        return x + y

    @dispatch
    def add(x: str, y: str) -> str:  # noqa: F811 - another signature
        return x + y

    return {"add": add}


def _brought(pf: Any) -> Any:  # noqa: ANN401 - a module
    @pf.impl("python_add", "native")
    def add(x: float, y: float) -> float:
        return x + y

    return pf.op("python_add")


def _single() -> Any:  # noqa: ANN401
    @singledispatch
    def add(x: object, y: object) -> object:
        return (x, y)

    add.register(float, lambda x, y: x + y)
    return add


def main() -> None:
    """Measure."""
    library, work, count, plugin = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    statement = {"native": "add(2.0, 3.0)", "python": "add(2.0, 3.0)"}[work]
    if library == "ours" and work == "python":
        statement = "python_add(2.0, 3.0)"
    timer = timeit.Timer(
        "; ".join([statement] * 10), timer=process_time, globals=made(library, plugin)
    )
    best = min(timer.repeat(REPEATS, max(1, count // 10)))
    print(json.dumps({"ns": best * 1e9 / (max(1, count // 10) * 10)}))


if __name__ == "__main__":
    main()
