"""What a member has seen of its fleet, for those who ask it often."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from paddle_flags.fleet._difference import Difference, differences_of
from paddle_flags.fleet._document import all_of
from paddle_flags.fleet._follow import Follower
from paddle_flags.fleet._history import history_of
from paddle_flags.fleet._state import tables_of
from paddle_flags.fleet._status import ABSENT, WELL, Status, status_of
from paddle_flags.fleet._store import FleetError
from paddle_flags.fleet._threads import allocate_lock, start_thread

if TYPE_CHECKING:
    from typing import Protocol

    from paddle_flags.fleet._follow import Numbered
    from paddle_flags.fleet._history import Step
    from paddle_flags.fleet._state import Tables
    from paddle_flags.fleet._store import Store

    class Observer(Protocol):
        """Who looks: a member, or somebody who isn't one."""

        @property
        def name(self) -> str: ...
        @property
        def url(self) -> str: ...
        @property
        def left(self) -> bool: ...
        @property
        def store(self) -> Store: ...


_PERIOD = 0.5  # seconds between two looks, while somebody asks
_SHARE = 4  # a look that takes long is followed by so many times as long a pause
_POLL = 0.02
_MOST_STEPS = 256


class Seen(NamedTuple):
    """A fleet, as it was at one moment."""

    status: Status
    differences: list[Difference]
    sensitive: frozenset[str]
    """The flags that are sensitive in any member."""
    tables: Tables
    log: list[Step]
    """The oldest first."""
    moment: float
    """When, by the monotonic clock."""

    @property
    def present(self) -> int:
        """How many members are here."""
        return sum(each.state not in ABSENT for each in self.status.members)

    @property
    def problems(self) -> int:
        """How many members are not well, or have not taken a value that the fleet has now."""
        members = self.status.members
        return sum(each.state not in WELL or bool(each.problems) for each in members)


class View:
    """Looks at the fleet on a thread of its own, which exists only while somebody asks.

    Whoever asks gets what was seen last, and never waits for the engine.
    """

    def __init__(self, member: Observer) -> None:
        self.member = member
        self.seen: Seen | None = None
        self.problem = ""
        """Why the latest look saw nothing, or `""`."""
        self._lock = allocate_lock()
        self._until = 0.0  # the thread goes on up to then
        self._runs = False
        self._follower: Follower | None = None
        self._log: list[Numbered] = []

    def look(self, *, wait: float = 0.0, linger: float = 0.0) -> Seen | None:
        """Return what was seen last, and look again; None: nothing yet.

        If nothing was seen yet, wait for it, but not longer than `wait` seconds. Go on looking for
        `linger` seconds.
        """
        now = time.monotonic()
        with self._lock:
            self._until = max(self._until, now + linger)
            starts, self._runs = not self._runs, True
        if starts:
            start_thread(self._run, f"paddle_flags fleet view {self.member.name}")
        while self.seen is None and not self.problem and time.monotonic() < now + wait:
            time.sleep(_POLL)
        return self.seen

    def _run(self) -> None:
        while True:
            began = time.monotonic()
            self._look()
            time.sleep(max(_PERIOD, _SHARE * (time.monotonic() - began)))
            with self._lock:
                if self.member.left or time.monotonic() >= self._until:
                    self._runs = False
                    return

    def _look(self) -> None:
        try:
            self.seen = self._read()
            self.problem = ""
        except (FleetError, OSError) as error:
            self.problem = str(error)
        except Exception as error:  # noqa: BLE001 - the next look may see something
            self.problem = f"{type(error).__name__}: {error}"

    def _read(self) -> Seen:
        store = self.member.store
        follower = self._follower
        if follower is None:
            follower = Follower(store)
            self._log = follower.log()
            follower.catch_up()
            self._follower = follower
        else:
            follower.verify()
            self._log = [*self._log, *follower.catch_up()]
        self._log = self._log[-_MOST_STEPS:]
        log = history_of(self._log)
        documents = all_of(store)
        here = {name: each for name, each in documents.items() if each["alive"]}
        return Seen(
            status_of(store.url, follower.state, documents, log),
            differences_of(here),
            frozenset(name for each in here.values() for name in each.get("sensitive", ())),
            tables_of(follower.state),
            log,
            time.monotonic(),
        )
