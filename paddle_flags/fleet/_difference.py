"""Flags and variables that members have differently, from their documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from paddle_flags.fleet._document import Documents

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


UNKNOWN = "its own default, or not defined"

_Held = tuple[str, str] | None
"""A value and its source; None: it isn't set, or no such flag is defined."""


def differences_of(documents: Documents, among: Collection[str] | None = None) -> list[Difference]:
    """Return the flags that differ between members for which the fleet wants the same.

    A value of `UNKNOWN` is a default that only its member knows; the details of all have it.
    """
    documents = {n: each for n, each in documents.items() if each.get("defaults") != ""}
    facts = {
        name: {**each["values"], **each["details"]["values"]} for name, each in documents.items()
    }
    defaults = {
        (each.get("defaults"), flag): fact[3]
        for each in documents.values()
        for flag, fact in each["values"].items()
    }

    def held_by(member: str, flag: str) -> _Held:
        document, fact = documents[member], facts[member].get(flag)
        if fact is not None:
            return fact[0], f"{fact[1]} {fact[2]}".strip()
        if document["details"]["values"]:
            return None
        return defaults.get((document.get("defaults"), flag), UNKNOWN), "default"

    found = []
    flags = {flag for each in facts.values() for flag in each}
    for flag in sorted(flags if among is None else flags & set(among)):
        groups: dict[str | None, dict[str, _Held]] = {}
        for name, document in documents.items():
            wanted = document.get("wanted", {}).get(flag)
            groups.setdefault(wanted, {})[name] = held_by(name, flag)
        for group in groups.values():
            found += _difference(flag, group)
    return found if among is not None else found + _variables(documents)


def _difference(name: str, held: Mapping[str, _Held]) -> list[Difference]:
    if len({each and each[0] for each in held.values()}) < 2:  # noqa: PLR2004 - one value
        return []
    groups: dict[_Held, list[str]] = {}
    for member, each in held.items():
        groups.setdefault(each, []).append(member)
    holders = [
        Holder(value, source, tuple(sorted(members)))
        for (value, source), members in ((each or (None, ""), m) for each, m in groups.items())
    ]
    holders.sort(key=lambda each: (-len(each.members), each.members))
    return [Difference(name, tuple(holders))]


def _variables(documents: Documents) -> list[Difference]:
    given = {
        name: each["details"]["variables"]
        for name, each in documents.items()
        if "variables" in each["details"]
    }
    return [
        difference
        for variable in sorted({name for each in given.values() for name in each})
        for difference in _difference(
            f"${variable}",
            {m: (each[variable], "") if variable in each else None for m, each in given.items()},
        )
    ]


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
