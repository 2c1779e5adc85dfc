"""Serves its flags, and runs the lines of Python that it is told.

program.py SOCKET [OPTION=VALUE]...
"""

import ctypes  # noqa: F401 - for the lines
import os
import sys
import time

import paddle_flags as pf
from paddle_flags.live._serve import serve

level = pf.define("level", 6, "Compression level", min=1, max=9, aliases=["lvl"], runtime=True)
pf.define("mode", "fast", "How to search", choices=["fast", "best"], runtime=True)
pf.define("rate", 0.5, "Learning rate", runtime=True)
pf.define("count", 2, "Items", min=0, runtime=True)
pf.define("sizes", [1, 2], "Sizes of layers", runtime=True)
pf.define("limit", None, "Most bytes", type=int, unit="bytes", runtime=True)
pf.define("greeting", "hello", "Text", runtime=True)
pf.define("token", "swordfish", "Secret", sensitive=True, runtime=True)
pf.define("danger", False, "Unsafe", runtime=True, unsafe=True)
pf.define("seed", 1, "At startup only", startup_only=True)
pf.define("closed", 1, "Not from outside")
pf.define("low", 2, "Below high", runtime=True)
pf.define("high", 8, "Above low", runtime=True)
seen = []


@pf.validator("mode")
def check_mode(_):
    while os.path.exists("blocked"):
        time.sleep(0.01)
    return True


@pf.validator("low", "high")
def check_order(low, high):
    if low > high:
        message = "expected low <= high"
        raise ValueError(message)
    return True


@level.watch
def note(*_):
    seen.append(pf.FLAGS.level)


options = dict(each.split("=", 1) for each in sys.argv[2:])
server = serve(
    sys.argv[1],
    audit=["audit.jsonl", *([seen.append] if "events" in options else [])],
    settable=options.get("settable", ""),
    on_fork=options.get("on_fork", "close"),
)
print("serving", flush=True)
for line in sys.stdin:
    exec(line)  # noqa: S102 - the test writes it
    print("done", flush=True)
