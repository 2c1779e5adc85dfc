"""A store whose state a `Server` of `_memory.py` holds, in another process."""

from __future__ import annotations

import threading
import time
from typing import Any

from paddle_flags.fleet._memory import result_of
from paddle_flags.fleet._store import FleetError, StoredMember, check_name, check_size

_WAIT_AT_ONCE = 5.0  # seconds of one call; a server that is gone is noticed after them


class RemoteStore:
    """A store that calls the methods of another one. Subclasses bring the transport."""

    def __init__(self, url: str, timeout: float) -> None:
        """Make a connection that gives up a call after `timeout` seconds."""
        self.url = url
        self._timeout = timeout
        self._closed = threading.Event()

    def _reply(self, method: str, args: tuple[Any, ...], timeout: float) -> tuple[str, Any]:
        """Call `Server.call` and return what it returned, or raise UnreachableError."""
        raise NotImplementedError

    def _call(self, method: str, *args: Any, extra: float = 0.0) -> Any:
        if self._closed.is_set():
            raise self._is_closed()
        return result_of(self._reply(method, args, self._timeout + extra), self.url)

    def _is_closed(self) -> FleetError:
        return FleetError(f"{self.url}: the store is closed")

    def last(self) -> int:
        """See Store."""
        return int(self._call("last"))

    def append(self, number: int, record: bytes) -> bool:
        """See Store."""
        return bool(self._call("append", number, check_size(record)))

    def read(self, first: int) -> list[bytes]:
        """See Store."""
        return [bytes(record) for record in self._call("read", first)]

    def wait(self, after: int, timeout: float) -> int:
        """See Store."""
        end = time.monotonic() + timeout
        while True:
            now = min(_WAIT_AT_ONCE, max(0.0, end - time.monotonic()))
            last = int(self._call("wait", after, now, extra=now))
            if last > after or time.monotonic() >= end:
                return last

    def base(self) -> tuple[int, bytes]:
        """See Store."""
        number, base = self._call("base")
        return int(number), bytes(base)

    def compact(self, number: int, base: bytes) -> bool:
        """See Store."""
        return bool(self._call("compact", number, check_size(base)))

    def announce(self, name: str, document: bytes, ttl: float) -> None:
        """See Store."""
        self._call("announce", check_name(name), check_size(document), ttl)

    def keep_alive(self, name: str) -> None:
        """See Store."""
        self._call("keep_alive", check_name(name))

    def withdraw(self, name: str, document: bytes) -> None:
        """See Store."""
        self._call("withdraw", check_name(name), check_size(document))

    def member(self, name: str) -> StoredMember | None:
        """See Store."""
        found = self._call("member", check_name(name))
        return None if found is None else StoredMember(bytes(found[0]), bool(found[1]))

    def members(self) -> dict[str, StoredMember]:
        """See Store."""
        found: dict[str, StoredMember] = {}
        last = ""
        while page := self._call("page", last):
            for name, document, alive in page:
                found[name] = StoredMember(bytes(document), bool(alive))
                last = name
        return found

    def close(self) -> None:
        """See Store."""
        self._closed.set()
