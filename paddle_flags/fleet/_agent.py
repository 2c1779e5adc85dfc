"""`paddle-flags join URL -- COMMAND`: a program in any language takes part in a fleet.

The agent is the member. A file has the fleet's values for the program, which reads it before it
defines its first flag; then the agent reaches the program through its live socket.
"""

from __future__ import annotations

import difflib
import os
import signal
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from paddle_flags.errors import FlagUnsupportedError
from paddle_flags.fleet._check import Barrier
from paddle_flags.fleet._document import Fact, Facts, shorten_for_json
from paddle_flags.fleet._flags import NEVER, Steps, Traits, Values, join_errors
from paddle_flags.fleet._membership import Membership
from paddle_flags.fleet._open import TIMEOUT, open_store
from paddle_flags.fleet._role import AGENT, Options
from paddle_flags.fleet._store import FleetError
from paddle_flags.fleet._threads import start_thread
from paddle_flags.live._errors import LiveConnectionError, LiveError
from paddle_flags.live._rpc import Connection, revision_id_of
from paddle_flags.live._serve import LIBRARY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paddle_flags.fleet._record import Record

if not hasattr(signal, "sigwaitinfo"):
    raise FlagUnsupportedError(
        "join: runs programs on Linux only, as it passes signals on and reaches them through Unix"
        " sockets; a Python program joins by pf.fleet.join()"
    )

_POLL = 0.02  # seconds between two looks for the program's socket, and for a gate
_STEP_WAIT = 5.0  # seconds of one wait for a step
_TIMEOUT = 10.0  # seconds for a request; validators of the program run in it
_ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)
_BY_TERMINAL = (*_ENDING[1:], signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT)
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
_WAITED = signal.valid_signals() - {
    *(*_IGNORED_BY_PYTHON, signal.SIGKILL, signal.SIGSTOP, signal.SIGTTIN, signal.SIGTTOU),
    *(signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGABRT),
    *(signal.SIGSYS, signal.SIGXCPU),  # of this process itself
}  # fmt: skip


