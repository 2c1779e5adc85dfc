"""Mirrors for tests: in a thread, and as the command of a container."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading

import pytest
from members import SOON

from paddle_flags.fleet import FleetError, mirror

TARGETS = pytest.mark.parametrize(
    "engine",
    ["dir", pytest.param("etcd", marks=pytest.mark.extended)],
    indirect=True,
    scope="module",
)


class Running:
    """A mirror that runs in a thread, and what it has said."""

    def __init__(self, source, target):
        self.said = []
        self.error = None
        self._stop = threading.Event()
        self._ends = (source, target)
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self):
        try:
            mirror(*self._ends, stop=self._stop, on_problem=self._note, timeout=1)
        except FleetError as error:
            self.error = error

    def _note(self, problem):
        self.said.append(None if problem is None else str(problem))

    def end(self):
        self._stop.set()
        self._thread.join()


class Command:
    """`paddle-flags`, as it runs in a container."""

    def __init__(self, *tokens):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "paddle_flags", *tokens],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._out, self._err = _lines(self.process.stdout), _lines(self.process.stderr)

    def line(self):
        return self._out.get(timeout=SOON)

    def problem(self):
        return self._err.get(timeout=SOON)

    def end(self, by=None):
        """Return the exit status and the lines that are left, after a signal or by itself."""
        if by is not None:
            self.process.send_signal(by)
        status = self.process.wait(SOON)
        return status, [*iter(self._out.get, None)], [*iter(self._err.get, None)]


def _lines(stream):
    """Return the lines of a stream as they come, and None at its end."""
    lines = queue.SimpleQueue()

    def read():
        with stream:
            for line in stream:
                lines.put(line.rstrip("\n"))
        lines.put(None)

    threading.Thread(target=read).start()
    return lines


def values(fleet):
    """Return what the fleet says, as texts."""
    return {
        (on, name): entry.value
        for on, table in fleet.values_by_selector().items()
        for name, entry in table.items()
    }


def written(fleet):
    """Return who has changed what."""
    return [(step.record.by, list(step.record.changes)) for step in fleet.log()]
