"""What a member says of itself, under its lease."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags import errors
from paddle_flags._core.flag import names_in
from paddle_flags._core.registry import all_flags
from paddle_flags.fleet import _json
from paddle_flags.fleet._flags import Answer
from paddle_flags.fleet._record import known_fields, text_of
from paddle_flags.fleet._store import MAX_RECORD, is_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from paddle_flags._core.flag import Flag
    from paddle_flags.fleet._store import Store, StoredMember

_LONGEST = 200  # characters of a value; of a longer one, the digest is compared
_MOST_RANKS = 100_000  # that anybody looks for
_REVISION = re.compile(r"[0-9]{1,18}")
_SECRET = ("PADDLE_FLAGS_FLEET_KEY", "PADDLE_FLAGS_ETCD_PASSWORD", "PADDLE_FLAGS_LIVE_TOKEN")
_BIGGEST = MAX_RECORD * 3 // 4
_DROPPED = ("details", "values", "wanted", "answers", "selected", "aliases", "unsafe", "sensitive")

Document = dict[str, Any]
Documents = dict[str, Document]
"""By member."""

UNCHECKED = ""
"""The digest of a member whose flags `check` doesn't compare."""


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
    sensitive: list[str]
    """All names of such flags."""
    unsafe: list[str]
    """The same."""
    aliases: dict[str, str]
    """The name of a flag by each other name of it."""
    defaults: str = ""
    """A digest of all defaults: members that have the same have the same definitions."""
    is_checked: bool = True
    """Whether `check` compares them."""


def facts_of(key: bytes | None) -> Facts:
    """Return what others may know of the flags here."""
    facts = Facts({}, [], [], {})
    for flag in all_flags():
        with suppress(errors.UndefinedFlagError):  # its plugin may leave, on another thread
            _add_facts(facts, flag, key)
    defaults = digest({name: fact.default_text for name, fact in facts.values.items()})
    return facts._replace(defaults=defaults)


def _add_facts(facts: Facts, flag: Flag[Any], key: bytes | None) -> None:
    info = flag._info()  # noqa: SLF001 - of the package; C is asked once for all
    others = [*names_in(info.aliases), *names_in(info.old_names)]
    facts.aliases.update(dict.fromkeys(others, flag.name))
    facts.sensitive.extend([flag.name, *others] if info.sensitive else ())
    facts.unsafe.extend([flag.name, *others] if info.unsafe else ())
    if info.per_process or (info.sensitive and key is None):
        return
    text, source, place, default = flag.text, flag.source, None, ""
    if info.sensitive:
        data = f"{flag.name}={text}".encode("utf-8", "surrogateescape")
        text = f"hmac:{hmac.new(key or b'', data, 'sha256').hexdigest()[:32]}"
    elif source == "default":
        default = text
    else:
        place, value = flag.history[0].place, flag.history[-1].value
        default = "" if value is None else text_of(flag.name, value)
    facts.values[flag.name] = Fact(short(text), source, short(place or ""), short(default))


def short(text: str) -> str:
    """Return text as JSON can have it; of long text its beginning and a digest."""
    data = text.encode("utf-8", "surrogateescape")
    shown = data.decode("utf-8", "backslashreplace")
    if len(shown) <= _LONGEST:
        return shown
    digest = hashlib.sha256(data).hexdigest()[:16]
    return f"{shown[:_LONGEST]}... ({len(data)} bytes, sha256 {digest})"


def digest(texts: Mapping[str, str]) -> str:
    """Return a digest of names and texts: of both with a NUL behind each, sorted by name."""
    data = "".join(f"{name}\0{texts[name]}\0" for name in sorted(texts))
    return hashlib.sha256(data.encode()).hexdigest()[:16]


def variables_of(patterns: Iterable[str], secret: Collection[str] = ()) -> dict[str, str]:
    """Return the environment variables that patterns such as NCCL_* match.

    What is secret is left out: our own keys, and values of the flags `secret`.
    """
    wanted, ends = list(patterns), tuple(secret)
    return {
        short(name): short(value)
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


def read(data: bytes) -> Document:
    """Return a document as its member wrote it; what isn't one is empty."""
    try:
        document = _json.read(data)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def decode(member: StoredMember) -> Document:
    """Return what is known of a member; what it should not have written is left out."""
    fields = read(member.document)
    document = known_fields(fields, _FORM)
    document["alive"] = member.alive
    if not member.document:
        document["problem"] = "this user may not read what it says"
    document["check"] = known_fields(fields.get("check"), _CHECK)
    document["details"] = details = known_fields(fields.get("details"), _DETAILS)
    for each in (document, details):
        each["values"] = _whole(each.get("values", {}))
    document["answers"] = {
        int(revision): Answer(each[0], each[1], tuple(each[2]))
        for revision, each in document.get("answers", {}).items()
        if _is_answer(revision, each)
    }
    return document


def documents_of(store: Store) -> Documents:
    """Return the documents of the members that are here."""
    return {name: each for name, each in all_of(store).items() if each["alive"]}


def document_of(store: Store, name: str) -> Document | None:
    """Return the document of a member that is here; None if there is none."""
    found = store.member(name)
    return decode(found) if found is not None and found.alive else None


def all_of(store: Store) -> Documents:
    """Return the documents of all members, also of those that were here within a day."""
    return {name: decode(each) for name, each in store.members().items() if is_name(name)}


def find_other_log(document: Mapping[str, Any], fleet: str) -> str:
    """Return what a member says that follows another log than that of `fleet`, or ""."""
    other = document.get("fleet") or fleet
    if not fleet or other == fleet:
        return ""
    return f"it keeps revision {document.get('revision', 0)} of fleet {other}"


def farewell(document: Document) -> bytes:
    """Return what stays of the document of a member that leaves."""
    kept = ("version", "name", "role", "rank", "host", "pid", "revision", "fleet", "time")
    return encode({**{each: document.get(each) for each in kept}, "left": True})


def names_like(name: str, documents: Mapping[str, Document]) -> frozenset[str]:
    """Return a name of a flag and all others by which any member knows the same flag."""
    found = {name}
    for each in documents.values():
        aliases = each.get("aliases", {})
        own = aliases.get(name, name)
        found |= {own, *(old for old, new in aliases.items() if new == own)}
    return frozenset(found)


def absent_ranks(documents: Documents, count: int) -> tuple[str | None, list[int]]:
    """Return the role of members and the ranks below `count` that none of them has.

    Of several roles, nobody knows how many each has.
    """
    ranks: dict[str | None, set[int]] = {}
    for each in documents.values():
        if isinstance(each.get("rank"), int):
            ranks.setdefault(each.get("role"), set()).add(each["rank"])
    if len(ranks) != 1:
        return None, []
    [(role, present)] = ranks.items()
    return role, [rank for rank in range(min(count, _MOST_RANKS)) if rank not in present]


# ---- What a document may have ----

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
}
_CHECK = {"round": int, "expect": int | None}
_DETAILS = {"of": int, "values": _FACTS, "variables": dict[str, str]}


def _whole(values: Mapping[str, list[str]]) -> dict[str, list[str]]:
    return {name: each for name, each in values.items() if len(each) == len(Fact._fields)}


def _is_answer(revision: str, answer: list[Any]) -> bool:
    fits = [isinstance(each, list) for each in answer] == [False, False, True]
    return fits and _REVISION.fullmatch(revision) is not None
