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
import json
import math
import secrets
import time
from typing import TYPE_CHECKING

from paddle_flags.fleet._etcd_client import WATCH, Client, EtcdError
from paddle_flags.fleet._store import REMEMBERED, ReadOnlyError, StoredMember, is_storable_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paddle_flags.fleet._etcd_client import Body, Stream
    from paddle_flags.fleet._open import Url

_NONCE = 16
_AT_ONCE = 256  # keys of one answer
_WATCH = 4.0  # seconds for which a watch is believed that tells nothing
_PAUSE = 0.02  # seconds between two watches


class EtcdStore(Client):
    """A connection to a fleet in a cluster of etcd."""

    def __init__(self, url: Url, timeout: float) -> None:
        if not url.hosts or not url.path.strip("/"):
            url.refuse("expected etcd://host:port/path: hosts, and a path that names the fleet")
        super().__init__(url, timeout)
        self._prefix = "/{}/".format(url.path.strip("/"))
        self._leases: dict[str, str] = {}  # of members
        self._long = "", 0.0  # the lease of documents, and when to renew it

    def _last(self) -> int:
        return self._read_last_and_revision()[0]

    def _read_last_and_revision(self) -> tuple[int, int]:
        """Return the number of the last record, and the revision of etcd when it was that."""
        answer = self._ask("kv/range", {"key": self._encode_key("head")})
        return _largest_number(answer), int(answer["header"]["revision"])

    def _append(self, number: int, record: bytes) -> bool:
        attempt = secrets.token_bytes(_NONCE)
        key, head = self._record_key(number), self._encode_key("head")
        before: Body = {"target": "VERSION", "version": "0"}
        if number > 1:
            before = {"target": "VALUE", "value": _b64(b"%d" % (number - 1))}
        answer, is_doubtful = self._run_transaction(
            [{"key": head, "result": "EQUAL", **before}],
            [_put_op(key, attempt + record), _put_op(head, b"%d" % number)],
            [_get_op(head), _get_op(key)],
        )
        if answer.get("succeeded"):
            return True
        last, held = (each["response_range"] for each in answer["responses"])
        self._check_record_number(number, _largest_number(last))
        if is_doubtful and not held.get("kvs"):
            what = f"record {number} may have been created, and then compacted"
            raise self.unreachable(what)
        return any(value.startswith(attempt) for value in _decode_values(held))

    def _read(self, first: int) -> list[bytes]:
        key = self._record_key(first)
        found = self._read_page(key, self._encode_key("log0"))
        if all(kv["key"] != key for kv in found.get("kvs", ())):
            compacted = self._ask("kv/range", {"key": self._encode_key("compacted")})
            if first <= _largest_number(compacted):
                raise self._make_compacted_error(first)
        return [value[_NONCE:] for value in _decode_values(found)]

    def _wait(self, after: int, timeout: float) -> int:
        end = time.monotonic() + timeout
        watch: Stream | None = self._acquire_connection(WATCH)
        number = watch.number if watch else 0
        is_old = number > after
        while number <= after and (left := end - time.monotonic()) > 0:
            if watch is None:
                number, revision = self._read_last_and_revision()
                create = {"key": self._encode_key("head"), "start_revision": str(revision + 1)}
                watch = self._request(WATCH, {"create_request": create})[0]
            elif (told := _read_watched_number(watch, min(_WATCH, left))) is not None:
                number = max(number, told)
            else:
                watch.close()
                watch = None
                self.closed.wait(_PAUSE)  # a new one may end at once, too
        if watch is not None:
            watch.number = number
            self._release_connection(WATCH, watch)
        return self.last() if is_old or number <= after else number

    def _base(self) -> tuple[int, bytes]:
        answer = self._ask("kv/range", {"key": self._encode_key("base")})
        number, _, base = b"".join(_decode_values(answer)).partition(b"\n")
        return int(number or 0), base

    def _replace_records(self, number: int, base: bytes) -> bool:
        key, text, is_doubtful = self._encode_key("compacted"), b"%d" % number, False
        while True:
            compacted = self._ask("kv/range", {"key": key})
            if number <= _largest_number(compacted):
                return is_doubtful and self._base() == (number, base)
            revision = str(compacted["kvs"][0]["mod_revision"]) if "kvs" in compacted else "0"
            answer, may_be_done = self._run_transaction(
                [{"target": "MOD", "key": key, "mod_revision": revision, "result": "EQUAL"}],
                [
                    _put_op(self._encode_key("base"), text + b"\n" + base),
                    _put_op(key, text),
                    _delete_op(self._record_key(0), self._record_key(number + 1)),
                ],
            )
            if answer.get("succeeded"):
                return True
            is_doubtful |= may_be_done

    def _announce(self, name: str, document: bytes, ttl: float) -> None:
        self._leases[name] = lease = self._grant_lease(ttl)  # the one before expires
        self._write_document(name, document, _put_op(self._alive_key(name), b"", lease))

    def _withdraw(self, name: str, document: bytes) -> None:
        self._leases.pop(name, None)
        self._write_document(name, document, _delete_op(self._alive_key(name)))

    def _write_document(self, name: str, document: bytes, also: Body) -> None:
        key = self._encode_key(f"members/{name}")
        try:
            self._run_transaction([], [_put_op(key, document, self._ensure_document_lease()), also])
        except EtcdError as error:
            if error.code != error.NOT_FOUND:
                raise
            self._long = "", 0.0  # it has ended, as on a machine that slept for a day
            self._run_transaction([], [_put_op(key, document, self._ensure_document_lease()), also])

    def _alive_key(self, name: str) -> str:
        return self._encode_key(f"members/{name}!")

    def _keep_alive(self, name: str) -> None:
        lease = self._leases.get(name, "")
        if not lease or self._user:  # etcd renews leases for anybody: a look shows rights
            for kv in self._ask("kv/range", {"key": self._alive_key(name)}).get("kvs", ()) or [{}]:
                lease = str(kv.get("lease", ""))
        if not lease or not self._renew_lease(lease):
            raise self._make_lease_error(name)
        self._ensure_document_lease()

    def _ensure_document_lease(self) -> str:
        lease, due = self._long
        if time.monotonic() >= due:
            if not lease or not self._renew_lease(lease):
                lease = self._grant_lease(REMEMBERED)
            self._long = lease, time.monotonic() + REMEMBERED / 4
        return lease

    def _grant_lease(self, ttl: float) -> str:
        return str(self._ask("lease/grant", {"TTL": str(math.ceil(ttl))})["ID"])

    def _renew_lease(self, lease: str) -> bool:
        return int(self._ask("lease/keepalive", {"ID": lease}).get("TTL", "0")) > 0

    def _member(self, name: str) -> StoredMember | None:
        key = self._encode_key(f"members/{name}")
        return self._read_members(key, self._encode_key(f"members/{name}!\0")).get(name)

    def _members(self) -> dict[str, StoredMember]:
        return self._read_members(self._encode_key("members/"), self._encode_key("members0"))

    def _read_members(self, start: str, end: str) -> dict[str, StoredMember]:
        found: dict[str, bytes] = {}
        place = f"{self._prefix}members/".encode()
        is_more = True
        while is_more:
            answer = self._read_page(start, end)
            for kv in answer.get("kvs", ()):
                key = base64.b64decode(kv["key"])
                name = key.removeprefix(place).decode("ascii", "replace")
                found[name] = base64.b64decode(kv.get("value", ""))
                start = _b64(key + b"\0")
            is_more = answer.get("more", False)
        return {
            name: StoredMember(document, f"{name}!" in found)
            for name, document in found.items()
            if is_storable_name(name)
        }

    def _encode_key(self, name: str) -> str:
        return _b64(f"{self._prefix}{name}".encode())

    def _record_key(self, number: int) -> str:
        return self._encode_key(f"log/{number:020}")

    def _ask(self, path: str, body: Body) -> Body:
        answer: Body = self._request(path, body)[0]
        return answer

    def _read_page(self, start: str, end: str) -> Body:
        limit = _AT_ONCE
        while True:
            try:
                return self._ask("kv/range", {"key": start, "range_end": end, "limit": str(limit)})
            except EtcdError as error:
                if error.code != error.EXHAUSTED or limit == 1:
                    raise
                limit = max(1, limit // 4)

    def _run_transaction(
        self, compare: list[Body], success: list[Body], failure: Sequence[Body] = ()
    ) -> tuple[Body, bool]:
        """Make a transaction; return the answer, and whether an earlier attempt may count."""
        body = {"compare": compare, "success": success, "failure": list(failure)}
        try:
            return self._request("kv/txn", body)
        except EtcdError as error:
            if error.code == error.DENIED:
                raise ReadOnlyError(str(error)) from error
            raise


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _put_op(key: str, value: bytes, lease: str = "0") -> Body:
    return {"request_put": {"key": key, "value": _b64(value), "lease": lease}}


def _get_op(key: str) -> Body:
    return {"request_range": {"key": key}}


def _delete_op(key: str, end: str = "") -> Body:
    return {"request_delete_range": {"key": key, "range_end": end}}


def _decode_values(answer: Body) -> list[bytes]:
    return [base64.b64decode(kv.get("value", "")) for kv in answer.get("kvs", ())]


def _largest_number(answer: Body) -> int:
    return max([0, *map(int, _decode_values(answer))])


def _read_watched_number(stream: Stream, seconds: float) -> int | None:
    """Return the number that a watch tells next, or 0; None if it has ended, or tells nothing."""
    try:
        result = json.loads(stream.next(seconds))["result"]
        # A key that was removed has no value: then the watch begins anew, too.
        kvs = [{"value": event["kv"]["value"]} for event in result.get("events", ())]
        return None if result.get("canceled") else _largest_number({"kvs": kvs})
    except (LookupError, ValueError):  # also of what no etcd answers
        return None
