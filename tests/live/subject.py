"""A Python program whose flags are served, and that does what it reads: the same as subject.c.

subject.py OPTIONS: a JSON object, see `Options` of live_subjects. Commands and answers are lines,
their parts separated by tabs.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import live_serving
from live_flags import EVEN, FLAGS, ORDERED

import paddle_flags as pf


def define_flags() -> None:
    for each in FLAGS:
        flag = dict(each)
        even = flag.pop("even", False)
        made: Any = pf.define(flag.pop("name"), flag.pop("default"), **flag)
        if even:
            made.validate(lambda value: value % 2 == 0, message=EVEN)
    pf.validator("low", "high", message=ORDERED)(lambda low, high: low < high)


overrides: list[Any] = []


def push(name: str, text: str) -> None:
    override = pf.FLAGS[name].override(int(text))
    override.__enter__()
    overrides.append(override)


def pop() -> None:
    overrides.pop().__exit__(None, None, None)


def start_child() -> str:
    """Fork a child that lives until the test kills it."""
    child = os.fork()
    if child == 0:
        time.sleep(300)
        os._exit(0)
    return str(child)


def read(name: str) -> str:
    flag = pf.FLAGS[name]
    return f"{flag.source}\t{flag.text}"


def join(url: str, role: str) -> str:
    return pf.fleet.join(url, role=role, ttl=2.0).name


def count(name: str, most: str) -> None:
    """Set a flag to 1, 2, ... and the most."""
    for number in range(1, int(most) + 1):
        pf.FLAGS[name].value = number


COMMANDS: dict[str, Callable[..., str | None]] = {
    "read": read,
    "fork": start_child,
    "set": lambda name, text: pf.FLAGS[name].set_from_string(text),
    "reset": lambda name: pf.FLAGS[name].reset(),
    "count": count,
    "join": join,
    "leave": pf.fleet.leave,
    "push": push,
    "pop": pop,
    "freeze": lambda name: pf.FLAGS[name].freeze(),
    "thaw": lambda name: pf.FLAGS[name].unfreeze(),
    "define": lambda name: pf.define(name, 0, type="int32", runtime=True).name,
    "undefine": pf.undefine,
}


def main() -> None:
    define_flags()
    serving = live_serving.Serving(json.loads(sys.argv[1]))
    commands = {**COMMANDS, "serve": serving.start, "stop": serving.stop}
    print(serving.start(), flush=True)
    for line in sys.stdin:
        word, *rest = line.rstrip("\n").split("\t")
        if word == "quit":
            break
        try:
            print("ok", commands[word](*rest) or "", flush=True)
        except pf.FlagError as error:
            print("error", str(error).replace("\n", " "), flush=True)
    serving.stop()


if __name__ == "__main__":
    main()
