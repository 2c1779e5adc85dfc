"""The engine `tcpstore://host:port/job`: the TCPStore of torch.distributed.

    log/1            a record; a compaction replaces it by GONE, and no key is ever deleted
    last             a number near that of the last record, from which readers count on
    base             the number of the last record that it replaces, a newline, the base
    members/of/NAME  an announcement: a random number, the lease in seconds, a newline, a document;
                     or "-", the time at which the lease ended, a newline, a document; or "-"
    members/by/NAME  the machine and its monotonic clock, the time, and a random number, which each
                     renewal changes
    members/count    how many names there are
    members/name/1   a name
    members/at/NAME  its number: the name is listed

Records and bases begin with a random number of their writer, who sees by it that they are its own.
All keys begin with `paddle_flags/job/`, beside those of torch itself. TCPStore has no access
control: whoever reaches the port may write. It has no leases either, and cannot list keys.

A reader counts, on its own monotonic clock, how long it has seen an announcement without a renewal.
When that is longer than the lease, the reader marks the announcement as ended, if it is still the
same one: so a lease that has ended for one has ended for all, and its owner learns it.

Whoever sees a member for the first time knows when it renewed its lease if both are on one machine.
Of other machines, there is only the time, by clocks that may differ. If that leaves a doubt, the
reader looks again until it sees a renewal, or should have seen one: members renew their leases
after a third of them, and by two thirds at the latest.
"""

from __future__ import annotations

import os
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags.fleet._store import REMEMBERED, Store, StoredMember
from paddle_flags.fleet._tcpstore_client import Client, version

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paddle_flags.fleet._url import Url

_READ_AT_ONCE = 64  # records
_OLDEST = (2, 4)  # of torch; others have no `check`, or end the process when a record is long
_NUMBER = 32  # bytes of a random number
_GONE = _ENDED = b"-"
_NEAR = 30.0  # seconds by which the clocks of two machines may differ
_MARGIN = 1.0  # seconds by which a renewal may be late
_PAUSE = 0.2  # seconds until the next look


