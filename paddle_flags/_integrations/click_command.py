"""`add_options` for click: flags as options of a command.

The options collect what the command line gives, and the flags are set right before the body of
the command runs. When the outermost command ends, the values are dropped again.
"""

from __future__ import annotations

import functools
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from paddle_flags import FLAGS
from paddle_flags._integrations.line import Line, find_token, set_flag_texts
from paddle_flags._integrations.options import Option, check_patterns, list_options
from paddle_flags.errors import FlagConflictError, FlagError
from paddle_flags.extend import check_call, lib, new_error, pop_warnings

if TYPE_CHECKING:
    from collections.abc import Callable

    from paddle_flags._integrations.line import Inputs
    from paddle_flags._integrations.options import Only

_KEY = "paddle_flags.values"  # in click's Context.meta, which a command shares with its groups


class _Text(click.ParamType):  # type: ignore[type-arg, unused-ignore] # generic in some versions
    """The value of a flag as text: the registry checks it together with the others."""

    name = "text"

    def __init__(self, option: Option) -> None:
        self._choices = option.flag.choices or ()
        self._is_list = option.flag.items is not None

    def shell_complete(self, ctx: Any, param: Any, incomplete: str) -> list[CompletionItem]:
        """Return the choices; those of a list's last item."""
        before, comma, item = incomplete.rpartition(",") if self._is_list else ("", "", incomplete)
        found = [choice for choice in self._choices if choice.startswith(item)]
        return [CompletionItem(before + comma + choice) for choice in found]


class FlagOption(click.Option):
    """An option that sets a flag."""

    def __init__(
        self, option: Option, spellings: list[str], *, hidden: bool, number: int, **known: Any
    ) -> None:
        self.flag = option.flag.name
        plain = re.sub(r"\W", "_", self.flag)
        kind: dict[str, Any] = {
            "type": _Text(option),
            "metavar": option.metavar,
            "multiple": "multi" in option.flag.marks,
        }
        if option.is_bool:
            kind = {"is_flag": True, **known}
        if option.counts:
            kind = {"count": True}
        super().__init__(
            [f"paddle_flag_{plain}_{number}", *spellings],  # a name that no function has
            help=None if hidden else option.help,
            hidden=hidden,
            default=None,
            show_default=False,
            expose_value=False,
            allow_from_autoenv=False,
            callback=_collect_value,
            **kind,
        )


def _make_options_for_flag(option: Option, taken: set[str]) -> list[FlagOption]:
    """Return the options for a flag; raise FlagConflictError if its own name is taken."""
    if option.name in taken or (option.no and option.no in taken):
        raise FlagConflictError(
            f"--{option.flag.name}: the command already has this option;"
            " expected another name for one of them, or names without this flag"
        )
    letters = [letter for letter in option.letters if letter not in taken]
    own = f"{option.name}/{option.no}" if option.no else option.name
    found = [FlagOption(option, [*letters, own], hidden=option.hidden, number=0)]
    others = [each for each in option.others if each not in taken]
    denials = [each for each in option.other_denials if each not in taken]
    for number, spellings in enumerate((others, denials), 1):
        if spellings:
            known = {"flag_value": "false"} if spellings is denials else {}
            found.append(FlagOption(option, spellings, hidden=True, number=number, **known))
    return found


# ---- adding ----


def is_command(value: object) -> bool:
    """Return whether this is a command or group of click."""
    return isinstance(value, click.Command)


def add_options_to_command(command: click.Command, only: Only, inputs: Inputs) -> None:
    """Add options for flags to a command, in place of those it has for them."""
    members = _list_options(only)
    renewed = {option.flag.name for option in members}
    params = command.params
    old = [each for each in params if isinstance(each, FlagOption)]
    old = [each for each in old if each.flag in renewed or each.flag not in FLAGS]
    params[:] = [each for each in params if each not in old]
    params.extend(_make_options(members, params))
    callback = command.callback
    command.callback = _wrap_to_set_flags(callback or (lambda **_: None), inputs)


def decorate_with_options(
    function: Callable[..., Any], only: Only, inputs: Inputs
) -> Callable[..., Any]:
    """Add options for flags to the function that click will make a command of."""
    wrapper = _wrap_to_set_flags(function, inputs)
    before = list(getattr(function, "__click_params__", []))
    have = {param.flag for param in before if isinstance(param, FlagOption)}
    members = [option for option in _list_options(only) if option.flag.name not in have]
    wrapper.__click_params__ = before + _make_options(members, before)[::-1]  # type: ignore[attr-defined]
    return wrapper


