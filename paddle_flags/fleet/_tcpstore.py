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
import uuid
from typing import TYPE_CHECKING, Any

from paddle_flags.fleet._tcpstore_client import Client, version
from paddle_flags.fleet._tcpstore_members import Members

if TYPE_CHECKING:
    from paddle_flags.fleet._url import Url

_READ_AT_ONCE = 64  # records
_OLDEST = (2, 4)  # of torch; others have no `check`, or end the process when a record is long
_NUMBER = 32  # bytes of a random number
_GONE = b"-"


def _from_environment(url: Url) -> tuple[str, int]:
    """Return where torchrun has the store of this job."""
    host, port = os.environ.get("MASTER_ADDR"), os.environ.get("MASTER_PORT", "")
    if not host or not port.isdecimal():
        url.refuse("expected MASTER_ADDR and MASTER_PORT in the environment, as torchrun sets")
    return host, int(port)


class TcpStore(Members):
    """A connection to `tcpstore://host:port/job`, or to `tcpstore://env/job`: that of this job."""

    def __init__(self, url: Url, timeout: float) -> None:
        job = url.path.strip("/")
        super().__init__(url.text, f"paddle_flags/{job}/")
        if version() < _OLDEST:
            url.refuse(f"found torch {'.'.join(map(str, version()))}, expected 2.4 or later")
        if len(url.hosts) != 1 or not job:
            url.refuse("expected tcpstore://host:port/job, or tcpstore://env/job")
        host, port = url.hosts[0]
        if (host, port) == ("env", None):
            host, port = _from_environment(url)
        if port is None:
            url.refuse("expected a port, as in tcpstore://host:29500/job")
        self._client = Client(self, host, port, timeout)
        self._poll = url.poll(self._poll)
        self._known = 0  # the last record that this store has seen
        self._breaks = 0

    def _forked(self) -> None:
        self._client.forked()

    def _disconnect(self) -> None:
        self._client.close()

    def _call(self, method: str, *args: Any) -> Any:
        if self._breaks != self._client.breaks:  # another store may be there now
            self._breaks = self._client.breaks
            self._known, self._names = 0, {}
        return super()._call(method, *args)

    # -- The log --

    def _last(self) -> int:
        number = self._known
        if not self._client.has(self._record(number + 1)):
            return number
        key = f"{self._prefix}last"
        if self._client.has(key):
            number = max(number, int(self._client.get([key])[0]))
        while self._client.has(self._record(number + 1)):
            number += 1
        self._known = number
        return number

    def _append(self, number: int, record: bytes) -> bool:
        last = self._last()
        self._check_next(number, last)
        mine = _random() + record
        if number <= last or self._client.replace(self._record(number), b"", mine) != mine:
            return False
        self._client.set(f"{self._prefix}last", b"%d" % number)
        return True

    def _read(self, first: int) -> list[bytes]:
        end = min(self._last(), first + _READ_AT_ONCE - 1)
        values = self._client.get([self._record(number) for number in range(first, end + 1)])
        if _GONE in values or first <= self._base()[0]:
            raise self._replaced(first)
        return [value[_NUMBER:] for value in values]

    def _record(self, number: int) -> str:
        return f"{self._prefix}log/{number}"

    # -- The base --

    def _base(self) -> tuple[int, bytes, bytes]:
        """Return the number, the base, and the stored text that has both."""
        key = f"{self._prefix}base"
        if not self._client.has(key):
            return 0, b"", b""
        (text,) = self._client.get([key])
        number, _, base = text[_NUMBER:].partition(b"\n")
        return int(number), base, text

    def _compact(self, number: int, base: bytes) -> bool:
        self._check_base(number, self._last())
        new = _random() + b"%d\n%s" % (number, base)
        while (held := self._base())[0] < number:
            if self._client.replace(f"{self._prefix}base", held[2], new) == new:
                self._remove(number)
                return True
        return False

    def _remove(self, number: int) -> None:
        """Replace the records up to a number by GONE; the first ones may be so already."""
        first = number
        while first > 1 and self._client.get([self._record(first - 1)]) != [_GONE]:
            first -= 1
        for each in range(first, number + 1):
            self._client.set(self._record(each), _GONE)


def _random() -> bytes:
    return uuid.uuid4().hex.encode()
