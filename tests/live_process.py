"""Processes that serve their flags, and the command line and clients that ask them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from support import run, write

from paddle_flags.live import Client

FLAGS = """
pf.define("level", 6, "Compression level", min=1, max=9, runtime=True)
pf.define("mode", "fast", "How to search", choices=["fast", "best"], runtime=True)
pf.define("check", False, "Stop at the first NaN", runtime=True)
pf.define("rate", 0.5, "Share to sample", runtime=True)
pf.define("names", [], "Whom to ask", items=str, runtime=True)
pf.define("cache", 64 << 20, "Memory for pages", unit="bytes", category="Memory", runtime=True)
pf.define("note", "", "What to show", runtime=True)
pf.define("reckless", False, "Skip all checks", runtime=True, unsafe=True)
pf.define("port", 8080, "Port to listen on")
pf.define("token", "hunter2", "Token of the server", sensitive=True)
pf.define("inner", 1, "Not for everyone", hidden=True)
"""

# It runs each line of stdin, and answers with a line.
PROGRAM = """
import sys
import paddle_flags as pf
{flags}
server = pf.serve({arguments})
print(server.address, flush=True)
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
server.close()
"""


class Served:
    """A process that serves its flags."""

    def __init__(self, place: Path, arguments: str = "", flags: str = FLAGS) -> None:
        self.place = place
        self.runtime = place / "run"
        self.runtime.mkdir(mode=0o700, exist_ok=True)
        self.env = {**os.environ, "XDG_RUNTIME_DIR": str(self.runtime), "COLUMNS": "80"}
        self.env.pop("PADDLE_FLAGS_LIVE_TOKEN", None)
        text = PROGRAM.format(flags=flags, arguments=arguments)
        self.process = subprocess.Popen(
            [sys.executable, write(place / "trainer.py", text)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.env,
            text=True,
        )
        self.pid = str(self.process.pid)
        self.address = self._line()

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline().rstrip("\n")
        if not line:
            self.close()
            message = "the process has ended"
            raise AssertionError(message)
        return line

    def run(self, line: str) -> None:
        """Run a line of Python in the process."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        assert self._line() == "done"

    def client(self, **options: Any) -> Client:
        return Client(self.address, **options)

    def live(self, *words: object, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run `paddle-flags live`."""
        options = {"check": False, "env": self.env, **options}
        return run(sys.executable, "-m", "paddle_flags", "live", *words, **options)

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def spawn_live(served: Served, *words: object) -> subprocess.Popen[str]:
    """Start `paddle-flags live`, whose stdout and stderr are one pipe."""
    return subprocess.Popen(
        [sys.executable, "-m", "paddle_flags", "live", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=served.env,
        text=True,
    )
