"""`paddle-flags join URL -- COMMAND`: a program in any language takes part in a fleet.

The agent is the member. It hands the fleet's values to the program before the program defines its
first flag, starts it, and reaches it through its live socket.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from typing import TYPE_CHECKING

from paddle_flags.fleet._check import Barrier
from paddle_flags.fleet._clock import SYSTEM
from paddle_flags.fleet._presence import Presence
from paddle_flags.fleet._program import ProgramFlags
from paddle_flags.fleet._steps import NEVER
from paddle_flags.fleet._store import FleetError
from paddle_flags.fleet._threads import start_thread
from paddle_flags.live._errors import LiveError
from paddle_flags.live._serve import LIBRARY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paddle_flags.fleet._membership import Options
    from paddle_flags.fleet._store import Store

_POLL = 0.02  # seconds between two looks for the program's socket, and for a gate
_STEP_WAIT = 5.0  # seconds of one wait for a step
_PASSED = frozenset({
    *(signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1),
    *(signal.SIGUSR2, signal.SIGALRM, signal.SIGWINCH, signal.SIGCONT),
})  # fmt: skip
_BY_TERMINAL = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGWINCH, signal.SIGCONT)


class Agent:
    """A member of a fleet for a program that it starts."""

    def __init__(self, store: Store, options: Options, folder: str) -> None:
        self._socket = os.path.join(folder, "live.sock")
        self._snapshot = os.path.join(folder, "fleet")
        self._flags = ProgramFlags(store.url, self._snapshot, options.tick_timeout)
        self.presence = Presence(store, options, self._flags)
        self._has_ended = False

    def join(self, count: int | None, timeout: float) -> None:
        """Become a member; with a count, wait for so many that have the same values."""
        self.presence.start()
        if count is not None:
            Barrier(self.presence, [], count, timeout, SYSTEM).wait()

    def run(self, command: Sequence[str], library: str | None) -> int:
        """Run the program to its end; return its exit status, or a signal as a negative number."""
        waited = _PASSED | {signal.SIGCHLD}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)
        try:
            environment = self._environment(library)
            pid = os.posix_spawnp(command[0], list(command), environment, setsigmask=before)
            start_thread(self._connect, "paddle_flags program")
            return _wait(pid, waited)
        finally:
            self._has_ended = True
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _environment(self, library: str | None) -> dict[str, str]:
        environment = {
            **os.environ,
            "PADDLE_FLAGS_LIVE": self._socket,
            "PADDLE_FLAGS_FLEET_SNAPSHOT": self._snapshot,
        }
        if library is not None:
            others = os.environ.get("LD_PRELOAD", "").split()
            environment["LD_PRELOAD"] = " ".join([library, *others])
        return environment

    def _connect(self) -> None:
        """Wait until the program serves its flags, and go on with them; then follow its steps."""
        while not self._has_ended:
            try:
                self._flags.connect(self._socket)
                break
            except (FleetError, LiveError, OSError):
                time.sleep(_POLL)
        while not self._has_ended:
            step = self._flags.steps.gate
            if step == NEVER:
                time.sleep(_POLL)
                continue
            try:
                reached = self._flags.wait_for_step(self._socket, int(step), _STEP_WAIT)
                if reached is not None:
                    self.presence.tick(reached)
            except (FleetError, LiveError, OSError):
                time.sleep(_POLL)  # the program ends, or its member's thread says what is wrong


def _wait(pid: int, signals: frozenset[signal.Signals]) -> int:
    """Pass signals on until a process ends."""
    while True:
        given = signal.sigwaitinfo(signals)
        if given.si_signo == signal.SIGCHLD:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
        elif given.si_pid or given.si_signo not in _BY_TERMINAL:
            os.kill(pid, given.si_signo)  # what a terminal sends, the program has got itself


def run_program(  # noqa: PLR0913 - most have a default
    store: Store,
    options: Options,
    command: Sequence[str],
    *,
    count: int | None = None,
    timeout: float = 60.0,
    preload: bool = True,
) -> int:
    """Join a fleet, run a program as its member, leave; return the program's exit status.

    A negative number is that of the signal by which it ended. `count` is how many members must be
    there, with the same values, before it starts; CheckError says who isn't, after `timeout`
    seconds. With `preload`, a program that doesn't serve its flags itself is made to.

    Raises OSError if the program can't be started.
    """
    with tempfile.TemporaryDirectory(prefix="paddle_flags-") as folder:
        agent = Agent(store, options, folder)
        try:
            agent.join(count, timeout)
            return agent.run(command, str(LIBRARY) if preload else None)
        finally:
            agent.presence.leave()
