"""A member of a fleet; it runs each line of stdin, and answers with a line."""

import sys
from pathlib import Path

import paddle_flags as pf

_, where, extra, url, role, rank, *arguments = sys.argv
sys.argv = [Path(__file__).stem, *arguments]

pf.define("learning_rate", 0.001, "Step size of the optimizer", min=0.0, max=1.0,
          category="Training", runtime=True)  # fmt: skip
pf.define("batch_size", 64, "Samples of one step", min=1, max=4096, category="Training",
          runtime=True)  # fmt: skip
pf.define("mode", "fast", "How to search for kernels", choices=["fast", "best", "off"],
          category="Training", runtime=True)  # fmt: skip
pf.define("check_nan", False, "Check every tensor for NaN", category="Debugging", runtime=True)
pf.define("allocator", "pool", "Allocator of device memory", choices=["pool", "system"],
          category="Memory", runtime=True, unsafe=True)  # fmt: skip
pf.define("workers", 8, "Processes that read", startup_only=True, category="Input")
pf.define("token", "hunter2-of-the-server", "Token of the parameter server", sensitive=True,
          category="Servers", runtime=True)  # fmt: skip
pf.define("port", 0, "Port of this process", per_process=True, category="Servers")
for number in range(int(extra)):
    pf.define(f"extra_{number:04}", 0, "An extra flag", category="Extra", runtime=True)

member = pf.fleet.join(url, role=role, rank=int(rank), ttl=2.0)
pf.parse()
if where == "-":
    print("joined", flush=True)
else:
    server = pf.serve(where)
    print(server.address, flush=True)
for line in sys.stdin:
    exec(line)  # noqa: S102 - written by the test
    print("done", flush=True)
