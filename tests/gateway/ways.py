"""A program that serves its flags, and the ways by HTTP to it."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support import write

from paddle_flags.live import Client

KINDS = ("tcp", "loopback", "mounted")
TOKENS = {"ops": "change-0123456789", "night": "second-0123456789", "viewer": "read-0123456789ab"}

FLAGS = """
pf.define("level", 6, "Compression level", min=1, max=9, runtime=True)
pf.define("mode", "fast", "How to search", choices=["fast", "best"], runtime=True)
pf.define("check", False, "Stop at the first NaN", runtime=True)
pf.define("names", [], "Whom to ask", items=str, runtime=True)
pf.define("note", "", "What to show", runtime=True)
pf.define("reckless", False, "Skip all checks", runtime=True, unsafe=True)
pf.define("port", 8080, "Port to listen on")
pf.define("token", "hunter2-of-the-server", "Token of the server", sensitive=True, runtime=True)
"""

# Each runs every line of stdin, and answers with a line.
PROGRAM = """
import sys
import paddle_flags as pf
{flags}
pf.parse(["trainer.py"])
print(pf.serve({where}).address, flush=True)
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""
MOUNTED = """
import asyncio
import socket
import sys
import threading
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount
import paddle_flags as pf
{flags}
pf.parse(["trainer.py"])
USERS = {users!r}

async def authorize(request):
    found = USERS.get(request.headers.get("authorization", ""))
    return pf.live.User(*found) if found else None

flags = pf.live.asgi(authorize=authorize, hosts=["127.0.0.1", "localhost"], polls={polls})
app = Starlette(routes=[Mount("/flags", flags)])
made = socket.create_server(("127.0.0.1", 0))
server = uvicorn.Server(uvicorn.Config(app, log_level="error", http="h11"))
threading.Thread(target=asyncio.run, args=(server.serve([made]),), daemon=True).start()
print(made.getsockname()[1], flush=True)
for line in sys.stdin:
    exec(line)
    print("done", flush=True)
"""

# The command, with less patience: tests wait for its end.
IMPATIENT = """
import sys
from paddle_flags.gateway import security
security.PATIENCE = 0.5
from paddle_flags.__main__ import console
sys.argv[0] = "paddle-flags"
console()
"""


def environment(place: Path) -> dict[str, str]:
    """The environment of a user whose processes have their sockets in a folder of this place."""
    runtime = place / "run"
    runtime.mkdir(mode=0o700, exist_ok=True)
    env = {**os.environ, "XDG_RUNTIME_DIR": str(runtime), "TMPDIR": str(runtime)}
    return {name: text for name, text in env.items() if name != "PADDLE_FLAGS_LIVE_TOKEN"}


