"""The values of one fleet kept in another: of a ConfigMap, which has no members, in one that has.

What the source has, the target has, in the name of the mirror; what the target has in the name of
the mirror and the source hasn't is unset. So a mirror that starts again needs to remember nothing.
Values that expire don't count: one of an operator hides the mirrored one until it ends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from paddle_flags.errors import FlagError
from paddle_flags.extend import hides_internal_frames
from paddle_flags.fleet._configmap import changes_between
from paddle_flags.fleet._follow import Follower, StateLostError
from paddle_flags.fleet._open import TIMEOUT, open_store
from paddle_flags.fleet._operate import ConflictError, Operator, SensitiveError
from paddle_flags.fleet._record import CHANGE, END, Record
from paddle_flags.fleet._state import entries_of
from paddle_flags.fleet._store import FleetError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from paddle_flags.fleet._record import Change

POLL = 1.0  # seconds between two looks at both fleets
_PAUSE = 1.0  # seconds until the next try
_TRIES = 20  # of a change, while others change the target

OnProblem = Callable[[FlagError | None], object]
"""Called with each new problem, and with None when all is well again."""


@hides_internal_frames
def mirror(
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
    time holds until it ends. Values of the source that expire are left out, and those
    for a step take effect at once.

    Run it in a side-car process. `confirm` names the unsafe flags that are meant, as in
    `Fleet.change`. `on_problem` is called with each new problem, and with None when it is over. An
    error other than UnreachableError is raised instead if there is no `on_problem`, or if nothing
    has been compared yet.
    """
    one = Mirror(source, target, timeout, tuple(confirm))
    try:
        repeat(one.copy_changes, stop or threading.Event(), on_problem)
    finally:
        one.close()


def repeat(turn: Callable[[], object], stop: threading.Event, on_problem: OnProblem | None) -> None:
    """Make turns, with a pause behind each, until `stop` is set.

    It waits for an unreachable engine. Any other error is raised before the first turn that
    succeeds: then a person is there, or a supervisor that shows it.
    """
    report = on_problem or (lambda _: None)
    told: set[str] = set()
    has_begun = False
    while not stop.is_set():
        try:
            turn()
        except FlagError as error:
            can_wait = isinstance(error, UnreachableError) or (on_problem and has_begun)
            if not can_wait:
                raise
            if str(error) not in told:
                told.add(str(error))
                report(error)
            stop.wait(_PAUSE)
        else:
            has_begun = True
            if told:
                told.clear()
                report(None)
            stop.wait(POLL)


class Mirror:
    def __init__(
        self, source: str, target: str, timeout: float, confirm: Sequence[str] = ()
    ) -> None:
        self._source = Follower(open_store(source, timeout=timeout, create=False))
        self._target = Follower(open_store(target, timeout=timeout))
        self.name = _address_without_options(self._source)
        self._confirm = confirm
        self._values: dict[tuple[str, str], str] = {}  # of the source, by selector and name
        self._is_due = True  # whether the target may differ

    @property
    def target_revision(self) -> int:
        """The revision of the target."""
        return self._target.state.revision

    def close(self) -> None:
        self._source.store.close()
        self._target.store.close()

    def copy_changes(self) -> tuple[int, Record] | None:
        """Make the target what it should be; return the change, or None if there was none.

        Nothing is compared unless the source has changed, or somebody else the target: two mirrors,
        which see a change of the source at different times, would change the target to and fro.
        """
        for _ in range(_TRIES):
            self._read_new_records()
            changes = self._compute_changes_for_target() if self._is_due else ()
            if not changes:
                self._is_due = False
                return None
            with suppress(ConflictError):  # the target has changed since: look again
                return self._write(changes)
        raise FleetError(f"{self._target.store.url}: others were faster {_TRIES} times in a row")

    def _read_new_records(self) -> None:
        self._source.catch_up()
        base = self._target.base
        try:
            for record in self._target.catch_up():
                self._is_due |= record.by != self.name and record.kind in (CHANGE, END)
        except StateLostError:
            self._target = Follower(self._target.store)  # as after a new start
            self._is_due = True
            raise
        target, fleet = self._target, self._source.state.fleet
        if self.name == _address_without_options(target) or (fleet and fleet == target.state.fleet):
            what = f"is the fleet {self.name} itself: expected another one"
            raise FleetError(f"{target.store.url}: {what}")
        values = {key: entry.value for key, entry in entries_of(self._source.state).items()}
        self._is_due |= values != self._values or target.base != base
        self._values = values

    def _compute_changes_for_target(self) -> tuple[Change, ...]:
        there = entries_of(self._target.state).items()
        mine = {key: entry.value for key, entry in there if entry.by == self.name}
        return changes_between(mine, self._values)

    def _write(self, changes: tuple[Change, ...]) -> tuple[int, Record]:
        reason, expect = f"mirrored from {self.name}", self._target.state.changed
        record = Record(CHANGE, changes, by=self.name, reason=reason)
        how: Any = {"force": True, "expect": expect, "confirm": self._confirm}
        try:
            revision = Operator(self._target, record, 0.0, **how).run().revision
        except SensitiveError as error:
            message = f"{error}; nothing is mirrored until {self.name} has no value for it"
            raise SensitiveError(message) from None
        self._is_due = bool(self._compute_changes_for_target())  # if others have changed it since
        return revision, record


def _address_without_options(follower: Follower) -> str:
    """Return the address without options, by which a mirror knows its values again."""
    return follower.store.url.partition("?")[0]
