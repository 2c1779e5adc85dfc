"""Flags and variables that members have differently, from their documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

_MOST_NAMED = 5  # members with the same value that a message names
_MOST_SHOWN = 50  # differences that a message shows


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


Documents = "Mapping[str, Mapping[str, Any]]"


def differences_of(
    documents: Mapping[str, Mapping[str, Any]], among: Collection[str] | None = None
) -> list[Difference]:
    """Return the flags that differ between members for which the fleet wants the same.

    A value of `UNKNOWN` is a default that only its member knows; the details of all have it.
    """
    flags = {name: _flags_of(document) for name, document in documents.items()}
    defaults = _defaults_of(documents)
    names = {flag for each in flags.values() for flag in each}
    found = []
    for flag in sorted(names if among is None else names & set(among)):
        for group in _groups(documents, flag):
            held = {
                each: flags[each].get(flag) or _at_default(documents[each], flag, defaults)
                for each in group
            }
            found += _difference(flag, held)
    if among is None:
        found += _variables(documents)
    return found


UNKNOWN = "its own default, or not defined"


def _flags_of(document: Mapping[str, Any]) -> dict[str, tuple[str, str, str]]:
    """Return text, source and place of the flags that a document has."""
    details = document.get("details", {}).get("values") or {}
    listed = {**document.get("values", {}), **details}
    return {name: (str(v[0]), str(v[1]), str(v[2])) for name, v in listed.items()}


def _defaults_of(documents: Mapping[str, Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    """Return defaults by the digest of all definitions, and the name of the flag."""
    return {
        (str(document.get("defaults", "")), name): str(fact[3])
        for document in documents.values()
        for name, fact in document.get("values", {}).items()
    }


def _at_default(
    document: Mapping[str, Any], flag: str, defaults: Mapping[tuple[str, str], str]
) -> tuple[str, str, str] | None:
    """Return what a member has that doesn't list a flag; None: it has no such flag."""
    if document.get("details", {}).get("values"):
        return None
    return defaults.get((str(document.get("defaults", "")), flag), UNKNOWN), "default", ""


def _groups(documents: Mapping[str, Mapping[str, Any]], flag: str) -> list[list[str]]:
    """Return the members, together if the fleet wants the same of them."""
    found: dict[str | None, list[str]] = {}
    for name, document in documents.items():
        found.setdefault(document.get("wanted", {}).get(flag), []).append(name)
    return list(found.values())


def _difference(flag: str, held: Mapping[str, tuple[str, str, str] | None]) -> list[Difference]:
    texts = {None if fact is None else fact[0] for fact in held.values()}
    if len(texts) < 2:  # noqa: PLR2004 - one value
        return []
    groups: dict[tuple[str | None, str], list[str]] = {}
    for name, fact in held.items():
        value, source, place = fact or (None, "", "")
        groups.setdefault((value, f"{source} {place}".strip()), []).append(name)
    holders = [Holder(value, source, tuple(sorted(m))) for (value, source), m in groups.items()]
    holders.sort(key=lambda each: (-len(each.members), each.members))
    return [Difference(flag, tuple(holders))]


def _variables(documents: Mapping[str, Mapping[str, Any]]) -> list[Difference]:
    said = {
        name: document["details"]["variables"]
        for name, document in documents.items()
        if "variables" in document.get("details", {})
    }
    found = []
    for variable in sorted({name for each in said.values() for name in each}):
        held = {
            name: (each[variable], "", "") if variable in each else None
            for name, each in said.items()
        }
        found += _difference(f"${variable}", held)
    return found


def shown_all(found: list[Difference]) -> list[str]:
    """Return a line for each difference, for a message."""
    lines = [shown_one(each) for each in found[:_MOST_SHOWN]]
    more = len(found) - _MOST_SHOWN
    return [*lines, f"and {more} more"] if more > 0 else lines


def shown_one(difference: Difference) -> str:
    """Return a difference as text: `NCCL_ALGO: Ring (rank-0, rank-1); not set (rank-2)`."""
    parts = []
    for holder in difference.holders:
        absent = "not set" if difference.name.startswith("$") else "not defined"
        value = absent if holder.value is None else repr(holder.value)
        source = f" from {holder.source}" if holder.source else ""
        parts.append(f"{value}{source} in {members_text(holder.members)}")
    return f"{difference.name}: " + "; ".join(parts)


def members_text(members: Collection[str]) -> str:
    """Return the names of members, cut if there are many."""
    names = list(members)
    more = len(names) - _MOST_NAMED
    text = ", ".join(names[:_MOST_NAMED])
    return f"{text} and {more} more" if more > 0 else text
