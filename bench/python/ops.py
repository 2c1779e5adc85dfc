"""Measure calls that pick an implementation: ops.py LIBRARY WORK COUNT.

Prints one line of JSON: nanoseconds of processor time for each call.
"""

from __future__ import annotations

import importlib
import json
import sys
import timeit
from functools import singledispatch
from time import process_time
from typing import Any

REPEATS = 5
SIGNATURES = """
@dispatch
def add(x: float, y: float) -> float:
    return x + y

@dispatch
def add(x: str, y: str) -> str:
    return x + y
"""


def made(library: str, plugin: str) -> dict[str, Any]:
    """Return the names that the statements use: `add`, two signatures of it."""
    if library == "ours":
        import paddle_flags as pf

        pf.load_plugin(plugin)
        return {"add": pf.op("add"), "python_add": _brought(pf)}
    if library == "plum":
        dispatch = importlib.import_module("plum").dispatch
    elif library == "multimethod":
        dispatch = importlib.import_module("multimethod").multimethod
    elif library == "singledispatch":
        return {"add": _single()}
    else:
        return {"add": lambda x, y: x + y}

    names = {"dispatch": dispatch}
    exec(SIGNATURES, names)  # noqa: S102 - two functions of one name
    return names


def _brought(pf: Any) -> Any:  # noqa: ANN401 - a module
    @pf.impl("python_add", "native")  # type: ignore[untyped-decorator]
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
