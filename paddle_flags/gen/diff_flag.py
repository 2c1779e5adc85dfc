"""What changed about one flag, and what a change breaks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from paddle_flags.gen.check_flags import format_range
from paddle_flags.gen.model import INTEGERS, NUMBERS
from paddle_flags.gen.problems import quote_for_message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from paddle_flags.gen.model import Flag, Place

# What a change breaks.
CODE = "code"  # programs that read the flag, or set it, by its name and type
VALUES = "values"  # command lines, files and variables that give it a value
BEHAVIOUR = "behaviour"  # users who set nothing, or set the same value, and get a different result
BROKEN = (CODE, VALUES, BEHAVIOUR)
Breaks = tuple[str, ...]  # of the above; empty: compatible


@dataclass(frozen=True)
class Difference:
    """One change."""

    subject: str  # the name of a flag; "" for the set as a whole
    kind: str  # "removed", "default", ...: docs/reference/yaml.md has them all
    text: str  # "default: is 64, was 32"
    breaks: Breaks = ()
    before: Any = None
    after: Any = None
    place: Place | None = None  # in the new files; for what was removed, in the old ones
    note: str = ""  # what flags_version.yaml says about it


# What it breaks that a flag gets an attribute; losing one breaks nothing.
_GAINED = {"required": (VALUES,), "read_only": (CODE, VALUES), "startup_only": (CODE,)}


def compare_flags(old: Flag, new: Flag) -> Iterator[Difference]:
    """Return the changes from an old flag to the new one, which may have another name."""
    for kind, key, text, breaks, sides in _compare_all(old, new):
        place = new.at.get(key) or new.at.get("")
        yield Difference(new.name, kind, text, breaks, sides[0], sides[1], place)


_Found = tuple[str, str, str, Breaks, tuple[Any, Any]]


def _compare_all(old: Flag, new: Flag) -> Iterator[_Found]:
    yield from _compare_types(old, new)
    yield from _compare_defaults(old, new)
    yield from _compare_ranges(old, new)
    yield from _compare_choices(old, new)
    if old.unit != new.unit:
        yield _describe_value_change("unit", old.unit, new.unit, (VALUES,) if old.unit else ())
    for attribute in sorted({*old.attributes} - {*new.attributes}):
        yield "attribute", "attributes", f"is no longer {attribute}", (), (attribute, None)
    for attribute in sorted({*new.attributes} - {*old.attributes}):
        breaks = _GAINED.get(attribute, ())
        yield "attribute", "attributes", f"is now {attribute}", breaks, (None, attribute)
    for field in ("category", "owner", "since"):
        if getattr(old, field) != getattr(new, field):
            yield _describe_value_change(field, getattr(old, field), getattr(new, field), ())
    if old.help != new.help:
        yield "help", "help", "help: was changed", (), (old.help, new.help)


def _describe_value_change(field: str, before: Any, after: Any, breaks: Breaks) -> _Found:
    said = [
        quote_for_message(side) if side not in (None, "") else "none" for side in (after, before)
    ]
    return field, field, f"{field}: is {said[0]}, was {said[1]}", breaks, (before, after)


def _compare_types(old: Flag, new: Flag) -> Iterator[_Found]:
    if (old.type, old.items) == (new.type, new.items):
        return
    before, after = (f"list of {flag.items}" if flag.items else flag.type for flag in (old, new))
    breaks = (CODE,) if _can_parse_texts_of(new, old) else (CODE, VALUES)
    yield "type", "type", f"type: is {after}, was {before}", breaks, (before, after)


def _can_parse_texts_of(new: Flag, old: Flag) -> bool:
    """Return whether text for the old type is valid for the new one."""
    if old.type == "bool" or old.items or new.items:  # only bools have --x and --nox
        return False
    if new.type == "string":
        return True
    if old.type == "string":
        return False
    low, high = _natural_range(new)
    return low <= _natural_range(old)[0] and _natural_range(old)[1] <= high


def _natural_range(flag: Flag) -> tuple[float, float]:
    return INTEGERS.get(flag.type, (-math.inf, math.inf))


def _compare_defaults(old: Flag, new: Flag) -> Iterator[_Found]:
    if old.default == new.default:
        return
    breaks = () if "required" in old.attributes and "required" in new.attributes else (BEHAVIOUR,)
    if "sensitive" in old.attributes or "sensitive" in new.attributes:
        yield (
            "default",
            "default",
            "default: was changed; both values are sensitive",
            breaks,
            (None, None),
        )
        return
    yield _describe_value_change(
        "default", _shown_default(old.default), _shown_default(new.default), breaks
    )


def _shown_default(value: Any) -> Any:
    return '""' if value == "" else value


def _compare_ranges(old: Flag, new: Flag) -> Iterator[_Found]:
    if (old.min, old.max) == (new.min, new.max):
        return
    before, after = [old.min, old.max], [new.min, new.max]
    text = f"range: is {format_range(new)}, was {format_range(old)}"
    narrowed = False
    if old.type in NUMBERS and new.type in NUMBERS:
        lows, highs = zip(*map(_bounds, (old, new)))
        narrowed = lows[1] > lows[0] or highs[1] < highs[0]
    yield "range", "range", text, (VALUES,) if narrowed else (), (before, after)


def _bounds(flag: Flag) -> tuple[float, float]:
    low, high = _natural_range(flag)
    return (low if flag.min is None else flag.min, high if flag.max is None else flag.max)


def _compare_choices(old: Flag, new: Flag) -> Iterator[_Found]:
    if old.choices == new.choices:
        return
    gone = [each for each in old.choices if each not in new.choices] if new.choices else []
    come = [each for each in new.choices if each not in old.choices] if old.choices else []
    said = []
    if not new.choices:
        said.append("now takes every value")
    if not old.choices:
        said.append(f"now takes only {_list_text(new.choices)}")
    said += [f"no longer takes {_list_text(gone)}"] if gone else []
    said += [f"now takes {_list_text(come)}"] if come else []
    breaks = (VALUES,) if gone or not old.choices else ()
    text = f"choices: {', '.join(said) or 'were reordered'}"
    yield "choices", "choices", text, breaks, (old.choices, new.choices)


def _list_text(values: list[Any]) -> str:
    return ", ".join(map(quote_for_message, values))
