"""The second stage: from the contents of the files to the normal form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

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
from paddle_flags.gen.problems import Problems, one_of, shown
from paddle_flags.gen.values import Unfit, to_scalar, to_value

if TYPE_CHECKING:
    from paddle_flags.gen.kinds import Read
    from paddle_flags.gen.model import Place
    from paddle_flags.gen.read import Source

Type = tuple[str, Optional[str], Optional[str]]  # type, items and unit
Types = dict[str, Type]

UNREADABLE: Any = None  # stands for an invalid value, whose problem has been reported


def normalise(source: Source, problems: Problems) -> FlagSet:
    """Return the normal form; values that don't fit their types are reported."""
    return _Normaliser(problems).all(source)


def _many(read: Read | None, key: str) -> list[Read]:
    return read.values.get(key, []) if read else []


class _Normaliser:
    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._flags: dict[str, Flag] = {}

    def all(self, source: Source) -> FlagSet:
        top, compat = source.flags, source.compat
        made = FlagSet(top.values["name"], top.values.get("version", ""), at=top.at)
        made.flags = [self._flag(each) for each in _many(top, "flags")]
        self._flags = {flag.name: flag for flag in made.flags}
        made.imports = [self._import(each) for each in _many(top, "imports")]
        made.aliases = [alias for each in _many(compat, "aliases") for alias in _aliases(each)]
        made.renamed = [_renamed(each) for each in _many(compat, "renamed")]
        made.retired = [_retired(each) for each in _many(compat, "retired")]
        made.deprecated = [_deprecated(each) for each in _many(compat, "deprecated")]
        made.implies = [self._implication(each) for each in _many(compat, "implies")]
        made.versions = self._versions(_many(source.version, "versions"))
        return made

    def _flag(self, read: Read) -> Flag:
        said = read.values
        name, kind = said["name"], said["type"]
        items, unit = said.get("items"), said.get("unit")
        counted = unit if kind in NUMBERS else None  # the check reports others
        lists = items if kind == "string" else None  # likewise
        each = (lists or kind, None, counted)
        low, high = self._range(read, each)
        return Flag(
            name=name,
            type=kind,
            items=items,
            default=self._value(read, "default", said["default"], (kind, lists, counted)),
            help=said["help"].strip(),
            min=low,
            max=high,
            choices=[
                self._value(read, f"choices.{index}", raw, each)
                for index, raw in enumerate(said.get("choices", ()))
            ],
            unit=unit,
            category=said.get("category", "").strip(),
            attributes=sorted(said.get("attributes", ())),
            owner=said.get("owner", "").strip(),
            since=said.get("since", ""),
            at=read.at,
        )

    def _range(self, read: Read, kind: Type) -> tuple[Any, Any]:
        bounds = read.values.get("range")
        if bounds is None or kind[0] not in NUMBERS:  # the check reports those
            return None, None
        made = [
            None if raw is None else self._value(read, f"range.{index}", raw, kind)
            for index, raw in enumerate(bounds)
        ]
        low, high = _bounds(made, kind)
        return low, high

    def _import(self, read: Read) -> Import:
        said = read.values
        default = self._value(read, "default", said["default"], (said["type"], None, None))
        return Import(said["name"], said["type"], default, at=read.at)

    def _value(self, read: Read, key: str, raw: Any, kind: Type) -> Any:
        """Return the value at a key of a record that has a name; "choices.2" is an item."""
        field, _, index = key.partition(".")
        what = f"{read.values['name']}: {field}" + (f"[{index}]" if index else "")
        return self._convert(read.at[key], what, raw, kind)

    def _implication(self, read: Read) -> Implication:
        said = read.values
        cause = said["flag"]
        value = self._of_flag(cause, said["value"], read.at["value"], f"{cause}: value")
        sets = [
            Setting(name, self._of_flag(name, raw, at["value"], f"{cause}: sets: {name}"), at=at)
            for name, raw, at in said["sets"]
        ]
        return Implication(said["flag"], value, sets, at=read.at)

    def _of_flag(self, name: str, raw: Any, place: Place, what: str) -> Any:
        """Return a value of a flag; unchanged if the flag is unknown."""
        flag = self._flags.get(name)
        if flag is None:
            return raw
        kind = (flag.type, flag.items, flag.unit)
        return self._convert(place, what, raw, kind)

    def _versions(self, reads: list[Read]) -> list[Version]:
        """Return the versions, read from the last to the first: types may have changed."""
        types = {name: (flag.type, flag.items, flag.unit) for name, flag in self._flags.items()}
        made = []
        for read in reversed(reads):
            changes = read.values["changes"]
            former = types | _former_types(changes, types)
            found = [self._change(each, former, types) for each in changes]
            made.append(Version(read.values["version"], found, at=read.at))
            types = former
        return made[::-1]

    def _change(self, read: Read, before: Types, after: Types) -> Change:
        said = read.values
        name, change, note = said["flag"], said["change"], said.get("note", "").strip()
        kind = after.get(name)
        if kind and change == "range" and kind[0] not in NUMBERS:
            found = f"it with the type {kind[0]}"
            what = f"{name}: range"
            self._problems.add(read.at["change"], what, found, "the type of a number")
            return Change(name, change, UNREADABLE, UNREADABLE, note, at=read.at)
        former = self._side(read, "from", before.get(name))
        return Change(name, change, former, self._side(read, "to", kind), note, at=read.at)

    def _side(self, read: Read, key: str, kind: Type | None) -> Any:
        said = read.values
        change, what = said["change"], f"{said['flag']}: {said['change']}: {key}"
        if (key in said) == (change == "meaning"):
            found, wanted = ("no value", "one") if key not in said else ("a value", "only a note")
            self._problems.add(read.at.get(key, read.at[""]), what, found, wanted)
            return UNREADABLE
        if change == "meaning" or kind is None:
            return said.get(key)
        try:
            return _changed(change, said[key], kind)
        except Unfit as error:
            self._problems.add(read.at[key], what, shown(said[key]), str(error))
            return UNREADABLE

    def _convert(self, place: Place, what: str, raw: Any, kind: Type) -> Any:
        try:
            return to_value(raw, *kind)
        except Unfit as error:
            self._problems.add(place, what, shown(raw), str(error))
            return UNREADABLE


