"""A fleet of any engine relayed into a folder, for members that read only folders.

Records and decisions go down; documents go both ways, so that answers, votes and `check` work as if
all were in one engine. Whatever is decided is decided in the engine: the copy of a proposal in the
folder leaves its members no deadline after which they would decide.
"""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING

from paddle_flags._core.frames import public
from paddle_flags.fleet import _document, _record
from paddle_flags.fleet._directory import DirectoryStore
from paddle_flags.fleet._follow import Follower, StateLostError
from paddle_flags.fleet._open import TIMEOUT, open_store
from paddle_flags.fleet._record import decision_key
from paddle_flags.fleet._state import ABORT
from paddle_flags.fleet._store import CompactedError, FleetError, LeaseError
from paddle_flags.fleet._turns import repeat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from paddle_flags.fleet._store import Store
    from paddle_flags.fleet._turns import OnProblem

_POLL = 0.1  # seconds between two looks at members
_NEVER = 1e9  # seconds
_UNKNOWN = 60.0  # seconds, for a proposal that an earlier relay has copied
_MARK = "relayed"  # in the documents of members that aren't in the folder


@public
def relay(  # noqa: PLR0913 - each is a part of its meaning, and all have a default
    url: str,
    folder: str,
    *,
    ttl: float = 10.0,
    stop: threading.Event | None = None,
    on_problem: OnProblem | None = None,
    timeout: float = TIMEOUT,
) -> None:
    """Relay the fleet at `url` into a folder, `dir:///path`, until `stop` is set, or for ever.

    Programs that are members of the folder, such as C programs with `libpd_flags_fleet.so`, are
    then members of the fleet; `paddle-flags status URL` shows them like the others. It is a loop of
    its own: run it in a side-car process. While the engine is away, it waits. `on_problem` is as
    for `mirror`.

    Raises FleetError if the folder has another fleet than the engine, or is the engine itself.
    """
    one = Relay(open_store(url, timeout=timeout), open_store(folder, timeout=timeout), ttl)
    try:
        repeat(one.turn, stop or threading.Event(), on_problem, _POLL)
    finally:
        one.close()


class Relay:
    """One relay. Used by one thread."""

    def __init__(self, source: Store, folder: Store, ttl: float) -> None:
        if not isinstance(folder, DirectoryStore):
            message = f"{folder.url}: expected a folder, dir:///path"
            raise FleetError(message)
        if isinstance(source, DirectoryStore) and source.is_same(folder):
            message = f"{folder.url}: is the fleet {source.url} itself: expected another folder"
            raise FleetError(message)
        self._source, self._folder = source, folder
        self._follower = Follower(folder)
        self._is_checked = False
        self._deadlines: dict[int, float] = {}
        self._up, self._down = _Copies(source, ttl), _Copies(folder, ttl)

    def close(self) -> None:
        """Withdraw the members of the folder from the engine, and close both."""
        for copies in (self._up, self._down):
            copies.withdraw()
        self._source.close()
        self._folder.close()

    def turn(self) -> None:
        """Bring each side what the other has that is new."""
        if not self._is_checked:
            self._check()
        self._copy_records()
        self._follower.catch_up()
        self._copy_decisions()
        self._copy_members()

    # ---- Records ----

    def _copy_records(self) -> None:
        last = self._folder.last()
        while True:
            try:
                records = self._source.read(last + 1)
            except CompactedError:
                last = self._copy_base(last)
                continue
            if not records:
                break
            for data in records:
                last += 1
                self._folder.append(last, self._without_deadline(data, last))
        if self._source.last() < last:
            message = (
                f"{self._source.url}: ends before revision {last}, which {self._folder.url} has"
            )
            raise StateLostError(message)

    def _copy_base(self, last: int) -> int:
        """Let the log in the folder begin as that of the engine does."""
        number, data = self._source.base()
        if number > last:
            self._folder.adopt(number, data)
        return max(number, last)

    def _check(self) -> None:
        """Raise StateLostError before anything of another fleet is copied."""
        source = Follower(self._source)
        for each in (source, self._follower):
            each.catch_up()
        own, fleet = self._follower.state.fleet, source.state.fleet
        if own and fleet and own != fleet:
            message = f"{self._folder.url}: is fleet {own}, and {self._source.url} is fleet {fleet}"
            raise StateLostError(message)
        self._is_checked = bool(fleet)

    def _without_deadline(self, data: bytes, number: int) -> bytes:
        try:
            record = _record.decode(data, number)
        except FleetError:
            return data  # a batch of nothing, there as here
        if record.kind != _record.PROPOSE:
            return data
        self._deadlines[number] = time.monotonic() + record.patience
        return _record.encode(record._replace(patience=_NEVER))

    def _copy_decisions(self) -> None:
        for step in self._follower.state.open_proposals():
            key = decision_key(step.revision)
            verdict = self._source.decision(key)
            now = time.monotonic()
            if verdict is None and now >= self._deadlines.setdefault(step.revision, now + _UNKNOWN):
                verdict = self._source.decide(key, f"{ABORT}: nobody had decided".encode())
            if verdict is not None:
                self._folder.decide(key, verdict)
                self._deadlines.pop(step.revision, None)

    # ---- Members ----

    def _copy_members(self) -> None:
        below, there = self._folder.members(), self._source.members()
        own = {n: d for n, d in below.items() if _MARK not in _document.read(d)}
        here = {n: d for n, d in own.items() if not _has_successor(d, there.get(n))}
        self._up.renew(here, there)
        self._down.renew({n: _marked(d) for n, d in there.items() if n not in here}, below)


def _marked(data: bytes) -> bytes:
    return json.dumps({**_document.read(data), _MARK: True}, separators=(",", ":")).encode()


def _is_farewell(data: bytes) -> bool:
    return bool(_document.read(data).get("left"))


def _has_successor(data: bytes, there: bytes | None) -> bool:
    """Whether a document is the farewell of a member whose name another process has there."""
    if there is None or not _is_farewell(data) or _is_farewell(there):
        return False
    left, other = _document.read(data), _document.read(there)
    return any(left.get(each) != other.get(each) for each in ("host", "pid"))


class _Copies:
    """Documents of one side in the store of the other."""

    def __init__(self, store: Store, ttl: float) -> None:
        self._store = store
        self._ttl = ttl
        self._said: dict[str, bytes] = {}
        self._beat = 0.0

    def renew(self, documents: Mapping[str, bytes], stored: Mapping[str, bytes]) -> None:
        """Store what is new of the documents; withdraw other copies, if they are still stored."""
        due = time.monotonic() - self._beat >= self._ttl / 3
        for name in self._said.keys() - documents.keys():
            if stored.get(name) == self._said[name]:  # otherwise, another process has the name
                self._store.withdraw(name)
            del self._said[name]
        for name, data in documents.items():
            if self._said.get(name) != data:
                self._announce(name, data)
                self._said[name] = data
            elif due:
                self._keep(name, data)
        if due:
            self._beat = time.monotonic()

    def _announce(self, name: str, data: bytes) -> None:
        ttl = _document.FAREWELL if _is_farewell(data) else self._ttl
        self._store.announce(name, data, ttl)

    def _keep(self, name: str, data: bytes) -> None:
        try:
            self._store.keep_alive(name)
        except LeaseError:
            self._announce(name, data)

    def withdraw(self) -> None:
        for name in [name for name, data in self._said.items() if not _is_farewell(data)]:
            try:
                self._store.withdraw(name)
            except FleetError:
                return  # their leases end by themselves
