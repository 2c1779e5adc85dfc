"""This process in a fleet: the thread that follows the log, the lease, and the step gate."""

from __future__ import annotations

import itertools
import os
import signal
import time
from typing import TYPE_CHECKING

from paddle_flags.fleet import _document, _role
from paddle_flags.fleet._member import Member
from paddle_flags.fleet._membership import Membership
from paddle_flags.fleet._snapshot import Snapshot
from paddle_flags.fleet._steps import NEVER, TickTimeoutError, check_step
from paddle_flags.fleet._store import FleetError, LeaseError, ReadOnlyError, UnreachableError
from paddle_flags.fleet._threads import allocate_reentrant_lock, start_thread

if TYPE_CHECKING:
    from typing import Any

    from paddle_flags.fleet._membership import Options
    from paddle_flags.fleet._store import Store

_POLL = 0.02  # seconds between two looks for a decision that a tick waits for
_VOTING = 0.05  # the same while a proposal is open
_PATIENCE = 2.0  # seconds for what the thread is doing when the program ends
_BACKOFF = (0.1, 0.2, 0.4, 0.8)  # seconds between tries while the engine is away


class Presence(Membership):
    """A membership, as the rest of this package uses it."""

    def __init__(self, store: Store, options: Options) -> None:
        super().__init__(store, options)
        self._dropped = False
        self._published: dict[str, Any] = {}
        self._beat = 0.0  # when the lease was renewed
        self._extra: dict[str, Any] = {}  # of the document: what check() says
        self._checks = itertools.count(1)
        self._started = time.time()
        self._snapshot = Snapshot(options.snapshot)

    @property
    def store(self) -> Store:
        """The connection to the engine; `leave` closes it."""
        return self._store

    # ---- Joining ----

    def start(self) -> None:
        """Take the values that the fleet has now, announce the member, and follow."""
        with self._lock:
            try:
                self._refuse_double()
                self._member.start()
            except UnreachableError as error:
                self._start_cold(error)
            else:
                if not self.revision:
                    self._start_from_file(f"{self.url}: the engine has lost its state")
                self._keep()
                self._announce()
        start_thread(self._run, f"paddle_flags fleet {self.name}")

    def _start_cold(self, error: UnreachableError) -> None:
        """Begin without the engine; the thread goes on trying."""
        if not self._start_from_file(str(error)):
            raise error
        self._lost_since = time.monotonic()

    def _start_from_file(self, why: str) -> bool:
        """Begin with the values of the snapshot file; return whether it has any."""
        state = self._snapshot.read()
        if state is None or not state.revision:
            return False
        self._member = Member(self._store, self._member.selected, state)
        self._member.start(read=False)
        self._problem = why
        self._note = f"; the values are those of {self._options.snapshot}"
        return True

    def _refuse_double(self) -> None:
        """Raise FleetError if a process of this machine that runs has the name."""
        try:
            other = _document.document_of(self._store, self.name) or {}
        except ReadOnlyError:
            return  # a source that has no members
        pid = other.get("pid")
        if other.get("host") != self._host or pid == os.getpid() or not isinstance(pid, int):
            return
        if not _role.is_running(pid):
            return  # it was killed, and this is its successor
        message = f"{self.url}: {self.name} is a member already, process {pid} of this machine"
        raise FleetError(message + "; give another name or rank")

    def leave(self) -> None:
        """Be no member any longer; the values stay, and don't change."""
        if self._stopped:
            return
        self._stopped = True
        self._member.steps.gate = NEVER
        locked = self._lock.acquire(timeout=_PATIENCE)  # a validator may never return
        try:
            if self._published and not self._has_successor():
                data = _document.farewell(self._published)
                self._store.announce(self.name, data, _document.FAREWELL)
        except FleetError:
            pass  # the lease ends by itself
        finally:
            if locked:
                self._lock.release()
            self._store.close()

    def _has_successor(self) -> bool:
        """Whether another process has the name by now, which a farewell would hide."""
        there = _document.document_of(self._store, self.name)
        return there is not None and any(
            there.get(each) != self._published[each] for each in ("host", "pid", "started")
        )

    def abandon(self) -> None:
        """Forget the membership in a forked child, which has no thread for it."""
        self._stopped = True
        self._member.steps.gate = NEVER
        self._lock = allocate_reentrant_lock()  # the other one may be held for ever

    # ---- The thread ----

    def _run(self) -> None:
        tries = 0
        while not self._stopped:
            try:
                self._turn()
                tries = 0
            except (UnreachableError, OSError) as error:
                self._lose(error)
                time.sleep(_BACKOFF[min(tries, len(_BACKOFF) - 1)])
                tries += 1
            except FleetError as error:
                self._problem = str(error)
                self._say_quietly()
                time.sleep(min(_BACKOFF[-1], self._options.ttl / 3))
            except Exception as error:  # noqa: BLE001 - a thread that ends would say nothing
                self._problem = f"{type(error).__name__}: {error}"
                self._say_quietly()
                time.sleep(min(_BACKOFF[-1], self._options.ttl / 3))

    def _turn(self) -> None:
        """Wait for news, act on them, and say so."""
        last = None
        if self._lost_since is None and not self._problem:
            with self._lock:
                timeout = min(self._options.ttl / 3, self._member.left())
                if self._member.votes:
                    timeout = min(timeout, self._member.pause(_VOTING))
            last = self._store.wait(self._member.revision, timeout)
        if self._stopped:
            return
        with self._lock:
            live = self._lost_since is None and not self._problem
            due = time.monotonic() - self._beat >= self._options.ttl / 3
            if due or not live:
                self._member.follower.verify()
            news = self._member.follow(live=live, last=last)
            self._find()
            if news:
                self._keep()
        if news:
            time.sleep(self._member.turn())
        if news or due or not live:
            with self._lock:
                if not self._stopped:
                    self._say()

    def _keep(self) -> None:
        """Write the snapshot file; that it can't be written is no reason to stop following."""
        try:
            self._snapshot.write(self._member.follower.state)
            self._file_problem = ""
        except OSError as error:
            self._file_problem = str(error)

    def _find(self) -> None:
        """Note that the engine answers."""
        self._lost_since = None
        self._problem = self._note = ""
        if self._dropped:
            self._dropped = False
            self._member.apply_all()

    def _lose(self, error: Exception) -> None:
        """Note that the engine is away; act if that lasts longer than a lease."""
        if self._stopped:
            return
        now = time.monotonic()
        self._problem = str(error)
        if self._lost_since is None:
            self._lost_since = now
        with self._lock:
            self._member.renew()  # temporary values end without the engine
            if self._dropped or self._stopped or now - self._lost_since < self._options.ttl:
                return
            self._dropped = True
            if self._options.on_lost == "default":
                self._member.applier.drop()
            elif self._options.on_lost == "exit":
                os.kill(os.getpid(), signal.SIGTERM)

    # ---- What the member says ----

    def _say_quietly(self) -> None:
        """Publish what is wrong, if the engine takes it."""
        try:
            with self._lock:
                self._say()
        except (FleetError, OSError):
            pass

    def _say(self) -> None:
        """Publish the document if it has changed, and renew the lease, unless the member leaves."""
        if self._stopped:
            return
        document = self._document()
        try:
            if document == self._published:
                self._store.keep_alive(self.name)
                self._beat = time.monotonic()
                return
        except ReadOnlyError:
            self._beat = time.monotonic()
            return
        except LeaseError:
            pass  # it ended while the process was stopped or the engine away
        try:
            self._announce(document)
        except UnreachableError:
            raise
        except FleetError:  # such as that of a full disk, which says nothing about the member
            self._store.keep_alive(self.name)
            self._beat = time.monotonic()
            raise

    def _announce(self, document: dict[str, Any] | None = None) -> None:
        document = document or self._document()
        try:
            data = _document.encode({**document, "time": time.time()})
            self._store.announce(self.name, data, self._options.ttl)
            self._published = document
        except ReadOnlyError:
            pass  # a source that has no members
        self._beat = time.monotonic()

    def _document(self) -> dict[str, Any]:
        member, options = self._member, self._options
        facts = _document.facts_of(options.key)
        selected = self._selected_facts(facts.values)
        return {
            "version": 1,
            "name": self.name,
            "role": self.role,
            "rank": self.rank,
            "world": self.world,
            "host": self._host,
            "pid": os.getpid(),
            "started": self._started,
            "ttl": options.ttl,
            "revision": member.revision,
            "fleet": member.follower.state.fleet,
            "step": member.steps.last,
            "answers": _document.latest({r: list(a) for r, a in member.answers.items()}),
            "votes": {str(revision): vote for revision, vote in member.votes.items()},
            "wanted": {n: e.value for n, e in member.applier.wanted.items()},
            "values": _document.changed_of(facts.values),
            "selected": selected,
            "digest": _document.digest_of(facts.values, selected),
            "sensitive": facts.sensitive,
            "unsafe": facts.unsafe,
            "aliases": facts.aliases,
            "problem": self.problem,
            **self._extra,
        }

    def _selected_facts(self, facts: dict[str, Any]) -> list[str]:
        """Return the flags that members may have differently, since a selector says so."""
        tables = self._member.follower.state.tables
        named = {name for on, table in tables.items() if on != "all" for name in table}
        return sorted(named & facts.keys())

    def next_check(self) -> int:
        """Count a call of `check`; return its number, from 1."""
        return next(self._checks)

    def publish(self, extra: dict[str, Any]) -> None:
        """Publish more than usual, and what holds now; used by `check`."""
        with self._lock:
            self._extra = extra
            self._announce()

    def facts(self) -> dict[str, Any]:
        """Return the flags that `check` compares."""
        return _document.facts_of(self._options.key).values

    def secrets(self) -> list[str]:
        """Return all names of the flags that are sensitive."""
        return _document.facts_of(None).sensitive

    def documents(self) -> dict[str, dict[str, Any]]:
        """Return the documents of all members."""
        return _document.documents_of(self._store)

    # ---- Steps ----

    def tick(self, step: int) -> None:
        """Begin a step; see `paddle_flags.fleet.tick`."""
        if step.__class__ is not int or step < 0:
            check_step(step)
        member = self._member
        if member.steps.last is None:
            member.applier.started = True
        if member.steps.reach(step):
            self._pass_gate(step)

    def _pass_gate(self, step: int) -> None:
        """Wait until it is decided what happens at this step, and do that."""
        deadline = time.monotonic() + self._options.tick_timeout
        waiting: list[int] = []
        while not self._stopped:
            with self._lock:
                try:
                    self._member.follow()
                except (FleetError, OSError) as error:
                    self._problem = str(error)
                waiting = self._member.undecided(step)
                if not waiting or time.monotonic() >= deadline:
                    break
                pause = self._member.pause(_POLL)
            time.sleep(pause)
        if self._stopped:
            return
        with self._lock:
            if waiting:
                self._member.give_up(waiting)
            self._member.renew()
            self._member.set_gate()
        self._say_quietly()
        if waiting and self._options.on_late == "raise":
            revisions = ", ".join(map(str, waiting))
            message = (
                f"{self.url}: step {step}: revision {revisions} is to happen at this step, and"
                f" wasn't decided within {self._options.tick_timeout:g} s"
            )
            raise TickTimeoutError(message)
