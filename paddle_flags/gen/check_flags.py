"""Single flags: which keys a type allows, and whether values are within their bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paddle_flags.gen.model import NUMBERS
from paddle_flags.gen.problems import quote_for_message
from paddle_flags.gen.values import format_flag_argument

if TYPE_CHECKING:
    from paddle_flags.gen.model import Flag, FlagSet
    from paddle_flags.gen.problems import Problems

LONGEST = 4000  # bytes of a text; C99 promises 4095
# Attributes that contradict one another, and why.
_CONTRADICTIONS = (
    ("read_only", "required", "it could never get a value"),
    ("read_only", "runtime", "no change from outside would be taken"),
    ("startup_only", "runtime", "no change in the running process would be taken"),
)


def check_single_flags(flags: FlagSet, problems: Problems) -> None:
    """Report what is wrong with single flags."""
    for flag in flags.flags:
        if not _check_allowed_keys(flag, problems):
            continue
        if _check_range(flag, problems) and _check_choices(flag, problems):
            check_value(flag, flag.default, flag.at["default"], f"{flag.name}: default", problems)
        _check_attributes(flag, problems)
        _check_lengths(flag, problems)
        if flag.since:
            what = f"{flag.name}: since"
            check_version(flag.since, flags.version, flag.at["since"], what, problems)
    for import_ in flags.imports:
        if "\0" in str(import_.default):
            problems.add(import_.at["default"], import_.name, "a NUL", "text without")


def _check_allowed_keys(flag: Flag, problems: Problems) -> bool:
    """Report keys that the type doesn't allow; returns true if there are none."""
    wrong = {
        "items": flag.items is not None and flag.type != "string",
        "unit": flag.unit is not None and flag.type not in NUMBERS,
        "range": "range" in flag.at and flag.type not in NUMBERS,
        "choices": bool(flag.choices) and flag.type == "bool",
    }
    wanted = {
        "items": "the type string",
        "unit": "the type of a number",
        "range": "the type of a number",
        "choices": "another type",
    }
    for key in (key for key, is_wrong in wrong.items() if is_wrong):
        found = f"it with the type {flag.type}"
        problems.add(flag.at[key], f"{flag.name}: {key}", found, wanted[key])
    return not any(wrong.values())


def _check_range(flag: Flag, problems: Problems) -> bool:
    if "range" not in flag.at or flag.min is None or flag.max is None:
        return True
    if flag.min <= flag.max:
        return True
    found = f"[{flag.min}, {flag.max}]"
    problems.add(flag.at["range"], f"{flag.name}: range", found, "the smaller bound first")
    return False


def _check_choices(flag: Flag, problems: Problems) -> bool:
    wrong = False
    seen = set()
    for index, choice in enumerate(flag.choices):
        place, what = flag.at[f"choices.{index}"], f"{flag.name}: choices[{index}]"
        if choice is None:
            wrong = True
        elif isinstance(choice, str) and (not choice or "|" in choice):
            problems.add(place, what, quote_for_message(choice), "text without '|', and not empty")
            wrong = True
        elif not is_in_flag_range(flag, choice):
            problems.add(place, what, quote_for_message(choice), f"a value in {format_range(flag)}")
            wrong = True
        elif choice in seen:
            problems.add(place, what, f"{quote_for_message(choice)} again", "each choice once")
            wrong = True
        seen.add(choice)
    return not wrong


def is_in_flag_range(flag: Flag, value: Any) -> bool:
    """Return whether a value is in the flag's range."""
    above = flag.min is None or value >= flag.min
    return above and (flag.max is None or value <= flag.max)


def format_range(flag: Flag) -> str:
    """Return "[1, 9]", with nothing in place of a missing bound."""
    if flag.min is None and flag.max is None:
        return "none"
    low, high = ("" if bound is None else str(bound) for bound in (flag.min, flag.max))
    return f"[{low}, {high}]"


def check_value(flag: Flag, value: Any, place: Any, what: str, problems: Problems) -> bool:
    """Report a value of the right type that the flag can't have; a None was reported before."""
    choices = set(flag.choices)
    for each in value if isinstance(value, list) else [value]:
        expected = ""
        if each is None or None in choices:
            return False
        if choices and each not in choices:
            expected = f"one of {', '.join(map(str, flag.choices))}"
        elif flag.items is None and flag.type in NUMBERS and not is_in_flag_range(flag, each):
            expected = f"a value in {format_range(flag)}"
        elif isinstance(each, str) and "\0" in each:
            expected = "text without NUL"
        if expected:
            problems.add(place, what, quote_for_message(each), expected)
            return False
    return True


def _check_attributes(flag: Flag, problems: Problems) -> None:
    for one, other, why in _CONTRADICTIONS:
        if one in flag.attributes and other in flag.attributes:
            found = f"{one} and {other}"
            what = f"{flag.name}: attributes"
            problems.add(flag.at["attributes"], what, found, f"one of them: {why}")


def _check_lengths(flag: Flag, problems: Problems) -> None:
    """Report texts that are longer than every C compiler accepts."""
    choices = "|".join(map(format_flag_argument, flag.choices))
    default = "" if flag.default is None else format_flag_argument(flag.default)
    texts = {"help": flag.help, "default": default, "choices": choices, "category": flag.category}
    for key, text in texts.items():
        size = len(text.encode("utf-8", "surrogateescape"))
        if size > LONGEST:
            expected = f"at most {LONGEST} bytes"
            problems.add(flag.at[key], f"{flag.name}: {key}", f"text of {size} bytes", expected)


def version_key(version: str) -> tuple[int, ...]:
    """Return the key by which versions are sorted."""
    return tuple(map(int, version.split(".")))


def check_version(
    version: str, set_version: str, place: Any, what: str, problems: Problems
) -> bool:
    """Report a version later than that of the set; returns true if it isn't."""
    if not set_version:
        expected = "the set to have a 'version' that is not earlier"
    elif version_key(version) > version_key(set_version):
        expected = f"{set_version}, the version of the set, or an earlier version"
    else:
        return True
    problems.add(place, what, version, expected)
    return False
