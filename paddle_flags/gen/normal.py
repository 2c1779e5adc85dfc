"""The second stage: from the contents of the files to the normal form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle_flags.gen.model import (
    INTEGERS,
    NUMBERS,
    TYPES,
    UNITS,
    Alias,
    Change,
    Deprecated,
    Flag,
    FlagSet,
    Implication,
    Import,
    Renamed,
    Retired,
    Setting,
    Version,
)
from paddle_flags.gen.problems import Problems, format_alternatives, quote_for_message
from paddle_flags.gen.values import InvalidValueError, convert_to_flag_value, convert_to_scalar

if TYPE_CHECKING:
    from paddle_flags.gen import fields
    from paddle_flags.gen.model import Place
    from paddle_flags.gen.read import Source

Type = tuple[str, str | None, str | None]  # type, items and unit
Types = dict[str, Type]

UNREADABLE: Any = None  # stands for an invalid value, whose problem has been reported


def normalize(source: Source, problems: Problems) -> FlagSet:
    """Return the normal form; values that don't fit their types are reported."""
    return _Normaliser(problems).normalize_all(source)


class _Normaliser:
    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._flags: dict[str, Flag] = {}

    def normalize_all(self, source: Source) -> FlagSet:
        top, compat = source.flags, source.compat
        made = FlagSet(top.name, top.version, at=top.at)
        made.flags = [self._normalize_flag(each) for each in top.flags]
        self._flags = {flag.name: flag for flag in made.flags}
        made.imports = [self._normalize_import(each) for each in top.imports]
        if compat:
            made.aliases = [alias for each in compat.aliases for alias in _normalize_aliases(each)]
            made.renamed = [_normalize_renamed(each) for each in compat.renamed]
            made.retired = [_normalize_retired(each) for each in compat.retired]
            made.deprecated = [_normalize_deprecated(each) for each in compat.deprecated]
            made.implies = [self._normalize_implication(each) for each in compat.implies]
        if source.version:
            made.versions = self._normalize_versions(source.version.versions)
        return made

    def _normalize_flag(self, read: fields.Flag) -> Flag:
        kind, items, unit = read.type, read.items or None, read.unit or None
        counted = unit if kind in NUMBERS else None  # the check reports others
        lists = items if kind == "string" else None  # likewise
        each = (lists or kind, None, counted)
        low, high = self._normalize_range(read, each)
        return Flag(
            name=read.name,
            type=kind,
            items=items,
            default=self._normalize_value(read, "default", read.default, (kind, lists, counted)),
            help=read.help.strip(),
            min=low,
            max=high,
            choices=[
                self._normalize_value(read, f"choices.{index}", raw, each)
                for index, raw in enumerate(read.choices)
            ],
            unit=unit,
            category=read.category.strip(),
            attributes=sorted(read.attributes),
            owner=read.owner.strip(),
            since=read.since,
            at=read.at,
        )

    def _normalize_range(self, read: fields.Flag, kind: Type) -> tuple[Any, Any]:
        if not read.range or kind[0] not in NUMBERS:  # the check reports those
            return None, None
        made = [
            None if raw is None else self._normalize_value(read, f"range.{index}", raw, kind)
            for index, raw in enumerate(read.range)
        ]
        low, high = _drop_natural_bounds(made, kind)
        return low, high

    def _normalize_import(self, read: fields.Import) -> Import:
        default = self._normalize_value(read, "default", read.default, (read.type, None, None))
        return Import(read.name, read.type, default, at=read.at)

    def _normalize_value(
        self, read: fields.Flag | fields.Import, key: str, raw: Any, kind: Type
    ) -> Any:
        """Return the value at a key; "choices.2" is an item."""
        field, _, index = key.partition(".")
        what = f"{read.name}: {field}" + (f"[{index}]" if index else "")
        return self._convert_or_report(read.at[key], what, raw, kind)

    def _normalize_implication(self, read: fields.Implies) -> Implication:
        cause = read.flag
        value = self._convert_for_flag(cause, read.value, read.at["value"], f"{cause}: value")
        sets = []
        for name, raw in read.sets.items():
            place, of = read.at[f"sets.{name}"], read.at[f"sets.{name}."]
            setting = self._convert_for_flag(name, raw, of, f"{cause}: sets: {name}")
            sets.append(Setting(name, setting, at={"": place, "flag": place, "value": of}))
        return Implication(cause, value, sets, at=read.at)

    def _convert_for_flag(self, name: str, raw: Any, place: Place, what: str) -> Any:
        """Return a value of a flag; unchanged if the flag is unknown."""
        flag = self._flags.get(name)
        if flag is None:
            return raw
        kind = (flag.type, flag.items, flag.unit)
        return self._convert_or_report(place, what, raw, kind)

    def _normalize_versions(self, reads: list[fields.VersionChanges]) -> list[Version]:
        """Return the versions, read from the last to the first: types may have changed."""
        types = {name: (flag.type, flag.items, flag.unit) for name, flag in self._flags.items()}
        made = []
        for read in reversed(reads):
            former = types | _find_old_types(read.changes, types)
            found = [self._normalize_change(each, former, types) for each in read.changes]
            made.append(Version(read.version, found, at=read.at))
            types = former
        return made[::-1]

    def _normalize_change(self, read: fields.Change, before: Types, after: Types) -> Change:
        name, change, note = read.flag, read.change, read.note.strip()
        kind = after.get(name)
        if kind and change == "range" and kind[0] not in NUMBERS:
            found = f"it with the type {kind[0]}"
            what = f"{name}: range"
            self._problems.add(read.at["change"], what, found, "the type of a number")
            return Change(name, change, UNREADABLE, UNREADABLE, note, at=read.at)
        former = self._normalize_change_side(read, "from", read.before, before.get(name))
        now = self._normalize_change_side(read, "to", read.after, kind)
        return Change(name, change, former, now, note, at=read.at)

    def _normalize_change_side(
        self, read: fields.Change, key: str, raw: Any, kind: Type | None
    ) -> Any:
        change, what = read.change, f"{read.flag}: {read.change}: {key}"
        if (key in read.at) == (change == "meaning"):
            found, wanted = ("a value", "only a note") if key in read.at else ("no value", "one")
            self._problems.add(read.at.get(key, read.at[""]), what, found, wanted)
            return UNREADABLE
        if change == "meaning" or kind is None:
            return None if change == "meaning" else raw
        return self._convert_or_report(read.at[key], what, raw, kind, change)

    def _convert_or_report(
        self, place: Place, what: str, raw: Any, kind: Type, change: str = "default"
    ) -> Any:
        try:
            return _convert_change_side(change, raw, kind)
        except InvalidValueError as error:
            self._problems.add(place, what, quote_for_message(raw), str(error))
            return UNREADABLE


