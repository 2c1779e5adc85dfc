"""The engine `etcd://host:port/path`: keys of etcd 3.4 or later, through its JSON gateway.

    /path/head                       the number of the last record; what waiters watch
    /path/log/00000000000000000001   16 bytes that tell attempts apart, and the record
    /path/base                       a base behind its number and a newline
    /path/compacted                  the number of the base
    /path/members/NAME               a document, under a lease of a day
    /path/members/NAME!              empty, under the lease of the member

A record is created, and `head` is moved, by one transaction that requires the number before. Reads
are linearizable: the node asks the others whether it is behind.
"""

from __future__ import annotations

import base64
import math
import os
import secrets
import time
from typing import TYPE_CHECKING, Any

from paddle_flags.fleet._etcd_client import DENIED, EXHAUSTED, NOT_FOUND, Client, EtcdError
from paddle_flags.fleet._etcd_options import options_of, password_of, tls_of
from paddle_flags.fleet._etcd_watch import Watch, WatchEndedError
from paddle_flags.fleet._store import (
    REMEMBERED,
    CompactedError,
    FleetError,
    LeaseError,
    ReadOnlyError,
    StoredMember,
    UnreachableError,
    check_name,
    check_size,
    is_name,
)

if TYPE_CHECKING:
    from paddle_flags.fleet._etcd_client import Answer
    from paddle_flags.fleet._url import Url

_NONCE = 16
_AT_ONCE = 256  # keys of one answer
_HEARTBEAT = 3.0  # seconds without an event after which the node of a watch is asked
_ALIVE = 2.0  # seconds for its answer
_PAUSE = 0.1  # seconds between two watches, if they end at once


def open_url(url: Url, timeout: float) -> EtcdStore:
    """Read the address; nothing is asked yet."""
    options = options_of(url)
    path = url.path.strip("/")
    if not url.hosts or not path:
        message = "expected etcd://host:port/path: hosts, and a path that names the fleet"
        raise url.refuse(message)
    client = Client(url, timeout, tls_of(url, options), password_of(url, options))
    return EtcdStore(client, f"/{path}/")


