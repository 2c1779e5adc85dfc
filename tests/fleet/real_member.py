"""A process that is a member in a random life, and says what it has: real_member.py JSON.

Its flags have the rules of programs.py. It looks at its values while nothing can change them, and
writes a line with what they may depend on, whenever that is new.
"""

from __future__ import annotations

import builtins
import json
import os
import sys
import threading
import time
from typing import Any

OPTIONS = json.loads(sys.argv[1])
_real = time.time
time.time = lambda: _real() + OPTIONS["skew"]

import planted  # noqa: E402 - behind the clock

import paddle_flags as pf  # noqa: E402
from paddle_flags.fleet import (  # noqa: E402
    FleetError,
    TickTimeoutError,
    UnreachableError,
    _follow,
)

LOOK = 0.01  # seconds
IS_NARROW = OPTIONS["rule"] == "narrow"

_lock = threading.Lock()


def say(**fields: Any) -> None:
    """Write one line at once, so that lines of several processes don't mix."""
    line = json.dumps({"m": OPTIONS["name"], "pid": os.getpid(), **fields}) + "\n"
    with _lock:
        os.write(1, line.encode())


def define(name: str, default: int, **options: Any) -> Any:
    return pf.define(name, default, "Of a random life", runtime=True, **options)


a, b = define("a", 0), define("b", 0)
lo, hi = define("lo", 1), define("hi", 10)
x, y = define("x", 0, max=9 if IS_NARROW else 99), define("y", 0)
FLAGS = {flag.name: flag for flag in (a, b, lo, hi, x, y)}


@pf.validator("lo", "hi", message="lo must be <= hi")
def is_ordered(lo: int, hi: int) -> bool:
    return lo <= hi


def see(_flag: object) -> None:
    """Say that there is half of a batch; both values are there when the first of them is told."""
    if a.value != b.value:
        say(half=[a.value, b.value])


def look(presence: Any) -> dict[str, Any] | None:
    """Return what it has, and all that this may depend on; None while something is on its way."""
    member = presence._member
    with presence._lock, member._applying:
        step = member.steps.last
        is_moving = member._is_outdated() or member._is_without or presence._lost_since is not None
        seen = {
            "changed": member.log_state.changed,
            "over": sorted(member._over),
            "step": step,
            "values": {name: flag.value for name, flag in FLAGS.items()},
        }
        is_moving = is_moving or member._is_outdated() or step != member.steps.last
    return None if is_moving else seen


def follow(presence: Any) -> None:
    """Say what is new, again and again."""
    before = None
    while True:
        now = look(presence)
        if now is not None and now != before:
            say(**now)
            before = now
        time.sleep(LOOK)


def define_late(presence: Any) -> None:
    """Define one more flag; values that it doesn't take are dropped with their batch."""
    time.sleep(OPTIONS["late"])
    with presence._lock:
        FLAGS["late"] = define("late", 0, **({"max": 5} if IS_NARROW else {}))


def count(presence: Any) -> None:
    """Begin one step after the other."""
    step = presence._member.steps.last or 0
    while True:
        step += 1
        try:
            pf.fleet.tick(step)
        except TickTimeoutError as error:
            say(late=str(error))
        except FleetError:  # it leaves
            return
        time.sleep(OPTIONS["tick"])


def main() -> None:
    _follow._MOST, _follow._KEPT = OPTIONS["most"], OPTIONS["most"] // 2
    if OPTIONS["planted"]:
        getattr(planted, OPTIONS["planted"])(builtins)  # which has setattr
    b.watch(see)
    while True:
        try:
            presence = pf.fleet.join(OPTIONS["url"], name=OPTIONS["name"], **OPTIONS["join"])
            break
        except UnreachableError:
            time.sleep(0.5)
    pf.parse([sys.argv[0]])
    say(joined=presence.revision)
    works = [follow]
    works += [define_late] if OPTIONS["late"] else []
    works += [count] if OPTIONS["tick"] else []
    for work in works:
        threading.Thread(target=work, args=(presence,), daemon=True).start()
    sys.stdin.read()  # until its parent wants it to leave


if __name__ == "__main__":
    main()
