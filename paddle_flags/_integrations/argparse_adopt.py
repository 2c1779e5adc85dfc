"""`bridge` for argparse: a flag for each option of a parser, by its dest."""

from __future__ import annotations

import argparse
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING, Any

from paddle_flags import FLAGS, add_group
from paddle_flags._integrations.argparse_namespace import (
    NotGiven,
    get_given_value,
    get_initial_value,
)
from paddle_flags._integrations.argparse_parser import (
    get_or_make_bridge,
    register_option_flag,
    sub_parsers_left_out,
)
from paddle_flags.errors import FlagConflictError, FlagError, UndefinedFlagError
from paddle_flags.extend import define_at, format_argument, normalize_name, quote_value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import FrameType

    from paddle_flags import Flag
    from paddle_flags._integrations.argparse_namespace import Overlay
    from paddle_flags._integrations.line import Inputs


_KINDS: dict[type[argparse.Action], str] = {
    argparse._StoreAction: "store",
    argparse._StoreConstAction: "store_const",
    argparse._StoreTrueAction: "store_true",
    argparse._StoreFalseAction: "store_false",
    argparse._AppendAction: "append",
    argparse._AppendConstAction: "append_const",
    argparse._ExtendAction: "extend",
    argparse._CountAction: "count",
    argparse._HelpAction: "help",
    argparse._VersionAction: "version",
    argparse.BooleanOptionalAction: "boolean_optional",
}
_SWITCHES = {"store_true", "store_false", "boolean_optional"}
_LISTS = {"append", "append_const", "extend"}
_PLAIN: dict[Any, str] = {None: "string", str: "string", int: "int64", float: "double"}
_ITEMS = {str: "string", int: "int64", float: "double"}
_EMPTY: dict[str, Any] = {"string": "", "int64": 0, "double": 0.0}
_MOST_CHOICES = 10  # a longer range of numbers becomes a range


class _Unfit(Exception):
    """Why an option cannot be a flag."""


class _ConvertedValue:
    """A value of a type of the program's own, and the text it was made from."""

    def __init__(self, text: str, value: Any) -> None:
        self.text = text
        self.value = value

    def __eq__(self, other: object) -> bool:  # argparse looks for it in `choices`
        return bool(self.value == other)

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return repr(self.value)


class _Typed:
    """A type of the program's own that remembers the text."""

    def __init__(self, convert: Callable[[str], Any]) -> None:
        self._convert_item = convert
        self.__name__ = getattr(convert, "__name__", repr(convert))  # for messages

    def __call__(self, text: str) -> _ConvertedValue:
        return _ConvertedValue(text, self._convert_item(text))


