"""What members say of themselves, under their leases, and where they differ."""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags.fleet import _json
from paddle_flags.fleet._flags import Answer
from paddle_flags.fleet._record import filter_valid_fields
from paddle_flags.fleet._store import MAX_RECORD, is_storable_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from paddle_flags.fleet._clock import Clock
    from paddle_flags.fleet._store import Store, StoredMember

_LONGEST = 200  # characters of a value; of a longer one, the digest is compared
_MOST_RANKS = 100_000  # that anybody looks for
_REVISION = re.compile(r"[0-9]{1,18}")
_SECRET = ("PADDLE_FLAGS_FLEET_KEY", "PADDLE_FLAGS_ETCD_PASSWORD", "PADDLE_FLAGS_LIVE_TOKEN")
_BIGGEST = MAX_RECORD * 3 // 4
_POLL, _LOOK = 0.05, 0.001  # seconds between two looks at all documents, and for each of them
_MOST_NAMED = 5  # members with the same value that a message names
_MOST_SHOWN = 50  # differences that a message shows
_DROPPED = ("details", "values", "wanted", "answers", "selected", "aliases", "unsafe", "sensitive")

Document = dict[str, Any]
Documents = dict[str, Document]  # by member

UNCHECKED = ""  # the digest of a member whose flags `check` doesn't compare


class Fact(NamedTuple):
    """One flag of a process, as others may see it."""

    text: str
    source: str
    place: str
    default_text: str


class Facts(NamedTuple):
    """The flags of a process, as others may see them."""

    values: dict[str, Fact]
    """Of the flags to compare. A sensitive one has a digest that only who has the key can compute;
    without a key it is left out."""
    sensitive: list[str]  # all names of such flags
    unsafe: list[str]  # the same
    aliases: dict[str, str]  # the name of a flag by each other name of it
    defaults: str = ""  # a digest of all: members that have the same have the same definitions
    is_checked: bool = True  # whether `check` compares them

    def add_names(self, name: str, others: list[str], *, sensitive: bool, unsafe: bool) -> None:
        self.aliases.update(dict.fromkeys(others, name))
        self.sensitive.extend([name, *others] if sensitive else ())
        self.unsafe.extend([name, *others] if unsafe else ())

    def with_defaults_digest(self) -> Facts:
        """Return the same with the digest of all defaults."""
        texts = {name: fact.default_text for name, fact in self.values.items()}
        return self._replace(defaults=digest(texts))


def shorten_for_json(text: str) -> str:
    """Return text as JSON can have it; of long text its beginning and a digest."""
    data = text.encode("utf-8", "surrogateescape")
    shown = data.decode("utf-8", "backslashreplace")
    if len(shown) <= _LONGEST:
        return shown
    return f"{shown[:_LONGEST]}... ({len(data)} bytes, sha256 {_sha256(data)})"


def digest(texts: Mapping[str, str]) -> str:
    """Return a digest of names and texts: of both with a NUL behind each, sorted by name."""
    return _sha256("".join(f"{name}\0{texts[name]}\0" for name in sorted(texts)).encode())


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def matching_variables(patterns: Iterable[str], secret: Collection[str] = ()) -> dict[str, str]:
    """Return the variables that patterns match, without our keys and values of flags `secret`."""
    wanted, ends = list(patterns), tuple(secret)
    return {
        shorten_for_json(name): shorten_for_json(value)
        for name, value in sorted(os.environ.items())
        if any(fnmatchcase(name, each) for each in wanted)
        and name not in _SECRET
        and not name.endswith(ends)
    }


def encode(document: Document) -> bytes:
    """Return a document as JSON that every engine can store; what is too long is left out."""
    for dropped in _DROPPED:
        data = json.dumps(document, separators=(",", ":")).encode()
        if len(data) <= _BIGGEST:
            return data
        document = {**document, dropped: {}, "cut": [*document.get("cut", []), dropped]}
    return json.dumps(document, separators=(",", ":")).encode()