class Program:
    """A program in Python that tests tell what to do."""

    def __init__(self, place: Path, where: str = "", text: str = PROGRAM, **more: Any) -> None:
        self.env = environment(place)
        script = write(place / "trainer.py", text.format(flags=FLAGS, where=where, **more))
        self.process = subprocess.Popen(
            [sys.executable, script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.env,
            text=True,
        )
        self.pid = self.process.pid
        self.address = self._line()

    def _line(self) -> str:
        assert self.process.stdout
        line = self.process.stdout.readline().rstrip("\n")
        assert line, "the program has ended"
        return line

    def run(self, line: str) -> None:
        """Run a line of Python in the program."""
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        assert self._line() == "done"

    def client(self, **options: Any) -> Client:
        """A client that needs no gateway."""
        folder = Path(self.env["XDG_RUNTIME_DIR"], "paddle_flags")
        socket_of_it = str(folder / f"{self.pid}.sock")
        return Client(self.address if "/" in self.address else socket_of_it, **options)

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


class Way:
    """A gateway, and a person who asks it."""

    prefix = ""
    context: ssl.SSLContext | None = None

    def __init__(self, kind: str, program: Program, port: int) -> None:
        self.kind = kind
        self.program = program
        self.port = port
        self.origin = f"http://127.0.0.1:{port}"
        self.cookie = ""
        self.entry = ""
        self.processes: list[subprocess.Popen[str]] = []

    @property
    def api(self) -> str:
        """The path of the process."""
        return f"{self.prefix}/v1/processes/{self.program.pid}"

    def headers(self, who: str | None) -> dict[str, str]:
        """What the person's browser or program sends with each request."""
        if who is None:
            return {}
        if self.kind == "loopback":
            return {"Cookie": self.cookie, "Origin": self.origin}
        return {"Authorization": f"Bearer {TOKENS[who]}"}

    def ask(
        self,
        path: str,
        method: str = "GET",
        body: Any = None,
        *,
        who: str | None = "ops",
        **more: str | None,
    ) -> tuple[int, dict[str, str], bytes]:
        """Ask below the prefix; return status, headers and body."""
        sent = self.headers(who)
        if body is not None:
            sent["Content-Type"] = "application/json"
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent.update(
            {name.replace("_", "-"): text for name, text in more.items() if text is not None}
        )
        sent = {
            name: text
            for name, text in sent.items()
            if more.get(name.replace("-", "_"), "") is not None
        }
        connection = self.connection()
        try:
            connection.request(method, self.prefix + path, body, sent)
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def connection(self) -> http.client.HTTPConnection:
        if self.context:
            return http.client.HTTPSConnection(
                "localhost", self.port, timeout=60, context=self.context
            )
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def process(self, path: str = "", method: str = "GET", body: Any = None, **more: Any) -> Any:
        """Ask about the process."""
        return self.ask(f"/v1/processes/{self.program.pid}{path}", method, body, **more)

    def change(self, values: dict[str, Any], **more: Any) -> tuple[int, dict[str, str], bytes]:
        return self.process("/changes", "POST", {"set": values}, **more)

    def head(self, first: str, *more: str, who: str | None = "ops") -> bytes:
        """The head of a request."""
        known = [f"{name}: {text}" for name, text in self.headers(who).items()]
        lines = [first, f"Host: 127.0.0.1:{self.port}", *known, *more]
        return "".join(line + "\r\n" for line in lines).encode() + b"\r\n"

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), 60)

    def raw(self, data: bytes) -> bytes:
        """Send bytes; return all that is answered until the connection ends."""
        with self.connect() as made:
            try:
                made.sendall(data)
                made.shutdown(socket.SHUT_WR)
            except (BrokenPipeError, ConnectionResetError):
                pass
            return read_all(made)

    def run(self, *words: object, code: str = "") -> subprocess.Popen[str]:
        """Start a command of paddle-flags."""
        start = ["-c", code] if code else ["-m", "paddle_flags"]
        self.processes.append(
            subprocess.Popen(
                [sys.executable, *start, *map(str, words)],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=self.program.env,
                text=True,
            )
        )
        return self.processes[-1]

    def sign_in(self) -> None:
        """Use the link, as the browser does."""
        status, headers, _ = self.ask(self.entry, who=None)
        assert (status, headers["location"]) == (303, "/")
        self.cookie = headers["set-cookie"].split(";")[0]

    def close(self) -> None:
        for each in self.processes:
            each.kill()
            each.communicate()
        self.program.close()


def read_all(made: socket.socket) -> bytes:
    """Read until the connection ends."""
    parts = []
    try:
        while part := made.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def write_tokens(place: Path) -> Path:
    """A file with the tokens, which nobody else can read."""
    lines = [
        f"{who} {'read' if who == 'viewer' else 'change'} {text}" for who, text in TOKENS.items()
    ]
    file = write(place / "tokens", "\n".join(["# label may token", *lines, ""]))
    file.chmod(0o600)
    return file


@contextmanager
def start(
    kind: str, place: Path, *words: object, code: str = "", polls: bool = False, enters: bool = True
) -> Iterator[Way]:
    """A gateway of a kind, and its program."""
    if kind == "mounted":
        users = {
            f"Bearer {text}": (who, "read" if who == "viewer" else "change")
            for who, text in TOKENS.items()
        }
        program = Program(place, text=MOUNTED, users=users, polls=polls)
        way = Way(kind, program, int(program.address))
        way.prefix = "/flags"
    else:
        way = Way(kind, Program(place), 0)
    try:
        if kind == "loopback":
            _open(way, *words, code=code)
            if enters:
                way.sign_in()
        elif kind == "tcp":
            _serve(way, place, *words, code=code)
        yield way
    finally:
        way.close()


def _open(way: Way, *words: object, code: str) -> None:
    process = way.run("open", *(words or [way.program.pid]), "--print", code=code)
    assert process.stdout
    line = process.stdout.readline()
    found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/open/[\w-]{43})\n", line)
    assert found, line + process.stdout.read()
    way.port, way.entry = int(found[1]), found[2]
    way.origin = f"http://127.0.0.1:{way.port}"


def _serve(way: Way, place: Path, *words: object, code: str) -> None:
    process = way.run(
        "gateway", "--port", 0, "--token-file", write_tokens(place), *words, code=code
    )
    assert process.stdout
    line = process.stdout.readline()
    found = re.fullmatch(r"serving https?://[\w.]+:(\d+)/\n", line)
    assert found, line + process.stdout.read()
    way.port = int(found[1])
    way.origin = f"http://127.0.0.1:{way.port}"
