"""This process in a fleet: the thread that follows the log, the lease, and the step gate."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from paddle_flags.fleet import _document, _role
from paddle_flags.fleet._arguments import check_count
from paddle_flags.fleet._clock import SYSTEM, Clock
from paddle_flags.fleet._membership import Membership
from paddle_flags.fleet._record import ALL, TELL
from paddle_flags.fleet._snapshot import read_snapshot, write_snapshot
from paddle_flags.fleet._steps import NEVER, TickTimeoutError
from paddle_flags.fleet._store import FleetError, LeaseError, UnreachableError
from paddle_flags.fleet._threads import allocate_reentrant_lock, start_thread
from paddle_flags.fleet._view import View

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from paddle_flags.fleet._flags import Flags
    from paddle_flags.fleet._follow import Numbered
    from paddle_flags.fleet._membership import Options
    from paddle_flags.fleet._record import Record
    from paddle_flags.fleet._store import Store

    Spawn = Callable[[Callable[[], object], str], None]

_POLL = 0.02  # seconds between two looks for a decision that a tick waits for
_PATIENCE = 2.0  # seconds for what the thread is doing when the program ends
_MOST_ANSWERS = 32
_MOST_COMPARED = 32  # documents that are remembered while others compare them
_DETAILS = 30.0  # seconds for which all values are published that somebody has asked for
_PAUSE = 0.1  # seconds between the first tries while the engine is away,
_LONGEST_PAUSE = 0.8  # and between later ones


class Presence(Membership):
    """A membership, as the rest of this package uses it."""

    def __init__(self, store: Store, options: Options, flags: Flags, clock: Clock = SYSTEM) -> None:
        super().__init__(store, options, flags, clock)
        self._published: dict[str, Any] = {}
        self._renewed_at = clock.now()  # when the engine has last had the lease renewed
        self._round = 0  # of check: how often it was called
        self._expect: int | None = None  # and how many members it wants
        self._patterns: list[str] = []  # of the variables that it compares
        self.compared: list[str] = []
        """The digests that others could compare since `check` was called."""
        self._details: dict[str, Any] = {}  # all values, which somebody has asked for
        self._details_end = 0.0
        self._is_lost = False
        self._has_left = False
        self._spawn: Spawn = start_thread
        self.view = View(store.url, lambda: store)
        """What this process sees of the others."""

    @property
    def store(self) -> Store:
        """The connection to the engine; `leave` closes it."""
        return self._store

    # ---- Joining ----

    def start(self, spawn: Spawn = start_thread) -> None:
        """Take the values that the fleet has now, announce the member, and follow.

        `spawn` starts a thread, which has a name.
        """
        self._spawn = spawn
        before = self._flags.values
        with self._lock:
            try:
                self._begin()
            except BaseException:
                self._flags.apply(before, None, [])  # who is no member has no values of the fleet
                raise
        spawn(self._run, f"paddle_flags fleet {self.name}")
        if self._options.on_lost != "keep":
            spawn(self._watch, f"paddle_flags fleet {self.name} lease")

    def _begin(self) -> None:
        try:
            self._refuse_double()
            self._member.start()
        except UnreachableError as error:
            if not self._start_from_file(str(error)):
                raise
            self._lost_since = self._clock.now()
            return
        if not self.revision:
            self._start_from_file(f"{self.url}: the engine has lost its state")
        self._write_snapshot()
        self._announce(self._document())

    def _start_from_file(self, why: str) -> bool:
        """Begin with the values of the snapshot file; return whether it has any."""
        state = read_snapshot(self._options.snapshot) if self._options.snapshot else None
        if state is None or not state.revision:
            return False
        self._member = self._new_member(state)
        self._member.start(read=False)
        self._problem = why
        self._note = f"; the values are those of {self._options.snapshot}"
        return True

    def _refuse_double(self) -> None:
        """Raise FleetError if a process of this machine that runs has the name."""
        if self._options.observe:
            return
        other = _document.document_of(self._store, self.name) or {}
        pid, process = other.get("pid"), other.get("process")
        if other.get("host") != self._host or not isinstance(pid, int) or pid == os.getpid():
            return
        if not process or _role.process_of(pid) != process:
            return  # it was killed, and this is its successor; another one may have its number
        message = f"{self.url}: {self.name} is a member already, process {pid} of this machine"
        raise FleetError(message + "; give another name or rank")

    def leave(self) -> None:
        """Be no member any longer; the values stay, and don't change.

        It takes two seconds at most, also if the engine hangs: then the lease ends by itself.
        """
        if self._stopped:
            return
        self._stopped = True
        self._member.steps.move_gate(NEVER)
        end = self._clock.now() + _PATIENCE
        self._spawn(self._withdraw, f"paddle_flags fleet {self.name} leaves")
        while not self._has_left and self._clock.now() < end:
            self._clock.sleep(_POLL)

    def _withdraw(self) -> None:
        try:
            with self._lock:  # of what the thread is saying
                if self._published and not self._has_successor():
                    self._store.withdraw(self.name, _document.farewell(self._published))
        except (FleetError, OSError):
            pass  # the lease ends by itself
        finally:
            self._store.close()
            self._has_left = True

    def _has_successor(self) -> bool:
        """Whether another process has the name by now, which a farewell would hide."""
        there = _document.document_of(self._store, self.name)
        return there is not None and any(
            there.get(each) != self._published[each] for each in ("host", "pid", "process")
        )

    def abandon(self) -> None:
        """Forget the membership in a forked child, which has no thread for it."""
        self._stopped = True
        self._member.steps.move_gate(NEVER)
        self._lock = allocate_reentrant_lock()  # the other one may be held for ever

    # ---- The threads ----

    def _run(self) -> None:
        pause = 0.0
        while not self._stopped:
            try:
                self._follow_once()
            except (UnreachableError, OSError) as error:
                self._note_loss(str(error))
            except Exception as error:  # noqa: BLE001 - a thread that ends would say nothing
                is_known = isinstance(error, FleetError)
                self._problem = str(error) if is_known else f"{type(error).__name__}: {error}"
                self._try_to_publish()
            else:
                pause = 0.0
                continue
            pause = min(max(_PAUSE, 2 * pause), _LONGEST_PAUSE, self._options.ttl / 3)
            self._clock.sleep(pause)

    def _follow_once(self) -> None:
        """Wait for news, act on them, and say so."""
        last = None
        if self._lost_since is None and not self._problem:
            timeout = min(self._options.ttl / 3, self._member.seconds_until_due())
            last = self._store.wait(self._member.state.revision, timeout)
        if self._stopped:
            return
        with self._lock:
            is_back = self._lost_since is not None or bool(self._problem)
            due = self._clock.now() - self._renewed_at >= self._options.ttl / 3
            if due or is_back:
                self._member.follower.verify()
            news = self._member.follow(last)
            news |= self._note_details_wanted()
            self._lost_since = None
            self._problem = self._note = ""
            if news:
                self._write_snapshot()
        if news:
            self._clock.sleep(self._member.choose_delay())
        if news or due or is_back:
            with self._lock:
                if not self._stopped:
                    self._publish()

    def _watch(self) -> None:
        """Act when the lease has run out, whatever the other thread waits for."""
        while not self._stopped:
            left = self._renewed_at + self._options.ttl - self._clock.now()
            if left > 0 or self._is_lost:
                self._clock.sleep(max(left, _POLL))
                continue
            self._is_lost = True
            if self._options.on_lost == "exit":
                self._flags.end_program()
            else:
                self._member.withdraw_values()

    def _write_snapshot(self) -> None:
        """Write the snapshot file; that it can't be written is no reason to stop following."""
        if not self._options.snapshot:
            return
        try:
            write_snapshot(self._options.snapshot, self._member.state)
            self._file_problem = ""
        except OSError as error:
            self._file_problem = str(error)

    def _note_loss(self, why: str) -> None:
        """Note that the engine is away."""
        self._problem = why
        if self._lost_since is None:
            self._lost_since = self._clock.now()
        with self._lock:
            self._member.end_without_engine()

    # ---- What the member says ----

    def _try_to_publish(self) -> None:
        """Publish what is wrong, if the engine takes it."""
        with suppress(FleetError, OSError), self._lock:
            self._publish()

    def _publish(self) -> None:
        """Publish the document if it has changed, and renew the lease, unless the member leaves."""
        if self._stopped:
            return
        document = self._document()
        if document == self._published and not self._options.observe:
            with suppress(LeaseError):  # it ended while the process was stopped or the engine away
                self._renew()
                return
        try:
            self._announce(document)
        except UnreachableError:
            raise
        except FleetError:  # such as that of a full disk, which says nothing about the member
            self._renew()
            raise

    def _renew(self) -> None:
        self._store.keep_alive(self.name)
        self._note_renewal()

    def _announce(self, document: dict[str, Any]) -> None:
        if not self._options.observe:
            data = _document.encode({**document, "time": self._clock.date()})
            self._store.announce(self.name, data, self._options.ttl)
        self._published = document
        self.compared = [*self.compared, document["digest"]][-_MOST_COMPARED:]
        self._note_renewal()

    def _note_renewal(self) -> None:
        self._renewed_at = self._clock.now()
        if self._is_lost:
            self._is_lost = False
            self._member.restore_values()

    def _document(self) -> dict[str, Any]:
        member, options = self._member, self._options
        facts = self._flags.facts(options.key)
        selected = self._selected_flags() & facts.values.keys()
        texts = {name: each.text for name, each in facts.values.items() if name not in selected}
        variables = _document.variables_of(self._patterns, facts.sensitive)
        texts.update({f"${name}": value for name, value in variables.items()})
        return {
            "version": 2,
            "name": self.name,
            "role": self.role,
            "rank": self.rank,
            "world": self.world,
            "host": self._host,
            "pid": self._flags.pid,
            "process": _role.process_of(self._flags.pid),
            "tick_timeout": options.tick_timeout,
            "revision": member.state.revision,
            "changed": member.state.changed,
            "fleet": member.state.fleet,
            "step": member.steps.last,
            "answers": {str(n): member.answers[n] for n in sorted(member.answers)[-_MOST_ANSWERS:]},
            "counting": member.list_counted(),
            "wanted": member.wanted_values(),
            "values": {n: each for n, each in facts.values.items() if each.source != "default"},
            "selected": sorted(selected),
            "digest": _document.digest(texts) if facts.is_checked else _document.UNCHECKED,
            "sensitive": facts.sensitive,
            "unsafe": facts.unsafe,
            "aliases": facts.aliases,
            "defaults": facts.defaults,
            "standing": member.list_untaken(),
            "problem": self.problem,
            "check": {"round": self._round, "expect": self._expect} if self._round else {},
            "details": self._details if self._clock.now() < self._details_end else {},
        }

    def _selected_flags(self) -> set[str]:
        """Return the flags that members may have differently, since a selector says so."""
        changes = [each for batch in self._member.state.batches for each in batch.changes]
        return {each.name for each in changes if each.on != ALL}

    def apply_values_again(self) -> None:
        """Give the values to a program that has just begun to serve its flags."""
        with self._lock:
            self._member.forget_what_was_applied()
        self.update_document()

    def update_document(self) -> None:
        """Look at the flags again, which have come or changed."""
        with self._lock:
            self._member.follow()
            self._publish()

    def drop_refused_values(self) -> None:
        """Give the values that hold without those that a flag has just refused."""
        self._member.update_values()
        self._spawn(self._try_to_publish, f"paddle_flags fleet {self.name} says")

    # ---- For `check` ----

    @property
    def ttl(self) -> float:
        """How many seconds the lease is."""
        return self._options.ttl

    def begin_check(self, patterns: list[str], expect: int | None) -> int:
        """Publish that `check` was called; return how often it was."""
        with self._lock:
            if self._options.observe:
                message = f"{self.url}: {self.name} observes the fleet: expected a member"
                raise FleetError(message)
            self._member.follow()
            self._round += 1
            self._patterns, self._expect, self.compared = patterns, expect, []
            self._announce(self._document())
            return self._round

    def write(self, record: Record, is_wanted: Callable[[], bool] = lambda: True) -> None:
        """Write a record, unless one that comes before it makes it needless."""
        with self._lock:
            self._member.write(record, is_wanted)
            self._note_details_wanted()
            self._publish()

    @property
    def notes(self) -> list[Numbered]:
        """The last records about checks; the thread reads what comes."""
        return self._member.notes

    def _note_details_wanted(self) -> bool:
        """Note all values, if somebody has asked for them since the last time."""
        asked = [(n, r.check) for n, r in self._member.notes if r.check.get("stage") == TELL]
        if not asked or asked[-1][0] <= self._details.get("of", 0):
            return False
        revision, note = asked[-1]
        self._note_details(revision, note.get("environment", []))
        return True

    def _note_details(self, asked: int, patterns: list[str]) -> None:
        facts = self._flags.facts(self._options.key)
        self._details = {
            "of": asked,
            "values": facts.values,
            "variables": _document.variables_of(patterns, facts.sensitive),
        }
        self._details_end = self._clock.now() + _DETAILS

    def publish_details(self, asked: int, patterns: list[str]) -> None:
        """Publish all values, and the variables that patterns match."""
        with self._lock:
            self._note_details(asked, patterns)
            self._publish()

    # ---- Steps ----

    def tick(self, step: int) -> None:
        """Begin a step; see `paddle_flags.fleet.tick`."""
        if step.__class__ is not int or step < 0:
            check_count("step", -1 if step is None else step)
        self._flags.is_ticking = True
        if self._member.steps.reach(step):
            self._pass_gate(step)

    def _pass_gate(self, step: int) -> None:
        """Wait until it is decided what happens at this step, and do that."""
        member = self._member
        deadline = self._clock.now() + self._options.tick_timeout
        late: Record | None = None
        while not self._stopped and late is None:
            with self._lock:
                try:
                    member.follow()
                except (FleetError, OSError) as error:
                    self._problem = str(error)
                if not member.is_undecided(step):
                    break
                if self._clock.now() >= deadline:
                    late = member.state.question
                    member.stop_waiting()
            self._clock.sleep(member.choose_pause(_POLL))
        if self._stopped:
            return
        with self._lock:
            member.update_values()
            member.set_gate()
        self._try_to_publish()
        if late is not None and self._options.on_late == "raise":
            message = (
                f"{self.url}: step {step}: the change that revision {late.revision} asks about"
                f" is to happen at step {late.at_step}, and wasn't decided within"
                f" {self._options.tick_timeout:g} s"
            )
            raise TickTimeoutError(message)