class OptionFlag:
    """A flag that stands for a dest of a parser."""

    def __init__(
        self, parser: argparse.ArgumentParser, actions: list[argparse.Action], namespace: str
    ) -> None:
        self._parser = parser
        self._prefix = f"{namespace}." if namespace else ""
        self._actions = actions
        self._first = actions[0]
        self.dest = self._first.dest
        self.name = self._prefix + normalize_name(self.dest)
        self._kind = _classify_options(actions)
        self._item = _item_type(actions, self._kind)
        self._custom = self._item == "custom"
        self.spellings = [each for action in actions for each in action.option_strings]
        self.required = [action for action in actions if action.required]
        self._types: list[Any] = [action.type for action in actions]
        self._type: Any = next((kind for kind in self._types if kind is not None), None)
        self._type_name = getattr(self._type, "__name__", repr(self._type))
        self._default = self._to_flag_value(self._plain_default())
        self.flag: Flag[Any]

    # ---- the definition ----

    def define(self, frame: FrameType, category: str, *, replace: bool) -> None:
        """Define the flag, for the code of the frame."""
        lowest, highest, choices, check = self._derive_value_limits()
        if self._kind == "count":
            lowest = 0
        known: dict[str, Any] = {
            "items": self._item.replace("custom", "string") if self._kind == "list" else None,
            "min": lowest,
            "max": highest,
            "choices": choices,
            "category": category,
            "hidden": all(action.help == argparse.SUPPRESS for action in self._actions),
            "required": bool(self.required),
            "frame": frame,
            "replace": replace,
            "count": self._kind == "count",
        }
        try:
            self.flag = define_at(
                frame, self.name, self._default, self._help(), aliases=self._aliases(), **known
            )
        except FlagConflictError:  # it may be about an alias, which is a mere convenience
            if not self._aliases():
                raise
            self.flag = define_at(frame, self.name, self._default, self._help(), **known)
        self._meaning = _definition_identity(self.flag)
        self._add_flag_validator(check)

    @property
    def is_current(self) -> bool:
        """Whether the flag is still the one that was defined for the options."""
        with suppress(UndefinedFlagError):
            return _definition_identity(self.flag) == self._meaning
        return False

    def _aliases(self) -> list[str]:
        """Return the other long names; those of options that store a constant mean more."""
        names = [
            normalize_name(spelling.lstrip(self._parser.prefix_chars))
            for action in self._actions
            if _KINDS[type(action)] in ("store", "store_true", "append", "extend", "count")
            for spelling in action.option_strings
        ]
        aliases = [self._prefix + each for each in dict.fromkeys(names) if len(each) > 1]
        return [each for each in aliases if each != self.name]

    def _help(self) -> str:
        texts = [action.help for action in self._actions if action.help]
        text = next((each for each in texts if each != argparse.SUPPRESS), "")
        try:
            known = {**vars(self._first), "prog": self._parser.prog}
            kind = self._first.type
            known["type"] = getattr(kind, "__name__", kind)
            return text % known
        except (KeyError, TypeError, ValueError):
            return text

    def _plain_default(self) -> Any:
        """Return argparse's default, a text of it as its type makes it."""
        default = self._parser.get_default(self.dest)
        if isinstance(default, str) and self._item not in ("string", "custom"):
            try:
                convert: Any = self._first.type
                return convert(default)
            except (TypeError, ValueError):
                return None
        return default

    def _to_flag_value(self, value: Any) -> Any:
        """Return a value of the namespace as one of the flag; None, as nothing."""
        if value is None or value is argparse.SUPPRESS:
            return {"bool": False, "list": ()}.get(self._kind, _EMPTY.get(self._item, ""))
        if self._kind == "bool":
            return bool(value)
        if self._kind == "list":
            several = value if isinstance(value, (list, tuple)) else [value]
            return tuple(self._to_flag_scalar(each) for each in several)
        return self._to_flag_scalar(value)

    def _to_flag_scalar(self, value: Any) -> Any:
        if isinstance(value, _ConvertedValue):
            return value.text
        if self._custom and isinstance(value, Enum):
            return self._text_of_member(value)
        wanted = {"int64": int, "double": float}.get(self._item)
        if wanted is None:
            return str(value)
        try:
            return wanted(value)
        except (TypeError, ValueError):
            return _EMPTY[self._item]

    def _text_of_member(self, member: Enum) -> str:
        """Return the text that the type of the options makes this member of."""
        texts = [str(member), str(member.value), member.name]
        for text in texts:
            with suppress(ValueError, TypeError, KeyError, argparse.ArgumentTypeError):
                if self._type(text) is member:
                    return text
        return texts[0]

    def _derive_value_limits(self) -> tuple[Any, Any, list[Any], Callable[[Any], None] | None]:
        """Return range and choices, or a function that checks what those cannot say."""
        known = [action.choices for action in self._actions if action.choices is not None]
        if not known:
            return None, None, [], None
        choices = known[0]
        if self._custom:
            return None, None, [], None  # _add_flag_validator() asks the type, and then them
        if isinstance(choices, range) and choices.step == 1 and len(choices) > _MOST_CHOICES:
            lowest, highest = choices[0], choices[-1]
            if self._kind == "scalar" and lowest <= self._default <= highest:
                return lowest, highest, [], None
        texts = [format_argument(self._to_flag_scalar(each)) for each in choices]
        defaults = self._default if self._kind == "list" else [self._default]
        if all(format_argument(each) in texts for each in defaults) and not any(
            "|" in t for t in texts
        ):
            return None, None, texts, None

        def check(value: Any) -> None:
            for each in value if self._kind == "list" else [value]:
                if format_argument(each) not in texts:
                    raise ValueError(f"expected one of {', '.join(texts)}")

        return None, None, [], check

    def _add_flag_validator(self, check: Callable[[Any], None] | None) -> None:
        counts = {action.nargs for action in self._actions if self._kind == "list"}
        count = counts.pop() if len(counts) == 1 else None
        opens = any(isinstance(kind, argparse.FileType) for kind in self._types)
        converts = self._custom and not opens
        if check is None and not converts and (count in (None, "*") or self._is_append()):
            return

        def accept(value: Any) -> bool:
            if value == self._default:  # which may stand for None
                return True
            if check:
                check(value)
            if not self._is_append():
                _check_count(value, count)
            if converts:
                self._to_namespace_value(value)
            return True

        self.flag.validate(accept)

    def _is_append(self) -> bool:
        return any(_KINDS[type(action)] in _LISTS for action in self._actions)

    def _to_namespace_value(self, value: Any) -> Any:
        """Return a value of the flag as argparse stores it; raise ValueError if it doesn't suit."""
        if self._kind == "list":
            return [self._convert_item(each) for each in value]
        return self._convert_item(value)

    def _convert_item(self, value: Any) -> Any:
        if not self._custom:
            return value
        try:
            made = self._type(value)
        except argparse.ArgumentTypeError as error:
            raise ValueError(str(error)) from None
        except (TypeError, ValueError):
            raise ValueError(f"expected a value for {self._type_name}()") from None
        choices = self._first.choices
        if choices is not None and made not in choices:
            raise ValueError(f"expected one of {', '.join(map(str, choices))}")
        return made

    # ---- a command line: begin, end, given, fill ----

    def relax_options_for_parsing(self, namespace: Any) -> NotGiven:
        """Return what tells in a namespace that the command line doesn't give the option."""
        for action, kind in zip(self._actions, self._types):
            if self._custom and kind is not None:
                action.type = _Typed(kind)
            action.required = False
        if hasattr(namespace, self.dest):
            return NotGiven(getattr(namespace, self.dest), had=True)
        return NotGiven(self._parser.get_default(self.dest), had=False)

    def restore_options(self) -> None:
        """Leave the options as they were."""
        for action, kind in zip(self._actions, self._types):
            action.type = kind
        for action in self.required:
            action.required = True

    def given_text(self, namespace: Overlay) -> str | None:
        """Return the value that the command line gave, as text; None if it gave none."""
        value = get_given_value(namespace, self.dest)
        if isinstance(value, NotGiven):
            return None
        return format_argument(self._to_flag_value(value))

    def copy_value_to_result(self, namespace: Overlay, result: Any) -> None:
        """Let the result, which is the caller's namespace, have the value that the flag has."""
        value = get_given_value(namespace, self.dest)
        source = self.flag.source
        if source == "argv" and not isinstance(value, NotGiven):
            setattr(result, self.dest, _unwrap_values(value))
        elif source == "default" and self.flag.default == self._default:
            if not get_initial_value(namespace, self.dest).had:
                self._fill_default(result)
        else:
            try:
                setattr(result, self.dest, self._to_namespace_value(self.flag.value))
            except ValueError as error:
                message = f"{self.flag.source}: {quote_value(self.flag.text)}: {error}"
                raise argparse.ArgumentError(self._first, message) from None

    def _fill_default(self, result: Any) -> None:
        """Let the result have the default as argparse gives it."""
        default = self._parser.get_default(self.dest)
        if default is argparse.SUPPRESS:
            return
        if isinstance(default, str) and self._type is not None:
            try:
                default = self._type(default)
            except (TypeError, ValueError, argparse.ArgumentTypeError):
                message = f"invalid {self._type_name} value: {default!r}"
                raise argparse.ArgumentError(self._first, message) from None
        setattr(result, self.dest, default)