def _list_options(only: Only) -> list[Option]:
    return [option for group in list_options(check_patterns(only)).values() for option in group]


def _make_options(members: list[Option], params: list[Any]) -> list[FlagOption]:
    taken = {word for param in params for word in (*param.opts, *param.secondary_opts)}
    return [made for option in members for made in _make_options_for_flag(option, taken)]


# ---- reading ----


class _Values:
    """The values that a command line gives, in its order."""

    def __init__(self) -> None:
        self.given: list[tuple[str, str | None, list[str]]] = []  # flag, text, spellings
        self.before: dict[str, str | None] = {}  # the texts from an earlier command line
        self.waiting: set[int] = set()  # contexts whose values are collected, but not set


def _collect_value(ctx: click.Context, param: Any, value: Any) -> None:
    """Take the value of an option, if there is one."""
    if ctx.resilient_parsing:
        return
    values = ctx.meta.setdefault(_KEY, _Values())
    values.waiting.add(id(ctx))
    if ctx.get_parameter_source(param.name) is ParameterSource.COMMANDLINE:
        spellings = [*param.opts, *param.secondary_opts]
        uses = [None] * value if param.count else value if param.multiple else [value]
        for each in uses:
            text = str(each).lower() if param.is_flag else each
            values.given.append((param.flag, text, spellings))


def _wrap_to_set_flags(function: Callable[..., Any], inputs: Inputs) -> Callable[..., Any]:
    """Return a function that first sets the flags."""

    @functools.wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        ctx = click.get_current_context(silent=True)
        values = ctx.meta.get(_KEY) if ctx else None
        if ctx and values and id(ctx) in values.waiting:
            values.waiting.discard(id(ctx))
            _set_flags(ctx, values, inputs)
        return function(*args, **named)

    return call


def _set_flags(ctx: click.Context, values: _Values, inputs: Inputs) -> None:
    if not values.before:
        ctx.find_root().call_on_close(functools.partial(_restore_earlier_values, values))
    for name, _, _ in values.given:
        with suppress(FlagError):
            flag = FLAGS[name]
            if name not in values.before:
                values.before[name] = flag.text if flag.source == "argv" else None
    try:
        if _has_following_command(ctx):
            set_flag_texts(_flag_texts(values))
        else:
            _set_flags_of_line(values, inputs)
    except FlagError as error:
        raise click.UsageError(str(error), ctx) from error
    finally:
        for message in pop_warnings():
            click.echo(f"Warning: {message}", err=True)


def _flag_texts(values: _Values) -> list[tuple[str, str]]:
    """Return the texts of the flags; those that count have none of their own."""
    counted: dict[str, int] = {}
    found: list[tuple[str, str]] = []
    for name, text, _ in values.given:
        if text is None:
            counted[name] = counted.get(name, FLAGS[name].default or 0) + 1
        found.append((name, str(counted[name]) if text is None else text))
    return found


def _has_following_command(ctx: click.Context) -> bool:
    """Return whether a command of this group follows and has flags of its own."""
    name = ctx.invoked_subcommand
    group = ctx.command
    if name is None or not isinstance(group, click.Group):
        return False
    command = group.get_command(ctx, name)
    return command is not None and any(isinstance(each, FlagOption) for each in command.params)


def _set_flags_of_line(values: _Values, inputs: Inputs) -> None:
    """Set what the whole command line gives, as `parse` does."""
    tokens = sys.argv[1:]
    line = Line(len(tokens))
    start: dict[str, int] = {}  # of flags: where to look for the next use
    for name, text, spellings in values.given:
        found = [find_token(tokens, start.get(name, 0), each) for each in spellings]
        at = min((at for at in found if at is not None), default=None)
        line.add(name, text, at)
        start[name] = len(tokens) if at is None else at + 1
    line.set_given_flags(inputs)


def _restore_earlier_values(values: _Values) -> None:
    """Drop what the command line gave; bring back what an earlier one gave."""
    for name, text in values.before.items():
        with suppress(FlagError):
            if text is not None:
                set_flag_texts([(name, text)])
                continue
            err = new_error()
            check_call(lib.pd_flag_drop(FLAGS[name].handle, lib.PD_SOURCE_ARGV, err), err)
