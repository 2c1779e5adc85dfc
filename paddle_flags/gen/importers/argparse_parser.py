"""Flags of an argparse parser: an attribute of a module, or the result of a function in it."""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import os
import re
import sys
from typing import TYPE_CHECKING, Any

from paddle_flags.errors import FlagArgumentError
from paddle_flags.gen.importers import NO_HELP, UNKNOWN_VERSION, Found
from paddle_flags.gen.model import Alias, Deprecated, Flag, FlagSet, Place
from paddle_flags.gen.problems import shown, suggest

if TYPE_CHECKING:
    from collections.abc import Iterator

Action = Any  # argparse's classes of actions are private

_TYPES = {None: "string", str: "string", int: "int64", float: "double", bool: "string"}
_EMPTY: dict[str, Any] = {"bool": False, "int64": 0, "double": 0.0, "string": ""}
_STANDARD = ("positional arguments", "optional arguments", "options")  # argparse's own titles
_MOST_CHOICES = 10  # a longer range of numbers becomes a range


def import_parser(target: str, name: str | None, version: str) -> Found:
    """Import `module:attribute` and return the options of the parser."""
    module_name, _, attribute = target.partition(":")
    module = _module(module_name, target)
    parser = _parser(module, attribute, target)
    path = inspect.getsourcefile(module) or module_name
    stem = re.sub(r"\W", "_", name or os.path.splitext(os.path.basename(parser.prog))[0])
    found = Found(FlagSet(stem, version, at={"": Place(path, 1, 1)}))
    _Importer(parser, found, _places(path)).run()
    return found


def _module(name: str, target: str) -> Any:
    sys.path.insert(0, os.getcwd())
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        message = f"{target}: found no module '{error.name}', expected MODULE:ATTRIBUTE"
        raise FlagArgumentError(message) from error
    except Exception as error:
        message = f"{target}: the module raised {type(error).__name__}: {error}"
        raise FlagArgumentError(message) from error
    finally:
        sys.path.remove(os.getcwd())


def _parser(module: Any, attribute: str, target: str) -> argparse.ArgumentParser:
    if not hasattr(module, attribute):
        known = [key for key, value in vars(module).items() if _is_parser(value) or callable(value)]
        expected = f"a parser or a function that returns one{suggest(attribute, known)}"
        message = f"{target}: found no '{attribute}', expected {expected}"
        raise FlagArgumentError(message)
    value = getattr(module, attribute)
    try:
        parser = value if _is_parser(value) or not callable(value) else value()
    except (Exception, SystemExit) as error:
        message = f"{target}: the function raised {type(error).__name__}: {error}"
        raise FlagArgumentError(message) from error
    if not isinstance(parser, argparse.ArgumentParser):
        message = f"{target}: found {type(parser).__name__}, expected an ArgumentParser"
        raise FlagArgumentError(message)
    return parser


def _is_parser(value: object) -> bool:
    return isinstance(value, argparse.ArgumentParser)


