"""Members in a TCPStore, which has no leases and cannot list keys.

    members/count   how many names there are
    members/name/1  a name; never changed
    members/of/NAME an announcement: its number, the lease in seconds, a newline, the document;
                    or GONE
    members/by/NAME the number of the announcement, and what each renewal changes

A reader counts, on its own monotonic clock, how long it has seen an announcement without a renewal.
When that is longer than the lease, the reader replaces the announcement by GONE, if it is still the
same one: so a lease that has ended for one has ended for all, and its owner learns it. Who sees an
announcement for the first time can only compare the time of the last renewal with its own wall
clock. If clocks differ, it sees the member at the next renewal, or misses its end by one lease.
"""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, NamedTuple

from paddle_flags.fleet._store import LeaseError

if TYPE_CHECKING:
    from paddle_flags.fleet._tcpstore_client import Client

_GONE = b"-"


class _Look(NamedTuple):
    """What a reader has seen of a member."""

    beat: bytes
    since: float  # when it saw this for the first time, on the monotonic clock
    sure: bool  # whether `since` is right: False if it follows from the wall clock


class Members:
    """The members of one fleet."""

    def __init__(self, url: str, client: Client, prefix: str) -> None:
        """Use the keys that begin with a prefix."""
        self._url = url
        self._client = client
        self._prefix = f"{prefix}members/"
        self._names: dict[int, str] = {}  # by their number; they never change
        self._looks: dict[str, _Look] = {}

    def forget(self) -> None:
        """Forget what another store would not have."""
        self._names.clear()

    def announce(self, name: str, document: bytes, ttl: float) -> None:
        """See Store."""
        self._add_name(name)
        number = uuid.uuid4().hex
        self._renew(name, number)
        text = b"%s %r\n%s" % (number.encode(), float(ttl), document)
        self._client.set(self._prefix + "of/" + name, text)

    def keep_alive(self, name: str) -> None:
        """See Store."""
        if self._client.has(self._prefix + "of/" + name):
            (text,) = self._client.get([self._prefix + "of/" + name])
            if self._running({name: text}):
                self._renew(name, text.partition(b" ")[0].decode())
                return
        raise LeaseError(f"{self._url}: the lease of member {name} has ended")

    def withdraw(self, name: str) -> None:
        """See Store."""
        if self._client.has(self._prefix + "of/" + name):
            self._client.set(self._prefix + "of/" + name, _GONE)

    def member(self, name: str) -> bytes | None:
        """See Store."""
        if not self._client.has(self._prefix + "of/" + name):
            return None
        (text,) = self._client.get([self._prefix + "of/" + name])
        return self._running({name: text}).get(name)

    def members(self) -> dict[str, bytes]:
        """See Store."""
        names = sorted(self._all_names())
        texts = self._client.get([self._prefix + "of/" + name for name in names])
        return self._running(dict(zip(names, texts)))

    def _add_name(self, name: str) -> None:
        if name not in self._all_names():
            number = self._client.add(self._prefix + "count", 1)
            self._client.create(self._prefix + "of/" + name, _GONE)
            self._client.set(f"{self._prefix}name/{number}", name.encode())

    def _all_names(self) -> set[str]:
        """Return all names. One whose number is taken may be stored later, or never."""
        count = self._client.add(self._prefix + "count", 0)
        keys = {
            number: f"{self._prefix}name/{number}"
            for number in range(1, count + 1)
            if number not in self._names
        }
        if keys and not self._client.has(*keys.values()):
            keys = {number: key for number, key in keys.items() if self._client.has(key)}
        for number, name in zip(keys, self._client.get(list(keys.values()))):
            self._names[number] = name.decode()
        return set(self._names.values())

    def _renew(self, name: str, number: str) -> None:
        beat = f"{number} {time.time():.3f} {uuid.uuid4().hex}".encode()
        self._client.set(self._prefix + "by/" + name, beat)
        self._looks[name] = _Look(beat, time.monotonic(), sure=True)

    def _running(self, texts: dict[str, bytes]) -> dict[str, bytes]:
        """Return the documents of the announcements whose lease runs."""
        texts = {name: text for name, text in texts.items() if text != _GONE}
        beats = self._client.get([self._prefix + "by/" + name for name in texts])
        found = {}
        for (name, text), beat in zip(texts.items(), beats):
            head, _, document = text.partition(b"\n")
            ttl = float(head.split()[1])
            look = self._look(name, beat)
            if time.monotonic() - look.since <= ttl:
                found[name] = document
            elif look.sure:
                self._client.replace(self._prefix + "of/" + name, text, _GONE)
        return found

    def _look(self, name: str, beat: bytes) -> _Look:
        now = time.monotonic()
        look = self._looks.get(name)
        if look and look.beat == beat:
            return look
        if look:
            look = _Look(beat, now, sure=True)
        else:
            age = max(0.0, time.time() - float(beat.split()[1]))
            look = _Look(beat, now - age, sure=False)
        self._looks[name] = look
        return look