def decode(member: StoredMember) -> Document:
    """Return what is known of a member; what it should not have written is left out."""
    fields: Any = None
    with suppress(ValueError):
        fields = _json.read(member.document)
    document = filter_valid_fields(fields, _FORM)
    document["alive"] = member.alive
    if not member.document:
        document["problem"] = "this user may not read what it says"
    for name, form in (("check", _CHECK), ("details", _DETAILS)):
        document[name] = filter_valid_fields(document.get(name), form)
    for each in (document, document["details"]):
        values = each.get("values", {}).items()
        each["values"] = {name: fact for name, fact in values if len(fact) == len(Fact._fields)}
    document["answers"] = {
        int(revision): Answer(each[0], each[1], tuple(each[2]))
        for revision, each in document.get("answers", {}).items()
        if [type(part) for part in each] == [str, str, list] and _REVISION.fullmatch(revision)
    }
    return document


def read_alive(store: Store) -> Documents:
    """Return the documents of the members that are here."""
    return {name: each for name, each in read_recent(store).items() if each["alive"]}


def read_if_alive(store: Store, name: str) -> Document | None:
    """Return the document of a member that is here; None if there is none."""
    found = store.member(name)
    return decode(found) if found is not None and found.alive else None


def read_recent(store: Store) -> Documents:
    """Return the documents of all members, also of those that were here within a day."""
    return {name: decode(each) for name, each in store.members().items() if is_storable_name(name)}


def wait_for_details(
    store: Store, clock: Clock, asked: int, seconds: float, among: Collection[str] | None = None
) -> Documents:
    """Return documents when their members have answered a record of the stage TELL, or so far."""
    end = clock.monotonic() + seconds
    while True:
        every = read_alive(store)
        found = {name: each for name, each in every.items() if among is None or name in among}
        told = all(each["details"].get("of", 0) >= asked for each in found.values())
        if (told and is_settled(found)) or clock.monotonic() >= end:
            return found
        clock.sleep(max(_POLL, _LOOK * len(found)))


def is_settled(documents: Documents) -> bool:
    """Return whether no change is on its way to some of the members."""
    return len({each.get("changed") for each in documents.values()}) <= 1


def explain_other_log(document: Mapping[str, Any], fleet: str) -> str:
    """Return what a member says that follows another log than that of `fleet`, or ""."""
    other = document.get("fleet") or fleet
    if not fleet or other == fleet:
        return ""
    return f"it keeps revision {document.get('revision', 0)} of fleet {other}"


def encode_departed_document(document: Document) -> bytes:
    """Return what stays of the document of a member that leaves."""
    kept = ("version", "name", "role", "rank", "host", "pid", "revision", "fleet", "time")
    return encode({**{each: document.get(each) for each in kept}, "left": True})


def find_all_names(name: str, documents: Mapping[str, Document]) -> frozenset[str]:
    """Return a name of a flag and all others by which any member knows the same flag."""
    found = {name}
    for each in documents.values():
        aliases = each.get("aliases", {})
        own = aliases.get(name, name)
        found |= {own, *(old for old, new in aliases.items() if new == own)}
    return frozenset(found)


def absent_ranks(documents: Documents, count: int) -> tuple[str | None, list[int]]:
    """Return the role of members, if it is one, and the ranks below `count` that none has."""
    ranks: dict[str | None, set[int]] = {}
    for each in documents.values():
        if isinstance(each.get("rank"), int):
            ranks.setdefault(each.get("role"), set()).add(each["rank"])
    if len(ranks) != 1:
        return None, []
    [(role, present)] = ranks.items()
    return role, [rank for rank in range(min(count, _MOST_RANKS)) if rank not in present]


_FACTS = dict[str, list[str]]
_FORM: dict[str, Any] = {
    **dict.fromkeys(("name", "host", "fleet", "digest", "problem", "process", "defaults"), str),
    **dict.fromkeys(("version", "pid", "revision", "changed"), int),
    **dict.fromkeys(("rank", "world", "step"), int | None),
    **dict.fromkeys(("time", "tick_timeout"), float),
    **dict.fromkeys(("selected", "sensitive", "unsafe", "cut"), list[str]),
    **dict.fromkeys(("wanted", "aliases"), dict[str, str]),
    **dict.fromkeys(("counting", "standing"), list[int]),
    "role": str | None,
    "left": bool,
    "answers": dict[str, list[str | list[str]]],
    "values": _FACTS,
    **dict.fromkeys(("check", "details"), dict[str, Any]),
}
_CHECK = {"round": int, "expect": int | None}
_DETAILS = {"of": int, "values": _FACTS, "variables": dict[str, str]}


