"""What changed from one normal form to another, and what each change breaks.

There is no difference exactly when the normal forms are equal: a part of the form that
no rule below covers is reported as a change of its order at least.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from paddle_flags.gen.diff_flag import (
    BEHAVIOUR,
    CODE,
    VALUES,
    Breaks,
    Difference,
    compare_flags,
)
from paddle_flags.gen.problems import quote_for_message, suggest
from paddle_flags.gen.values import format_flag_argument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from paddle_flags.gen.model import Flag, FlagSet, Implication, Place


T = TypeVar("T")
_MOST_PAIRS = 2500


def compare(old: FlagSet, new: FlagSet) -> list[Difference]:
    """Return all changes: those of the set, of its flags in their order, and of the rest."""
    return list(_Comparison(old, new).compare_all())


def _index_by(items: Iterable[T], key: Callable[[T], Any]) -> dict[Any, T]:
    return {key(each): each for each in items}


def _pair_by_key(old: dict[Any, T], new: dict[Any, T]) -> Iterator[tuple[Any, T | None, T | None]]:
    for key in [*old, *(each for each in new if each not in old)]:
        yield key, old.get(key), new.get(key)


def _place_of(record: Any, field: str = "") -> Place | None:
    place: Place | None = record.at.get(field) or record.at.get("")
    return place


class _Comparison:
    def __init__(self, old: FlagSet, new: FlagSet) -> None:
        self._old, self._new = old, new
        self._old_flags = {flag.name: flag for flag in old.flags}
        self._new_flags = {flag.name: flag for flag in new.flags}
        self._old_names, self._new_names = _roles_of_names(old), _roles_of_names(new)
        # The current name of each old flag.
        self._now = {name: name for name in self._old_flags if name in self._new_flags}
        for name in self._old_flags.keys() - self._now.keys():
            role, target = self._new_names.get(name, ("", ""))
            if role in ("alias", "old name"):
                self._now[name] = target

        # Which new flag a removed one may be; comparing all pairs is slow.
        arrived = self._new_flags.keys() - self._old_flags.keys() - {*self._now.values()}
        pairs = len(arrived) * (len(self._old_flags) - len(self._now))
        self._arrived = sorted(arrived) if pairs <= _MOST_PAIRS else []
        self._retired = _index_by(new.retired, lambda each: each.name)
        self._notes = _collect_new_notes(old, new)
        self._old_places, self._new_places = _places_of_names(old), _places_of_names(new)

    def compare_all(self) -> Iterator[Difference]:
        yield from self._compare_sets()
        yield from self._compare_flags()
        yield from self._compare_other_names()
        yield from self._compare_entries("renamed", "name")
        yield from self._compare_entries("retired", "name")
        yield from self._compare_entries("deprecated", "flag")
        yield from self._compare_implications()
        yield from self._compare_imports()
        yield from self._compare_versions()
        yield from self._compare_orders()

    def _compare_sets(self) -> Iterator[Difference]:
        for field, breaks in (("name", (CODE,)), ("version", ())):
            before, after = getattr(self._old, field), getattr(self._new, field)
            if before != after:
                now, former = quote_for_message(after), quote_for_message(before)
                text = f"{field} of the set: is {now}, was {former}"
                place = _place_of(self._new, field)
                yield Difference("", f"set {field}", text, breaks, before, after, place)

    # ---- flags ----

    def _compare_flags(self) -> Iterator[Difference]:

        taken = set(self._now.values())
        for name, old in self._old_flags.items():
            now = self._now.get(name)
            if now != name:
                yield self._compare_missing_flag(old, now)
            new = self._new_flags.get(now or "")
            if new is None or (now != name and now in self._old_flags):
                continue
            for each in compare_flags(old, new):
                yield replace(each, note=self._notes.get((new.name, each.kind), ""))
        for name, new in self._new_flags.items():
            if name not in taken:
                yield self._added_difference(new)

    def _compare_missing_flag(self, old: Flag, now: str | None) -> Difference:
        if now is None:
            return self._removed_difference(old)
        role = self._new_names[old.name][0]
        works = "as an alias" if role == "alias" else "and warns"
        text = f"was renamed to '{now}'; the old name works {works}"
        breaks: Breaks = (CODE,)
        if now in self._old_flags:
            text, breaks = f"was merged into '{now}', which existed before", (CODE, VALUES)
        place = _place_of(self._new_flags[now], "name")
        return Difference(old.name, "renamed", text, breaks, old.name, now, place)

    def _removed_difference(self, old: Flag) -> Difference:
        place = _place_of(old, "name")
        if self._new_names.get(old.name, ("",))[0] == "retired":
            entry = self._retired[old.name]
            instead = f"; use '{entry.replacement}'" if entry.replacement else ""
            text = f"was retired, values for it are ignored: {entry.reason}{instead}"
            breaks = (CODE, VALUES)
            return Difference(old.name, "retired", text, breaks, old.name, None, place)
        text = (
            f"was removed, and flags_compat.yaml doesn't say why{suggest(old.name, self._arrived)}"
        )
        return Difference(old.name, "removed", text, (CODE, VALUES), old.name, None, place)

    def _added_difference(self, new: Flag) -> Difference:
        text = "is new"
        breaks: Breaks = ()
        if "required" in new.attributes:
            text, breaks = "is new and required", (VALUES,)
        return Difference(new.name, "added", text, breaks, None, new.name, _place_of(new, "name"))

    # ---- other names ----

    def _compare_other_names(self) -> Iterator[Difference]:
        for name, (role, target) in self._old_names.items():
            if role != "flag":
                yield from self._compare_other_name(name, role, target)
        for name, (role, target) in self._new_names.items():
            if name not in self._old_names and role in ("alias", "old name"):
                text = f"has the {role} '{name}'"
                place = self._new_places[name]
                yield Difference(target, role, text, (), None, name, place)

    def _compare_other_name(self, name: str, role: str, target: str) -> Iterator[Difference]:
        now, meant = self._new_names.get(name, ("", ""))
        wanted = self._now.get(target, "")
        subject = wanted or target or name
        what = f"the {'retired name' if role == 'retired' else role} '{name}'"
        if (now, meant) == (role, wanted):
            return
        if role == "retired":
            place = (self._new_places if now else self._old_places)[name]
            text, breaks = f"{what} no longer exists", (VALUES,)
            if now:
                meaning = "is a flag" if now == "flag" else f"means '{meant}'"
                text, breaks = (
                    f"{what} {meaning} now; values for it were ignored before",
                    (BEHAVIOUR,),
                )
            yield Difference(subject, "retired", text, breaks, name, meant or None, place)
        elif meant and meant == wanted:
            text = f"'{name}' was its {role} and is now its {now}"
            place = self._new_places[name]
            if now != "flag":
                yield Difference(subject, now, text, (), name, name, place)
        elif wanted or now:
            place = (self._new_places if now else self._old_places)[name]
            text = f"{what} now means '{meant}'" if meant else f"{what} was removed"
            yield Difference(subject, role, text, (VALUES,), name, meant or None, place)

    def _compare_entries(self, part: str, key: str) -> Iterator[Difference]:
        """Return the changes of entries that don't change what a name means."""
        old = _index_by(
            map(self._with_current_name, getattr(self._old, part)), lambda each: getattr(each, key)
        )
        new = _index_by(getattr(self._new, part), lambda each: getattr(each, key))
        for name, before, after in _pair_by_key(old, new):
            if before == after or self._is_reported_elsewhere(part, before, after):
                continue
            how = "was changed" if before and after else "is new" if after else "was removed"
            reason = getattr(after, "reason", "")
            text = f"the entry of '{part}' {how}" + (f": {reason}" if reason else "")
            yield Difference(name, part, text, place=_place_of(after or before))

    def _with_current_name(self, entry: Any) -> Any:
        """Return an entry of the old files with the current name of its flag."""
        flag = getattr(entry, "flag", "")
        return replace(entry, flag=self._now[flag]) if flag in self._now else entry

    def _is_reported_elsewhere(self, part: str, before: Any, after: Any) -> bool:
        """Return whether the change is reported elsewhere, as one of a name."""
        if part == "deprecated":
            return False
        if part == "renamed":
            return before is None or after is None or before.version == after.version
        name = (before or after).name
        return name in self._old_flags or self._new_names.get(name, ("",))[0] != "retired"

    # ---- implied values, imports, versions ----

    def _compare_implications(self) -> Iterator[Difference]:
        old = _index_by(map(self._with_current_flag_names, self._old.implies), _implication_key)
        for cause, before, after in _pair_by_key(
            old, _index_by(self._new.implies, _implication_key)
        ):
            sets = [_get_implied_values(before), _get_implied_values(after)]
            if before == after:
                continue
            text = f"{cause[1]} implies the same in a different order"
            breaks: Breaks = ()
            if sets[0] != sets[1]:
                before_text, after_text = map(_settings_text, sets)
                text = f"{cause[1]} implies {after_text}, implied {before_text}"
                breaks = (BEHAVIOUR,)
            place = _place_of(after or before)
            yield Difference(cause[0], "implies", text, breaks, sets[0], sets[1], place)

    def _with_current_flag_names(self, entry: Implication) -> Implication:
        made: Implication = self._with_current_name(entry)
        return replace(made, sets=[self._with_current_name(each) for each in entry.sets])

    def _compare_imports(self) -> Iterator[Difference]:
        old = _index_by(self._old.imports, lambda each: each.name)
        new = _index_by(self._new.imports, lambda each: each.name)
        for name, before, after in _pair_by_key(old, new):
            if before is None or after is None:
                text = "is now imported" if after else "is no longer imported"
                breaks = () if after else (CODE,)
                place = _place_of(after or before)
                yield Difference(name, "imports", text, breaks, place=place)
                continue
            for field, broken in (("type", CODE), ("default", BEHAVIOUR)):
                values = getattr(before, field), getattr(after, field)
                if values[0] != values[1]:
                    former, now = map(quote_for_message, values)
                    text = f"import: {field}: is {now}, was {former}"
                    yield Difference(
                        name, "imports", text, (broken,), *values, _place_of(after, field)
                    )

    def _compare_versions(self) -> Iterator[Difference]:
        old = _index_by(self._old.versions, lambda each: each.version)
        new = _index_by(self._new.versions, lambda each: each.version)
        for version, before, after in _pair_by_key(old, new):
            if before == after:
                continue
            how = "was changed" if before and after else "is new" if after else "was removed"
            text = f"history: {version} {how}"
            yield Difference("", "history", text, place=_place_of(after or before))
            for change in after.changes if after and not before else ():
                if change.change == "meaning":
                    text, place = f"has a different meaning since {version}", _place_of(change)
                    yield Difference(
                        change.flag, "meaning", text, (BEHAVIOUR,), place=place, note=change.note
                    )

    def _compare_orders(self) -> Iterator[Difference]:
        keys: dict[str, Callable[[Any], Any]] = dict.fromkeys(
            ("flags", "imports", "aliases", "renamed", "retired"), lambda each: each.name
        )
        keys |= {"deprecated": lambda each: each.flag, "implies": _implication_key}
        keys["versions"] = lambda each: each.version
        for part, key in keys.items():
            before = list(map(key, getattr(self._old, part)))
            after = list(map(key, getattr(self._new, part)))
            both = {*before} & {*after}
            if [key for key in before if key in both] != [key for key in after if key in both]:
                text = f"the order of '{part}' changed"
                yield Difference("", "order", text, place=_place_of(self._new, part))


