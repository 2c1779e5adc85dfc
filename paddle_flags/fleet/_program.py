"""The flags of another program, which serves them: as the rules of a fleet see them.

Before the program runs, a file has the values for it; it reads them before it defines a flag.
"""

from __future__ import annotations

import difflib
import os
import signal
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from paddle_flags.fleet._document import Fact, Facts, digest, short
from paddle_flags.fleet._flags import Look
from paddle_flags.fleet._steps import NEVER, Steps
from paddle_flags.fleet._store import FleetError
from paddle_flags.live._errors import LiveConnectionError, LiveError
from paddle_flags.live._rpc import Connection, mark_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paddle_flags.fleet._flags import Values
    from paddle_flags.fleet._record import Record

_TIMEOUT = 10.0  # seconds for a request; validators of the program run in it
_LONGEST = 1000  # characters of a reason


class ProgramFlags:
    """The flags of a program. It implements `Flags`, and may be used by any thread."""

    def __init__(self, url: str, path: str, tick_timeout: float) -> None:
        """Give values to the file at a path, until the program is there."""
        self.values: Values = {}
        self.is_ticking = False  # the program says itself whether it runs
        self.pid = self.child = os.getpid()
        self._url = url
        self._path = path
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._problem = ""  # why a program that was there doesn't answer
        self.steps: Steps = ProgramSteps(self, tick_timeout)
        self._listed: dict[str, dict[str, Any]] = {}
        self._mark: str | None = None
        self._runs = False
        self._dropped = 0
        self._write_snapshot([])

    def connect(self, path: str) -> None:
        """Begin to use the program that listens at a path; raise LiveConnectionError."""
        connection = Connection(path, _TIMEOUT)
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
        """Whether the program answers."""
        return self._connection is not None

    @property
    def _is_served(self) -> bool:
        """Whether the program answers, or should."""
        return self._connection is not None or bool(self._problem)

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Return the program's answer.

        Raises FleetError if there is none, and LiveError if it refuses.
        """
        with self._lock:
            if self._connection is None:
                raise FleetError(self._problem or "the program doesn't serve its flags")
            try:
                return self._connection.ask(method, params, _TIMEOUT)
            except LiveConnectionError as error:
                self._connection.__exit__()
                self._connection = None
                self._problem = f"the program can't be reached: {error}"
                raise FleetError(self._problem) from error

    def notice_end(self) -> None:
        """Forget the process that has ended: another one may come."""
        with self._lock:
            if self._connection is not None and self._connection.is_over():
                self._connection.__exit__()
                self._connection = None

    def end_program(self) -> None:
        """Let it end: the process with the flags, and the one that was started."""
        for pid in {self.pid, self.child} if self.is_connected else {self.child}:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    # ---- Looking ----

    def _refresh(self) -> dict[str, dict[str, Any]]:
        """Return all flags by each of their names."""
        with self._lock:
            if not self._is_served:
                return {}
            hello = self.ask("hello", {})
            self._runs, self._dropped = hello["startup_over"], hello["dropped"]
            if mark_of(hello) != self._mark:
                found = self.ask("flags.list", {"since": self._mark} if self._mark else {})
                self._note(found)
                self._mark = mark_of(found)
            return self._listed

    def _note(self, found: dict[str, Any]) -> None:
        if found["complete"]:
            self._listed = {}
        for name in found["removed"]:
            self._listed.pop(name, None)
        for flag in found["flags"]:
            for name in (flag["name"], *flag.get("aliases", ()), *flag.get("old_names", ())):
                self._listed[name] = flag

    def look(self, names: Iterable[str]) -> dict[str, Look]:
        """See Flags."""
        listed = self._refresh()
        return {name: self._look(listed[name]) for name in names if name in listed}

    def _look(self, flag: dict[str, Any]) -> Look:
        marks = flag.get("marks", ())
        closed = bool(flag.get("frozen")) or (self._runs and "runtime" not in marks)
        validators = object()  # nobody says whether they are the same
        return Look(str(flag["source"]), "sensitive" in marks, closed, validators)

    def describe_missing(self, name: str) -> str:
        """See Flags."""
        listed = self._refresh()
        if not listed:
            return f"{name}: the program has defined no flag yet"
        near = difflib.get_close_matches(name, listed, n=1)
        return f"{name}: no such flag" + (f"; did you mean {near[0]}?" if near else "")

    def facts(self, key: bytes | None) -> Facts:  # noqa: ARG002 - sensitive values stay there
        """See Flags."""
        found = Facts({}, [], [], {}, is_checked=False)  # a check ends before the program starts
        if not self._is_served:
            return found
        flags = {id(each): each for each in self._refresh().values()}.values()
        for flag in flags:
            marks, name = flag.get("marks", ()), flag["name"]
            others = [*flag.get("aliases", ()), *flag.get("old_names", ())]
            found.aliases.update(dict.fromkeys(others, name))
            for mark, names in (("sensitive", found.sensitive), ("unsafe", found.unsafe)):
                names.extend([name, *others] if mark in marks else ())
            if "per_process" not in marks and "sensitive" not in marks:
                texts = [_text(flag.get(each)) for each in Fact._fields]
                found.values[name] = Fact._make(texts)
        defaults = digest({name: fact.default_text for name, fact in found.values.items()})
        return found._replace(defaults=defaults)

    def count_dropped(self) -> int:
        """See Flags."""
        self._refresh()
        return self._dropped

    # ---- Giving ----

    def check(self, values: Values) -> str | None:
        """See Flags."""
        return self._give(values, {"dry_run": True}) if self._is_served else None

    def apply(self, values: Values, about: Record | None, trail: Sequence[Values]) -> str | None:
        """See Flags."""
        problem = None
        if self._is_served:
            changed = [each for name, each in values.items() if self.values.get(name) != each]
            latest = max(changed, key=lambda each: each.revision, default=about)
            problem = self._give(values, _about(latest))
        if problem is None:
            self.values = dict(values)
            self._write_snapshot(trail)  # also for children that the program starts later
        return problem

    def _give(self, values: Values, more: dict[str, Any]) -> str | None:
        texts = {n: {"text": e.value, "revision": e.revision} for n, e in values.items()}
        try:
            self.ask("fleet.apply", {"fleet": self._url, "values": texts, **more})
        except LiveError as error:
            text = "; ".join(map(str, error.errors)) or str(error)
            return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
        return None

    def _write_snapshot(self, trail: Sequence[Values]) -> None:
        """Write the values in the order in which they came, for flags that refuse the last."""
        fields = ["paddle_flags fleet 1", self._url]
        listed: dict[tuple[str, int], str] = {}
        for values in trail:
            gone = [key for key in listed if key[0] not in values]
            for key in gone:
                del listed[key]
            listed.update({(name, each.revision): each.value for name, each in values.items()})
        for (name, revision), value in listed.items():
            fields += [name, str(revision), value]
        data = "".join(f"{each}\0" for each in [*fields, ""]).encode()
        made = f"{self._path}.new"
        with open(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
        os.replace(made, self._path)

    # ---- Steps ----

    def wait_for_step(self, path: str, step: int, timeout: float) -> int | None:
        """Wait until the program has begun a step; return the one that it has begun."""
        with Connection(path, timeout + _TIMEOUT) as connection:
            asked = {"step": step, "timeout": timeout}
            try:
                return int(connection.ask("steps.wait", asked, timeout + _TIMEOUT)["step"])
            except LiveError as error:
                if isinstance(error, LiveConnectionError):
                    raise
                return None  # it hasn't in this time


class ProgramSteps(Steps):
    """The steps of a program, which waits at a gate of its own."""

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


def _about(latest: Any) -> dict[str, Any]:
    """Return what the program's audit says of a change."""
    if latest is None:
        return {}
    end = latest.time + (latest.duration or 0)
    until = {} if latest.duration is None else {"until": int(end * 1000)}
    return {"by": latest.by, "reason": latest.reason, **until}


def _text(value: Any) -> str:
    return short(value) if isinstance(value, str) else ""
