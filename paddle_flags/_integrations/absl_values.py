"""Values of absl's flags as values of ours, and back."""

from __future__ import annotations

import contextlib
import enum
import functools
from typing import TYPE_CHECKING, Any

from absl import flags

from paddle_flags import Type
from paddle_flags.errors import FlagTypeError
from paddle_flags.extend import format_argument, quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_EMPTY: dict[str | None, Any] = {"bool": False, "int64": 0, "double": 0.0, "string": ""}
# absl takes True for 1, and 1 for 1.0.
_PLAIN: dict[str, Callable[[Any], Any]] = {"bool": bool, "int64": int, "double": float}


class Codec:
    """How the values of a flag of absl are stored: its type in C, and the conversions."""

    def __init__(self, flag: Any) -> None:
        self._flag = flag
        self._parser: Any = flag.parser
        self._is_multi = isinstance(flag, flags.MultiFlag)
        # Our lists have commas; a list with spaces is text.
        spaces = isinstance(self._parser, flags.WhitespaceSeparatedListParser)
        self._is_list = self._is_multi or (
            isinstance(self._parser, flags.BaseListParser) and not spaces
        )
        self.kind = _choose_native_type(self._parser, boolean=flag.boolean)
        self._is_exact = (
            self.kind != "string"
            or type(self._parser) in _TEXTS
            or (self._is_list and not self._is_multi)
        )
        self.items = self.kind if self._is_list else None
        self.multi = self._is_multi
        self.via = None  # or what gives a choice one spelling, whatever sets it
        if not self._is_list and isinstance(self._parser, _CHOICES):
            self.via = Type(
                self._canonicalize_text, metavar="STRING", expected="one of the choices"
            )

    def to_ours(self, value: Any) -> Any:
        """Return the value for our flag; None stands for nothing."""
        if value is None:
            return () if self._is_list else _EMPTY[self.kind]
        if self._is_list:
            several = [value] if isinstance(value, str) else value
            return tuple(self._item_to_ours(each) for each in several)
        return self._item_to_ours(value)

    def _item_to_ours(self, value: Any) -> Any:
        is_member = isinstance(value, enum.Enum)  # which may be a text as well
        if isinstance(value, str) and (self._is_exact or not is_member):
            return self._parse_assigned_text(str.__str__(value))
        if self._is_exact:
            plain = _PLAIN.get(self.kind)
            return plain(value) if plain and isinstance(value, int) else value
        serializer = self._flag.serializer
        if serializer is None:
            return str(value)
        try:
            return str(serializer.serialize([value] if self._is_multi else value))
        except Exception as error:  # whatever the serializer of the program raises
            message = f"{self._flag.name}: its serializer can't write {quote_value(value)}: {error}"
            raise FlagTypeError(message) from error

    def _parse_assigned_text(self, text: str) -> Any:
        """Return what a text means that was assigned; absl takes any object."""
        if self.kind != "string":
            with contextlib.suppress(ValueError, TypeError):
                return self._parser.parse(text)
        return text

    def to_theirs(self, value: Any) -> Any:
        """Return the value for absl's flag; raise ValueError if its parser refuses it."""
        if not self._is_list:
            return self._item_to_theirs(value)
        return [self._item_to_theirs(each) for each in value]

    def _canonicalize_text(self, text: str) -> str:
        """Return the text that absl writes for the value that it reads in a text."""
        if text == self.to_ours(self._flag.default):
            return text
        return str(self._item_to_ours(self._parser.parse(text)))

    def _item_to_theirs(self, value: Any) -> Any:
        if self._is_list and not self._is_multi:
            return value
        try:
            return self._parser.parse(value)
        except (TypeError, OverflowError) as error:
            raise ValueError(str(error)) from error

    def text(self, value: Any) -> str:
        """Return the text of a value as our command line reads it."""
        return format_argument(self.to_ours(value))

    def get_fitting_constraints(self, default: Any) -> dict[str, Any]:
        """Return range and choices, if they suit the default; absl's parser knows them, too."""
        if self._is_list:
            return {}
        lowest = getattr(self._parser, "lower_bound", None)
        highest = getattr(self._parser, "upper_bound", None)
        if self.kind in ("int64", "double"):
            low = lowest is None or lowest <= default
            high = highest is None or default <= highest
            return {"min": lowest, "max": highest} if low and high else {}
        choices = [str.__str__(each) for each in getattr(self._parser, "enum_values", ())]
        if choices and getattr(self._parser, "case_sensitive", True) and default in choices:
            return {} if any("|" in each for each in choices) else {"choices": choices}
        return {}


_CHOICES = (flags.EnumParser, flags.EnumClassParser)
_TEXTS = (flags.ArgumentParser, flags.EnumParser)


def _choose_native_type(parser: Any, *, boolean: bool) -> str:
    """Return the type in C of a value, or of an item; text for all that has no other."""
    if boolean or type(parser) is flags.BooleanParser:
        return "bool"
    if type(parser) is flags.IntegerParser:
        return "int64"
    return "double" if type(parser) is flags.FloatParser else "string"


class SharedList(list):  # type: ignore[type-arg]
    """A list that calls `changed` with itself after a change in place; copies are plain lists.

    If that raises, the list and the flag are as they were.
    """

    def __init__(self, values: Iterable[Any], changed: Callable[[SharedList], None]) -> None:
        super().__init__(values)
        self._changed = changed

    def __reduce_ex__(self, protocol: object) -> Any:
        return list, (list(self),)

    def _change_and_notify(self, method: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        before = list(self)
        result = method(self, *arguments, **named)
        try:
            self._changed(self)
        except BaseException:
            list.__setitem__(self, slice(None), before)
            with contextlib.suppress(flags.IllegalFlagValueError):
                self._changed(self)  # absl keeps what it has refused
            raise
        return result


def _make_notifying_method(name: str) -> Any:
    method = getattr(list, name)

    @functools.wraps(method)
    def change(self: SharedList, *arguments: Any, **named: Any) -> Any:
        return self._change_and_notify(method, *arguments, **named)

    return change


for _name in (
    *("append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"),
    *("__setitem__", "__delitem__", "__iadd__", "__imul__"),
):
    setattr(SharedList, _name, _make_notifying_method(_name))


class Proposal:
    """Looks to a validator like absl's FlagValues with values that are not set yet."""

    def __init__(self, values: Any, proposed: dict[str, Any]) -> None:
        self._values = values
        self._proposed = proposed

    def __getitem__(self, name: str) -> Any:
        return _Value(self._proposed[name]) if name in self._proposed else self._values[name]


class _Value:
    def __init__(self, value: Any) -> None:
        self.value = value


def verify_proposal(validator: Any, values: Any, proposed: dict[str, Any]) -> None:
    """Ask a validator, which may read other flags, as absl asks when it has read the line."""
    was = values.__dict__["__flags_parsed"]
    values.__dict__["__flags_parsed"] = True
    try:
        validator.verify(Proposal(values, proposed))
    except flags.ValidationError as error:
        raise ValueError(str(error)) from error
    finally:
        values.__dict__["__flags_parsed"] = was
