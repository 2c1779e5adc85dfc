"""`add_options` and `bridge` for argparse: one command line for a parser and for the registry.

A parser reads its command line in `parse_known_args`, which all its other methods call. The
bridge stands in front of that method. What it reads is set at the end, all or nothing, as by a
command line of `parse`.
"""

from __future__ import annotations

import argparse
import functools
import sys
import threading
from typing import TYPE_CHECKING, Any

from paddle_flags import FLAGS
from paddle_flags._integrations import last_line
from paddle_flags._integrations.argparse_namespace import Overlay, unwrap_namespace
from paddle_flags._integrations.line import Inputs, Line, find_token
from paddle_flags._integrations.options import Option, check_patterns, list_options
from paddle_flags.cli.parse import print_warnings
from paddle_flags.errors import FlagArgumentError, FlagConflictError, FlagParseError
from paddle_flags.extend import normalize_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from paddle_flags._integrations.argparse_adopt import OptionFlag
    from paddle_flags._integrations.options import Only

    Parsed = tuple[Any, list[str]]
    Parse = Callable[..., Parsed]


class _FlagAction(argparse.Action):
    """An option for a flag: its value goes to the registry, not to the namespace."""

    def __init__(self, option_strings: Sequence[str], dest: str, **known: Any) -> None:
        self.option: Option = known.pop("option")
        super().__init__(option_strings, dest, **known)

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        spelling = option_string or self.option_strings[0]
        value = None if self.option.is_bool or self.option.counts else values
        if _open_line is None:
            raise FlagArgumentError(
                f"{spelling}: add_options was called with a parent of this parser;"
                " expected a call with the parser that reads the command line"
            )
        _open_line.add_option(
            self.option.flag.name, spelling, self.option.text_of_value(spelling, value)
        )


def _help_of(option: Option) -> str:
    return argparse.SUPPRESS if option.hidden else option.help.replace("%", "%%")


class _OpenLine(Line):
    """A command line that is being read, by a parser and perhaps its sub-parsers."""

    def __init__(self, args: list[str]) -> None:
        super().__init__(len(args))
        self._args = args
        self._at = -1  # the token that was added last
        self.bridges: list[Bridge] = []
        self.option_flags: list[tuple[OptionFlag, Overlay]] = []

    def advance_to_parser(self, bridge: Bridge, args: list[str]) -> None:
        """Go on with a parser, which reads the last of the tokens."""
        if bridge not in self.bridges:
            self.bridges.append(bridge)
        first = len(self._args) - len(args)
        if first > self._at and self._args[first:] == args:
            self._at = first - 1

    def add_option(self, name: str, spelling: str, text: str | None) -> None:
        """Add the value of the option that argparse reads now."""
        at = find_token(self._args, self._at + 1, spelling)
        if at is None and self._at >= 0:
            at = self._at  # one token with several letters
        self.add(name, text, at)
        if at is not None:
            self._at = at

    def add_value(self, name: str, spellings: Sequence[str], text: str) -> None:
        """Add a value whose option argparse read earlier."""
        found = [find_token(self._args[::-1], 0, each) for each in spellings]
        behind = [each for each in found if each is not None]
        self.add(name, text, len(self._args) - 1 - min(behind) if behind else None)

    def add_pending_tokens(self, rest: list[str]) -> list[str]:
        """Add the tokens that may be flags defined later; return the others."""
        end = rest.index("--") if "--" in rest else len(rest)
        others = []
        for token in rest[:end]:
            if token.startswith("--"):
                self.add_token(token, find_token(self._args, 0, token.partition("=")[0]))
            else:
                others.append(token)
        return others + rest[end:]


_lock = threading.RLock()  # held while a parser with a bridge reads: types of actions are replaced
_open_line: _OpenLine | None = None


