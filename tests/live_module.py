"""Building libpd_flags_live.so and programs that it serves, and asking them, for tests."""

from __future__ import annotations

import contextlib
import functools
import http.client
import json
import os
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support import CC, LIBDIR, ROOT, build, install, missing, run

HOST = ROOT / "tests" / "live" / "host.c"
TOKEN = "a-token-of-the-tests"  # noqa: S105 - of no secret
DEADLINE = 60.0  # seconds that a test waits for what must happen


@functools.cache
def module() -> Path:
    """Build libpd_flags_live.so; skip the test if what it needs is missing."""
    probe = "#include <stdio.h>\n#include <microhttpd.h>\n#include <jansson.h>\n"
    if run(*CC, "-E", "-x", "c", "-", input=probe, check=False).returncode != 0:
        missing("libmicrohttpd or jansson", install("libmicrohttpd-dev libjansson-dev"))
    place = Path(tempfile.mkdtemp(prefix="pd-live-"))
    run("make", "-C", ROOT / "csrc" / "live", f"OUT={place}")
    return place / "libpd_flags_live.so"


def build_host(out: Path, *flags: str, static: bool = False, served: bool = True) -> Path:
    """Build host.c with the module, and with a copy of the library or the shared one."""
    place = module().parent
    linked = (
        [f"{LIBDIR}/libpd_flags.a", "-pthread", "-ldl"]
        if static
        else [f"-L{LIBDIR}", f"-Wl,-rpath,{LIBDIR}", "-lpd_flags"]
    )
    live = [f"-L{place}", f"-Wl,-rpath,{place}", "-lpd_flags_live"] if served else ["-DUNSERVED"]
    return build(out, HOST, flags=(*flags, *live, *linked))


class Host:
    """A running program; `first` is the first line that it has printed."""

    def __init__(self, *command: object, **environment: str) -> None:
        self.process = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        self.first = self.line()

    def line(self) -> str:
        """Return the next line that it prints; one that hangs is killed, and prints no more."""
        assert self.process.stdout
        killer = threading.Timer(60, self.process.kill)
        killer.start()
        try:
            return self.process.stdout.readline().rstrip("\n")
        finally:
            killer.cancel()

    def tell(self, command: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def end(self, command: str = "exit") -> str:
        """End the program; return what it printed to its standard error."""
        assert self.process.stdin
        if self.process.stdin.closed:
            return ""
        with contextlib.suppress(OSError):
            self.tell(command)
        try:
            errors = self.process.communicate(timeout=DEADLINE)[1]
        except subprocess.TimeoutExpired:
            self.process.kill()
            errors = self.process.communicate()[1]
        return errors


@contextlib.contextmanager
def running(*command: object, **environment: str) -> Iterator[Host]:
    """Run a program as long as a `with` block."""
    host = Host(*command, **environment)
    try:
        yield host
    finally:
        errors = host.end()
        assert "AddressSanitizer" not in errors, errors


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=DEADLINE)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(DEADLINE)
        self.sock.connect(self.path)


def connection_to(address: str) -> http.client.HTTPConnection:
    if address.startswith("/"):
        return UnixConnection(address)
    host, _, port = address.rpartition(":")
    return http.client.HTTPConnection(host, int(port), timeout=DEADLINE)


def ask(address: str, target: str, body: object = None, **headers: str) -> tuple[int, Any]:
    """Send a request on a connection of its own; return the status and the JSON."""
    connection = connection_to(address)
    if not address.startswith("/"):
        headers.setdefault("Authorization", f"Bearer {TOKEN}")
    data = None if body is None else json.dumps(body).encode()
    if data is not None:
        headers["Content-Type"] = "application/json"
    try:
        connection.request("GET" if data is None else "POST", target, data, headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read() or b"null")
    finally:
        connection.close()


def wait_for(condition: Any) -> Any:
    """Wait until a function returns something true, and return it."""
    end = time.monotonic() + DEADLINE
    while not (found := condition()):
        assert time.monotonic() < end, "it doesn't happen"
        time.sleep(0.01)
    return found
