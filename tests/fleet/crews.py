"""Many members of a fleet as processes, and what they say."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

PROGRAM = Path(__file__).parent / "crew_member.py"
ROOT = Path(__file__).parents[2]

Event = dict[str, Any]


class Crew:
    """Processes that are members, and the lines that they have written."""

    def __init__(self) -> None:
        # A file, since nobody reads what members write while a test waits for something else.
        self._file = tempfile.TemporaryFile("ab+", buffering=0)  # noqa: SIM115 - until the exit
        self._position = 0
        self._rest = b""
        self.events: list[Event] = []
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.wait()
            assert process.stdin is not None
            with contextlib.suppress(OSError):
                process.stdin.close()
        self._file.close()

    def start(
        self,
        name: str,
        url: str,
        *,
        prefix: tuple[str, ...] = (),
        program: Path = PROGRAM,
        **options: Any,
    ) -> None:
        """Start a member; its options are those of crew_member.py, or of another program."""
        environment = options.pop("environment", {})
        command = [
            *prefix,
            sys.executable,
            str(program),
            json.dumps({"name": name, "url": url, **options}),
        ]
        self.processes[name] = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=self._file,
            env={**os.environ, "PYTHONPATH": _path(), **environment},
        )

    def start_many(self, count: int, urls: list[str], **options: Any) -> list[str]:
        """Start members m00, m01, ...; return their names when all have joined."""
        names = [f"m{index:03}" for index in range(count)]
        for index, name in enumerate(names):
            self.start(name, urls[index % len(urls)], **options)
            if index % 10 == 9:  # a few at a time, or all time out
                self.wait_joined(names[: index + 1])
        self.wait_joined(names)
        return names

    def wait_joined(self, names: list[str]) -> None:
        self.until(lambda: set(names) <= {e["m"] for e in self.events if "joined" in e}, 120)

    def kill(self, name: str) -> None:
        """End a member at once; a new one may take its name."""
        process = self.processes.pop(name)
        process.kill()
        process.wait()
        assert process.stdin is not None
        process.stdin.close()

    def stop(self, name: str) -> None:
        self.processes[name].send_signal(signal.SIGSTOP)

    def resume(self, name: str) -> None:
        self.processes[name].send_signal(signal.SIGCONT)

    # -- what they say --

    def read(self, timeout: float = 0.0) -> None:
        """Read the lines that are there, or that come within `timeout` seconds."""
        end = time.monotonic() + timeout
        data = os.pread(self._file.fileno(), 1 << 20, self._position)
        while not data and time.monotonic() < end:
            time.sleep(0.002)
            data = os.pread(self._file.fileno(), 1 << 20, self._position)
        self._position += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        self.events += [json.loads(line) for line in lines]

    def until(self, condition: Callable[[], object], timeout: float = 60.0) -> None:
        """Read until something holds."""
        end = time.monotonic() + timeout
        while not condition():
            for name, process in self.processes.items():
                assert process.poll() is None, f"{name} ended with {process.returncode}"
            assert time.monotonic() < end, f"the last lines: {self.events[-5:]}"
            self.read(0.1)

    def applied(self, value: int, names: list[str], since: int = 0) -> dict[str, int]:
        """Return when members took a value of the pair (ns), of those that have."""
        wanted = set(names)
        return {
            event["m"]: event["t"]
            for event in reversed(self.events[since:])
            if event.get("b") == value and event["m"] in wanted
        }

    def wait_applied(self, value: int, names: list[str], timeout: float = 60.0) -> dict[str, int]:
        """Return when each member took a value of the pair, when all have."""
        start = self._last_before(value)
        self.until(lambda: len(self.applied(value, names, start)) == len(set(names)), timeout)
        return self.applied(value, names, start)

    def _last_before(self, value: int) -> int:
        """Return from where on to look for a value: values only grow."""
        return max(0, len(self.events) - 20_000) if value else 0

    def look(self, name: str, timeout: float = 60.0) -> Event:
        """Ask a member what it has."""
        start = len(self.events)
        process = self.processes[name]
        assert process.stdin is not None
        process.stdin.write(b"look\n")
        process.stdin.flush()
        found: list[Event] = []

        def answered() -> Event | None:
            found[:] = [e for e in self.events[start:] if e["m"] == name and "look" in e]
            return found[0] if found else None

        self.until(answered, timeout)
        return found[0]

    def halves(self) -> list[Event]:
        """Return the lines of members that had half a batch."""
        return [event for event in self.events if event.get("a") != event.get("b")]


def _path() -> str:
    """Members find the package, and what the tests find."""
    return os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])


def until(condition: Callable[[], object], timeout: float = 60) -> float:
    """Wait until something holds; return the seconds that it took."""
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() < begin + timeout
        time.sleep(0.05)
    return time.monotonic() - begin