class ProgramFlags:
    """The flags of a program, which serves them. It implements `Flags`; any thread may use it."""

    def __init__(self, url: str, folder: str, tick_timeout: float) -> None:
        self.fleet_values: Values = {}
        self.is_ticking = False  # the program says itself whether it runs
        self.pid = self.child = os.getpid()
        self.socket = os.path.join(folder, "live.sock")
        self.file = os.path.join(folder, "fleet")
        self._url = url
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._problem = ""  # why a program that was there doesn't answer
        self.steps: Steps = ProgramSteps(self, tick_timeout)
        self._listed: dict[str, dict[str, Any]] = {}  # all flags by each of their names
        self._mark: str | None = None
        self._runs = False
        self._dropped = 0
        self._write_snapshot([])

    def connect(self) -> None:
        """Begin to use the program that listens; raise LiveConnectionError."""
        connection = Connection(self.socket, _TIMEOUT)
        try:
            connection.__enter__()
            pid = int(connection.ask("hello", {}, _TIMEOUT)["pid"])
        except LiveConnectionError as error:
            connection.__exit__()
            if isinstance(error.__cause__, (FileNotFoundError, ConnectionRefusedError)):
                self._problem = ""  # its process has ended; another one may come
            raise
        with self._lock:
            self._connection, self._problem = connection, ""
            self.pid, self._mark, self._listed = pid, None, {}
        self.steps.move_gate(self.steps.gate)

    @property
    def is_connected(self) -> bool:
        return self._connection is not None

    @property
    def _is_served(self) -> bool:
        """Whether the program answers, or should."""
        return self.is_connected or bool(self._problem)

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Return the answer; raise FleetError if there is none, and LiveError if it refuses."""
        with self._lock:
            if self._connection is None:
                raise FleetError(self._problem or "the program doesn't serve its flags")
            try:
                return self._connection.ask(method, params, _TIMEOUT)
            except LiveConnectionError as error:
                self._disconnect()
                self._problem = f"the program can't be reached: {error}"
                raise FleetError(self._problem) from error

    def disconnect_if_ended(self) -> None:
        """Forget the process that has ended: another one may come."""
        with self._lock:
            if self._connection is not None and self._connection.is_closed_by_peer():
                self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.__exit__()
            self._connection = None

    def terminate_program(self) -> None:
        for pid in {self.pid, self.child} if self.is_connected else {self.child}:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    def _refresh_flags(self) -> dict[str, dict[str, Any]]:
        """Return all flags by each of their names."""
        with self._lock:
            if not self._is_served:
                return {}
            hello = self.ask("hello", {})
            self._runs, self._dropped = hello["startup_over"], hello["dropped"]
            if revision_id_of(hello) == self._mark:
                return self._listed
            found = self.ask("flags.list", {"since": self._mark} if self._mark else {})
            if found["complete"]:
                self._listed = {}
            for name in found["removed"]:
                self._listed.pop(name, None)
            for flag in found["flags"]:
                for name in (flag["name"], *_other_names(flag)):
                    self._listed[name] = flag
            self._mark = revision_id_of(found)
            return self._listed

    def read_flag_traits(self, names: Iterable[str]) -> dict[str, Traits]:
        listed = self._refresh_flags()
        return {name: self._traits_of(listed[name]) for name in names if name in listed}

    def _traits_of(self, flag: dict[str, Any]) -> Traits:
        marks = flag.get("marks", ())
        closed = bool(flag.get("frozen")) or (self._runs and "runtime" not in marks)
        validators = object()  # nobody says whether they are the same
        return Traits(str(flag["source"]), "sensitive" in marks, closed, validators)

    def explain_undefined_flag(self, name: str) -> str:
        listed = self._refresh_flags()
        if not listed:
            return f"{name}: the program has defined no flag yet"
        near = difflib.get_close_matches(name, listed, n=1)
        return f"{name}: no such flag" + (f"; did you mean {near[0]}?" if near else "")

    def collect_public_facts(self, key: bytes | None) -> Facts:
        found = Facts({}, [], [], {}, is_checked=False)  # a check ends before the program starts
        if not self._is_served:
            return found
        with suppress(FleetError):  # while it hangs, its agent is a member all the same
            self._refresh_flags()
        for flag in {id(each): each for each in self._listed.values()}.values():
            marks, name = flag.get("marks", ()), flag["name"]
            sensitive = "sensitive" in marks
            found.add_names(name, _other_names(flag), sensitive=sensitive, unsafe="unsafe" in marks)
            if "per_process" not in marks and not sensitive:
                texts = [flag.get(each) for each in Fact._fields]
                short = (shorten_for_json(t) if isinstance(t, str) else "" for t in texts)
                found.values[name] = Fact(*short)
        return found.with_defaults_digest()

    def count_dropped_values(self) -> int:
        self._refresh_flags()
        return self._dropped

    def check(self, values: Values) -> str | None:
        return self._send_values(values, {"dry_run": True}) if self._is_served else None

    def replace(self, values: Values, about: Record | None, trail: Sequence[Values]) -> str | None:
        problem = None
        if self._is_served:
            changed = [each for name, each in values.items() if self.fleet_values.get(name) != each]
            latest: Any = max(changed, key=lambda each: each.revision, default=about)
            more = {"by": latest.by, "reason": latest.reason} if latest else {}
            if latest and latest.duration is not None:
                more["until"] = int((latest.time + latest.duration) * 1000)
            problem = self._send_values(values, more)
        if problem is None:
            self.fleet_values = dict(values)
            self._write_snapshot(trail)  # also for children that the program starts later
        return problem

    def _send_values(self, values: Values, more: dict[str, Any]) -> str | None:
        texts = {n: {"text": e.value, "revision": e.revision} for n, e in values.items()}
        try:
            self.ask("fleet.apply", {"fleet": self._url, "values": texts, **more})
        except LiveError as error:
            return join_errors(error.errors or [error])
        return None

    def _write_snapshot(self, trail: Sequence[Values]) -> None:
        """Write the values in the order in which they came, for flags that refuse the last."""
        listed: dict[tuple[str, int], str] = {}
        for values in trail:
            listed = {key: text for key, text in listed.items() if key[0] in values}
            listed.update({(name, each.revision): each.value for name, each in values.items()})
        fields = ["paddle_flags fleet 1", self._url]
        for (name, revision), value in listed.items():
            fields += [name, str(revision), value]
        made = f"{self.file}.new"
        with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write("".join(f"{each}\0" for each in [*fields, ""]).encode())
        os.replace(made, self.file)

    def wait_for_step(self) -> int | None:
        """Wait for a step at which something is to happen; return the one that has begun."""
        gate = self.steps.gate
        if gate == NEVER:
            time.sleep(_POLL)
            return None
        asked = {"step": int(gate), "timeout": _STEP_WAIT}
        with Connection(self.socket, _STEP_WAIT + _TIMEOUT) as connection:
            try:
                return int(connection.ask("steps.wait", asked, _STEP_WAIT + _TIMEOUT)["step"])
            except LiveConnectionError:
                raise
            except LiveError:
                return None  # it hasn't in this time


def _other_names(flag: dict[str, Any]) -> list[str]:
    return [*flag.get("aliases", ()), *flag.get("old_names", ())]


class ProgramSteps(Steps):
    """The steps of a program, which waits at its own gate."""

    function = "pd_live_step"

    def __init__(self, program: ProgramFlags, timeout: float) -> None:
        super().__init__()
        self._program = program
        self._timeout = timeout

    def move_gate(self, step: float) -> None:
        super().move_gate(step)
        if not self._program.is_connected:
            return
        closed = None if step == NEVER else int(step)
        with suppress(*([FleetError] if closed is None else [])):  # it may have ended
            answer = self._program.ask("steps.gate", {"step": closed, "timeout": self._timeout})
            self.last = answer["step"]


@dataclass
class Agent:
    """A member of a fleet for a program that it starts.

    The main thread waits for signals, which no other thread gets; another one does the rest.
    """

    url: str
    options: Options
    command: list[str]
    count: int | None
    timeout: float
    preload: bool
    patience: float
    _pid: int | None = None
    _member: Membership | None = None  # as soon as it tries to join
    _failure: BaseException | None = None
    _has_ended = False
    _starting: Any = field(default_factory=threading.Lock)  # held while the program starts

    def run(self) -> int:
        """Run the program to its end; return its exit status, or a signal as a negative number."""
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, _WAITED)
        with tempfile.TemporaryDirectory(prefix="paddle_flags-") as folder:
            try:
                start_thread(lambda: self._join_and_follow(folder, mask), "paddle_flags join")
                return self._forward_signals_until_end()
            finally:
                self._has_ended = True
                if self._member is not None:
                    self._member.leave()
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def _forward_signals_until_end(self) -> int:
        while True:
            given = signal.sigwaitinfo(_WAITED)
            with self._starting:
                pid = self._pid
                self._has_ended = pid is None and given.si_signo in _ENDING
            if self._failure is not None:
                raise self._failure
            if given.si_signo == signal.SIGCHLD:
                ended, status = os.waitpid(pid, os.WNOHANG) if pid else (0, 0)
                if ended:
                    return os.waitstatus_to_exitcode(status)
            elif self._has_ended:
                return -given.si_signo
            elif pid and (given.si_pid or given.si_signo not in _BY_TERMINAL):
                os.kill(pid, given.si_signo)  # what a terminal sends, the program has got itself
            if given.si_signo == signal.SIGTSTP:
                os.kill(os.getpid(), signal.SIGSTOP)

    def _join_and_follow(self, folder: str, mask: set[int]) -> None:
        try:
            store = open_store(self.url, timeout=self.patience)
            flags = ProgramFlags(store.url, folder, self.options.tick_timeout)
            member = self._member = Membership(store, self.options, flags)
            member.start()
            if self.count is not None:
                Barrier(member, [], self.count, self.timeout).wait()
            self._start_program(member, flags, mask)
            self._follow_program(member, flags)
        except BaseException as error:  # the main thread raises it
            self._failure = error
            os.kill(os.getpid(), signal.SIGCHLD)

    def _start_program(self, member: Membership, flags: ProgramFlags, mask: set[int]) -> None:
        environment = {
            **os.environ,
            "PADDLE_FLAGS_LIVE": flags.socket,
            "PADDLE_FLAGS_FLEET_SNAPSHOT": flags.file,
            AGENT: f"{member.name} of {member.url}",
        }
        if self.preload:
            others = os.environ.get("LD_PRELOAD", "").split()
            environment["LD_PRELOAD"] = " ".join([str(LIBRARY), *others])
        how: Any = {"setsigmask": mask, "setsigdef": _IGNORED_BY_PYTHON}
        with self._starting:
            if not self._has_ended:  # by a signal that has come before the program
                pid = os.posix_spawnp(self.command[0], self.command, environment, **how)
                flags.child = self._pid = pid

    def _follow_program(self, member: Membership, flags: ProgramFlags) -> None:
        """Go on with the flags and steps of the program."""
        while not self._has_ended:
            try:
                flags.disconnect_if_ended()
                if not flags.is_connected:
                    flags.connect()  # to its first process with flags, or the one after it
                    member.follow_and_publish(is_new_program=True)
                step = flags.wait_for_step()
                if step is not None:
                    member.tick(step)
            except (FleetError, LiveError, OSError):
                time.sleep(_POLL)  # the program ends, or the member's thread says what is wrong


def run_program(
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
    return Agent(url, options, list(command), count, timeout, preload, patience).run()
