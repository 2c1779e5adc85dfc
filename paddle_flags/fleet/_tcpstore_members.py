"""Members in a TCPStore, which has no leases and cannot list keys.

    members/of/NAME  an announcement: a random number, the lease in seconds, a newline, a document;
                     or "-", the time at which the lease ended, a newline, a document; or "-"
    members/by/NAME  the machine and its monotonic clock, the time, and a random number, which each
                     renewal changes
    members/count    how many names there are
    members/name/1   a name
    members/at/NAME  its number: the name is listed

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
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from paddle_flags.fleet._store import REMEMBERED, Store, StoredMember

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from paddle_flags.fleet._tcpstore_client import Client

_T = TypeVar("_T")

_AT_ONCE = 64  # keys of one call
_ENDED = b"-"
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


class Members(Store):
    """The members of one fleet, of which the log is elsewhere."""

    _client: Client

    def __init__(self, url: str, prefix: str) -> None:
        """Use the keys that begin with a prefix."""
        super().__init__(url)
        self._prefix = prefix
        self._names: dict[int, str] = {}  # by their number; they never change
        self._looks: dict[str, _Look] = {}

    # -- Writing --

    def _announce(self, name: str, document: bytes, ttl: float) -> None:
        self._renew(name)
        self._write(name, b"%s %r\n%s" % (uuid.uuid4().hex.encode(), ttl, document))

    def _withdraw(self, name: str, document: bytes) -> None:
        self._write(name, _ended(time.time(), document))

    def _write(self, name: str, text: bytes) -> None:
        """Store the announcement of a member, and then its name."""
        self._client.set(self._key("of", name), text)
        if not self._client.has(self._key("at", name)):
            count = self._client.add(self._key("count"), 1)
            self._client.set(self._key("name", count), name.encode())
            self._client.set(self._key("at", name), b"%d" % count)

    def _keep_alive(self, name: str) -> None:
        _, alive = self._look_at(self._listed(name)).get(name, (b"", False))
        if alive is False:
            raise self._ended(name)
        self._renew(name)

    def _renew(self, name: str) -> None:
        now = time.monotonic()
        beat = f"{MACHINE} {now!r} {time.time()!r} {uuid.uuid4().hex}".encode()
        self._client.set(self._key("by", name), beat)
        self._looks[name] = _Look(beat, now, sure=True)

    # -- Reading --

    def _member(self, name: str) -> StoredMember | None:
        return self._stored(self._listed(name)).get(name)

    def _members(self) -> dict[str, StoredMember]:
        return self._stored(list(self._all_names()))

    def _listed(self, name: str) -> list[str]:
        """Return a list of the name, if there is such a member."""
        return [name] if self._client.has(self._key("of", name)) else []

    def _all_names(self) -> set[str]:
        """Return all names. One whose number is taken may be stored later, or never."""
        count = self._client.add(self._key("count"), 0)
        unknown = [number for number in range(1, count + 1) if number not in self._names]
        for page in _pages(unknown):
            there = page
            if not self._client.has(*(self._key("name", number) for number in page)):
                there = [n for n in page if self._client.has(self._key("name", n))]
            for number, name in zip(there, self._get("name", there)):
                self._names[number] = name.decode()
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
        for name, text in zip(names, self._get("of", names)):
            if not text.startswith(_ENDED):
                running.append((name, text))
            elif text != _ENDED and time.time() - _seconds(text) < REMEMBERED:
                seen[name] = text, False
            elif text != _ENDED:
                self._client.replace(self._key("of", name), text, _ENDED)
        for (name, text), beat in zip(running, self._get("by", [name for name, _ in running])):
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
            self._client.replace(self._key("of", name), text, ended)
            return False
        if look.sure or -_NEAR < age < ttl - _NEAR:
            return True
        return False if is_silent else None

    def _look(self, name: str, beat: bytes) -> _Look:
        """Return what this reader knows of the last renewal."""
        look, now = self._looks.get(name), time.monotonic()
        if look is None or look.beat != beat:
            machine, clock, _, _ = beat.decode().split()
            if look is None and machine == MACHINE != "-":
                now = min(now, float(clock))
                look = _Look(beat, now, sure=True)
            else:
                look = _Look(beat, now, sure=look is not None)
            self._looks[name] = look
        return look

    def _get(self, part: str, names: Sequence[object]) -> list[bytes]:
        """Return the values of keys that exist."""
        pages = _pages([self._key(part, name) for name in names])
        return [value for page in pages for value in self._client.get(page)]

    def _key(self, *parts: object) -> str:
        return "/".join([f"{self._prefix}members", *map(str, parts)])


def _pages(items: Sequence[_T]) -> Iterator[Sequence[_T]]:
    for first in range(0, len(items), _AT_ONCE):
        yield items[first : first + _AT_ONCE]


def _ended(when: float, document: bytes) -> bytes:
    return b"%s %r\n%s" % (_ENDED, when, document)


def _seconds(text: bytes) -> float:
    """Return the lease of an announcement, or the time at which it ended."""
    return float(text.partition(b"\n")[0].split()[1])