class Bridge:
    """What was added to a parser, and what was adopted from it."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.parser = parser
        self.inputs = Inputs()
        self.option_flags: dict[str, OptionFlag] = {}  # by dest
        self._allow_pending = False
        self._added: dict[str, Option] = {}
        self._whole = False  # argparse refuses what will be left of the command line
        self._pending: set[str] = set()  # names that tokens for flags of later may mean
        self._groups: dict[str, Any] = {}
        self._wanted: list[list[str] | None] = []
        known, intermixed = parser.parse_known_args, parser.parse_known_intermixed_args
        self._replace_method("parse_known_args", self.wrap_parse_method(known))
        self._replace_method("parse_known_intermixed_args", self.wrap_parse_method(intermixed))
        for name in ("parse_args", "parse_intermixed_args"):
            if getattr(type(parser), name) is getattr(argparse.ArgumentParser, name):
                self._replace_method(name, self._wrap_whole_line_parse(getattr(parser, name)))
            else:
                parser.__class__ = _class_with_bridge(type(parser), self)
        for name in ("format_help", "format_usage"):
            self._replace_method(name, self._make_formatter(getattr(parser, name)))

    def _replace_method(self, name: str, method: Callable[..., Any]) -> None:
        method.bridge = self  # type: ignore[attr-defined]
        setattr(self.parser, name, method)

    # ---- flags as options ----

    def add_flag_options(self, only: Only, *, allow_pending: bool) -> None:
        """Add options for flags; those that are defined later follow before the next reading."""
        self._allow_pending |= allow_pending
        wanted = check_patterns(only)
        self._add_options(wanted)
        self._wanted.append(wanted)

    def _update_options(self) -> None:
        """Let the options be those of the flags that are defined now."""
        for name in [name for name in self._added if name not in FLAGS]:
            self._remove(name)
        for wanted in self._wanted:
            self._add_options(wanted)

    def _add_options(self, wanted: list[str] | None) -> None:
        for heading, members in list_options(wanted).items():
            for option in members:
                name = option.flag.name
                if _is_option_flag(name) or self._try_refresh_actions(option):
                    continue
                if heading not in self._groups:
                    self._groups[heading] = self.parser.add_argument_group(heading)
                self._add_option(self._groups[heading], option)
                self._added[name] = option

    def _try_refresh_actions(self, option: Option) -> bool:
        """Let a flag's options follow its definition; return False if it needs others."""
        name = option.flag.name
        before = self._added.get(name)
        if before is None:
            return False
        if before.form != option.form:
            self._remove(name)
            return False
        for action in self._actions_of(name):
            action.option, action.metavar = option, option.metavar or None
            if option.name in action.option_strings:
                action.help = _help_of(option)
        return True

    def _actions_of(self, name: str) -> list[_FlagAction]:
        actions = self.parser._actions
        own = [each for each in actions if isinstance(each, _FlagAction)]
        return [each for each in own if each.option.flag.name == name]

    def _remove(self, name: str) -> None:
        del self._added[name]
        for action in self._actions_of(name):
            for spelling in action.option_strings:
                del self.parser._option_string_actions[spelling]
            action.container._remove_action(action)  # type: ignore[attr-defined]

    def _add_option(self, group: Any, option: Option) -> None:
        shown = _help_of(option)
        for letter in option.letters:
            if self._try_to_add(group, option, [letter, option.name, option.no], shown):
                break
        else:
            if not self._try_to_add(group, option, [option.name, option.no], shown):
                raise FlagConflictError(
                    f"--{option.flag.name}: the parser already has this option;"
                    " expected another name for one of them, or `only` without this flag"
                )
        for spelling in (*option.others, *option.other_denials):
            self._try_to_add(group, option, [spelling], argparse.SUPPRESS)

    @staticmethod
    def _try_to_add(group: Any, option: Option, spellings: list[str], shown: str) -> bool:
        """Add an option; return whether the parser has no other one of that spelling."""
        try:
            group.add_argument(
                *filter(None, spellings),
                action=_FlagAction,
                option=option,
                nargs=0 if option.is_bool or option.counts else None,
                metavar=option.metavar or None,
                help=shown,
                dest=argparse.SUPPRESS,
                default=argparse.SUPPRESS,
            )
        except argparse.ArgumentError:
            return False
        return True

    @staticmethod
    def is_flag_action(action: argparse.Action) -> bool:
        """Return whether `add` made an option."""
        return isinstance(action, _FlagAction)

    # ---- reading ----

    def wrap_parse_method(self, parse: Parse) -> Parse:
        """Return what stands in front of a method that reads a command line."""

        def read(args: Any = None, namespace: Any = None, **others: Any) -> Parsed:
            with _lock:  # `others` are those of a class of the program's own
                args = sys.argv[1:] if args is None else args
                return self._read_line(functools.partial(parse, **others), args, namespace)

        return read

    def _wrap_whole_line_parse(self, parse: Callable[..., Any]) -> Callable[..., Any]:
        def read(*args: Any, **named: Any) -> Any:
            with _lock:
                self._whole = True
                try:
                    return parse(*args, **named)
                finally:
                    self._whole = False

        return read

    def _read_line(self, parse: Parse, args: Any, namespace: Any) -> Parsed:
        global _open_line  # under the lock
        tokens = args.split() if isinstance(args, str) else list(args)  # text, for ConfigArgParse
        if _open_line is not None:  # a sub-parser: the parser that called it sets the flags
            return self._parse_in_open_line(parse, tokens, namespace)
        _open_line = _OpenLine(tokens)
        whole, self._whole = self._whole, False
        continues = last_line.is_continuation_of_last(args, namespace)
        try:
            result, rest = self._parse_in_open_line(parse, tokens, namespace)
            self._add_adopted_values(_open_line)
            if any(bridge._allow_pending for bridge in _open_line.bridges):
                rest = _open_line.add_pending_tokens(rest)
                self._pending |= _open_line.names
            if rest and whole:  # which argparse refuses now
                return result, rest
            former = set() if continues else self._settable_names() - _open_line.names
            self._set_flags(_open_line, result, last_line.names_still_set(former))
            last_line.forget_values_and_drop_pending(former)
            last_line.remember_line(_open_line.names, rest, result)
        finally:
            _open_line = None
        return result, rest

    def _settable_names(self) -> set[str]:
        """Return the names that this parser and its sub-parsers may set."""
        names = {*self._added, *self._pending, *(each.name for each in self.option_flags.values())}
        names = set(map(normalize_name, names))
        for sub in sub_parsers(self.parser).values():
            bridge = _find_bridge(sub)
            names |= bridge._settable_names() if bridge else set()
        return names

    def _parse_in_open_line(self, parse: Parse, args: list[str], namespace: Any) -> Parsed:
        assert _open_line is not None
        if self in _open_line.bridges:  # parse_known_intermixed_args calls parse_known_args
            return parse(args, namespace)
        _open_line.advance_to_parser(self, args)
        self._update_options()
        namespace = argparse.Namespace() if namespace is None else namespace
        adopted = [each for each in self.option_flags.values() if each.is_current]
        starts = {each.dest: each.relax_options_for_parsing(namespace) for each in adopted}
        overlay = Overlay(namespace, starts)
        _open_line.option_flags += [(each, overlay) for each in adopted]
        try:
            result, rest = parse(args, overlay if adopted else namespace)
        finally:
            for each in adopted:
                each.restore_options()
        return unwrap_namespace(result), rest

    @staticmethod
    def _add_adopted_values(line: _OpenLine) -> None:
        """Add the values of the options that are flags."""
        for each, overlay in line.option_flags:
            text = each.given_text(overlay)
            if text is not None:
                line.add_value(each.flag.name, each.spellings, text)

    def _set_flags(self, line: _OpenLine, result: Any, former: list[str]) -> None:
        """Set the flags, and let the result show the values that they have then."""
        inputs = Inputs()
        for bridge in line.bridges:
            inputs.update(bridge.inputs)
        pending = any(bridge._allow_pending for bridge in line.bridges)
        try:
            line.set_given_flags(inputs, former=former, allow_pending=pending)
            for each, overlay in line.option_flags:
                each.copy_value_to_result(overlay, result)
        except (FlagParseError, argparse.ArgumentError) as error:
            self._fail(error)
        print_warnings(self.parser.prog)

    def _fail(self, error: Exception) -> None:
        print_warnings(self.parser.prog)
        if self.parser.exit_on_error:
            self.parser.error(str(error))
        raise argparse.ArgumentError(None, str(error)) from error

    def _make_formatter(self, show: Callable[[], str]) -> Callable[[], str]:
        def text() -> str:
            self._update_options()
            marked = [action for each in self.option_flags.values() for action in each.required]
            before = [action.required for action in marked]
            for action in marked:
                action.required = True
            try:
                return show()
            finally:
                for action, was in zip(marked, before):
                    action.required = was

        return text


