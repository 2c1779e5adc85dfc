"""Programs that serve their flags, and a client of the live protocol that checks nothing."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from support import write

HERE = Path(__file__).parent


class Program:
    """A Python program that serves its flags at `socket`, and runs lines that it is told."""

    def __init__(self, folder: Path, *arguments: str, script: Path = HERE / "program.py") -> None:
        self.socket = folder / "flags.sock"
        self.audit = folder / "audit.jsonl"
        self.process = subprocess.Popen(
            [sys.executable, str(script), str(self.socket), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
        )
        assert self.process.stdout
        assert self.process.stdout.readline() == "serving\n"

    def tell(self, line: str) -> None:
        """Give the program a line of Python, without waiting for its end."""
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def run(self, line: str) -> str:
        """Run a line of Python in the program; return what it prints last."""
        self.tell(line)
        return self.read()

    def read(self) -> str:
        assert self.process.stdout
        printed = ""
        while (text := self.process.stdout.readline().rstrip("\n")) != "done":
            assert text or self.process.poll() is None, "the program has ended"
            printed = text
        return printed

    def hang(self) -> None:
        """Let the main thread wait in a C function, with the lock of the interpreter.

        Without a GIL, it does so where no other thread may run Python: what visits all objects
        stops the others.
        """
        folder = self.socket.parent
        os.mkfifo(folder / "release")
        self.tell(
            "fd = os.open('release', os.O_RDWR); one = ctypes.create_string_buffer(1);"
            " read = ctypes.PyDLL(None).read;"
            " visitor = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p);"
            " wait = visitor(lambda *_: read(fd, one, 1) - 1);"
            " open('hung', 'w').close();"
            + (
                " ctypes.pythonapi.PyUnstable_GC_VisitObjects(wait, None)"
                if sysconfig.get_config_var("Py_GIL_DISABLED")
                else " read(fd, one, 1)"
            )
        )
        until((folder / "hung").exists)
        time.sleep(0.2)  # from the last line to the function

    def go_on(self) -> None:
        """Let Python go on."""
        (self.socket.parent / "release").write_bytes(b"x")
        self.read()

    def stop(self) -> int:
        """Let the program end; return its status."""
        self.process.communicate(timeout=20)
        return self.process.returncode

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.audit.read_text("utf-8").splitlines()]


class Client:
    """A connection to a process."""

    def __init__(self, path: Path | str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20)
        _connect(self.socket, str(path))
        self._file = self.socket.makefile("rb")
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()
        self.socket.close()

    def send(self, text: str | bytes) -> None:
        self.socket.sendall(text.encode("utf-8") if isinstance(text, str) else text)

    def read(self) -> dict[str, Any]:
        """Return the next message; {} if the process has closed the connection."""
        line = self._file.readline()
        assert line.endswith(b"\n") or not line
        answer: dict[str, Any] = json.loads(line) if line else {}
        return answer

    def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the whole answer to a request."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method}
        if params is not None:
            message["params"] = params
        self.send(json.dumps(message) + "\n")
        answer = self.read()
        assert answer["jsonrpc"] == "2.0"
        assert answer["id"] == self._number
        assert ("result" in answer) != ("error" in answer)
        return answer

    def ask(self, method: str, **params: Any) -> Any:
        """Return the result of a request; `for_` stands for `for`."""
        answer = self.request(method, _named(params))
        assert "result" in answer, answer
        return answer["result"]

    def fail(self, method: str, **params: Any) -> dict[str, Any]:
        """Return the error of a request."""
        answer = self.request(method, _named(params))
        assert "error" in answer, answer
        error: dict[str, Any] = answer["error"]
        return error

    def get(self, name: str) -> dict[str, Any]:
        flag: dict[str, Any] = self.ask("flags.get", name=name)["flag"]
        return flag

    def text(self, name: str) -> Any:
        return self.get(name)["text"]


def _connect(made: socket.socket, path: str) -> None:
    """Connect to a path of any length."""
    place, name = os.path.split(path)
    folder = os.open(place, os.O_RDONLY)
    try:
        made.connect(f"/proc/self/fd/{folder}/{name}")
    finally:
        os.close(folder)


def ask(path: Path | str, method: str, **params: Any) -> Any:
    """Return the result of a single request."""
    with Client(path) as client:
        return client.ask(method, **params)


def change(path: Path | str, name: str, value: object, **params: Any) -> Any:
    """Change one flag."""
    return ask(path, "flags.set", set={name: value}, **params)


@contextmanager
def script(place: Path, text: str, *words: str, **env: str) -> Iterator[subprocess.Popen[str]]:
    """A program with `pf`, `os` and `sys`, which ends with the block; it prints to `stdout`.

    Its default socket is in `run/paddle_flags`, not beside the script, where the directory would be
    a package.
    """
    runtime = place / "run"
    runtime.mkdir(exist_ok=True)
    file = write(place / "program.py", "import os, sys\nimport paddle_flags as pf\n" + text)
    made = subprocess.Popen(
        [sys.executable, file, *words],
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


def _named(params: dict[str, Any]) -> dict[str, Any]:
    return {name.rstrip("_"): value for name, value in params.items()}


def until(check: Any, timeout: float = 20) -> Any:
    """Return the first true result of a function."""
    end = time.monotonic() + timeout
    while not (found := check()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
    return found


def problems(error: dict[str, Any]) -> list[tuple[Any, str]]:
    return [(each["name"], each["kind"]) for each in error["data"]["errors"]]
