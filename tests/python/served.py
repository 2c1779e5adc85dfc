"""What tests of the live server use: connections to it, and programs that serve."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from support import write

from paddle_flags.live import _serve

DEADLINE = 60.0  # seconds for what must happen at some time
JSON = {"Content-Type": "application/json"}


def connect(address: str) -> socket.socket:
    """Connect to a Unix socket, whose path may be long, or to host and port."""
    if "/" not in address:
        host, _, port = address.rpartition(":")
        return socket.create_connection((host.strip("[]"), int(port)), timeout=DEADLINE)
    place, name = os.path.split(address)
    folder = os.open(place, os.O_RDONLY)
    made = socket.socket(socket.AF_UNIX)
    try:
        made.connect(f"/proc/self/fd/{folder}/{name}")  # waits if many do so at once
        made.settimeout(DEADLINE)
    except BaseException:
        made.close()
        raise
    finally:
        os.close(folder)
    return made


class Client(http.client.HTTPConnection):
    """A connection to a server, by http.client."""

    def __init__(self, address: str, **headers: str) -> None:
        super().__init__("localhost", timeout=DEADLINE)
        self.address = address
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def connect(self) -> None:
        self.sock = connect(self.address)

    def ask(self, method: str, target: str, body: object = None, **headers: str) -> Answer:
        """Send a request; `body` is bytes or what JSON can write."""
        raw = body if body is None or isinstance(body, (bytes, Iterator)) else json.dumps(body)
        given = {} if body is None else JSON
        self.request(method, target, raw, {**self.headers, **given, **headers})
        response = self.getresponse()
        return Answer(response.status, dict(response.headers.items()), response.read())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class Answer:
    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def __repr__(self) -> str:
        return f"{self.status} {self.body!r}"


def ask(address: str, method: str, target: str, body: object = None, **headers: str) -> Answer:
    with Client(address) as client:
        return client.ask(method, target, body, **headers)


def exchange(address: str, data: bytes, *, half: bool = False) -> bytes:
    """Send bytes and return all that comes until the server closes the connection."""
    with connect(address) as made:
        made.sendall(data)
        if half:
            made.shutdown(socket.SHUT_WR)
        return read_all(made)


def read_all(made: socket.socket) -> bytes:
    parts = []
    try:
        while part := made.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        parts.append(b"<reset>")
    return b"".join(parts)


def read_until(made: socket.socket, end: bytes) -> bytes:
    """Read up to some bytes."""
    data = b""
    while end not in data:
        part = made.recv(1 << 16)
        assert part, data
        data += part
    return data


@contextmanager
def streaming(address: str, since: str = "") -> Iterator[socket.socket]:
    """A connection on which events come; the first has been read."""
    with connect(address) as made:
        since = f"?since={since}" if since else ""
        made.sendall(b"GET /v1/events%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % since.encode())
        yield made


def site_of(address: str) -> Any:
    """Return what the connections of a server of this process share."""
    (server,) = [each for each in _serve.open_servers() if each.address == address]
    return server._listener._site  # noqa: SLF001 - nobody else can know


def count_clients(address: str) -> int:
    """Return how many clients a server of this process has."""
    return len(site_of(address).connections)


def wait_for(what: Callable[[], Any]) -> Any:
    """Wait until a function returns something true, and return that."""
    end = time.monotonic() + DEADLINE
    while not (found := what()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


@contextmanager
def program(place: Path, text: str, *words: str, **env: str) -> Iterator[subprocess.Popen[str]]:
    """A program with `pf`, `os` and `sys`, which ends with the block; it prints to `stdout`.

    Its default socket is in `run/paddle_flags`, not beside the script, where the directory would be
    a package.
    """
    runtime = place / "run"
    runtime.mkdir(exist_ok=True)
    script = write(place / "program.py", "import os, sys\nimport paddle_flags as pf\n" + text)
    made = subprocess.Popen(
        [sys.executable, script, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "XDG_RUNTIME_DIR": str(runtime), **env},
    )
    with made:
        try:
            yield made
        finally:
            made.kill()


def line_of(made: subprocess.Popen[str]) -> str:
    """Return the next line that a program prints."""
    assert made.stdout
    return made.stdout.readline().rstrip("\n")
