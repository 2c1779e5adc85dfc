"""`add_options` and `bridge`: one command line for the flags and for another parser."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any, TypeVar, overload

from paddle_flags._integrations.line import Inputs
from paddle_flags.errors import FlagTypeError, FlagUnsupportedError
from paddle_flags.extend import (
    ParseOptions,
    check_bool,
    first_user_frame,
    hides_internal_frames,
    optional_import,
    quote_value,
    suggest_name,
    to_argument,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Unpack

    from _typeshed import StrOrBytesPath as Path
    from absl.flags import FlagValues

    from paddle_flags._integrations.options import Only
    from paddle_flags.extend import EnvironmentOptions

F = TypeVar("F", bound="Callable[..., Any]")
T = TypeVar("T", bound="argparse.ArgumentParser | Callable[..., Any]")
_DECORATE: Any = object()  # not None: a function that should return a parser may return that


# ---- Flags become options ----


@overload
def add_options(
    target: T,
    /,
    *,
    only: Only = ...,
    config: Path | Sequence[Path] | None = ...,
    allow_pending: bool = ...,
    **environment: Unpack[EnvironmentOptions],
) -> T: ...
@overload
def add_options(
    *,
    only: Only = ...,
    config: Path | Sequence[Path] | None = ...,
    **environment: Unpack[EnvironmentOptions],
) -> Callable[[F], F]: ...
@hides_internal_frames
def add_options(
    target: Any = _DECORATE,
    /,
    *,
    only: Only = None,
    config: Path | Sequence[Path] | None = None,
    allow_pending: bool = False,
    **environment: Unpack[EnvironmentOptions],
) -> Any:
    """Add the flags to a parser of argparse, or to a command of click, as options.

        pf.add_options(parser, only=["level", "alpha.*"])

        @click.command()
        @pf.add_options(env_prefix="APP_")  # or @pf.add_options
        def main() -> None: ...

    `target` is an ArgumentParser, a click.Command, or the function below `@click.command`; it
    is returned, the function with the options. Without it, the result is a decorator.

    `only` is a name or a list of names; `alpha.*` stands for all names that match. By
    default, all flags are added, for argparse also those that are defined until it reads a
    command line. Hidden flags are left out of its help. Calling this again adds the flags
    that are new.

    The target reads the command line as always. At its end, and with click before the body
    of the command runs, the values are set as `parse` sets them: all or none, and with
    `config` and those parameters as there that are about the environment: `env_prefix`,
    `env_flags`, `env_ignore_empty`, `env_files` and `warn_unknown_env`. What is refused is an
    error of that parser, such as `ArgumentParser.error` or `click.UsageError`. The values are
    in `FLAGS`, not in the parser's own result.

    When a parser of argparse reads another command line, what the last one set is dropped
    first, as with `bridge`. With click, values from a command line are dropped when its
    outermost command ends.

    `allow_pending=True`, for argparse, keeps `--name=value`, `--name` and `--noname` that
    nothing else claims until a plugin or `define` defines the flag.

    Raises FlagConflictError if the target has an option of the name already; the flags
    before it have been added to a parser of argparse then. Not to be called while a command
    line is being read.
    """
    _check_keywords("add_options", environment, ParseOptions.ENVIRONMENT)
    inputs = Inputs(config, **environment)
    check_bool("allow_pending", allow_pending)

    @hides_internal_frames
    def add(target: Any) -> Any:
        return _add_options_to_target(target, only, inputs, allow_pending=allow_pending)

    return add if target is _DECORATE else add(target)


def _add_options_to_target(target: Any, only: Only, inputs: Inputs, *, allow_pending: bool) -> Any:
    if isinstance(target, argparse.ArgumentParser):
        from paddle_flags._integrations.argparse_parser import add_options_to_parser

        add_options_to_parser(target, only, inputs, allow_pending=allow_pending)
        return target
    if allow_pending:
        message = "add_options: allow_pending: expected an ArgumentParser; click refuses options"
        raise FlagUnsupportedError(f"{message} that it doesn't know")
    if sys.modules.get("click"):
        from paddle_flags._integrations import click_command

        if click_command.is_command(target):
            click_command.add_options_to_command(target, only, inputs)
            return target
    if type(target).__module__.partition(".")[0] == "typer":
        raise _typer_error(target)
    if not callable(target) or isinstance(target, type):
        raise _wrong_target_error(target, "an ArgumentParser, a click.Command or its function")
    with optional_import("add_options of a function", "click", "click"):
        from paddle_flags._integrations import click_command
    return click_command.decorate_with_options(target, only, inputs)


def _typer_error(parser: object) -> FlagTypeError | FlagUnsupportedError:
    """Return the error for an app of typer, or for a command of its own click."""
    from typer.core import TyperCommand  # type: ignore[import-not-found, unused-ignore]

    if any(base.__module__.partition(".")[0] == "click" for base in TyperCommand.__mro__):
        return _wrong_target_error(parser, "typer.main.get_command(app)")
    return FlagUnsupportedError(
        f"add_options: {quote_value(parser)}: this version of typer does not use click;"
        " read the flags first: app(paddle_flags.parse(known_only=True))"
    )


def _wrong_target_error(found: object, expected: str) -> FlagTypeError:
    what = f"{quote_value(found)}: expected {expected}, not {type(found).__name__}"
    return FlagTypeError(f"add_options: {what}")


# ---- Options, and flags of other libraries, become flags ----


@overload
def bridge(*libraries: str, namespace: str = ...) -> dict[str, str]: ...
@overload
def bridge(
    parser: argparse.ArgumentParser,
    /,
    *,
    namespace: str = ...,
    replace: bool = ...,
    config: Path | Sequence[Path] | None = ...,
    **environment: Unpack[EnvironmentOptions],
) -> dict[str, str]: ...
@overload
def bridge(
    flag_values: FlagValues,
    /,
    *,
    config: Path | Sequence[Path] | None = ...,
    **environment: Unpack[EnvironmentOptions],
) -> dict[str, str]: ...
@hides_internal_frames
def bridge(*sources: Any, **options: Any) -> dict[str, str]:
    """Make flags of other libraries, or the options of a parser, flags of the registry.

        import paddle
        pf.bridge("paddle")           # also "c10" (PyTorch), "gflags", "abseil", "absl-py"
        pf.bridge()                   # each of them that is loaded, now or later
        pf.FLAGS.check_nan_inf = True # paddle.get_flags sees it

        pf.bridge(parser, env_prefix="APP_")            # the options of an ArgumentParser
        pf.bridge(absl.flags.FLAGS, config="app.toml")  # absl's flags here, and ours there

    Both sides have one value. What is set here, from a command line, the environment or
    code, the other side sees; what it sets is read here. Validators here check what is set
    here. Returns what was left out: its names, with the namespace, and the reasons. Calling
    this again takes what is new. Any thread may call it.

    Libraries by name: Native libraries see at once what is set here, and what they set is
    read here at once; watchers here are called at the next operation on that flag, or by
    `sync`. Flags that a library gets later are taken when a package that is known to bring
    them is imported (paddle, torch, absl), and by `load_plugin`, `parse`, `sync`, and
    whenever a name is not found or flags are listed. They get the values that wait for
    them. A flag whose name has another meaning here is left out. `namespace="torch"` puts
    `torch.` in front of the names of a library's flags that have not joined yet, such as
    those that were left out before; not for absl-py. Raises FlagArgumentError for another
    name of a library, FlagUnsupportedError if a library that you name is not loaded or cannot
    be bridged on this system (the others that you name have joined), and FlagValueError if a
    value that was waiting for a flag is refused: all flags have joined then, and that one has
    its default.

    An ArgumentParser: Each option becomes a flag, whose name is the option's `dest`, behind
    `namespace` and a dot if there is one. Type, default, choices, help, group and `required`
    become those of the flag, and mutually exclusive groups the same rule. `parse_args`
    returns the values that the flags have at its end; for an option that nothing has set, the
    namespace has argparse's own default. What is refused is an error of the parser. `config`,
    `env_prefix` and the others are as for `add_options`. An option with a `type` of its own
    becomes a flag of text, which the type must accept; each value is converted again.
    Positional arguments are left alone. Sub-parsers need a call of their own, best with the
    command as namespace, as commands may share the names of options. With `replace=True`, and
    in a REPL or a notebook also without, the options of another parser may take the place of
    flags that Python code defined. When one of these parsers reads another command line, what
    the last one set is dropped first, unless that line is what the last one left, as
    `parse_known_args` returns it, or the namespace is its result. Raises FlagConflictError if
    a name is taken.

    absl's FlagValues: From now on, each of its flags is a flag here, and each flag here is
    one of absl, also those that either side defines later. The validators of both check each
    value. `app.run` and `FLAGS(argv)` read a command line for both. They set all flags at its
    end or none, and with `config`, `env_prefix` and the others as for `add_options`. What is
    refused is a `flags.IllegalFlagValueError`. If `parse` reads a command line, absl's flags
    are parsed as well. A flag of absl that is None is empty here: `""`, 0, False or (). Values
    that have no type in C, such as members of an Enum, are text here. The result is updated
    when absl defines other flags. Raises FlagConflictError if a name has another meaning here.
    """
    source: Any = sources[0] if len(sources) == 1 else None
    if isinstance(source, argparse.ArgumentParser):
        _check_keywords(
            "bridge", options, ("namespace", "replace", "config", *ParseOptions.ENVIRONMENT)
        )
        namespace, replace = options.pop("namespace", ""), options.pop("replace", False)
        inputs = Inputs(**options)
        to_argument("namespace", namespace)
        check_bool("replace", replace)
        from paddle_flags._integrations.argparse_adopt import define_option_flags

        frame = first_user_frame(sys._getframe())
        return define_option_flags(source, inputs, frame, namespace=namespace, replace=replace)
    if not isinstance(source, (str, type(None))) and _is_flag_values(source):
        _check_keywords("bridge", options, ("config", *ParseOptions.ENVIRONMENT))
        from paddle_flags._integrations import absl_flags

        return absl_flags.bridge(source, Inputs(**options))
    _check_keywords("bridge", options, ("namespace",))
    from paddle_flags._integrations.libraries import bridge_libraries

    return bridge_libraries(*sources, **options)


def _check_keywords(function: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise TypeError for a keyword that the function doesn't have for its argument."""
    for name in given:
        if name not in known:
            message = f"{function}() got an unexpected keyword argument {name!r}"
            raise TypeError(message + suggest_name(name, known))


def _is_flag_values(source: object) -> bool:
    if "absl.flags" not in sys.modules:
        return False
    from absl.flags import FlagValues

    return isinstance(source, FlagValues)