class EtcdStore:
    """A connection to a fleet in a cluster of etcd."""

    def __init__(self, client: Client, prefix: str) -> None:
        """Keep everything under a prefix of keys."""
        self.url = client.url
        self._client = client
        self._prefix = prefix
        self._leases: dict[str, tuple[str, float]] = {}  # of members: number and seconds
        self._long = "", 0.0  # the lease of documents, and when to renew it
        self._watches: list[Watch] = []  # that no thread uses now
        self._pid = os.getpid()

    # -- The log --

    def last(self) -> int:
        """See Store."""
        return self._head()[0]

    def _head(self) -> tuple[int, int]:
        """Return the number of the last record, and the revision of etcd at which it was that."""
        answer = self._ask("kv/range", {"key": self._key("head")}).body
        return _number(_values(answer)), int(answer["header"]["revision"])

    def append(self, number: int, record: bytes) -> bool:
        """See Store."""
        attempt = secrets.token_bytes(_NONCE)
        key, head = self._record(number), self._key("head")
        before: dict[str, Any] = {"target": "VERSION", "key": head, "version": "0"}
        if number > 1:
            before = {"target": "VALUE", "key": head, "value": _b64(b"%d" % (number - 1))}
        answer = self._change(
            [{"result": "EQUAL", **before}],
            [_put(key, attempt + check_size(record)), _put(head, b"%d" % number)],
            [_get(head), _get(key)],
        )
        if answer.body.get("succeeded"):
            return True
        last, held = (_values(each["response_range"]) for each in answer.body["responses"])
        if not 1 <= number <= _number(last) + 1:
            raise self._error(f"record {number}: the next record is {_number(last) + 1}")
        if not held and answer.is_doubtful:
            message = f"{self.url}: record {number} may have been created, and then compacted"
            raise UnreachableError(message)
        return bool(held) and held[0].startswith(attempt)

    def read(self, first: int) -> list[bytes]:
        """See Store."""
        first = max(first, 1)
        records = _get(self._record(first), self._key("log0"))
        wanted = {"success": [_get(self._key("compacted")), records]}
        answer = self._fitting("kv/txn", wanted, records["request_range"])
        compacted, found = (_values(each["response_range"]) for each in answer["responses"])
        if first <= _number(compacted):
            message = f"{self.url}: record {first} was replaced by a base"
            raise CompactedError(message)
        return [value[_NONCE:] for value in found]

    def wait(self, after: int, timeout: float) -> int:
        """See Store."""
        end = time.monotonic() + timeout
        self._check()
        watch = self._kept()
        number = revision = 0
        while True:
            if watch is None:
                number, revision = self._head()
                if number > after or time.monotonic() >= end:
                    return number
            try:
                watch = watch or Watch(self._client, self._key("head"), number, revision)
                is_new = watch.number <= after and self._follow(watch, after, end)
            except WatchEndedError:
                self._end(watch)
                watch = None
                continue
            except BaseException:
                self._end(watch)
                raise
            self._watches.append(watch)
            if self._client.pool.closed.is_set():
                self.close()  # again: it came in between
            return watch.number if is_new else self.last()

    # -- The base --

    def base(self) -> tuple[int, bytes]:
        """See Store."""
        found = _values(self._ask("kv/range", {"key": self._key("base")}).body)
        number, _, base = found[0].partition(b"\n") if found else (b"0", b"", b"")
        return int(number), base

    def compact(self, number: int, base: bytes) -> bool:
        """See Store."""
        check_size(base)
        key, text = self._key("compacted"), b"%d" % number
        is_doubtful = False
        while True:
            held = [_get(key), _get(self._key("head"))]
            answer = self._ask("kv/txn", {"success": held}).body
            compacted, head = (each["response_range"] for each in answer["responses"])
            if not 1 <= number <= _number(_values(head)):
                raise self._error(f"base {number}: the last record is {_number(_values(head))}")
            if number <= _number(_values(compacted)):
                return is_doubtful and self.base() == (number, base)
            revision = str(compacted["kvs"][0]["mod_revision"]) if compacted.get("kvs") else "0"
            changed = self._change(
                [{"target": "MOD", "key": key, "mod_revision": revision, "result": "EQUAL"}],
                [
                    _put(self._key("base"), text + b"\n" + base),
                    _put(key, text),
                    _delete(self._record(0), self._record(number + 1)),
                ],
            )
            if changed.body.get("succeeded"):
                return True
            is_doubtful |= changed.is_doubtful

    # -- Members --

    def announce(self, name: str, document: bytes, ttl: float) -> None:
        """See Store."""
        key, mark = self._key(_document(name)), self._key(_mark(name))
        check_size(document)
        self._check()
        for is_last in (False, True):
            try:
                alive = _put(mark, b"", self._lease_of(name, ttl)) if ttl else _delete(mark)
                self._change([], [_put(key, document, self._long_lease()), alive])
            except EtcdError as error:
                if error.code != NOT_FOUND or is_last:
                    raise
                self._leases.clear()  # one of them has ended just now
                self._long = "", 0.0
            else:
                return

    def withdraw(self, name: str, document: bytes) -> None:
        """See Store."""
        self.announce(name, document, 0.0)
        self._leases.pop(name, None)

    def keep_alive(self, name: str) -> None:
        """See Store."""
        mark = self._key(_mark(name))
        self._check()
        lease, _ = self._leases.get(name, ("", 0.0))
        if not lease:
            found = self._ask("kv/range", {"key": mark, "keys_only": True}).body.get("kvs")
            lease = str(found[0].get("lease", "")) if found else ""
        if not lease or not self._renew(lease):
            self._leases.pop(name, None)
            message = f"{self.url}: the lease of member {name} has ended"
            raise LeaseError(message)
        self._long_lease()

    def _lease_of(self, name: str, ttl: float) -> str:
        """Return the lease of a member, renewed or new."""
        lease, seconds = self._leases.get(name, ("", 0.0))
        if seconds != ttl or not self._renew(lease):
            lease = self._grant(ttl)
            self._leases[name] = lease, ttl
        return lease

    def _long_lease(self) -> str:
        """Return the lease of the documents of this store, renewed if that is due."""
        lease, due = self._long
        if time.monotonic() >= due:
            if not lease or not self._renew(lease):
                lease = self._grant(REMEMBERED)
            self._long = lease, time.monotonic() + REMEMBERED / 4
        return lease

    def _grant(self, ttl: float) -> str:
        answer = self._ask("lease/grant", {"TTL": str(math.ceil(ttl))}, is_change=True)
        return str(answer.body["ID"])

    def _renew(self, lease: str) -> bool:
        return int(self._ask("lease/keepalive", {"ID": lease}).body.get("TTL", "0")) > 0

    def member(self, name: str) -> StoredMember | None:
        """See Store."""
        return self._range(_document(name), _mark(name) + "\0").get(name)

    def members(self) -> dict[str, StoredMember]:
        """See Store."""
        return self._range(_document(""), "members0")

    def _range(self, start: str, end: str) -> dict[str, StoredMember]:
        """Return the members whose keys are in a range, read in pages."""
        found: dict[str, bytes] = {}
        place = f"{self._prefix}{_document('')}".encode()
        body = {"key": self._key(start), "range_end": self._key(end)}
        while True:
            answer = self._fitting("kv/range", body, body)
            for kv in answer.get("kvs", ()):
                key = base64.b64decode(kv["key"])
                name = key.removeprefix(place).decode("ascii", "replace")
                found[name] = base64.b64decode(kv.get("value", ""))
            if not answer.get("more"):
                break
            body["key"] = _b64(key + b"\0")
        return {
            name: StoredMember(document, f"{name}!" in found)
            for name, document in found.items()
            if is_name(name)
        }

    def close(self) -> None:
        """See Store."""
        self._client.close()
        while watch := self._kept():
            watch.close()

    # -- Watches --

    def _follow(self, watch: Watch, after: int, end: float) -> bool:
        """Follow a watch; return True when a record comes, False when the time is over.

        Raises WatchEndedError, too, if its node hangs.
        """
        while True:
            if watch.follow(after, min(end, time.monotonic() + _HEARTBEAT)):
                return True
            if time.monotonic() >= end:
                return False
            body = {"key": self._key("head")}
            limit = min(_ALIVE, self._client.timeout)
            try:
                answer = self._client.call("kv/range", body, node=watch.node, timeout=limit).body
            except UnreachableError:
                self._client.leave(watch.node)
                raise WatchEndedError from None
            if _number(_values(answer)) > max(after, watch.number) and not watch.follow(after, 0):
                raise WatchEndedError  # it is behind its own node

    def _kept(self) -> Watch | None:
        try:
            return self._watches.pop()
        except IndexError:
            return None

    def _end(self, watch: Watch | None) -> None:
        """Close a watch that has ended. A new one would perhaps end at once, too."""
        if watch is not None:
            watch.close()
        self._client.pool.closed.wait(_PAUSE)

    # -- Requests --

    def _check(self) -> None:
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._watches = []  # those of the parent
        self._client.check()

    def _key(self, name: str) -> str:
        return _b64(f"{self._prefix}{name}".encode())

    def _record(self, number: int) -> str:
        return self._key(f"log/{number:020}")

    def _fitting(self, path: str, body: dict[str, Any], part: dict[str, Any]) -> dict[str, Any]:
        """Ask for as many keys as one answer can have; `part` of the body is about them."""
        limit = _AT_ONCE
        while True:
            part["limit"] = str(limit)
            try:
                return self._ask(path, body).body
            except EtcdError as error:
                if error.code != EXHAUSTED or limit == 1:
                    raise
                limit = max(1, limit // 4)

    def _error(self, what: str) -> FleetError:
        return FleetError(f"{self.url}: {what}")

    def _change(
        self,
        compare: list[dict[str, Any]],
        success: list[dict[str, Any]],
        failure: list[dict[str, Any]] | None = None,
    ) -> Answer:
        body = {"compare": compare, "success": success, "failure": failure or []}
        return self._ask("kv/txn", body, is_change=True)

    def _ask(self, path: str, body: dict[str, Any], *, is_change: bool = False) -> Answer:
        try:
            return self._client.call(path, body)
        except EtcdError as error:
            if is_change and error.code == DENIED:
                raise ReadOnlyError(str(error)) from error
            raise


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _document(name: str) -> str:
    return f"members/{name}"


def _mark(name: str) -> str:
    """Return the key that is there while the lease of a member runs; it follows the document."""
    return f"members/{check_name(name)}!"


def _put(key: str, value: bytes, lease: str = "0") -> dict[str, Any]:
    return {"request_put": {"key": key, "value": _b64(value), "lease": lease}}


def _get(key: str, end: str = "") -> dict[str, Any]:
    return {"request_range": {"key": key, "range_end": end}}


def _delete(key: str, end: str = "") -> dict[str, Any]:
    return {"request_delete_range": {"key": key, "range_end": end}}


def _values(answer: dict[str, Any]) -> list[bytes]:
    return [base64.b64decode(kv.get("value", "")) for kv in answer.get("kvs", ())]


def _number(values: list[bytes]) -> int:
    return int(values[0]) if values else 0
