"""A membership in a fleet: the thread that follows the log, the lease, and the step gate."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from paddle_flags.fleet import _document, _role
from paddle_flags.fleet._arguments import check_count
from paddle_flags.fleet._clock import SYSTEM, Clock
from paddle_flags.fleet._flags import NEVER, Answer, Flags, TickTimeoutError
from paddle_flags.fleet._member import PAUSE_OF_ONE, Member
from paddle_flags.fleet._process import read_process_start_id
from paddle_flags.fleet._record import ALL, TELL, Record
from paddle_flags.fleet._snapshot import read_snapshot, write_snapshot
from paddle_flags.fleet._state import Selected, State
from paddle_flags.fleet._status import View
from paddle_flags.fleet._store import FleetError, LeaseError, ReadOnlyError, UnreachableError
from paddle_flags.fleet._threads import allocate_reentrant_lock

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from paddle_flags.fleet._store import Store

_POLL = 0.02  # seconds between two looks for a decision that a tick waits for
_PATIENCE = 2.0  # seconds for what the thread is doing when the program ends
_MOST_ANSWERS = 32
_MOST_COMPARED = 32  # documents that are remembered while others compare them
_DETAILS = 30.0  # seconds for which all values are published that somebody has asked for
_ANSWER_OF_ONE = 0.002  # seconds: 500 answers of members in a second
_PAUSE = 0.1  # seconds between the first tries while the engine is away,
_LONGEST_PAUSE = 0.8  # and between later ones


class Membership:
    """This process as a member of a fleet, until `leave` or its end.

    It comes from `paddle_flags.fleet.join`. A forked child has the values, but is no member: the
    thread that follows the fleet isn't in it. It may join itself. Any thread may use a Membership.
    """

    def __init__(
        self, store: Store, options: _role.Options, flags: Flags, clock: Clock = SYSTEM
    ) -> None:
        self.url = store.url
        """The fleet, without a password."""
        self.name = options.name
        """By which operators know this member."""
        self.role = options.role
        """Such as `"trainer"`; None if nothing says it."""
        self.rank = options.rank
        """The number among the processes of the role; None if nothing says it."""
        self.world = options.world
        """How many processes the job has; None if nothing says it."""
        self.host = _role.host_name()
        """The name of this machine."""
        self.left = False
        """Whether this process is no member any longer."""
        self.store = store  # `leave` closes it
        self.ttl = options.ttl
        self.view = View(store.url, lambda: store)  # what this process sees of the others
        self.compared: list[str] = []  # the digests that others could compare since `check`
        self._options = options
        self._flags = flags
        self._clock = clock
        self._lock = clock.make_lock()  # of the member, and of what is published
        self._problem = ""
        self._note = ""
        self._file_problem = ""
        self._lost_since: float | None = None
        self._member = self._new_member()
        self._published: dict[str, Any] = {}
        self._renewed_at = clock.monotonic()  # when the engine has last had the lease renewed
        self._round = 0  # of check: how often it was called
        self._expect: int | None = None  # and how many members it wants
        self._patterns: list[str] = []  # of the variables that it compares
        self._details: dict[str, Any] = {}  # all values, which somebody has asked for
        self._details_end = 0.0
        self._is_lost = False
        self._has_left = False

    def _new_member(self, state: State | None = None) -> Member:
        selected = Selected(self.name, self.role, self.host)
        return Member(self.store, selected, self._flags, state, self._clock)

    def __repr__(self) -> str:
        state = "left" if self.left else f"revision {self.revision}"
        return f"<Membership of {self.name} in {self.url}: {state}>"

    @property
    def revision(self) -> int:
        """The last revision of the fleet that was read."""
        return self._member.log_state.revision

    @property
    def values(self) -> dict[str, str]:
        """The texts that the fleet gives to this process, by flag."""
        return {name: entry.value for name, entry in self._member.values.items()}

    @property
    def answers(self) -> dict[int, Answer]:
        """What became of the latest changes here, by revision."""
        return dict(self._member.answers)

    @property
    def stale(self) -> float | None:
        """For how many seconds the engine has been out of reach; None: it answers."""
        since = self._lost_since
        return None if since is None else self._clock.monotonic() - since

    @property
    def problem(self) -> str:
        """What keeps the member from following the fleet, or `""`."""
        return self._problem + self._note if self._problem else self._file_problem

    def start(self) -> None:
        """Take the values that the fleet has now, announce the member, and follow."""
        before = self._flags.fleet_values
        with self._lock:
            try:
                self._start_from_engine()
            except BaseException:
                self._flags.replace(before, None, [])  # who is no member has no values of the fleet
                raise
        self._clock.spawn(self._run_thread, f"paddle_flags fleet {self.name}")
        if self._options.on_lost != "keep":
            self._clock.spawn(self._watch_lease, f"paddle_flags fleet {self.name} lease")

    def _start_from_engine(self) -> None:
        try:
            self._member.start()
            self._check_name_free()
        except UnreachableError as error:
            if not self._start_from_snapshot(str(error)):
                raise
            self._lost_since = self._clock.monotonic()
            return
        if not self.revision:
            self._start_from_snapshot(f"{self.url}: the engine has lost its state")
        self._write_snapshot()
        self._announce(self._build_document())
        self._check_name_free()  # which may have come at the same moment

    def _start_from_snapshot(self, why: str) -> bool:
        """Begin with the values of the snapshot file; return whether it has any."""
        state = read_snapshot(self._options.snapshot) if self._options.snapshot else None
        if state is None or not state.revision:
            return False
        self._member = self._new_member(state)
        self._member.start(read=False)
        self._problem = why
        self._note = f"; the values are those of {self._options.snapshot}"
        return True

    def _check_name_free(self) -> None:
        """Raise FleetError if a process of this machine that runs has the name."""
        if self._options.observe:
            return
        other = _document.read_if_alive(self.store, self.name) or {}
        pid, process = other.get("pid", 0), other.get("process")
        if other.get("host") != self.host or pid in (0, os.getpid(), self._published.get("pid")):
            return
        if process and read_process_start_id(pid) == process:  # else that one was killed
            what = f"{self.name} is a member already, process {pid} of this machine"
            raise FleetError(f"{self.url}: {what}; give another name or rank")

    def leave(self) -> None:
        """Be no member any longer; the values stay, and don't change.

        It takes two seconds at most, also if the engine hangs: then the lease expires.
        """
        if self.left:
            return
        self.left = True
        self._member.steps.move_gate(NEVER)
        end = self._clock.monotonic() + _PATIENCE
        self._clock.spawn(self._withdraw, f"paddle_flags fleet {self.name} leaves")
        while not self._has_left and self._clock.monotonic() < end:
            self._clock.sleep(_POLL)

    def _withdraw(self) -> None:
        try:
            with self._lock:  # of what the thread is saying
                us, who = self._published, ("host", "pid", "process")
                there = _document.read_if_alive(self.store, self.name) if us else None
                has_successor = there and any(there.get(each) != us[each] for each in who)
                if us and not has_successor:  # whom this would hide
                    self.store.withdraw(self.name, _document.encode_departed_document(us))
        except (FleetError, OSError):
            pass  # the lease expires
        finally:
            self.store.close()
            self._has_left = True

    def forget_in_child(self) -> None:
        """Forget the membership in a forked child, which has no thread for it."""
        self.left = True
        self._member.steps.move_gate(NEVER)
        self._lock = allocate_reentrant_lock()  # the other one may be held for ever

    # ---- The threads ----

    def _run_thread(self) -> None:
        pause = 0.0
        while not self.left:
            try:
                self._follow_once()
            except (UnreachableError, OSError) as error:
                self._problem = str(error)
                if self._lost_since is None:
                    self._lost_since = self._clock.monotonic()
                with self._lock:
                    self._member.end_expired_locally()
            except Exception as error:  # a thread that ends would say nothing
                is_known = isinstance(error, FleetError)
                self._problem = str(error) if is_known else f"{type(error).__name__}: {error}"
                self._try_to_publish()
            else:
                pause = 0.0
                continue
            pause = min(max(_PAUSE, 2 * pause), _LONGEST_PAUSE, self.ttl / 3)
            self._clock.sleep(pause)

    def _follow_once(self) -> None:
        """Wait for news, act on them, and say so."""
        last = None
        if self._lost_since is None and not self._problem:
            timeout = min(self.ttl / 3, self._member.seconds_until_due())
            last = self.store.wait(self.revision, timeout)
        if self.left:
            return
        with self._lock:
            is_back = self._lost_since is not None or bool(self._problem)
            due = self._clock.monotonic() - self._renewed_at >= self.ttl / 3
            if due or is_back:
                self._member.follower.check_same_log()
            news = self._member.follow(last)
            news |= self._collect_wanted_details()
            self._lost_since = None
            self._problem = self._note = ""
            if news:
                self._write_snapshot()
        if news:
            self._clock.sleep(self._clock.random_delay(self._member.scale_by_peers(_ANSWER_OF_ONE)))
        if news or due or is_back:
            with self._lock:
                self._publish()

    def _watch_lease(self) -> None:
        """Act when the lease has run out, whatever the other thread waits for."""
        while not self.left:
            left = self._renewed_at + self.ttl - self._clock.monotonic()
            if left > 0 or self._is_lost:
                self._clock.sleep(max(left, _POLL))
                continue
            self._is_lost = True
            if self._options.on_lost == "exit":
                self._flags.terminate_program()
            else:
                self._member.withhold_values(withheld=True)

    def _write_snapshot(self) -> None:
        """Write the snapshot file; that it can't be written is no reason to stop following."""
        if self._options.snapshot:
            try:
                write_snapshot(self._options.snapshot, self._member.log_state)
                self._file_problem = ""
            except OSError as error:
                self._file_problem = str(error)

    # ---- What the member says ----

    def _try_to_publish(self) -> None:
        with suppress(FleetError, OSError), self._lock:
            self._publish()

    def _publish(self) -> None:
        """Publish the document if it has changed, and renew the lease, unless the member leaves."""
        if self.left:
            return
        document = self._build_document()
        if document == self._published and not self._options.observe:
            with suppress(LeaseError):  # it ended while the process was stopped or the engine away
                self._renew_lease()
                return
        try:
            self._announce(document)
        except FleetError as error:
            if not isinstance(error, UnreachableError):
                self._renew_lease()  # as if the disk is full, which says nothing about the member
            raise

    def _renew_lease(self) -> None:
        self.store.keep_alive(self.name)
        self._note_lease_renewal()

    def _announce(self, document: dict[str, Any]) -> None:
        if not self._options.observe:
            data = _document.encode({**document, "time": self._clock.wall_time()})
            self.store.announce(self.name, data, self.ttl)
        self._published = document
        self.compared = [*self.compared, document["digest"]][-_MOST_COMPARED:]
        self._note_lease_renewal()

    def _note_lease_renewal(self) -> None:
        self._renewed_at = self._clock.monotonic()
        if self._is_lost:
            self._is_lost = False
            self._member.withhold_values(withheld=False)

    def _build_document(self) -> dict[str, Any]:
        member, state = self._member, self._member.log_state
        facts = self._flags.collect_public_facts(self._options.key)
        changes = [each for batch in state.batches for each in batch.changes]
        selected = {each.name for each in changes if each.on != ALL} & facts.values.keys()
        texts = {name: each.text for name, each in facts.values.items() if name not in selected}
        variables = _document.matching_variables(self._patterns, facts.sensitive)
        texts.update({f"${name}": value for name, value in variables.items()})
        return {
            "version": 2,
            **_fields_of(self, "name", "role", "rank", "world", "host"),
            "pid": self._flags.pid,
            "process": read_process_start_id(self._flags.pid),
            "tick_timeout": self._options.tick_timeout,
            **_fields_of(state, "revision", "changed", "fleet"),
            "step": member.steps.last,
            "answers": {str(n): member.answers[n] for n in sorted(member.answers)[-_MOST_ANSWERS:]},
            "counting": member.list_changes_to_end(),
            "wanted": member.compute_fleet_values(),
            "values": {n: each for n, each in facts.values.items() if each.source != "default"},
            "selected": sorted(selected),
            "digest": _document.digest(texts) if facts.is_checked else _document.UNCHECKED,
            **_fields_of(facts, "sensitive", "unsafe", "aliases", "defaults"),
            "standing": member.list_unapplied_changes(),
            "problem": self.problem,
            "check": {"round": self._round, "expect": self._expect} if self._round else {},
            "details": self._details if self._clock.monotonic() < self._details_end else {},
        }

    def follow_and_publish(self, *, is_new_program: bool = False) -> None:
        """Apply the log to flags that have come or changed, and publish what this member has."""
        with self._lock:
            if is_new_program:
                self._member.forget_what_was_applied()
            self._member.follow()
            self._publish()

    def drop_refused_values(self) -> None:
        """Give the values that hold without those that a flag has just refused."""
        self._member.update_values()
        self._clock.spawn(self._try_to_publish, f"paddle_flags fleet {self.name} says")

    def announce_check(self, patterns: list[str], expect: int | None) -> int:
        """Publish that `check` was called; return how often it was."""
        with self._lock:
            if self._options.observe:
                what = f"{self.name} observes the fleet: expected a member"
                raise FleetError(f"{self.url}: {what}")
            self._member.follow()
            self._round += 1
            self._patterns, self._expect, self.compared = patterns, expect, []
            self._announce(self._build_document())
            return self._round

    def write_note(self, record: Record, is_wanted: Callable[[], bool] = lambda: True) -> None:
        """Write a record about a check; a member that may not write the log notes it for itself."""
        with self._lock:
            try:
                self._member.write_and_handle_news(record, is_wanted)
            except ReadOnlyError:
                self.notes.append(record._replace(revision=self.revision + 1))
            self._collect_wanted_details()
            self._publish()

    @property
    def notes(self) -> list[Record]:
        """The last records about checks; the thread reads what comes."""
        return self._member.notes

    def _collect_wanted_details(self) -> bool:
        """Note all values, if somebody has asked for them since the last time."""
        asked = [each for each in self.notes if each.check.get("stage") == TELL]
        if not asked or asked[-1].revision <= self._details.get("of", 0):
            return False
        facts = self._flags.collect_public_facts(self._options.key)
        patterns = asked[-1].check.get("environment")
        self._details = {
            "of": asked[-1].revision,
            "values": facts.values,
            "variables": _document.matching_variables(patterns or (), facts.sensitive),
        }
        self._details_end = self._clock.monotonic() + _DETAILS
        return True

    def tick(self, step: int) -> None:
        """Begin a step; see `paddle_flags.fleet.tick`."""
        if step.__class__ is not int or step < 0:
            check_count("step", -1 if step is None else step)
        self._flags.is_ticking = True
        if self._member.steps.reach_and_test_gate(step):
            self._wait_at_step_gate(step)

    def _wait_at_step_gate(self, step: int) -> None:
        """Wait until it is decided what happens at this step, and do that."""
        member, timeout = self._member, self._options.tick_timeout
        deadline = self._clock.monotonic() + timeout
        late: Record | None = None
        while not self.left and late is None:
            with self._lock:
                try:
                    member.follow()
                except (FleetError, OSError) as error:
                    self._problem = str(error)
                if not member.is_undecided(step):
                    break
                if self._clock.monotonic() >= deadline:
                    late = member.log_state.question
                    member.stop_waiting()
            self._clock.sleep(max(_POLL, member.scale_by_peers(PAUSE_OF_ONE)))
        if self.left:
            return
        with self._lock:
            member.update_values()
            member.update_gate()
        self._try_to_publish()
        if late is not None and self._options.on_late == "raise":
            asked = f"the change that revision {late.revision} asks about"
            what = f"is to happen at step {late.at_step}, and wasn't decided within {timeout:g} s"
            raise TickTimeoutError(f"{self.url}: step {step}: {asked} {what}")


def _fields_of(thing: object, *names: str) -> dict[str, Any]:
    return {name: getattr(thing, name) for name in names}
