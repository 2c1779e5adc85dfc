"""What a member says of itself, under its lease."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags import errors
from paddle_flags._core.registry import all_flags
from paddle_flags.fleet._flags import Answer
from paddle_flags.fleet._json import is_a, read_integer
from paddle_flags.fleet._record import is_storable, text_of
from paddle_flags.fleet._store import MAX_RECORD, is_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from paddle_flags._core.flag import Flag
    from paddle_flags.fleet._store import Store, StoredMember

_LONGEST = 200  # characters of a value; of a longer one, the digest is compared
_MOST_ANSWERS = 32
_MOST = 1 << 63
_REVISION = re.compile(r"[0-9]{1,18}")
_SECRET = ("PADDLE_FLAGS_FLEET_KEY", "PADDLE_FLAGS_ETCD_PASSWORD", "PADDLE_FLAGS_LIVE_TOKEN")
_BIGGEST = MAX_RECORD * 3 // 4
_DROPPED = ("details", "values", "wanted", "answers", "selected", "aliases", "unsafe", "sensitive")

Document = dict[str, Any]


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


def facts_of(key: bytes | None) -> Facts:
    """Return what others may know of the flags here."""
    facts = Facts({}, [], [], {})
    for flag in all_flags():
        try:
            others = [*flag.aliases, *flag.old_names]
            facts.aliases.update(dict.fromkeys(others, flag.name))
            is_sensitive = flag.sensitive
            if is_sensitive:
                facts.sensitive.extend([flag.name, *others])
            if flag.unsafe:
                facts.unsafe.extend([flag.name, *others])
            if flag.per_process or (is_sensitive and key is None):
                continue
            text = flag.text
            source = flag.source
            place = flag.history[0].place if source != "default" else None
            if is_sensitive:
                text, place = _keyed(key or b"", f"{flag.name}={text}"), None
            default = "" if is_sensitive else text
            if source != "default" and not is_sensitive:
                default = _default_of(flag)
            fact = Fact(short(text), source, short(place or ""), short(default))
            facts.values[flag.name] = fact
        except errors.UndefinedFlagError:  # its plugin may leave, on another thread
            continue
    defaults = digest({name: fact.default_text for name, fact in facts.values.items()})
    return facts._replace(defaults=defaults)


def _default_of(flag: Flag[Any]) -> str:
    default = flag.history[-1].value
    return "" if default is None else text_of(flag.name, default)


def _keyed(key: bytes, text: str) -> str:
    return (
        "hmac:" + hmac.new(key, text.encode("utf-8", "surrogateescape"), "sha256").hexdigest()[:32]
    )


def short(text: str) -> str:
    """Return text as JSON can have it; of long text its beginning and a digest."""
    data = text.encode("utf-8", "surrogateescape")
    shown = data.decode("utf-8", "backslashreplace")
    if len(shown) <= _LONGEST:
        return shown
    digest = hashlib.sha256(data).hexdigest()[:16]
    return f"{shown[:_LONGEST]}... ({len(data)} bytes, sha256 {digest})"


def digest_of(facts: Mapping[str, Fact], selected: Collection[str]) -> str:
    """Return a digest of the flags that all members should have alike."""
    return digest({name: fact.text for name, fact in facts.items() if name not in selected})


def digest(texts: Mapping[str, str]) -> str:
    """Return a digest of names and texts: of both with a NUL behind each, sorted by name."""
    data = "".join(f"{name}\0{texts[name]}\0" for name in sorted(texts))
    return hashlib.sha256(data.encode()).hexdigest()[:16]


def changed_of(facts: Mapping[str, Fact]) -> dict[str, list[str]]:
    """Return the flags that don't have their defaults."""
    return {name: list(fact) for name, fact in facts.items() if fact.source != "default"}


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


def latest(answers: Mapping[int, Any]) -> dict[str, Any]:
    """Return the answers to the latest records, as JSON wants them."""
    return {str(each): answers[each] for each in sorted(answers)[-_MOST_ANSWERS:]}


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
        document = json.loads(data, parse_int=read_integer)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def decode(member: StoredMember) -> Document:
    """Return what is known of a member; what it should not have written is left out."""
    if not member.document:
        return {"problem": "this user may not read what it says", "alive": member.alive}
    document = _known(read(member.document), _FIELDS)
    for name, types in (("check", _CHECK_FIELDS), ("details", _DETAIL_FIELDS)):
        document[name] = _known(document.get(name, {}), types)
    return {**document, "alive": member.alive}


def documents_of(store: Store) -> dict[str, Document]:
    """Return the documents of the members that are here."""
    return {name: each for name, each in all_of(store).items() if each["alive"]}


def document_of(store: Store, name: str) -> Document | None:
    """Return the document of a member that is here; None if there is none."""
    found = store.member(name)
    return decode(found) if found is not None and found.alive else None


def all_of(store: Store) -> dict[str, Document]:
    """Return the documents of all members, also of those that were here within a day."""
    return {name: decode(each) for name, each in store.members().items() if is_name(name)}


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


# ---- What a document may have ----


def _known(fields: Mapping[str, Any], types: Mapping[str, Callable[[Any], bool]]) -> Document:
    return {
        name: fields[name] for name, fits in types.items() if name in fields and fits(fields[name])
    }


def _text(value: Any) -> bool:
    return isinstance(value, str) and is_storable(value)


def _whole(value: Any) -> bool:
    return is_a(value, int) and -_MOST <= value < _MOST


def _texts(value: Any) -> bool:
    return is_a(value, list) and all(map(_text, value))


def _by_name(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: (
        is_a(value, dict) and all(_text(name) and fits(each) for name, each in value.items())
    )


def _answer(value: Any) -> bool:
    return (
        is_a(value, list)
        and len(value) == len(Answer._fields)
        and _texts(value[:2])
        and _texts(value[2])
    )


def _answers(value: Any) -> bool:
    return _by_name(_answer)(value) and all(map(_REVISION.fullmatch, value))


def _or_none(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value)


def _numbers(value: Any) -> bool:
    return is_a(value, list) and all(map(_whole, value))


_facts = _by_name(lambda each: _texts(each) and len(each) == len(Fact._fields))

_FIELDS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("name", "host", "fleet", "digest", "problem", "process", "defaults"), _text),
    "role": _or_none(_text),
    **dict.fromkeys(("version", "pid", "revision", "changed"), _whole),
    **dict.fromkeys(("rank", "world", "step"), _or_none(_whole)),
    **dict.fromkeys(("ttl", "time", "tick_timeout"), lambda value: is_a(value, int, float)),
    **dict.fromkeys(("selected", "sensitive", "unsafe", "cut"), _texts),
    **dict.fromkeys(("wanted", "aliases"), _by_name(_text)),
    **dict.fromkeys(("counting", "standing"), _numbers),
    "left": lambda value: value is True,
    "answers": _answers,
    "values": _facts,
    **dict.fromkeys(("check", "details"), lambda value: is_a(value, dict)),
}

_CHECK_FIELDS: dict[str, Callable[[Any], bool]] = {
    "round": _whole,
    "expect": _or_none(_whole),
    "environment": _text,
}

_DETAIL_FIELDS: dict[str, Callable[[Any], bool]] = {
    "of": _whole,
    "values": _facts,
    "variables": _by_name(_text),
}
