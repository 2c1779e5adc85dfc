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
from paddle_flags.fleet._open import TIMEOUT, open_store
from paddle_flags.fleet._presence import Presence
from paddle_flags.fleet._program import ProgramFlags
from paddle_flags.fleet._role import AGENT
from paddle_flags.fleet._steps import NEVER
from paddle_flags.fleet._store import FleetError
from paddle_flags.fleet._threads import start_thread
from paddle_flags.live._errors import LiveError
from paddle_flags.live._serve import LIBRARY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paddle_flags.fleet._membership import Options

_POLL = 0.02  # seconds between two looks for the program's socket, and for a gate
_STEP_WAIT = 5.0  # seconds of one wait for a step
SNAPSHOT = "fleet"
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
_BY_TERMINAL = (*_ENDING[1:], signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT)
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
_WAITED = signal.valid_signals() - {
    *(*_IGNORED_BY_PYTHON, signal.SIGKILL, signal.SIGSTOP, signal.SIGTTIN, signal.SIGTTOU),
    *(signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGABRT),
    *(signal.SIGSYS, signal.SIGXCPU),  # of this process itself
}  # fmt: skip


class Agent:
    """A member of a fleet for a program that it starts.

    The main thread waits for signals, which no other thread gets; another one does the rest.
    """

    def __init__(self, command: Sequence[str], library: str | None) -> None:
        self._command = list(command)
        self._library = library
        self._pid: int | None = None
        self.presence: Presence | None = None
        """The member, as soon as it tries to join."""
        self._failure: BaseException | None = None
        self._has_ended = False
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED)

    def run(self, begin: Callable[[str], None]) -> int:
        """Run the program to its end; return its exit status, or a signal as a negative number.

        `begin` joins the fleet, in a thread; its argument is a folder for the files of the program.
        """
        with tempfile.TemporaryDirectory(prefix="paddle_flags-") as folder:
            try:
                start_thread(lambda: self._begin(begin, folder), "paddle_flags join")
                return self._wait()
            finally:
                self._has_ended = True
                if self.presence is not None:
                    self.presence.leave()
                signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def _begin(self, begin: Callable[[str], None], folder: str) -> None:
        try:
            begin(folder)
        except BaseException as error:  # noqa: BLE001 - the main thread raises it
            self._failure = error
            os.kill(os.getpid(), signal.SIGCHLD)

    def _wait(self) -> int:
        """Pass signals on until the program ends."""
        while True:
            given = signal.sigwaitinfo(_WAITED)
            pid = self._pid
            if self._failure is not None:
                raise self._failure
            if given.si_signo == signal.SIGCHLD:
                ended, status = os.waitpid(pid, os.WNOHANG) if pid else (0, 0)
                if ended:
                    return os.waitstatus_to_exitcode(status)
            elif pid is None and given.si_signo in _ENDING:
                return -given.si_signo
            elif pid and (given.si_pid or given.si_signo not in _BY_TERMINAL):
                os.kill(pid, given.si_signo)  # what a terminal sends, the program has got itself
            if given.si_signo == signal.SIGTSTP:
                os.kill(os.getpid(), signal.SIGSTOP)

    def start(self, presence: Presence, flags: ProgramFlags, folder: str) -> None:
        """Start the program as the member that has joined, and go on with its flags and steps."""
        place = os.path.join(folder, "live.sock")
        environment = {
            **os.environ,
            "PADDLE_FLAGS_LIVE": place,
            "PADDLE_FLAGS_FLEET_SNAPSHOT": os.path.join(folder, SNAPSHOT),
            AGENT: f"{presence.name} of {presence.url}",
        }
        if self._library is not None:
            others = os.environ.get("LD_PRELOAD", "").split()
            environment["LD_PRELOAD"] = " ".join([self._library, *others])
        command = self._command
        flags.child = self._pid = os.posix_spawnp(
            command[0],
            command,
            environment,
            setsigmask=self._mask,
            setsigdef=_IGNORED_BY_PYTHON,
        )
        while not self._has_ended:
            try:
                flags.notice_end()
                if not flags.is_connected:
                    flags.connect(place)  # to its first process with flags, or the one after it
                    presence.apply_values_again()
                self._follow_step(presence, flags, place)
            except (FleetError, LiveError, OSError):
                time.sleep(_POLL)  # the program ends, or the member's thread says what is wrong

    def _follow_step(self, presence: Presence, flags: ProgramFlags, place: str) -> None:
        step = flags.steps.gate
        if step == NEVER:
            time.sleep(_POLL)
            return
        reached = flags.wait_for_step(place, int(step), _STEP_WAIT)
        if reached is not None:
            presence.tick(reached)


def run_program(  # noqa: PLR0913 - most have a default
    url: str,
    options: Options,
    command: Sequence[str],
    *,
    count: int | None = None,
    timeout: float = 60.0,
    preload: bool = True,
    patience: float = TIMEOUT,
) -> int:
    """Join a fleet, run a program as its member, leave; return the program's exit status.

    A negative number is that of the signal by which it ended. `count` is how many members must be
    there, with the same values, before it starts; CheckError says who isn't, after `timeout`
    seconds. With `preload`, a program that doesn't serve its flags itself is made to. `patience` is
    for how many seconds to wait for the engine.

    It must be called by the main thread, before other threads were started. Raises OSError if the
    program can't be started.
    """
    agent = Agent(command, str(LIBRARY) if preload else None)

    def begin(folder: str) -> None:
        store = open_store(url, timeout=patience)
        flags = ProgramFlags(store.url, os.path.join(folder, SNAPSHOT), options.tick_timeout)
        presence = agent.presence = Presence(store, options, flags)
        try:
            presence.start()
            if count is not None:
                Barrier(presence, [], count, timeout).wait()
            agent.start(presence, flags, folder)
        except BaseException:
            presence.leave()
            raise

    return agent.run(begin)