def _find_old_types(changes: list[fields.Change], types: Types) -> Types:
    """Return the old types of flags whose type these changes altered."""
    found: Types = {}
    for read in changes:
        former: Any = read.before
        if read.flag in types and read.change == "type" and former in TYPES:
            found[read.flag] = (former, types[read.flag][1], types[read.flag][2])
    return found


def _convert_change_side(change: str, raw: Any, kind: Type) -> Any:
    """Return one side of a change; raises Unfit."""
    if change == "default":
        return convert_to_flag_value(raw, *kind)
    if change in ("type", "unit"):
        words = TYPES if change == "type" else (*UNITS, None)
        if raw not in words:
            raise InvalidValueError(
                format_alternatives([quote_for_message(word) for word in words])
            )
        return raw
    wanted = "a list of values" if change == "choices" else "[smallest, largest]"
    if not isinstance(raw, list) or (change == "range" and len(raw) != 2):
        raise InvalidValueError(wanted)
    item = kind[1] or kind[0]
    if change == "choices":
        return [convert_to_scalar(each, item, kind[2]) for each in raw]
    return _drop_natural_bounds(
        [None if each is None else convert_to_scalar(each, item, kind[2]) for each in raw], kind
    )


def _drop_natural_bounds(made: list[Any], kind: Type) -> list[Any]:
    """Return a range without the bounds that are those of the type."""
    natural = INTEGERS.get(kind[0], (None, None))
    return [None if bound == limit else bound for bound, limit in zip(made, natural)]


def _normalize_aliases(read: fields.Alias) -> list[Alias]:
    places = (read.at[f"names.{index}"] for index in range(len(read.names)))
    return [
        Alias(name, read.flag, at={"": place, "name": place, "flag": read.at["flag"]})
        for name, place in zip(read.names, places)
    ]


def _normalize_renamed(read: fields.Renamed) -> Renamed:
    at = {**read.at, "name": read.at["from"], "flag": read.at["to"]}
    return Renamed(read.name, read.flag, read.version, at=at)


def _normalize_retired(read: fields.Retired) -> Retired:
    reason = read.reason.strip()
    return Retired(read.name, read.type, read.version, read.replacement or None, reason, at=read.at)


def _normalize_deprecated(read: fields.Deprecated) -> Deprecated:
    reason = read.reason.strip()
    return Deprecated(read.flag, read.version, read.replacement or None, reason, at=read.at)
