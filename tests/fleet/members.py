"""Processes that are members of a fleet, for tests; each runs what a test tells it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from paddle_flags.fleet._follow import Follower
from paddle_flags.fleet._record import ASK, CHANGE, Change, Record

if TYPE_CHECKING:
    from paddle_flags.fleet import Fleet, Store
    from paddle_flags.fleet._operate import Outcome

SOON = 60  # seconds until something must have happened, on a slow and busy machine

_PROGRAM = """\
import json, os, sys
import paddle_flags as pf
from paddle_flags import FLAGS
lines = sys.stdin
channel = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
for line in lines:
    try:
        request = json.loads(line)
        if request["kind"] == "do":
            exec(request["code"], globals())
            answer = None
        else:
            answer = eval(request["code"], globals())
        reply = {"value": answer}
    except BaseException as error:
        reply = {"error": type(error).__name__, "text": str(error)}
    print(json.dumps(reply), file=channel, flush=True)
"""


class Failed(Exception):
    """The process raised an error: its class and its text."""


class Process:
    """A Python process that has imported paddle_flags."""

    def __init__(self, url: str, **variables: str) -> None:
        self.url = url
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **variables},
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, kind: str, code: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"kind": kind, "code": code}) + "\n")
        self._process.stdin.flush()

    def receive(self) -> Any:
        assert self._process.stdout
        line = self._process.stdout.readline()
        assert line, f"the process ended with status {self._process.wait(SOON)}"
        reply = json.loads(line)
        if "error" in reply:
            raise Failed(f"{reply['error']}: {reply['text']}")
        return reply["value"]

    def do(self, code: str) -> None:
        """Run statements."""
        self.send("do", code)
        self.receive()

    def ask(self, code: str) -> Any:
        """Return the value of an expression."""
        self.send("ask", code)
        return self.receive()

    def join(self, **options: Any) -> None:
        """Join, with a lease that is short, but longer than a busy machine may pause a process."""
        arguments = {"ttl": 2.0, **options}
        self.do(f"pf.fleet.join({self.url!r}, **{arguments!r})")

    def begin(self, **options: Any) -> Process:
        """Join, and define the flags that most tests use."""
        self.join(**options)
        self.do(FLAGS)
        return self

    def wait_for(self, code: str, wanted: Any) -> None:
        """Wait until an expression has a value."""
        eventually(lambda: self.ask(code), wanted)

    def stop(self) -> None:
        """Stop the process, as Ctrl+Z or a machine that is out of memory does."""
        if not hasattr(signal, "SIGSTOP"):
            pytest.skip("SIGSTOP is missing")
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()
        self.wait()

    def end(self) -> int:
        """End the process as programs end."""
        assert self._process.stdin
        self._process.stdin.close()
        return self.wait()

    def wait(self) -> int:
        status = self._process.wait(SOON)
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                stream.close()
        return status

    def clean(self) -> None:
        if self._process.poll() is None:
            self.kill()


FLAGS = """
lr = pf.define("lr", 0.1, "Learning rate", runtime=True)
level = pf.define("level", 1, "Level", runtime=True, min=0, max=100)
name = pf.define("name", "none", "Needs a restart")
port = pf.define("port", 80, "Port", per_process=True, runtime=True)
"""


def eventually(function: Callable[[], Any], wanted: Any = True) -> None:
    """Wait until a function returns what is wanted."""
    end = time.monotonic() + SOON
    while True:
        found = function()
        if found == wanted:
            return
        assert time.monotonic() < end, f"{found!r}, expected {wanted!r}"
        time.sleep(0.02)


def ask(
    store: Store, values: dict[str, Any], *, patience: float = 60.0, at_step: int | None = None
) -> int:
    """Ask members about a change, as an operator that dies then; return the revision."""
    changes = tuple(Change(name, str(value)) for name, value in values.items())
    return write(store, Record(ASK, changes, by="test", patience=patience, at_step=at_step))


def decide(store: Store, asked: int, kind: str = CHANGE) -> int:
    """Write the change that was asked about, or its abort; return the revision."""
    return write(store, Record(kind, by="test", of=asked))


def write(store: Store, record: Record) -> int:
    """Write a record behind all others; return its revision."""
    follower = Follower(store)
    while True:
        follower.catch_up()
        revision = follower.try_append(record)
        if revision:
            return revision


def files_of(folder: Path) -> bytes:
    """Return all that a folder has stored."""
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def states(outcome: Outcome) -> dict[str, str]:
    """Return the state of each member's answer to a change."""
    return {name: answer.state for name, answer in outcome.answers.items()}


def states_of(fleet: Fleet, name: str) -> dict[int, str]:
    """Return the state of each answer of a member."""
    found = next(each for each in fleet.status().members if each.name == name)
    return {revision: answer.state for revision, answer in found.answers.items()}


def answer(fleet: Fleet, name: str, revision: int) -> tuple[str, str]:
    """Return the state and the reason of an answer of a member."""
    found = next(each for each in fleet.status().members if each.name == name)
    return found.answers[revision].state, found.answers[revision].why


def member_states(fleet: Fleet) -> dict[str, str]:
    """Return the states of the members, by name."""
    return {each.name: each.state for each in fleet.status().members}
