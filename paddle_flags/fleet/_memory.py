"""The state of a fleet in the memory of one process, and how that process serves it to others.

Dask's scheduler and an actor of Ray hold a `Server` each. It answers calls of the protocol in one
event loop, with tuples that every transport can carry, to the `RemoteStore`s of other processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import time
from concurrent.futures import CancelledError, Future
from typing import TYPE_CHECKING, Any

from paddle_flags.fleet._store import ERRORS, REMEMBERED, FleetError, Store, StoredMember
from paddle_flags.fleet._threads import start_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from paddle_flags.fleet._open import Url

METHODS = {"last", "append", "read", "wait", "base", "compact"}
METHODS |= {"announce", "keep_alive", "withdraw", "member", "page"}
_READ_AT_ONCE = 8 << 20  # bytes, about
_WAIT_AT_ONCE = 5.0  # seconds of one call; a server that is gone is noticed after them
_NOBODY = b"", 0.0, -math.inf
_URL = "<url>"  # stands in a server's messages for the address that the client used
_loops: dict[int, asyncio.AbstractEventLoop] = {}  # by process


def ensure_event_loop() -> asyncio.AbstractEventLoop:
    """Return the event loop of all stores of this process, which a thread runs."""
    pid = os.getpid()
    if pid not in _loops:
        made = asyncio.new_event_loop()
        if _loops.setdefault(pid, made) is made:
            start_thread(made.run_forever, "paddle_flags engine")
        else:
            made.close()
    return _loops[pid]


class MemoryStore(Store):
    """A fleet in memory, which ends with the process. Used by one thread at a time."""

    def __init__(self, url: str = "memory:", clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(url)
        self._clock = clock
        self._stored = (0, b"")  # the base
        self._log: list[bytes] = []  # the records behind the base
        # The documents, the leases in seconds, and their ends on the clock of this store.
        self._by_name: dict[str, tuple[bytes, float, float]] = {}

    def _last(self) -> int:
        return self._stored[0] + len(self._log)

    def _create(self, number: int, record: bytes) -> bool:
        self._log.append(record)
        return True

    def _read(self, first: int) -> list[bytes]:
        if first <= self._stored[0]:
            raise self._make_compacted_error(first)
        return list(_limit_size((each, each) for each in self._log[first - self._stored[0] - 1 :]))

    def _base(self) -> tuple[int, bytes]:
        return self._stored

    def _replace_records(self, number: int, base: bytes) -> bool:
        del self._log[: number - self._stored[0]]
        self._stored = number, base
        self._members()
        return True

    def _announce(self, name: str, document: bytes, ttl: float) -> None:
        self._by_name[name] = document, ttl, self._clock() + ttl

    def _keep_alive(self, name: str) -> None:
        document, ttl, end = self._by_name.get(name, _NOBODY)
        if end <= self._clock():
            raise self._make_lease_error(name)
        self._announce(name, document, ttl)

    def _member(self, name: str) -> StoredMember | None:
        (document, _, end), now = self._by_name.get(name, _NOBODY), self._clock()
        return StoredMember(document, now < end) if now < end + REMEMBERED else None

    def _members(self) -> dict[str, StoredMember]:
        now, all_of_them = self._clock(), sorted(self._by_name.items())
        self._by_name = {name: each for name, each in all_of_them if now < each[2] + REMEMBERED}
        return {name: StoredMember(each[0], now < each[2]) for name, each in self._by_name.items()}

    def page(self, after: str) -> list[tuple[str, bytes, bool]]:
        """Return the members behind a name; all there are or some, and none at the end."""
        behind = ((name, each) for name, each in self.members().items() if name > after)
        return list(_limit_size((each.document, (name, *each)) for name, each in behind))


def _limit_size(found: Iterable[tuple[bytes, Any]]) -> Iterator[Any]:
    """Return things until the data that is counted for them is enough for one answer."""
    size = 0
    for data, thing in found:
        yield thing
        size += len(data)
        if size > _READ_AT_ONCE:
            return


class Server:
    """The fleets of one process, by the name of their job. All calls come from one event loop."""

    def __init__(self) -> None:
        self._stores: dict[str, MemoryStore] = {}  # each is made when it is first asked for
        self._grown: dict[str, asyncio.Event] = {}

    async def call_store(self, job: str, method: str, args: Sequence[Any]) -> tuple[str, Any]:
        """Return "" and the result, or the name of an error's class and its text."""
        store = self._stores.setdefault(job, MemoryStore(_URL))
        if method not in METHODS:
            return "FleetError", f"{_URL}: the engine has another version: it knows no {method!r}"
        try:
            if method == "wait":
                after, seconds = args
                if store.last() <= after:
                    grown = self._grown.setdefault(job, asyncio.Event())
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(grown.wait(), seconds)
                return "", store.last()
            result = getattr(store, method)(*args)
        except FleetError as error:
            return type(error).__name__, str(error)
        if method == "append" and result:
            self._grown.pop(job, asyncio.Event()).set()
        return "", result


class RemoteStore(Store):
    """A store whose state a `Server` has. Subclasses transport it, in `ensure_event_loop()`."""

    def __init__(self, url: Url, timeout: float) -> None:
        super().__init__(url.text)
        url.resolve_options({})
        self._job = url.path.strip("/")
        self._timeout = timeout
        self._links: list[Any] = []  # connections; only the loop uses them
        self._calls: set[Future[Any]] = set()  # that wait for a reply

    def _reset_process_state(self) -> None:
        self._links, self._calls = [], set()

    def _disconnect(self) -> None:
        for call in list(self._calls):
            call.cancel()
        if self._links:
            ensure_event_loop().call_soon_threadsafe(self._close_connections)

    def _close_connections(self) -> None:
        """Close the connections, in the loop."""

    async def _ask(self, method: str, args: Sequence[Any]) -> tuple[str, Any]:
        """Return what `Server.call_store` returned, or raise OSError."""
        raise NotImplementedError

    def _ask_and_wait(self, method: str, args: Sequence[Any], timeout: float) -> tuple[str, Any]:
        asked = asyncio.wait_for(self._ask(method, args), timeout)
        call = asyncio.run_coroutine_threadsafe(asked, ensure_event_loop())
        self._calls.add(call)
        try:
            self.check_open()
            return call.result()
        except CancelledError as error:
            raise ConnectionAbortedError from error
        finally:
            call.cancel()
            self._calls.discard(call)

    def _run_method(self, method: str, *args: Any) -> Any:
        extra = args[1] if method == "wait" else 0.0
        kind, result = self._ask_and_wait(method, args, self._timeout + extra)
        if kind:
            raise ERRORS.get(kind, FleetError)(str(result).replace(_URL, self.url, 1))
        return result

    def wait(self, after: int, timeout: float) -> int:
        end = time.monotonic() + timeout
        while True:
            now = min(_WAIT_AT_ONCE, max(0.0, end - time.monotonic()))
            last = int(self._run_if_open("wait", after, now))
            if last > after or time.monotonic() >= end:
                return last

    def members(self) -> dict[str, StoredMember]:
        found: dict[str, StoredMember] = {}
        last = ""
        while page := self._run_if_open("page", last):
            for last, document, alive in page:
                found[last] = StoredMember(bytes(document), bool(alive))
        return found