def _class_with_bridge(kind: Any, bridge: Bridge) -> Any:
    """Return a class whose methods meet the bridge when they call those of `super()`."""

    class Below(argparse.ArgumentParser):
        def parse_known_args(self, *args: Any, **named: Any) -> Any:
            parse: Any = super().parse_known_args
            parse = bridge.wrap_parse_method(parse) if self is bridge.parser else parse
            return parse(*args, **named)

    return type(kind.__name__, (kind, Below), {"__module__": kind.__module__})


def get_or_make_bridge(parser: argparse.ArgumentParser) -> Bridge:
    """Return the bridge of a parser, made at the first call."""
    if "-" not in parser.prefix_chars:
        message = f"parser: prefix_chars={parser.prefix_chars!r}: expected '-' among them"
        raise FlagArgumentError(message)
    return _find_bridge(parser) or Bridge(parser)


def _find_bridge(parser: argparse.ArgumentParser) -> Bridge | None:
    found = getattr(parser.parse_known_args, "bridge", None)
    return found if isinstance(found, Bridge) else None


def sub_parsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the sub-parsers, by the first name of each."""
    found: dict[int, tuple[str, argparse.ArgumentParser]] = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, sub in action.choices.items():
                found.setdefault(id(sub), (name, sub))
    return dict(found.values())


def add_options_to_parser(
    parser: argparse.ArgumentParser, only: Only, inputs: Inputs, *, allow_pending: bool
) -> None:
    """Add options for flags to a parser."""
    bridge = get_or_make_bridge(parser)
    bridge.inputs.update(inputs)
    bridge.add_flag_options(only, allow_pending=allow_pending)


def sub_parsers_left_out(parser: argparse.ArgumentParser) -> dict[str, str]:
    """Return how to adopt each sub-parser that has not been adopted, by its command."""
    left_out = {}
    for name, sub in sub_parsers(parser).items():
        bridge = _find_bridge(sub)
        if bridge is None or not bridge.option_flags:
            left_out[name] = f"is a sub-parser; bridge it as well: bridge(..., namespace={name!r})"
    return left_out


_option_flags: dict[str, OptionFlag] = {}


def register_option_flag(adopted: OptionFlag) -> None:
    """Keep `add_options` from adding an option for a flag that comes from an option."""
    _option_flags[adopted.flag.name] = adopted


def _is_option_flag(name: str) -> bool:
    """Return whether a flag stands for an option, and is still defined as it was for that."""
    return name in _option_flags and _option_flags[name].is_current
