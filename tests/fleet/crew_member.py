"""A process that is a member of a fleet, and says each change that it takes: crew_member.py JSON.

`pair_a` and `pair_b` are always changed together, so whoever sees them differ has half a batch.
Each line of the output is one JSON object; lines of many members share one pipe.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

OPTIONS = json.loads(sys.argv[1])
_real = time.time
if "clock" in OPTIONS:  # a file that says by how many seconds the clock is wrong
    time.time = lambda: _real() + float(Path(OPTIONS["clock"]).read_text("ascii"))

import paddle_flags as pf  # noqa: E402 - behind the clock

_lock = threading.Lock()


def say(**fields: Any) -> None:
    """Write one line at once, so that lines of several processes don't mix."""
    line = json.dumps({"m": OPTIONS["name"], "t": time.monotonic_ns(), **fields}) + "\n"
    with _lock:
        os.write(1, line.encode())


def see(_flag: object) -> None:
    """Say both values. They are there when the first of them is told."""
    say(a=pair_a.value, b=pair_b.value)


pair_a = pf.define("pair_a", 0, "Changes with pair_b", runtime=True, max=1_000_000)
pair_b = pf.define("pair_b", 0, "Changes with pair_a", runtime=True, max=1_000_000)
pf.define("passing", 0, "Set for a while", runtime=True).watch(lambda flag: say(passing=flag.value))
for index in range(OPTIONS.get("flags", 0)):
    pf.define(f"flag_{index}", index, "One of many", runtime=True)
pair_b.watch(see)


def both() -> dict[str, int]:
    """Return both values as another thread sees them, which may look in the middle of a change."""
    for _ in range(100):
        if pair_a.value == (value := pair_b.value):
            return {"a": value, "b": value}
        time.sleep(0.001)
    return {"a": pair_a.value, "b": pair_b.value}


def main() -> None:
    member = pf.fleet.join(OPTIONS["url"], name=OPTIONS["name"], **OPTIONS.get("join", {}))
    pf.parse([sys.argv[0]])
    say(joined=member.revision, **both(), pid=os.getpid())
    ticks = OPTIONS.get("ticks", 0)
    if ticks:
        step, before, parent = 0, 0, os.getppid()
        while os.getppid() == parent:
            pf.fleet.tick(step)
            if step % 10 == 0 or pair_b.value != before:
                now = both()
                before = now["b"]
                say(step=step, **now)
            step += 1
            time.sleep(ticks)
        return
    for line in sys.stdin:  # until its parent ends
        if line.strip() == "look":
            say(
                look=member.revision,
                **both(),
                stale=member.stale,
                problem=member.problem,
                answers={r: list(answer) for r, answer in member.answers.items()},
                clock=time.time(),
            )


if __name__ == "__main__":
    main()
