"""The engine `tcpstore://host:port/job`: the TCPStore of torch.distributed.

    log/1      a record; a compaction replaces it by GONE, and no key is ever deleted
    last       a number near that of the last record, from which readers count on
    base       the number of the last record that it replaces, a newline, the base

Each value that is created once begins with a random number of its writer, who sees by it that the
value is its own. All keys begin with `paddle_flags/job/`, beside those of torch itself. TCPStore
has no access control: whoever reaches the port may write.
"""

from __future__ import annotations

import os
import threading
import uuid
from typing import TYPE_CHECKING

from paddle_flags.fleet._store import (
    CompactedError,
    FleetError,
    StoredMember,
    check_name,
    check_size,
    wait_by_polling,
)
from paddle_flags.fleet._tcpstore_client import Client, version
from paddle_flags.fleet._tcpstore_members import Members

if TYPE_CHECKING:
    from paddle_flags.fleet._url import Url

POLL = 0.05  # seconds between two looks at the log; one takes about 10 µs of the store
_READ_AT_ONCE = 64  # records
_OLDEST = (2, 4)  # of torch; others have no `check`, or end the process when a record is long
_NUMBER = 32  # bytes of a random number
_GONE = b"-"


def open_url(url: Url, timeout: float) -> TcpStore:
    """Name `tcpstore://host:port/job`, or `tcpstore://env/job`: that of this job."""
    if version() < _OLDEST:
        message = f"found torch {'.'.join(map(str, version()))}, expected 2.4 or later"
        raise url.refuse(message)
    job = url.path.strip("/")
    url.option({"poll": ""})
    if len(url.hosts) != 1 or not job:
        message = "expected tcpstore://host:port/job, or tcpstore://env/job"
        raise url.refuse(message)
    host, port = url.hosts[0]
    if (host, port) == ("env", None):
        host, port = _from_environment(url)
    if port is None:
        message = "expected a port, as in tcpstore://host:29500/job"
        raise url.refuse(message)
    return TcpStore(url.text, host, port, job, timeout, poll=url.number("poll", POLL))


def _from_environment(url: Url) -> tuple[str, int]:
    """Return where torchrun has the store of this job."""
    host, port = os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT", "")
    if not host or not port.isdecimal():
        message = "expected MASTER_ADDR and MASTER_PORT in the environment, as torchrun sets"
        raise url.refuse(message)
    return host, int(port)


class TcpStore:
    """A connection to a fleet in a TCPStore."""

    def __init__(  # noqa: PLR0913 - what the address has
        self, url: str, host: str, port: int, job: str, timeout: float, *, poll: float = POLL
    ) -> None:
        """Name a store. The first call connects to it."""
        self.url = url
        self._prefix = f"paddle_flags/{job}/"
        self._client = Client(url, host, port, timeout)
        self._members = Members(url, self._client, self._prefix, self._pause)
        self._known = 0  # the last record that this store has seen
        self._breaks = 0
        self._poll = poll
        self._closed = threading.Event()
        self._pid = os.getpid()

    # -- The log --

    def last(self) -> int:
        """See Store."""
        self._refresh()
        number = self._known
        if not self._client.has(self._record(number + 1)):
            return number
        number = max(number + 1, self._hint())
        while self._client.has(self._record(number + 1)):
            number += 1
        self._known = number
        return number

    def _hint(self) -> int:
        key = self._prefix + "last"
        return int(self._client.get([key])[0]) if self._client.has(key) else 0

    def append(self, number: int, record: bytes) -> bool:
        """See Store."""
        check_size(record)
        last = self.last()
        if not 1 <= number <= last + 1:
            raise FleetError(f"{self.url}: record {number}: the next record is {last + 1}")
        if number <= last or not self._create(self._record(number), record):
            return False
        self._client.set(self._prefix + "last", b"%d" % number)
        return True

    def read(self, first: int) -> list[bytes]:
        """See Store."""
        end = min(self.last(), first + _READ_AT_ONCE - 1)
        values = self._client.get(
            [self._record(number) for number in range(max(first, 1), end + 1)]
        )
        if _GONE in values or first <= self._base()[0]:
            raise CompactedError(f"{self.url}: record {first} was replaced by a base")
        return [value[_NUMBER:] for value in values]

    def wait(self, after: int, timeout: float) -> int:
        """See Store."""
        return wait_by_polling(self.last, self._closed, self._poll, after, timeout)

    def _record(self, number: int) -> str:
        return f"{self._prefix}log/{number}"

    # -- The base --

    def base(self) -> tuple[int, bytes]:
        """See Store."""
        number, _, base = self._base()
        return number, base

    def _base(self) -> tuple[int, bytes, bytes]:
        """Return the number, the stored text and the base that it holds."""
        key = self._prefix + "base"
        if not self._client.has(key):
            return 0, b"", b""
        (text,) = self._client.get([key])
        number, _, base = text[_NUMBER:].partition(b"\n")
        return int(number), text, base

    def compact(self, number: int, base: bytes) -> bool:
        """See Store."""
        check_size(base)
        last = self.last()
        if not 1 <= number <= last:
            raise FleetError(f"{self.url}: base {number}: the last record is {last}")
        new = _random() + b"%d\n%s" % (number, base)
        held = self._base()
        while held[0] < number:
            if self._client.replace(self._prefix + "base", held[1], new) == new:
                self._remove(number)
                return True
            held = self._base()
        return False

    def _remove(self, number: int) -> None:
        """Replace the records up to a number by GONE; the first ones may be so already."""
        first = number
        while first > 1 and self._client.get([self._record(first - 1)]) != [_GONE]:
            first -= 1
        for each in range(first, number + 1):
            self._client.set(self._record(each), _GONE)

    # -- Members --

    def announce(self, name: str, document: bytes, ttl: float) -> None:
        """See Store."""
        self._refresh()
        self._members.announce(check_name(name), check_size(document), ttl)

    def keep_alive(self, name: str) -> None:
        """See Store."""
        self._refresh()
        self._members.keep_alive(check_name(name))

    def withdraw(self, name: str, document: bytes) -> None:
        """See Store."""
        self._refresh()
        self._members.withdraw(check_name(name), check_size(document))

    def member(self, name: str) -> StoredMember | None:
        """See Store."""
        self._refresh()
        return self._members.member(check_name(name))

    def members(self) -> dict[str, StoredMember]:
        """See Store."""
        self._refresh()
        return self._members.members()

    def close(self) -> None:
        """See Store."""
        self._closed.set()
        self._client.close()

    def _create(self, key: str, value: bytes) -> bool:
        """Store a value unless there is one; return whether it is this caller's."""
        mine = _random() + value
        return self._client.create(key, mine) == mine

    def _pause(self, seconds: float) -> None:
        self._closed.wait(seconds)

    def _refresh(self) -> None:
        """Forget what is not known any more, after a fork or a lost connection."""
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._closed = threading.Event()
        if self._breaks != self._client.breaks:
            self._breaks = self._client.breaks
            self._known = 0
            self._members.forget()


def _random() -> bytes:
    return uuid.uuid4().hex.encode()