class Holder(NamedTuple):
    """Members that have one value."""

    value: str | None
    """As text; None: it isn't set, or no such flag is defined."""
    source: str
    """Where it comes from, such as `"environment FLAGS_level"`."""
    members: tuple[str, ...]


class Difference(NamedTuple):
    """One flag that members should have alike and don't."""

    name: str
    """Of a flag, or `$NAME` of an environment variable."""
    holders: tuple[Holder, ...]
    """Those with the most members come first."""


UNKNOWN = "its own default, or not defined"

_Held = tuple[str, str] | None  # a value and its source; None: not set, or not defined


def diff_members(documents: Documents, among: Collection[str] | None = None) -> list[Difference]:
    """Return the flags and variables that differ where the fleet wants the same.

    A value of `UNKNOWN` is a default that only its member knows; the details of all have it.
    """
    documents = {n: each for n, each in documents.items() if each.get("defaults") != ""}
    facts = {
        name: {
            **each["values"],
            **each["details"]["values"],
            **{f"${n}": [v, "", ""] for n, v in each["details"].get("variables", {}).items()},
        }
        for name, each in documents.items()
    }
    defaults = {
        (each.get("defaults"), flag): fact[3]
        for each in documents.values()
        for flag, fact in each["values"].items()
    }

    def get_member_value(member: str, flag: str) -> _Held:
        document, fact = documents[member], facts[member].get(flag)
        if fact is not None:
            return fact[0], f"{fact[1]} {fact[2]}".strip()
        if flag.startswith("$") or document["details"]["values"]:
            return None
        return defaults.get((document.get("defaults"), flag), UNKNOWN), "default"

    found: list[Difference] = []
    flags = {flag for each in facts.values() for flag in each}
    for flag in sorted(flags if among is None else flags & set(among)):
        groups: dict[str | None, dict[str, _Held]] = {}
        for name, document in documents.items():
            if not flag.startswith("$") or "variables" in document["details"]:
                wanted = document.get("wanted", {}).get(flag)
                groups.setdefault(wanted, {})[name] = get_member_value(name, flag)
        found += [
            _make_difference(flag, held)
            for held in groups.values()
            if len({each and each[0] for each in held.values()}) > 1
        ]
    return found


def _make_difference(name: str, held: Mapping[str, _Held]) -> Difference:
    groups: dict[_Held, list[str]] = {}
    for member, each in held.items():
        groups.setdefault(each, []).append(member)
    found = [((None, "") if each is None else each, m) for each, m in groups.items()]
    holders = [Holder(value, source, tuple(sorted(m))) for (value, source), m in found]
    holders.sort(key=lambda each: (-len(each.members), each.members))
    return Difference(name, tuple(holders))


def summarize_differences(found: list[Difference]) -> list[str]:
    lines = [_difference_text(each) for each in found[:_MOST_SHOWN]]
    more = len(found) - _MOST_SHOWN
    return [*lines, f"and {more} more"] if more > 0 else lines


def _difference_text(difference: Difference) -> str:
    """Return a difference as text: `NCCL_ALGO: Ring (rank-0, rank-1); not set (rank-2)`."""
    parts = []
    for holder in difference.holders:
        absent = "not set" if difference.name.startswith("$") else "not defined"
        value = absent if holder.value is None else repr(holder.value)
        source = f" from {holder.source}" if holder.source else ""
        parts.append(f"{value}{source} in {members_text(holder.members)}")
    return f"{difference.name}: " + "; ".join(parts)


def members_text(members: Collection[str]) -> str:
    names = list(members)
    more = len(names) - _MOST_NAMED
    text = ", ".join(names[:_MOST_NAMED])
    return f"{text} and {more} more" if more > 0 else text