def _places(path: str) -> dict[str, Place]:
    """Return the place of add_argument("--name") in a source, by the option."""
    try:
        with open(path, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return {}
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {
        word.value: Place(path, call.lineno, call.col_offset + 1)
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "add_argument"
        for word in call.args
        if isinstance(word, ast.Constant) and isinstance(word.value, str)
    }


class _Importer:
    def __init__(
        self, parser: argparse.ArgumentParser, found: Found, places: dict[str, Place]
    ) -> None:
        self._parser = parser
        self._found = found
        self._places = places
        self._actions: list[Action] = parser._actions

    def run(self) -> None:
        for group in self._parser._action_groups:
            title = group.title if group.title not in _STANDARD else ""
            for action in group._group_actions:
                self._import_action(action, title or "")
        for group in self._parser._mutually_exclusive_groups:
            actions = group._group_actions
            words = ", ".join(_word(action) for action in actions)
            what = "a mutually exclusive group"
            self._found.report_loss(self._place(actions[0]), words, what, "independent flags")

    def _place(self, action: Action) -> Place:
        known = (self._places.get(word) for word in [*action.option_strings, action.dest])
        place = next((each for each in known if each), self._found.flags.at[""])
        return Place(*place)  # every flag has its own

    def _import_action(self, action: Action, category: str) -> None:
        kind = type(action).__name__
        if kind in ("_HelpAction", "_VersionAction"):  # every command line has these
            return
        place, word = self._place(action), _word(action)
        if not action.option_strings:
            what = "subcommands" if kind == "_SubParsersAction" else "a positional argument"
            self._found.leave_out(place, word, what, "an option")
            return
        convert = _KINDS.get(kind)
        if convert is None:
            self._found.leave_out(
                place, word, f"the action {kind}", "an action that stores a value"
            )
            return
        name, *others = _names(action)
        flag = Flag(name, "", None, None, "", None, None, [], None, category, [], "", "")  # type: ignore[arg-type]
        flag.at = {"": place}
        if not convert(self, flag, action):
            return
        self._describe(flag, action)
        self._found.flags.flags.append(flag)
        for each in others if kind != "_StoreFalseAction" else ():
            alias = Alias(each, name, at={"": self._place(action)})
            self._found.flags.aliases.append(alias)

    def _describe(self, flag: Flag, action: Action) -> None:
        place = flag.at[""]
        flag.attributes = ["required"] if action.required else []
        if action.help == argparse.SUPPRESS:
            flag.attributes.append("hidden")
        elif action.help:
            flag.help = self._parser._get_formatter()._expand_help(action).strip()
        if not flag.help:
            self._found.report_loss(
                place, f"{flag.name}: help", "none", f"some; '{NO_HELP}' is written"
            )
            flag.help = NO_HELP
        flag.attributes.sort()
        if getattr(action, "deprecated", False):
            flags = self._found.flags
            flags.version = flags.version or UNKNOWN_VERSION
            reason = "deprecated"
            self._found.report_loss(
                place, f"{flag.name}: deprecated", "no version", "since when, and why"
            )
            at = {"": Place(*place)}
            flags.deprecated.append(Deprecated(flag.name, flags.version, None, reason, at))

    # ---- kinds of actions; each returns whether the flag can be imported ----

    def _switch(self, flag: Flag, action: Action) -> bool:
        flag.type = "bool"
        default = self._parser.get_default(action.dest)
        flag.default = bool(default)
        if not isinstance(default, bool):
            self._report_lost_default(flag, default)
        return True

    def _off_switch(self, flag: Flag, action: Action) -> bool:
        """Import an option that stores False; --no-color of `color` comes with `color`."""
        dest = action.dest
        if flag.name not in (f"no{dest}", f"no_{dest}"):
            expected = f"--no{dest}, which turns '{dest}' off"
            self._found.report_loss(
                flag.at[""], _word(action), "an option that stores False", expected
            )
        if any(each.dest == dest for each in self._actions if each is not action):
            return False
        flag.name = dest
        return self._switch(flag, action)

    def _value(self, flag: Flag, action: Action) -> bool:
        place, word = flag.at[""], _word(action)
        kind = _TYPES.get(action.type)
        if kind is None or action.type is bool:
            said = getattr(action.type, "__name__", repr(action.type))
            why = "bool(), for which all text is true" if action.type is bool else f"{said}()"
            self._found.report_loss(place, f"{word}: type", why, "a type; string is written")
        item = kind or "string"
        flag.type = item
        if self._is_list(action):
            flag.type, flag.items = "string", item
            how = f"nargs={action.nargs!r}" if action.nargs else type(action).__name__
            self._found.report_loss(place, word, how, f"one value with commas, {word}=a,b")
        elif action.nargs == "?":
            what = f"nargs='?' with const={action.const!r}"
            self._found.report_loss(place, word, what, "a value whenever the flag is used")
        default = self._parser.get_default(action.dest)
        flag.default = self._default(flag, action, default, item)
        self._choices(flag, action, item)
        return True

    @staticmethod
    def _is_list(action: Action) -> bool:
        kind = type(action).__name__
        return kind in ("_AppendAction", "_ExtendAction") or action.nargs not in (None, "?")

    def _default(self, flag: Flag, action: Action, default: Any, item: str) -> Any:
        if isinstance(default, str) and action.type is not None:
            try:  # as parse_args does
                default = self._parser._get_value(action, default)
            except argparse.ArgumentError:
                self._report_lost_default(flag, default)
        if flag.items:
            values = list(default) if isinstance(default, (list, tuple)) else []
            if default is not None and not isinstance(default, (list, tuple)):
                self._report_lost_default(flag, default)
            return [self._scalar(flag, each, item) for each in values]
        if default is None or default is argparse.SUPPRESS:
            if not action.required:
                self._report_lost_default(flag, None)
            return _EMPTY[item]
        return self._scalar(flag, default, item)

    def _scalar(self, flag: Flag, value: Any, item: str) -> Any:
        wanted: Any = {"int64": int, "double": (int, float), "string": str}[item]
        if isinstance(value, wanted) and not isinstance(value, bool):
            return float(value) if item == "double" else value
        if item == "string" and value is not None:
            self._report_lost_default(flag, value, str(value))
            return str(value)
        self._report_lost_default(flag, value)
        return _EMPTY[item]

    def _report_lost_default(self, flag: Flag, value: Any, instead: Any = None) -> None:
        written = _EMPTY[flag.items or flag.type] if instead is None else instead
        found = "no default" if value is None else shown(str(value))
        expected = f"a value; {shown(written)} is written"
        self._found.report_loss(flag.at[""], f"{flag.name}: default", found, expected)

    def _choices(self, flag: Flag, action: Action, item: str) -> None:
        choices = action.choices
        if choices is None:
            return
        if isinstance(choices, range) and choices.step == 1 and len(choices) > _MOST_CHOICES:
            flag.min, flag.max = choices[0], choices[-1]
            return
        flag.choices = [self._scalar(flag, each, item) for each in choices]


_KINDS = {
    "_StoreTrueAction": _Importer._switch,
    "_StoreFalseAction": _Importer._off_switch,
    "BooleanOptionalAction": _Importer._switch,
    "_StoreAction": _Importer._value,
    "_AppendAction": _Importer._value,
    "_ExtendAction": _Importer._value,
}


def _word(action: Action) -> str:
    """Return a value as a command line has it."""
    words: list[str] = action.option_strings
    return next((word for word in words if word.startswith("--")), (words or [action.dest])[0])


def _names(action: Action) -> Iterator[str]:
    """Return the names: that of the first long option, then all others."""
    words = sorted(action.option_strings, key=lambda word: word != _word(action))
    if type(action).__name__ == "BooleanOptionalAction":
        words = [word for word in words if not word.startswith("--no-")]
    names = [re.sub(r"\W", "_", word.lstrip("-+/")) for word in words]
    return iter(dict.fromkeys(names))
