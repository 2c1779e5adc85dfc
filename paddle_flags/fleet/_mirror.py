"""The values of one fleet kept in another: of a ConfigMap, which has no members, in one that has.

What the source has, the target has, in the name of the mirror; what the target has in the name of
the mirror and the source hasn't is unset. All else is the operators' own. So the target says what
was mirrored, and a mirror that starts again needs to remember nothing.

Values that end by themselves don't count, on either side: a temporary value of an operator hides
the mirrored one until it ends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from paddle_flags._core.frames import public
from paddle_flags.errors import FlagError
from paddle_flags.fleet._follow import Follower, StateLostError
from paddle_flags.fleet._open import TIMEOUT, open_store
from paddle_flags.fleet._operate import ConflictError, Operator, SensitiveError
from paddle_flags.fleet._record import CHANGE, END, Change, Record
from paddle_flags.fleet._state import entries_of
from paddle_flags.fleet._store import FleetError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paddle_flags.fleet._store import Store

POLL = 1.0  # seconds between two looks at both fleets
_PAUSE = 1.0  # seconds until the next try
_TRIES = 20  # of a change, while others change the target

OnProblem = Callable[[FlagError | None], object]
"""Called with each new problem, and with None when all is well again."""


@public
def mirror(  # noqa: PLR0913 - each is a part of its meaning, and most have a default
    source: str,
    target: str,
    *,
    stop: threading.Event | None = None,
    confirm: Iterable[str] = (),
    on_problem: OnProblem | None = None,
    timeout: float = TIMEOUT,
) -> None:
    """Keep the values of the fleet `source` in the fleet `target` until `stop` is set, or for ever.

    `source` is usually a ConfigMap, `configmap:///etc/flags`, and `target` a fleet with members,
    such as `etcd://10.0.0.5:2379/job42`. Each flag that the source has gets its value in the
    target, for the same members, as a change by the address of the source; a flag that the source
    no longer has is unset. If an operator changes such a flag, it is set back; a value for some
    time holds until it ends. All other values of the target stay as they are. Values of the source
    that end by themselves are left out, and those for a step take effect at once.

    It is a loop of its own: run it in a side-car process. While an engine is away, it waits.
    `confirm` names the unsafe flags that are meant, as in `Fleet.change`.
    `on_problem` is called with each new problem, and with None when it is over; the values stay
    meanwhile. An error other than UnreachableError is raised instead if there is no `on_problem`,
    or if nothing has been compared yet.
    """
    one = Mirror(source, target, timeout, tuple(confirm))
    try:
        repeat(one.turn, stop or threading.Event(), on_problem)
    finally:
        one.close()


def repeat(turn: Callable[[], object], stop: threading.Event, on_problem: OnProblem | None) -> None:
    """Make turns, with a pause behind each, until `stop` is set.

    An engine that is away is waited for. Any other error is raised before the first turn that
    succeeds: then a person is there, or a supervisor that shows it. Later ones are tried again,
    if `on_problem` takes them.
    """
    told: set[str] = set()
    has_begun = False
    while not stop.is_set():
        try:
            turn()
        except FlagError as error:
            is_away = isinstance(error, UnreachableError)
            if not is_away and (on_problem is None or not has_begun):
                raise
            if on_problem is not None and str(error) not in told:
                told.add(str(error))
                on_problem(error)
            stop.wait(_PAUSE)
            continue
        has_begun = True
        if told and on_problem is not None:
            told.clear()
            on_problem(None)
        stop.wait(POLL)


class Mirror:
    """One mirror. Used by one thread."""

    def __init__(
        self, source: str, target: str, timeout: float, confirm: Sequence[str] = ()
    ) -> None:
        self._source = Follower(open_store(source, timeout=timeout, create=False))
        self._target = Follower(open_store(target, timeout=timeout))
        self.name = _place(self._source.store)
        self._confirm = confirm
        self._values: dict[tuple[str, str], str] = {}  # of the source, by selector and name
        self._is_due = True  # whether the target may differ

    @property
    def revision(self) -> int:
        """The revision of the target."""
        return self._target.state.revision

    def close(self) -> None:
        """Close both stores."""
        self._source.store.close()
        self._target.store.close()

    def turn(self) -> tuple[int, Record] | None:
        """Make the target what it should be; return the change, or None if there was none.

        Looks for differences only if the source has changed, or somebody else the target. Two
        mirrors of one ConfigMap, which see a change of it at different times, would otherwise
        change the target to and fro meanwhile.
        """
        for _ in range(_TRIES):
            self._catch_up()
            changes = self._changes() if self._is_due else []
            if not changes:
                self._is_due = False
                return None
            with suppress(ConflictError):  # the target has changed since: look again
                return self._write(changes)
        raise FleetError(f"{self._target.store.url}: others were faster {_TRIES} times in a row")

    def _catch_up(self) -> None:
        self._source.catch_up()
        base = self._target.base
        try:
            self._notice(self._target.catch_up())
        except StateLostError:
            self._target = Follower(self._target.store)  # as after a new start
            self._is_due = True
            raise
        target, fleet = self._target, self._source.state.fleet
        if self.name == _place(target.store) or (fleet and fleet == target.state.fleet):
            what = f"is the fleet {self.name} itself: expected another one"
            raise FleetError(f"{target.store.url}: {what}")
        values = {key: entry.value for key, entry in entries_of(self._source.state).items()}
        self._is_due |= values != self._values or target.base != base
        self._values = values

    def _notice(self, news: list[Record]) -> None:
        others = [record for record in news if record.by != self.name]
        self._is_due |= any(each.kind in (CHANGE, END) for each in others)

    def _changes(self) -> list[Change]:
        """Return what makes the target what it should be."""
        there = entries_of(self._target.state).items()
        mine = {key: entry.value for key, entry in there if entry.by == self.name}
        return [
            Change(key[1], self._values.get(key), key[0])
            for key in sorted({**mine, **self._values})
            if mine.get(key) != self._values.get(key)
        ]

    def _write(self, changes: list[Change]) -> tuple[int, Record]:
        reason, expect = f"mirrored from {self.name}", self._target.state.changed
        record = Record(CHANGE, tuple(changes), by=self.name, reason=reason)
        how: Any = {"force": True, "expect": expect, "confirm": self._confirm}
        try:
            revision = Operator(self._target, record, 0.0, **how).run().revision
        except SensitiveError as error:
            message = f"{error}; nothing is mirrored until {self.name} has no value for it"
            raise SensitiveError(message) from None
        with suppress(FleetError):  # the next turn does it
            self._is_due = bool(self._changes())  # if others have changed it again since
            self._target.compact()
        return revision, record


def _place(store: Store) -> str:
    """Return the address without options, by which a mirror knows its values again."""
    return store.url.partition("?")[0]