def _former_types(changes: list[Read], types: Types) -> Types:
    """Return the old types of flags whose type these changes altered."""
    found: Types = {}
    for read in changes:
        name, change, former = (read.values.get(key) for key in ("flag", "change", "from"))
        if name in types and change == "type" and former in TYPES:
            found[name] = (former, types[name][1], types[name][2])
    return found


def _changed(change: str, raw: Any, kind: Type) -> Any:
    """Return one side of a change; raises Unfit."""
    if change == "default":
        return to_value(raw, *kind)
    if change in ("type", "unit"):
        words = TYPES if change == "type" else (*UNITS, None)
        if raw not in words:
            raise Unfit(one_of([shown(word) for word in words]))
        return raw
    wanted = "a list of values" if change == "choices" else "[smallest, largest]"
    if not isinstance(raw, list) or (change == "range" and len(raw) != 2):  # noqa: PLR2004
        raise Unfit(wanted)
    item = kind[1] or kind[0]
    if change == "choices":
        return [to_scalar(each, item, kind[2]) for each in raw]
    return _bounds([None if each is None else to_scalar(each, item, kind[2]) for each in raw], kind)


def _bounds(made: list[Any], kind: Type) -> list[Any]:
    """Return a range without the bounds that are those of the type."""
    natural = INTEGERS.get(kind[0], (None, None))
    return [None if bound == limit else bound for bound, limit in zip(made, natural)]


def _aliases(read: Read) -> list[Alias]:
    names = read.values["names"]
    places = [
        {"": read.at[f"names.{index}"], "name": read.at[f"names.{index}"], "flag": read.at["flag"]}
        for index in range(len(names))
    ]
    return [Alias(name, read.values["flag"], at=at) for name, at in zip(names, places)]


def _renamed(read: Read) -> Renamed:
    at = {**read.at, "name": read.at["from"], "flag": read.at["to"]}
    said = read.values
    return Renamed(said["from"], said["to"], said["version"], at=at)


def _retired(read: Read) -> Retired:
    said = read.values
    replacement, reason = said.get("replacement"), said["reason"].strip()
    return Retired(said["name"], said["type"], said["version"], replacement, reason, at=read.at)


def _deprecated(read: Read) -> Deprecated:
    said = read.values
    replacement, reason = said.get("replacement"), said["reason"].strip()
    return Deprecated(said["flag"], said["version"], replacement, reason, at=read.at)
