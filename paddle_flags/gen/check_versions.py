"""Versions: in order, about flags that existed, and leading to the current values."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from paddle_flags.gen.check_flags import check_version, version_key
from paddle_flags.gen.problems import quote_for_message, suggest

if TYPE_CHECKING:
    from paddle_flags.gen.model import Change, Flag, FlagSet, Version
    from paddle_flags.gen.problems import Problems


def check_version_history(flags: FlagSet, problems: Problems) -> None:
    """Report what is wrong with flags_version.yaml."""
    _check_order(flags, problems)
    known = {flag.name: flag for flag in flags.flags}
    retired = {each.name for each in flags.retired}
    for version in flags.versions:
        _check_version_changes(version, known, retired, problems)
    _check_successive_values(flags, known, problems)


def _check_order(flags: FlagSet, problems: Problems) -> None:
    last = ""
    for version in flags.versions:
        place = version.at["version"]
        if last and version_key(version.version) <= version_key(last):
            problems.add(place, "versions", version.version, f"a version after {last}")
        elif check_version(version.version, flags.version, place, "versions", problems):
            last = version.version


def _check_version_changes(
    version: Version, known: dict[str, Flag], retired: set[str], problems: Problems
) -> None:
    seen = set()
    for change in version.changes:
        flag = known.get(change.flag)
        what = f"{change.flag}: {change.change}"
        if (change.flag, change.change) in seen:
            problems.add(
                change.at[""], what, "a second one", f"one change of this kind in {version.version}"
            )
        seen.add((change.flag, change.change))
        if flag is None:
            if change.flag not in retired:
                expected = f"the name of a flag{suggest(change.flag, known)}"
                place = change.at["flag"]
                problems.add(place, version.version, f"'{change.flag}'", expected)
            continue
        _check_change(change, version, flag, problems)


def _check_change(change: Change, version: Version, flag: Flag, problems: Problems) -> None:
    what = f"{change.flag}: {change.change}"
    if flag.since and version_key(version.version) <= version_key(flag.since):
        expected = f"an older flag: this one was introduced in {flag.since}"
        problems.add(change.at["flag"], what, f"a change in {version.version}", expected)
    if change.change == "meaning":
        if not change.note:
            problems.add(change.at[""], what, "no 'note'", "a 'note' that explains the new meaning")
    elif change.before == change.after and _has_both_sides(change):
        expected = "a value other than 'from'"
        problems.add(change.at["to"], what, quote_for_message(change.after), expected)


def _check_successive_values(flags: FlagSet, known: dict[str, Flag], problems: Problems) -> None:
    """Report values that differ from where the next change, or the flag itself, starts."""
    chains: dict[tuple[str, str], list[Change]] = {}
    for version in flags.versions:
        for change in version.changes:
            if change.flag in known and change.change != "meaning" and _has_both_sides(change):
                chains.setdefault((change.flag, change.change), []).append(change)
    for (name, kind), changes in chains.items():
        what = f"{name}: {kind}"
        for former, later in itertools.pairwise(changes):
            if former.after != later.before:
                expected = f"{quote_for_message(former.after)}, its value since {former.at['to']}"
                problems.add(later.at["from"], what, quote_for_message(later.before), expected)
        flag = known[name]
        now = [flag.min, flag.max] if kind == "range" else getattr(flag, kind)
        if changes[-1].after != now:
            expected = f"{quote_for_message(now)}, as in the definition of the flag"
            problems.add(changes[-1].at["to"], what, quote_for_message(changes[-1].after), expected)


def _has_both_sides(change: Change) -> bool:
    """Return whether both sides are present and valid."""
    if change.change == "unit":
        return "from" in change.at and "to" in change.at
    return change.before is not None and change.after is not None
