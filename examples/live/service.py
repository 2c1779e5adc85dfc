"""A service that serves its flags while it works, until it is stopped.

    service.py [--flag=value ...]

It reads the sources of this project again and again with the three plugins of this folder. Look at
it with `paddle-flags`, or in a browser with `paddle-flags open PID`.
"""

from __future__ import annotations

import ctypes
import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import paddle_flags as pf

ROOT = Path(__file__).resolve().parents[2]
PLUGINS = Path(os.environ.get("PLUGINS", ROOT / "build" / "plugins"))

pause = pf.define(
    "pause", 0.5, "Pause between two rounds", unit="seconds", min=0.05, max=60.0, runtime=True
)
log_level = pf.define(
    "log_level", "info", "What is logged", choices=["debug", "info", "warning"], runtime=True
)
skipped = pf.define("skipped", ["json.c"], "Files that are not read", runtime=True)
forget = pf.define(
    "forget", default=False, help="Forget all results after each round", runtime=True, unsafe=True
)
workers = pf.define("workers", 2, "Worker threads", min=1, max=64, startup_only=True)
pf.define("max_bytes", 0, "Bytes to read of each file, 0 for all", min=0, runtime=True)
pf.define("backend_token", "not shown", "Token of the service behind this one", sensitive=True)


SHORTEST_WITH_DEBUG = 0.2


@pf.validator("pause", "log_level", message="with log_level=debug, pause must be 0.2s or longer")
def is_readable(pause: float, log_level: str) -> bool:
    return log_level != "debug" or pause >= SHORTEST_WITH_DEBUG


def read(library: ctypes.CDLL, path: Path) -> bytes:
    """Return what the plugin says of a file."""
    result = ctypes.create_string_buffer(256)
    library.plugin_run(os.fsencode(path), result, len(result))
    return result.value


def work(libraries: list[ctypes.CDLL]) -> None:
    """Read random files for ever."""
    files = sorted(ROOT.glob("csrc/src/*/*.c"))
    results: dict[Path, list[bytes]] = {}
    with ThreadPoolExecutor(workers.value) as pool:
        while True:
            path = random.choice([path for path in files if path.name not in skipped.value])  # noqa: S311
            results[path] = list(pool.map(read, libraries, [path] * len(libraries)))
            if forget.value:
                results.clear()
            time.sleep(pause.value)


def main() -> None:
    plugins = [pf.load_plugin(PLUGINS / f"lib{name}.so") for name in ("scan", "search", "digest")]
    pf.parse(env_prefix="FLAGS_")
    with pf.serve(settable=["scan_*", "search_*", "digest_*"]) as server:
        print(f"Process {os.getpid()} serves its flags on {server.address}", flush=True)
        work([ctypes.CDLL(plugin.path) for plugin in plugins])


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print()
