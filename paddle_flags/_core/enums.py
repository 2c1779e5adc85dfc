"""Enumerations as types of flags."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from paddle_flags._core.names import suggest_name
from paddle_flags._core.types import INT, Unfit, choice_type, make_type
from paddle_flags.errors import FlagTypeError

if TYPE_CHECKING:
    from paddle_flags._core.types import Type


def _alias_texts(python: type[enum.Enum]) -> dict[str, Any]:
    """Return what else stands for members: names of aliases, and values that only one has."""
    texts: dict[str, Any] = {}
    twice: set[str] = set()
    for member in python:
        value = member.value
        if isinstance(value, bool) or not isinstance(value, (str, int)):
            continue
        text = str.__str__(value) if isinstance(value, str) else int.__repr__(value)
        if text in texts or python.__members__.get(text, member) is not member:
            twice.add(text)
        texts[text] = member
    unique = {text: member for text, member in texts.items() if text not in twice}
    return {**unique, **python.__members__}


def enum_type(python: type[enum.Enum], *, case_sensitive: bool = True) -> Type[Any]:
    """Return the type of an enumeration, whose text is the names of its members."""
    if not len(python):
        raise FlagTypeError(f"type {python.__name__}: expected an enumeration with members")
    if issubclass(python, enum.Flag):
        return _flag_enum_type(python, case_sensitive=case_sensitive)
    names = {member.name: member for member in python}
    return choice_type(python, names, _alias_texts(python), case_sensitive=case_sensitive)


def _flag_enum_type(python: type[enum.Flag], *, case_sensitive: bool) -> Type[Any]:
    members = python.__members__
    folded = {} if case_sensitive else {name.casefold(): m for name, m in members.items()}
    # Those of one bit first, each once.
    parts = sorted(set(members.values()), key=lambda m: (m.value.bit_count(), m.value))

    def parse_part(text: str) -> enum.Flag:
        found = members.get(text, folded.get(text.casefold()))
        if found is not None:
            return found
        try:
            return python(INT.read(text))
        except ValueError:
            near = suggest_name(text, members)
            raise Unfit(f"expected names of {'|'.join(members)}, joined by |{near}") from None

    def parse(text: str) -> enum.Flag:
        value = python(0)
        for each in text.split("|") if text else ():
            value |= parse_part(each)
        return value

    def text_of(value: enum.Flag) -> str:
        left, names = int(value.value), []
        if left < 0:
            return str(left)
        for member in parts:
            if (member.value and member.value & left == member.value) or member is value is python(
                0
            ):
                names.append(str(member.name))
                left &= ~member.value
        return "|".join(names + ([str(left)] if left or not names else []))

    metavar = f"{python.__name__.upper()}|..."
    return make_type(python, parse, text_of, metavar, f"names of {'|'.join(members)}, joined by |")