def _definition_identity(flag: Flag[Any]) -> tuple[Any, ...]:
    return flag.type, flag.items, flag.file, flag.line


def _unwrap_values(value: Any) -> Any:
    if isinstance(value, list):
        return [_unwrap_values(each) for each in value]
    return value.value if isinstance(value, _ConvertedValue) else value


def _check_count(value: Sequence[Any], count: int | str | None) -> None:
    if isinstance(count, int) and len(value) != count:
        raise ValueError(f"expected {count} items")
    if count == "+" and not value:
        raise ValueError("expected one item or more")


def _classify_options(actions: list[argparse.Action]) -> str:
    """Return "bool", "count", "list" or "scalar"; raise _Unfit."""
    kinds = {_KINDS.get(type(action), "") for action in actions}
    if "" in kinds:
        action = next(each for each in actions if type(each) not in _KINDS)
        raise _Unfit(f"has an action of the program's own, {type(action).__name__}")
    if kinds <= _SWITCHES:
        return "bool"
    if kinds == {"count"}:
        return "count"
    lists = {action.nargs not in (None, "?") for action in actions if _takes_value(action)}
    if kinds <= _LISTS:
        if "append" in kinds and any(
            _KINDS[type(action)] == "append" and action.nargs is not None for action in actions
        ):
            raise _Unfit("appends lists to a list")
        return "list"
    if kinds <= {"store", "store_const"} and lists in (set(), {False}):
        return "scalar"
    if kinds == {"store"} and lists == {True}:
        if any(action.nargs in ("A...", "...", "==SUPPRESS==") for action in actions):
            raise _Unfit("takes the rest of the command line")
        return "list"
    message = f"shares {actions[0].dest!r} with options of other kinds: {', '.join(sorted(kinds))}"
    raise _Unfit(message)


