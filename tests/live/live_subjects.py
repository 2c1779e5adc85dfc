"""Programs whose flags are served: in Python, as a WSGI application, and in C."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import packages
import pytest
from live_client import DEADLINE, READ_TOKEN, WRITE_TOKEN, Address, Client
from live_flags import SETTABLE, c_definitions
from support import ROOT, build_program, require, run, write

HERE = Path(__file__).resolve().parent
KINDS = ("python-unix", "python-tcp", "wsgi", "c-unix", "c-tcp")


def kinds(*names: str) -> list[Any]:
    """Return parameters for kinds of servers.

    Those in C need libmicrohttpd; the WSGI application answers as the server in Python does.
    """
    marks = {True: pytest.mark.extended, False: ()}
    return [
        pytest.param(name, marks=marks[name.startswith("c-") or name == "wsgi"]) for name in names
    ]


TOKENS = {
    "tokens": [
        {"text": READ_TOKEN, "label": "reader", "may": "read"},
        {"text": WRITE_TOKEN, "label": "writer", "may": "change"},
    ]
}


factories: list[pytest.TempPathFactory] = []  # conftest puts that of the run here


class Subject:
    """A process that serves the flags of live_flags, and does what it is told."""

    def __init__(self, command: list[Any], kind: str, log: Path, **options: Any) -> None:
        self.kind = kind
        self.log = log
        self.children: list[int] = []
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                [*command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=log.parent,
                **options,
            )
        try:
            self.places = json.loads(self.answer())
        except BaseException:
            self.end()
            raise

    def answer(self) -> str:
        """Return the next line of the process."""
        assert self.process.stdout
        timer = threading.Timer(DEADLINE, self.process.kill)  # a test never hangs
        timer.start()
        line = self.process.stdout.readline()
        timer.cancel()
        assert line, f"{self.kind} has ended:\n{self.log.read_text(errors='replace')}"
        return line.rstrip("\n")

    def tell(self, *words: str) -> str:
        """Make the program do something; return what it says."""
        assert self.process.stdin
        self.process.stdin.write("\t".join(words) + "\n")
        self.process.stdin.flush()
        line = self.answer()
        assert line.split(" ")[0] == "ok", line
        return line[3:]

    def fork(self) -> int:
        """Make the program fork; return the child, which lives until the end of the test."""
        self.children.append(int(self.tell("fork")))
        return self.children[-1]

    def read(self, name: str) -> tuple[str, str]:
        """Return the source and the text of a flag, as the program sees it."""
        source, _, text = self.tell("read", name).partition("\t")
        return source, text

    def serve(self) -> None:
        self.places = json.loads(self.tell("serve"))

    @property
    def address(self) -> Address:
        """Where a client that may do everything asks."""
        return self.at("unix" if self.kind.endswith("-unix") else "tcp")

    def at(self, transport: str, token: str | None = WRITE_TOKEN) -> Address:
        if transport == "unix":
            return Address(unix=self.places["unix"])
        return Address(port=self.places["port"], token=token, prefix=self.places.get("prefix", ""))

    @property
    def client(self) -> Client:
        return Client(self.address)

    def end(self) -> None:
        for child in self.children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        self.children.clear()
        assert self.process.stdin
        assert self.process.stdout
        with contextlib.suppress(OSError, ValueError):  # it may have ended
            self.process.stdin.write("quit\n")
            self.process.stdin.flush()
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def build_c() -> Path:
    """Build subject.c and what serves it, once; skip the test if that can't be done here."""
    require("libmicrohttpd-dev", "microhttpd.h")
    require("libjansson-dev", "jansson.h")
    return packages.once(factories[0], "live", make_c)


def make_c(out: Path) -> None:
    """Build libpd_flags_live.so, and subject.c with it."""
    run("make", "-C", ROOT / "csrc" / "live", f"OUT={out / 'module'}", f"PYTHON={sys.executable}")
    write(out / "flags.inc", c_definitions())
    linked = (f"-L{out / 'module'}", f"-Wl,-rpath,{out / 'module'}", "-lpd_flags_live")
    build_program(out / "subject", HERE / "subject.c", flags=(f"-I{out}", f"-I{HERE}", *linked))


def command_of(kind: str, place: Path, options: dict[str, Any]) -> list[Any]:
    """Return the command that starts a subject."""
    wanted = {"settable": SETTABLE, "audit": str(place / "audit.jsonl"), **TOKENS, **options}
    if kind == "wsgi":
        wanted["wsgi"] = True
    elif "unix" not in wanted and kind.endswith("-unix"):
        wanted["unix"] = str(place / "run" / "subject.sock")
    elif kind.endswith("-tcp"):
        wanted["tcp"] = True
    if kind.startswith("c-"):
        address = "127.0.0.1:0" if kind == "c-tcp" else wanted["unix"]
        rows = wanted["tokens"] if kind == "c-tcp" else []
        tokens = [row[key] for row in rows for key in ("text", "label", "may")]
        return [build_c() / "subject", wanted["audit"], wanted["settable"], address, *tokens]
    return [sys.executable, HERE / "subject.py", json.dumps(wanted)]


@contextlib.contextmanager
def running(
    kind: str, place: Path, options: dict[str, Any] | None = None, **more: Any
) -> Iterator[Subject]:
    """Run a subject as long as a `with` block."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "run").mkdir(mode=0o700, exist_ok=True)
    subject = Subject(command_of(kind, place, options or {}), kind, place / "log.txt", **more)
    try:
        yield subject
    finally:
        subject.end()
