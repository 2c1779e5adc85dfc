"""`add_to` and `adopt`: flags and options of other parsers on one command line."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from paddle_flags._core.frames import frame_above, outside, public
from paddle_flags._core.missing import importing
from paddle_flags._core.status import shown, to_argument, to_switch
from paddle_flags._integrations.line import Inputs
from paddle_flags.errors import FlagTypeError, FlagUnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar, Unpack

    from absl.flags import FlagValues
    from click import Command

    from paddle_flags._input.config import Path
    from paddle_flags._input.options import Environment
    from paddle_flags._integrations.options import Only

    F = TypeVar("F", bound=Callable[..., Any])


@public
def add_to(
    parser: argparse.ArgumentParser | Command,
    *,
    only: Only = None,
    config: Path | Sequence[Path] | None = None,
    allow_pending: bool = False,
    **environment: Unpack[Environment],
) -> None:
    """Add the flags to a parser of argparse, or to a command of click, as options.

    `only` is a name or a list of names; `alpha.*` stands for all names that match.
    By default, all flags are added, for argparse also those that are defined until it
    reads a command line. Hidden flags are left out of its help. Calling this again adds
    the flags that are new.

    The parser reads the command line as always. At its end, the values are set as `parse`
    sets them: all or none, and with `config` and those parameters as there that are about
    the environment: `env_prefix`, `env_flags`, `env_ignore_empty`, `env_files` and
    `warn_unknown_env`. What is refused is an error of that parser, such as
    `ArgumentParser.error`. The values are in `FLAGS`, not in the parser's own result.

    When a parser of argparse reads another command line, what the last one set is dropped
    first, as for `adopt`.

    `allow_pending=True`, for argparse, keeps `--name=value`, `--name` and `--noname` that
    nothing else claims until a plugin or `define` defines the flag.

    With click, values from a command line hold until its outermost command ends.

    Raises FlagConflictError if the parser has an option of the name already; the flags
    before it have been added then. Not to be called while a command line is being read.
    """
    inputs = Inputs(config, **environment)
    to_switch("allow_pending", allow_pending)
    if isinstance(parser, argparse.ArgumentParser):
        from paddle_flags._integrations.argparse_parser import add

        add(parser, only, inputs, allow_pending=allow_pending)
        return
    if "click" in sys.modules:
        from paddle_flags._integrations import click_command

        if click_command.is_command(parser):
            click_command.add(parser, only, inputs)
            return
    if type(parser).__module__.partition(".")[0] == "typer":
        raise _not_for_typer(parser)
    raise _not_a(parser, "an ArgumentParser or a click.Command")


def _not_for_typer(parser: object) -> FlagTypeError | FlagUnsupportedError:
    """Return the error for an app of typer, or for a command of its own click."""
    from typer.core import TyperCommand  # type: ignore[import-not-found, unused-ignore]

    if any(base.__module__.partition(".")[0] == "click" for base in TyperCommand.__mro__):
        return _not_a(parser, "typer.main.get_command(app)")
    message = (
        f"parser: {shown(parser)}: this version of typer does not use click;"
        " read the flags first: app(paddle_flags.parse(known_only=True))"
    )
    return FlagUnsupportedError(message)


def _not_a(found: object, expected: str) -> FlagTypeError:
    return FlagTypeError(f"parser: {shown(found)}: expected {expected}, not {type(found).__name__}")


@public
def adopt(
    parser: argparse.ArgumentParser,
    *,
    config: Path | Sequence[Path] | None = None,
    namespace: str = "",
    replace: bool = False,
    **environment: Unpack[Environment],
) -> dict[str, str]:
    """Define a flag for each option of a parser of argparse.

    The name of the flag is the option's `dest`, behind `namespace` and a dot if there is one.
    Type, default, choices, help, group and `required` become those of the flag, and mutually
    exclusive groups the same rule. The environment, configuration files, `override` and
    plugins can then set what the option sets, and `parse_args` returns the values that the
    flags have at its end: what the command line gives is set with source argv, and for an
    option that nothing has set the namespace has argparse's own default. What is refused is
    an error of the parser. `config`, `env_prefix` and the others are as for `add_to`.

    An option with a `type` of its own becomes a flag of text, which the type must accept;
    each value is converted again. Positional arguments are left alone. Sub-parsers need a
    call of their own, best with the command as namespace, as commands may share the names
    of options. Calling this again with the same parser adopts the options that are new.
    With `replace=True`, and in a REPL or a notebook also without, the options of another
    parser may take the place of flags that Python code defined.

    When one of these parsers reads another command line, what the last one set is dropped
    first, unless that line is what the last one left, as `parse_known_args` returns it, or the
    namespace is its result.

    Returns what was left out: the reason for each such dest or command. Raises
    FlagConflictError if a name is taken.
    """
    inputs = Inputs(config, **environment)
    to_argument("namespace", namespace)
    if not isinstance(parser, argparse.ArgumentParser):
        raise _not_a(parser, "an ArgumentParser")
    from paddle_flags._integrations import argparse_adopt

    frame = outside(frame_above(1))
    switch = to_switch("replace", replace)
    return argparse_adopt.adopt(parser, inputs, frame, namespace=namespace, replace=switch)


@public
def click_options(
    *names: str,
    config: Path | Sequence[Path] | None = None,
    **environment: Unpack[Environment],
) -> Callable[[F], F]:
    """Decorate a command of click, or the function below `@click.command`, to have the flags.

        @click.command()
        @pf.click_options("alpha.*", env_prefix="APP_")
        def main() -> None: ...

    `names` are the flags that become options, of those that are defined now; by default
    all of them. `alpha.*` stands for all names that match. `add_to` does the same for a
    command that exists, and adds flags that have been defined since.

    The flags are set before the body of the command runs: all or none, and with `config`,
    `env_prefix` and the others as for `add_to`. What is refused is a `click.UsageError`. When
    the outermost command ends, the values from its command line are dropped.

    Raises FlagConflictError if the command has an option of the name already, and
    ImportError if click is missing.
    """
    inputs = Inputs(config, **environment)
    for name in names:
        if not isinstance(name, str):
            message = (
                f"click_options: {shown(name)}: expected the name of a flag,"
                f" not {type(name).__name__}, as in @click_options() or @click_options('port')"
            )
            raise FlagTypeError(message)
    only = list(names) or None
    click_command = _click()

    def add(command: Any) -> Any:
        if click_command.is_command(command):
            click_command.add(command, only, inputs)
            return command
        if not callable(command):
            raise _not_a(command, "a function or a click.Command")
        return click_command.decorate(command, only, inputs)

    return add


@public
def bridge_absl(
    flag_values: FlagValues | None = None,
    *,
    config: Path | Sequence[Path] | None = None,
    **environment: Unpack[Environment],
) -> dict[str, str]:
    """Join absl's flags with those of this registry, in both directions.

    From now on, each flag of `flag_values`, by default `absl.flags.FLAGS`, is a flag here,
    and each flag here is one of absl, also those that either side defines later. Both have
    one value: what one side sets, the other sees, and the validators of both check it.
    `app.run` and `FLAGS(argv)` read a command line for both. They set all flags at its end
    or none, and with `config`, `env_prefix` and the others as for `add_to`. What is refused is a
    `flags.IllegalFlagValueError`. If `parse` reads a command line, absl's flags are parsed
    as well.

    A flag of absl that is None is empty here: `""`, 0, False or (). Values that have no
    type in C, such as members of an Enum, are text here.

    Returns what was left out: the reason for each such flag of absl; it is updated when
    absl defines others. Raises FlagConflictError if a name has another meaning here, and
    ImportError if absl-py is missing. Calling this again does no harm.
    """
    inputs = Inputs(config, **environment)
    with importing("bridge_absl", "absl-py", "absl"):
        from paddle_flags._integrations import absl_flags
    return absl_flags.bridge(flag_values, inputs)


def _click() -> Any:
    with importing("click_options", "click", "click"):
        from paddle_flags._integrations import click_command
    return click_command