def _takes_value(action: argparse.Action) -> bool:
    return _KINDS[type(action)] in ("store", "append", "extend")


def _item_type(actions: list[argparse.Action], kind: str) -> str:
    """Return the type in C of a value or of an item, or "custom"."""
    if kind in ("bool", "count"):
        return "int64"
    items = {_PLAIN.get(action.type, "custom") for action in actions if _takes_value(action)}
    consts = {
        _ITEMS.get(type(action.const), "object")
        for action in actions
        if not _takes_value(action) or action.nargs == "?"
    }
    found = (items or consts) if items != {"custom"} else {"custom"}
    if len(found) == 1 and "object" not in found and (consts <= found or not consts):
        return found.pop()
    raise _Unfit("has constants that are not values of its type")


# ---- all options of a parser ----


def _group_options_by_dest(parser: argparse.ArgumentParser) -> dict[str, list[argparse.Action]]:
    found: dict[str, list[argparse.Action]] = {}
    for action in parser._actions:
        kind = _KINDS.get(type(action))
        if action.option_strings and kind not in ("help", "version"):
            found.setdefault(action.dest, []).append(action)
    return found


def _categories_by_dest(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Return the title of the group of each dest, without argparse's own titles."""
    plain_titles = {group.title for group in argparse.ArgumentParser()._action_groups}
    return {
        action.dest: group.title or ""
        for group in parser._action_groups
        if group.title not in plain_titles
        for action in group._group_actions
    }


def _move_exclusive_groups(parser: argparse.ArgumentParser, made: dict[str, OptionFlag]) -> None:
    """Make mutually exclusive groups rules of the registry."""
    for group in parser._mutually_exclusive_groups:
        dests = {action.dest for action in group._group_actions}
        if len(dests) > 1 and dests <= made.keys():
            flags = [made[dest].flag for dest in sorted(dests)]
            add_group(*flags, rule="exactly_one" if group.required else "at_most_one")
            group.required = False


def define_option_flags(
    parser: argparse.ArgumentParser,
    inputs: Inputs,
    frame: FrameType,
    *,
    namespace: str,
    replace: bool,
) -> dict[str, str]:
    """Define a flag for each option; return why others were left out."""
    bridge = get_or_make_bridge(parser)
    bridge.inputs.update(inputs)
    categories = _categories_by_dest(parser)
    left_out: dict[str, str] = {}
    made: dict[str, OptionFlag] = {}
    for dest, actions in _group_options_by_dest(parser).items():
        if dest in bridge.option_flags or bridge.is_flag_action(actions[0]):
            continue
        adopted = None
        try:
            adopted = OptionFlag(parser, actions, namespace)
            adopted.define(frame, categories.get(dest, ""), replace=replace)
        except (_Unfit, FlagError) as error:
            if isinstance(error, FlagConflictError) and adopted and adopted.name in FLAGS:
                raise
            left_out[dest] = str(error)
            continue
        made[dest] = bridge.option_flags[dest] = adopted
        register_option_flag(adopted)
    _move_exclusive_groups(parser, made)
    return {**left_out, **sub_parsers_left_out(parser)}
