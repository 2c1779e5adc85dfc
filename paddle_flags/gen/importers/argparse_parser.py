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

from paddle_flags import FLAGS, bridge, undefine
from paddle_flags.errors import FlagArgumentError
from paddle_flags.gen.importers import UNKNOWN_VERSION, Found
from paddle_flags.gen.importers.texts import convert_live_flag
from paddle_flags.gen.model import Alias, Deprecated, FlagSet, Place
from paddle_flags.gen.problems import quote_for_message, suggest
from paddle_flags.gen.values import format_flag_argument

if TYPE_CHECKING:
    from paddle_flags import Flag as LiveFlag

Actions = list[argparse.Action]  # those of one dest, which are one flag

_NAMESPACE = "gen_import"  # keeps the flags apart from those that the module defines itself
_PLAIN_TYPES = (None, str, int, float)


def import_parser_options(target: str, name: str | None, version: str) -> Found:
    """Import `module:attribute` and return the options of the parser."""
    module_name, _, attribute = target.partition(":")
    module = _import_module(module_name, target)
    parser = _find_parser(module, attribute, target)
    path = inspect.getsourcefile(module) or module_name
    stem = re.sub(r"\W", "_", name or os.path.splitext(os.path.basename(parser.prog))[0])
    found = Found(FlagSet(stem, version, at={"": Place(path, 1, 1)}))
    try:
        _Importer(parser, found, _places_by_option(path)).run()
    finally:
        for flag in [flag for flag in FLAGS if flag.startswith(f"{_NAMESPACE}.")]:
            undefine(flag)
    return found


def _import_module(name: str, target: str) -> Any:
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


def _find_parser(module: Any, attribute: str, target: str) -> argparse.ArgumentParser:
    if not hasattr(module, attribute):
        known = [key for key, value in vars(module).items() if _is_parser(value) or callable(value)]
        expected = f"a parser or a function that returns one{suggest(attribute, known)}"
        raise FlagArgumentError(f"{target}: found no '{attribute}', expected {expected}")
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


def _places_by_option(path: str) -> dict[str, Place]:
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
    """Imports the flags that `bridge` makes of the options, and reports what they lose."""

    def __init__(
        self, parser: argparse.ArgumentParser, found: Found, places: dict[str, Place]
    ) -> None:
        self._parser = parser
        self._found = found
        self._places = places
        self._left_out = bridge(parser, namespace=_NAMESPACE)

    def run(self) -> None:
        by_dest: dict[str, Actions] = {}
        for action in self._parser._actions:
            if not action.option_strings:
                is_command = isinstance(action, argparse._SubParsersAction)
                what = "subcommands" if is_command else "a positional argument"
                self._found.report_left_out(self._place(action), action.dest, what, "an option")
            elif not isinstance(action, (argparse._HelpAction, argparse._VersionAction)):
                by_dest.setdefault(action.dest, []).append(action)
        for dest, actions in by_dest.items():
            known = [name for name in (f"{_NAMESPACE}.{dest}", dest) if name in FLAGS]
            if not known:
                what = f"an option that can't be a flag ({self._left_out.get(dest, 'it is one')})"
                place, word = self._place(actions[0]), _option_text(actions[0])
                self._found.report_left_out(place, word, what, "an option that stores a value")
            else:
                self._import_flag(FLAGS[known[0]], actions)
        self._report_groups()

    def _place(self, action: argparse.Action) -> Place:
        known = (self._places.get(word) for word in [*action.option_strings, action.dest])
        place = next((each for each in known if each), self._found.flags.at[""])
        return Place(*place)  # every flag has its own

    def _import_flag(self, live: LiveFlag[Any], actions: Actions) -> None:
        flags, place = self._found.flags, self._place(actions[0])
        name = live.name.removeprefix(f"{_NAMESPACE}.")
        flags.flags.append(convert_live_flag(live, name, place, self._found))
        for action in actions:
            self._report_losses(action, name)
        self._report_missing_default(live, name, actions)
        for each in dict.fromkeys(each for action in actions for each in _flag_names(action)):
            if each != name:
                flags.aliases.append(Alias(each, name, at={"": self._place(actions[0])}))
        if any(getattr(action, "deprecated", False) for action in actions):
            flags.version = flags.version or UNKNOWN_VERSION
            self._found.report_loss(
                place, f"{name}: deprecated", "no version", "since when, and why"
            )
            at = {"": Place(*place)}
            flags.deprecated.append(Deprecated(name, flags.version, None, "deprecated", at))

    # ---- What a flag can't say ----

    def _report_missing_default(self, live: LiveFlag[Any], name: str, actions: Actions) -> None:
        default = self._parser.get_default(actions[0].dest)
        if default in (None, argparse.SUPPRESS) and not (live.required or live.items):
            expected = (
                f"a value; {quote_for_message(format_flag_argument(live.default))} is written"
            )
            place = self._place(actions[0])
            self._found.report_loss(place, f"{name}: default", "no default", expected)

    def _report_losses(self, action: argparse.Action, name: str) -> None:
        place, word = self._place(action), _option_text(action)
        report = self._found.report_loss
        denials = {f"--no{dash}{name}" for dash in ("", "-", "_")}
        if isinstance(action, argparse._StoreFalseAction) and denials.isdisjoint(
            action.option_strings
        ):
            expected = f"--no{name}, which turns '{name}' off"
            report(place, word, "an option that stores False", expected)
        if action.type not in _PLAIN_TYPES:
            said = getattr(action.type, "__name__", repr(action.type))
            why = "bool(), for which all text is true" if action.type is bool else f"{said}()"
            report(place, f"{word}: type", why, "a type; string is written")
        if action.nargs == "?":
            what = f"nargs='?' with const={action.const!r}"
            report(place, word, what, "a value whenever the flag is used")
        elif action.nargs not in (None, 0) or isinstance(action, argparse._AppendAction):
            how = f"nargs={action.nargs!r}" if action.nargs else type(action).__name__
            report(place, word, how, f"one value with commas, {word}=a,b")

    def _report_groups(self) -> None:
        for group in self._parser._mutually_exclusive_groups:
            actions = group._group_actions
            words = ", ".join(map(_option_text, actions))
            what = "a mutually exclusive group"
            self._found.report_loss(self._place(actions[0]), words, what, "independent flags")


def _option_text(action: argparse.Action) -> str:
    """Return an option as it is written: the first long one if there is one."""
    words = action.option_strings
    return next((word for word in words if word.startswith("--")), words[0])


def _flag_names(action: argparse.Action) -> list[str]:
    """Return the names that an option has as a flag; one that turns a flag off has none."""
    if isinstance(action, (argparse._StoreFalseAction, argparse._StoreConstAction)) and not (
        isinstance(action, argparse._StoreTrueAction)
    ):
        return []
    is_pair = isinstance(action, argparse.BooleanOptionalAction)
    words = [w for w in action.option_strings if not (is_pair and w.startswith("--no-"))]
    return [re.sub(r"\W", "_", word.lstrip("-+/")) for word in words]