def _collect_new_notes(old: FlagSet, new: FlagSet) -> dict[tuple[str, str], str]:
    """Return the notes of new entries of flags_version.yaml, by flag and kind of change."""
    known = {version.version for version in old.versions}
    notes: dict[tuple[str, str], str] = {}
    for version in new.versions:
        for change in version.changes if version.version not in known else ():
            key = (change.flag, change.change)
            notes[key] = f"{notes.get(key, '')} {change.note}".strip()
    return notes


def _roles_of_names(flags: FlagSet) -> dict[str, tuple[str, str]]:
    """Return the role of each name, and the flag that it means."""
    found = {each.name: ("flag", each.name) for each in flags.flags}
    found |= {each.name: ("alias", each.flag) for each in flags.aliases}
    found |= {each.name: ("old name", each.flag) for each in flags.renamed}
    return found | {each.name: ("retired", "") for each in flags.retired}


def _places_of_names(flags: FlagSet) -> dict[str, Place | None]:
    named: list[Any] = [*flags.flags, *flags.aliases, *flags.renamed, *flags.retired]
    return {each.name: _place_of(each, "name") for each in named}


def _implication_key(each: Implication) -> tuple[str, str]:
    return each.flag, format_flag_argument(each.value)


def _get_implied_values(each: Implication | None) -> dict[str, Any] | None:
    return {setting.flag: setting.value for setting in each.sets} if each else None


def _settings_text(sets: dict[str, Any] | None) -> str:
    if sets is None:
        return "nothing"
    return ", ".join(f"{name}={format_flag_argument(value)}" for name, value in sets.items())
