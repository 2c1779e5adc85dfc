"""The engine `tcpstore://host:port/job`: the TCPStore of torch.distributed.

    log/1      a record; a compaction replaces it by GONE, and no key is ever deleted
    base       the number of the last record that it replaces, a newline, the base
    names      those of all members, each with a newline
    of/NAME    an announcement: a random number, the lease in seconds, a newline, a document;
               or "-", the time at which the lease ended, a newline, a document; or "-"
    by/NAME    the machine and its monotonic clock, the time, and a random number, which each
               renewal changes

Records and bases begin with a random number of their writer, who sees by it that they are its own.
All keys begin with `paddle_flags/job/`. TCPStore has no access control and no leases, and cannot
list keys.

A reader counts, on its own monotonic clock, how long it has seen an announcement without a renewal.
When that is longer than the lease, the reader marks the announcement as ended, if it is still the
same one: so a lease that has ended for one has ended for all, and its owner learns it. Whoever sees
a member of another machine for the first time has only the time, by clocks that may differ. If that
leaves a doubt, the reader looks again until it sees a renewal, or should have seen one: members
renew their leases after a third of them, and by two thirds at the latest.

Calls of torch wait for ever if the process with the store hangs. So each runs in a thread that is
given up when it is late.
"""

# pyright: reportMissingImports=false, reportMissingModuleSource=false

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from concurrent.futures import Future, wait
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.distributed import PrefixStore, TCPStore

from paddle_flags.fleet._store import REMEMBERED, Store, StoredMember
from paddle_flags.fleet._threads import call_in_thread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paddle_flags.fleet._open import Url

_CONNECT = 60.0  # seconds of the first call: an unreachable name server costs 5 seconds or more
_AT_ONCE = 64  # keys of one call
_LEAVE = 1.0  # seconds that a store waits for its threads when it is closed
_OLDEST = (2, 4)  # of torch; others have no `check`, or end the process when a record is long
_NUMBER = 32  # bytes of a random number
_GONE = _ENDED = b"-"
_NEAR = 30.0  # seconds by which the clocks of two machines may differ
_MARGIN = 1.0  # seconds by which a renewal may be late
_PAUSE = 0.2  # seconds until the next look


