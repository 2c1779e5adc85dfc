"""Processes that serve their flags, and the command line and clients that ask them."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import WINDOWS, run, write

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
        if WINDOWS:
            pytest.skip("libpd_flags_live is missing: the live server works on Linux only")
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

    def cli(self, *words: object, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run `paddle-flags`."""
        options = {"check": False, "env": self.env, **options}
        return run(sys.executable, "-m", "paddle_flags", *words, **options)

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


def spawn_cli(served: Served, *words: object) -> subprocess.Popen[str]:
    """Start `paddle-flags`, whose stdout and stderr are one pipe."""
    return subprocess.Popen(
        [sys.executable, "-m", "paddle_flags", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=served.env,
        text=True,
    )


class Opened:
    """A running `paddle-flags open --print`, and a client in place of the browser."""

    def __init__(self, served: Served, *words: object) -> None:
        self.process = spawn_cli(served, "open", *words, "--print")
        assert self.process.stdout is not None
        url = self.process.stdout.readline().rstrip("\n")
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/open/[\w-]{43})", url)
        assert found, url + self.process.stdout.read()
        self.port, self.entry = int(found[1]), found[2]
        self.origin = f"http://127.0.0.1:{self.port}"
        self.cookie = ""

    def ask(
        self, path: str, method: str = "GET", body: bytes | None = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookie:
            sent.setdefault("Cookie", self.cookie)
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def post(self, path: str, document: Any, **headers: str) -> tuple[int, dict[str, str], bytes]:
        headers = {"Content_Type": "application/json", "Origin": self.origin, **headers}
        return self.ask(path, "POST", json.dumps(document).encode(), **headers)

    def enter(self) -> None:
        """Use the URL, as the browser does."""
        status, headers, _ = self.ask(self.entry)
        assert (status, headers["location"]) == (303, "/")
        self.cookie = headers["set-cookie"].split(";")[0]

    def raw(self, data: bytes) -> bytes:
        """Send bytes; give all that is answered until the connection ends."""
        with socket.create_connection(("127.0.0.1", self.port), 60) as made:
            made.sendall(data)
            made.shutdown(socket.SHUT_WR)
            parts = []
            while part := made.recv(65536):
                parts.append(part)
        return b"".join(parts)

    def head(self, first: str, *more: str) -> bytes:
        lines = [first, f"Host: 127.0.0.1:{self.port}", f"Cookie: {self.cookie}", *more]
        return "".join(line + "\r\n" for line in lines).encode() + b"\r\n"

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