def _machine() -> str:
    """Return what tells machines apart whose processes share a monotonic clock; "-" if unknown."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{os.uname().nodename}/{boot}/{os.readlink('/proc/self/ns/time')}"
    except OSError:
        return "-"


MACHINE = _machine()


class _Look(NamedTuple):
    """What a reader has seen of a member."""

    beat: bytes
    since: float  # when it saw this for the first time, on the monotonic clock
    sure: bool  # whether it was written then, and not earlier


class TcpStore(Store):
    """A connection to `tcpstore://host:port/job`, or to `tcpstore://env/job`: that of this job."""

    def __init__(self, url: Url, timeout: float) -> None:
        job = url.path.strip("/")
        super().__init__(url.text)
        if version() < _OLDEST:
            url.refuse(f"found torch {'.'.join(map(str, version()))}, expected 2.4 or later")
        if len(url.hosts) != 1 or not job:
            url.refuse("expected tcpstore://host:port/job, or tcpstore://env/job")
        host, port = url.hosts[0]
        if (host, port) == ("env", None):  # as torchrun sets
            host, named = os.environ.get("MASTER_ADDR", ""), os.environ.get("MASTER_PORT", "")
            if not host or not named.isdecimal():
                url.refuse("expected MASTER_ADDR and MASTER_PORT in the environment")
            port = int(named)
        if port is None:
            url.refuse("expected a port, as in tcpstore://host:29500/job")
        self._client = Client(self, host, port, timeout)
        self._prefix = f"paddle_flags/{job}"
        self._poll = url.poll(self._poll)
        self._known = 0  # the last record that this store has seen
        self._names: dict[int, str] = {}  # by their number; they never change
        self._looks: dict[str, _Look] = {}
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
        if not self._client.has(self._key("log", number + 1)):
            return number
        key = self._key("last")
        if self._client.has(key):
            number = max(number, int(self._client.get([key])[0]))
        while self._client.has(self._key("log", number + 1)):
            number += 1
        self._known = number
        return number

    def _append(self, number: int, record: bytes) -> bool:
        last = self._last()
        self._check_next(number, last)
        mine = _random() + record
        if number <= last or self._client.replace(self._key("log", number), b"", mine) != mine:
            return False
        self._client.set(self._key("last"), b"%d" % number)
        return True

    def _read(self, first: int) -> list[bytes]:
        end = min(self._last(), first + _READ_AT_ONCE - 1)
        values = self._client.get([self._key("log", number) for number in range(first, end + 1)])
        if _GONE in values or first <= self._base()[0]:
            raise self._replaced(first)
        return [value[_NUMBER:] for value in values]

    # -- The base --

    def _base(self) -> tuple[int, bytes, bytes]:
        """Return the number, the base, and the stored text that has both."""
        key = self._key("base")
        if not self._client.has(key):
            return 0, b"", b""
        (text,) = self._client.get([key])
        number, _, base = text[_NUMBER:].partition(b"\n")
        return int(number), base, text

    def _compact(self, number: int, base: bytes) -> bool:
        self._check_base(number, self._last())
        new = _random() + b"%d\n%s" % (number, base)
        while (held := self._base())[0] < number:
            if self._client.replace(self._key("base"), held[2], new) == new:
                self._remove(number)
                return True
        return False

    def _remove(self, number: int) -> None:
        """Replace the records up to a number by GONE; the first ones may be so already."""
        first = number
        while first > 1 and self._client.get([self._key("log", first - 1)]) != [_GONE]:
            first -= 1
        for each in range(first, number + 1):
            self._client.set(self._key("log", each), _GONE)

    # -- Members --

    def _announce(self, name: str, document: bytes, ttl: float) -> None:
        self._renew(name)
        self._write(name, b"%s %r\n%s" % (_random(), ttl, document))

    def _withdraw(self, name: str, document: bytes) -> None:
        self._write(name, _ended(time.time(), document))

    def _write(self, name: str, text: bytes) -> None:
        """Store the announcement of a member, and then its name."""
        self._client.set(self._key("members/of", name), text)
        if not self._client.has(self._key("members/at", name)):
            count = self._client.add(self._key("members/count"), 1)
            self._client.set(self._key("members/name", count), name.encode())
            self._client.set(self._key("members/at", name), b"%d" % count)

    def _keep_alive(self, name: str) -> None:
        _, alive = self._look_at(self._listed(name)).get(name, (b"", False))
        if alive is False:
            raise self._ended(name)
        self._renew(name)

    def _renew(self, name: str) -> None:
        now = time.monotonic()
        beat = b"%s %r %r %s" % (MACHINE.encode(), now, time.time(), _random())
        self._client.set(self._key("members/by", name), beat)
        self._looks[name] = _Look(beat, now, sure=True)

    def _member(self, name: str) -> StoredMember | None:
        return self._stored(self._listed(name)).get(name)

    def _members(self) -> dict[str, StoredMember]:
        return self._stored(list(self._all_names()))

    def _listed(self, name: str) -> list[str]:
        """Return a list of the name, if there is such a member."""
        return [name] if self._client.has(self._key("members/of", name)) else []

    def _all_names(self) -> set[str]:
        """Return all names. One whose number is taken may be stored later, or never."""
        count = self._client.add(self._key("members/count"), 0)
        new = [n for n in range(1, count + 1) if n not in self._names]
        if new and not self._client.has(*(self._key("members/name", n) for n in new)):
            new = [n for n in new if self._client.has(self._key("members/name", n))]
        self._names.update(zip(new, map(bytes.decode, self._get("members/name", new))))
        return set(self._names.values())

    def _stored(self, names: Sequence[str]) -> dict[str, StoredMember]:
        """Return members, as soon as no doubt is left."""
        seen = self._look_at(names)
        while doubtful := [name for name, (_, alive) in seen.items() if alive is None]:
            self.closed.wait(_PAUSE)
            seen = {name: look for name, look in seen.items() if name not in doubtful}
            seen.update(self._look_at(doubtful))
        return {
            name: StoredMember(text.partition(b"\n")[2], bool(alive))
            for name, (text, alive) in sorted(seen.items())
        }

    def _look_at(self, names: Sequence[str]) -> dict[str, tuple[bytes, bool | None]]:
        """Return announcements, and whether their leases run: None if there is a doubt."""
        seen: dict[str, tuple[bytes, bool | None]] = {}
        running = []
        for name, text in zip(names, self._get("members/of", names)):
            if not text.startswith(_ENDED):
                running.append((name, text))
            elif text != _ENDED and time.time() - _seconds(text) < REMEMBERED:
                seen[name] = text, False
            elif text != _ENDED:
                self._client.replace(self._key("members/of", name), text, _ENDED)
        beats = self._get("members/by", [name for name, _ in running])
        for (name, text), beat in zip(running, beats):
            seen[name] = text, self._runs(name, text, beat)
        return seen

    def _runs(self, name: str, text: bytes, beat: bytes) -> bool | None:
        """Return whether a lease runs; mark it if it has ended."""
        ttl, look = _seconds(text), self._look(name, beat)
        seen = time.monotonic() - look.since
        age = seen if look.sure else time.time() - float(beat.split()[2])
        is_silent = seen > min(ttl * 2 / 3, _NEAR) + _MARGIN
        if seen > ttl or (is_silent and age > ttl + _NEAR):
            ended = _ended(time.time(), text.partition(b"\n")[2])
            self._client.replace(self._key("members/of", name), text, ended)
            return False
        if look.sure or -_NEAR < age < ttl - _NEAR:
            return True
        return False if is_silent else None

    def _look(self, name: str, beat: bytes) -> _Look:
        """Return what this reader knows of the last renewal."""
        look, now = self._looks.get(name), time.monotonic()
        if look is None or look.beat != beat:
            machine, clock, _, _ = beat.decode().split()
            is_here = look is None and machine == MACHINE != "-"
            since = min(now, float(clock)) if is_here else now
            look = self._looks[name] = _Look(beat, since, sure=is_here or look is not None)
        return look

    def _get(self, part: str, names: Sequence[object]) -> list[bytes]:
        return self._client.get([self._key(part, name) for name in names])

    def _key(self, *parts: object) -> str:
        return "/".join([self._prefix, *map(str, parts)])


def _random() -> bytes:
    return uuid.uuid4().hex.encode()


def _ended(when: float, document: bytes) -> bytes:
    return b"%s %r\n%s" % (_ENDED, when, document)


def _seconds(text: bytes) -> float:
    """Return the lease of an announcement, or the time at which it ended."""
    return float(text.partition(b"\n")[0].split()[1])