def _machine_id() -> str:
    """Return what tells machines apart whose processes share a monotonic clock; "-" if unknown."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return f"{os.uname().nodename}/{boot}/{os.readlink('/proc/self/ns/time')}"
    except OSError:
        return "-"


MACHINE = _machine_id()


class _Sighting(NamedTuple):
    """What a reader has seen of a member."""

    beat: bytes
    since: float  # when it saw this for the first time, on the monotonic clock
    sure: bool  # whether it was written then, and not earlier


class TcpStore(Store):
    """A connection to `tcpstore://host:port/job`, or to `tcpstore://env/job`: that of this job."""

    def __init__(self, url: Url, timeout: float) -> None:
        super().__init__(url.text)
        self._job = url.path.strip("/")
        version = torch.__version__.split(".")[:2]
        if tuple(map(int, version)) < _OLDEST:
            url.refuse(f"found torch {'.'.join(version)}, expected 2.4 or later")
        if len(url.hosts) != 1 or not self._job:
            url.refuse("expected tcpstore://host:port/job, or tcpstore://env/job")
        host, port = url.hosts[0]
        if (host, port) == ("env", None):  # as torchrun sets
            host, named = os.environ.get("MASTER_ADDR", ""), os.environ.get("MASTER_PORT", "")
            if not host or not named.isdecimal():
                url.refuse("expected MASTER_ADDR and MASTER_PORT in the environment")
            port = int(named)
        if port is None:
            url.refuse("expected a port, as in tcpstore://host:29500/job")
        self._place = host, port
        self._timeout = timeout
        self._patience = max(timeout, _CONNECT)  # of the first call that succeeds
        self._poll = url.poll_seconds(self._poll)
        self._known = 0  # the last record that this store has seen
        self._names: set[str] = set()  # that are stored
        self._looks: dict[str, _Sighting] = {}
        self._reset_process_state()

    def _reset_process_state(self) -> None:
        self._lock = threading.Lock()  # is held while connecting
        self._torch: PrefixStore | None = None
        self._calls: set[Future[Any]] = set()

    def _disconnect(self) -> None:
        self._torch = None
        # A thread that comes back from torch while Python ends would abort the process.
        wait(list(self._calls), _LEAVE)

    def _ask(self, method: str, *args: Any) -> Any:
        self.check_open()
        used = self._torch
        call = call_in_thread(
            lambda: getattr(self._ensure_connected(), method)(*args), "paddle_flags torch"
        )
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        try:
            result = call.result(self._patience)
        except (RuntimeError, OSError) as error:
            if used in (None, self._torch):
                self._torch = None
                self._known, self._names = 0, set()  # another store may be there next time
            what = str(error).partition("\n")[0] or f"no answer in {self._patience:g} seconds"
            raise OSError(what) from error
        self._patience = self._timeout
        return result

    def _ensure_connected(self) -> PrefixStore:
        with self._lock:
            store = self._torch
            if store is None:
                # torch prints what it cannot reach, and tries again for all of its time.
                socket.create_connection(self._place, self._timeout).close()
                limit = timedelta(seconds=_CONNECT)
                made = TCPStore(*self._place, is_master=False, timeout=limit)
                store = self._torch = PrefixStore(f"paddle_flags/{self._job}", made)
            return store

    def _has(self, *keys: str) -> bool:
        return bool(self._ask("check", keys))

    def _get(self, keys: Sequence[str]) -> list[bytes]:
        """Return the values of keys that exist: torch waits for others."""
        pages = [keys[first : first + _AT_ONCE] for first in range(0, len(keys), _AT_ONCE)]
        return [value for page in pages for value in self._ask("multi_get", page)]

    def _get_or_empty(self, key: str) -> bytes:
        return self._get([key])[0] if self._has(key) else b""

    def _set(self, key: str, value: bytes) -> None:
        self._ask("set", key, value)
        self._has(key)  # `set` itself waits for no answer

    def _compare_and_set(self, key: str, old: bytes, new: bytes) -> bool:
        """Store a value if the key has the value `old`; b"" is that of a key that isn't there."""
        return bool(self._ask("compare_set", key, old, new) == new)

    def _last(self) -> int:
        number = self._known or self._base()[0]
        if self._has(f"log/{number + 1}"):
            for step in (_AT_ONCE, 1):
                while self._has(*(f"log/{number + each}" for each in range(1, step + 1))):
                    number += step
        self._known = number
        return number

    def _create(self, number: int, record: bytes) -> bool:
        return self._compare_and_set(f"log/{number}", b"", _random_token() + record)

    def _read(self, first: int) -> list[bytes]:
        end = min(self._last(), first + _AT_ONCE - 1)
        values = self._get([f"log/{number}" for number in range(first, end + 1)])
        if _GONE in values or first <= self._base()[0]:
            raise self._make_compacted_error(first)
        return [value[_NUMBER:] for value in values]

    def _base(self) -> tuple[int, bytes, bytes]:
        """Return the number, the base, and the stored text that has both."""
        text = self._get_or_empty("base")
        number, _, base = text[_NUMBER:].partition(b"\n")
        return int(number or 0), base, text

    def _replace_records(self, number: int, base: bytes) -> bool:
        new = _random_token() + b"%d\n%s" % (number, base)
        while (held := self._base())[0] < number:
            if self._compare_and_set("base", held[2], new):
                first = number  # the first ones may be gone already
                while first > 1 and self._get_or_empty(f"log/{first - 1}") != _GONE:
                    first -= 1
                for each in range(first, number + 1):
                    self._set(f"log/{each}", _GONE)
                return True
        return False

    def _announce(self, name: str, document: bytes, ttl: float) -> None:
        self._write_heartbeat(name)
        self._write_member(name, b"%s %r\n%s" % (_random_token(), ttl, document))

    def _withdraw(self, name: str, document: bytes) -> None:
        self._write_member(name, _mark_ended(document))

    def _write_member(self, name: str, text: bytes) -> None:
        self._set(f"of/{name}", text)
        while name not in self._names:
            listed = self._get_or_empty("names")
            self._names = set(listed.decode().split())
            if name not in self._names:
                self._compare_and_set("names", listed, b"%s%s\n" % (listed, name.encode()))

    def _keep_alive(self, name: str) -> None:
        seen = self._read_with_leases([name]) if self._has(f"of/{name}") else {}
        if seen.get(name, (b"", False))[1] is False:
            raise self._make_lease_error(name)
        self._write_heartbeat(name)

    def _write_heartbeat(self, name: str) -> None:
        now = time.monotonic()
        beat = b"%s %r %r %s" % (MACHINE.encode(), now, time.time(), _random_token())
        self._set(f"by/{name}", beat)
        self._looks[name] = _Sighting(beat, now, sure=True)

    def _member(self, name: str) -> StoredMember | None:
        return self._read_members([name]).get(name) if self._has(f"of/{name}") else None

    def _members(self) -> dict[str, StoredMember]:
        return self._read_members(self._get_or_empty("names").decode().split())

    def _read_members(self, names: Sequence[str]) -> dict[str, StoredMember]:
        found: dict[str, StoredMember] = {}
        while True:
            seen = self._read_with_leases(names)
            names = [name for name, (_, alive) in seen.items() if alive is None]
            for name, (document, alive) in seen.items():
                found[name] = StoredMember(document, bool(alive))
            if not names:
                return dict(sorted(found.items()))
            self.closed.wait(_PAUSE)

    def _read_with_leases(self, names: Sequence[str]) -> dict[str, tuple[bytes, bool | None]]:
        """Return documents, and whether their leases run: None if there is a doubt."""
        seen: dict[str, tuple[bytes, bool | None]] = {}
        texts = dict(zip(names, self._get([f"of/{name}" for name in names])))
        running = [name for name, text in texts.items() if not text.startswith(_ENDED)]
        beats = dict(zip(running, self._get([f"by/{name}" for name in running])))
        for name, text in texts.items():
            head, _, document = text.partition(b"\n")
            if name in beats:
                seen[name] = document, self._check_or_end_lease(name, text, beats[name])
            elif text != _ENDED and time.time() - float(head.split()[1]) < REMEMBERED:
                seen[name] = document, False
            elif text != _ENDED:
                self._compare_and_set(f"of/{name}", text, _ENDED)
        return seen

    def _check_or_end_lease(self, name: str, text: bytes, beat: bytes) -> bool | None:
        machine, clock, date, _ = beat.decode().split()
        look, now = self._looks.get(name), time.monotonic()
        if look is None or look.beat != beat:
            is_here = look is None and machine == MACHINE != "-"
            since = min(now, float(clock)) if is_here else now
            look = self._looks[name] = _Sighting(beat, since, sure=is_here or look is not None)
        head, _, document = text.partition(b"\n")
        ttl, seen = float(head.split()[1]), now - look.since
        age = seen if look.sure else time.time() - float(date)
        is_silent = seen > min(ttl * 2 / 3, _NEAR) + _MARGIN
        if seen > ttl or (is_silent and age > ttl + _NEAR):
            self._compare_and_set(f"of/{name}", text, _mark_ended(document))
            return False
        if look.sure or -_NEAR < age < ttl - _NEAR:
            return True
        return False if is_silent else None


def _random_token() -> bytes:
    return uuid.uuid4().hex.encode()


def _mark_ended(document: bytes) -> bytes:
    return b"%s %r\n%s" % (_ENDED, time.time(), document)
