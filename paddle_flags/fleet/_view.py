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
    from collections.abc import Callable

    from paddle_flags.fleet._history import Step
    from paddle_flags.fleet._state import Tables
    from paddle_flags.fleet._store import Store

_PERIOD = 0.5  # seconds between two looks, while somebody asks
_SHARE = 4  # a look that takes long is followed by so many times as long a pause
_POLL = 0.02


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

    def __init__(self, url: str, connect: Callable[[], Store]) -> None:
        self.url = url
        self.problem = ""
        """Why the latest look saw nothing, or `""`."""
        self._connect = connect
        self._seen: Seen | None = None
        self._lock = allocate_lock()
        self._until = 0.0  # the thread goes on up to then
        self._runs = False
        self._follower: Follower | None = None

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
            start_thread(self._run, f"paddle_flags view of {self.url}")
        while self._seen is None and not self.problem and time.monotonic() < now + wait:
            time.sleep(_POLL)
        return self._seen

    def _run(self) -> None:
        while True:
            began = time.monotonic()
            try:
                self._seen = self._read()
                self.problem = ""
            except (FleetError, OSError) as error:
                self.problem = str(error)
            except Exception as error:  # noqa: BLE001 - the next look may see something
                self.problem = f"{type(error).__name__}: {error}"
            time.sleep(max(_PERIOD, _SHARE * (time.monotonic() - began)))
            with self._lock:
                if time.monotonic() >= self._until:
                    self._runs = False
                    return

    def _read(self) -> Seen:
        store = self._connect()
        follower = self._follower = self._follower or Follower(store)
        follower.verify()
        follower.catch_up()
        log = history_of(follower.log())
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
