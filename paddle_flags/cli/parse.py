"""`parse`, which reads the command line of a program, and prints help and errors."""

from __future__ import annotations

import os
import sys
from _collections_abc import Iterable  # as collections.abc, without what that imports

from paddle_flags import errors
from paddle_flags._core.checks import check_refused_modules
from paddle_flags._core.frames import hides_internal_frames
from paddle_flags._core.status import (
    check_bool,
    issue_warnings,
    pop_warnings,
    queue_warning,
    quote_value,
    raise_deferred,
)
from paddle_flags._input.argv import HelpWanted, before_reading, read_argv
from paddle_flags._input.ineffective import ineffective_flag_warnings
from paddle_flags._input.options import ParseOptions
from paddle_flags.cli.output import print_error, print_or_exit

TYPE_CHECKING = False  # as in typing, whose import takes its time
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Literal

    from paddle_flags._input.config import Path
    from paddle_flags._input.named_plugins import Plugins
    from paddle_flags._input.options import Order

    Exit = bool | Literal["gflags"]

_NAMELESS = "program"  # in messages, if sys.argv has no name


def read_flags(tokens: list[str], options: ParseOptions) -> list[str]:
    """Read a command line as `parse` does, and raise its errors."""
    read = tokens
    if all(isinstance(token, str) for token in tokens):  # others are an error of what reads them
        for rewrite in before_reading:
            read = rewrite(read, options)
    rest = read_argv(read, options)
    if isinstance(rest, HelpWanted):
        raise make_help_exception(tokens, rest, options)
    if read == tokens or options.order == "remove":
        return rest
    written = dict(zip(read, tokens))
    return [written.get(token, token) for token in rest]


def make_help_exception(
    tokens: list[str], wanted: HelpWanted, options: ParseOptions
) -> errors.HelpRequested:
    """Return the help that was asked for."""
    from paddle_flags._report.help import help_text

    usage, first, without = options.usage, "", ""
    if options.get_help_arguments:
        usage, first, without = options.get_help_arguments()
    text = help_text(
        (tokens[0] if tokens else "") or _NAMELESS,
        wanted.kind,
        wanted.pattern,
        usage=usage,
        version=options.version,
        arguments=options.arguments,
        known_only=options.known_only,
        first=first,
        without=without,
    )
    requested = errors.HelpRequested(text)
    requested.kind = wanted.kind
    return requested


@hides_internal_frames
def parse(
    argv: Sequence[str] | None = None,
    *,
    env_prefix: str | None = None,
    env_flags: str | None = None,
    env_ignore_empty: bool = False,
    env_files: bool = False,
    warn_unknown_env: bool = False,
    config: Path | Sequence[Path] | None = None,
    config_flag: str | None = None,
    plugins: Plugins | None = None,
    plugin_flag: str | None = None,
    allow_pending: bool = False,
    known_only: bool = False,
    arguments: bool = True,
    stop_at_argument: bool = False,
    order: Order = "remove",
    usage: str | None = None,
    version: str | None = None,
    check_modules: bool = True,
    exit: Exit = True,
) -> list[str]:
    """Read flags from a command line and return its other arguments.

    `argv` is a list whose first element is the program; the default is `sys.argv`, in a test
    without the arguments of pytest.

    `env_prefix="APP_"` also reads flags from environment variables named APP_<flag>,
    including flags that are defined later. The command line takes precedence. A variable
    with this prefix that is almost that of a flag is an UnknownVariableWarning;
    `warn_unknown_env=True` issues one for each that names no flag; load plugins first.
    With `env_ignore_empty=True`, an empty variable counts as not set. With
    `env_files=True`, APP_<flag>_FILE may name a file whose content is the value, without
    the newline at its end.

    `env_flags="APP_OPTIONS"` reads flags from this variable, as `--name=value --name`,
    separated by blanks and quoted as in a shell. Variables of single flags take precedence.

    `config` is the path of a configuration file, or a list of paths, of which later ones
    take precedence: TOML, YAML or JSON, in which a table is a namespace, a flagfile
    (.flags, .flagfile, .conf), or variables with the prefix (.env). "?FILE" may be
    missing, "FILE#TABLE" reads one table. The environment takes precedence over files.
    `reload` reads the files again.

    `config_flag="config"` lets users name such files, as in `--config=a.toml,?b.toml`;
    they take precedence over those of `config`. The flag is defined unless it is already;
    it is a list of texts, or text. Its value in the environment works too. Wherever it
    stands on the line, what the line gives other flags takes precedence over the files.

    `plugins` is the path of a library, or the name of a module such as "package.module", or
    a list of these. They are loaded, as by `load_plugin`, or imported before the line is
    read: `--help` lists their flags. "NAMESPACE=FILE" loads a library into a namespace.

    `plugin_flag="plugins"` lets users name such plugins, as in `--plugins=liba.so,b.c`, also
    in the environment or in a file. It is defined as `config_flag` is. A user then runs code
    of their choice in the program. A plugin that cannot be loaded is an error of the line.

    `allow_pending=True` keeps values of undefined flags, written as `--name=value`,
    `--name` or `--noname`, until a plugin or `define` defines the flag; `check("pending")`
    reports those that remain.

    `known_only=True` returns undefined flags with the arguments, in their order, `--`
    included, for a program that passes them to another parser. The value in
    `--theirs value` counts as an argument, so with `stop_at_argument=True`, write
    `--theirs=value`. In a flagfile, an undefined flag is still an error. Cannot be
    combined with `allow_pending=True` or `arguments=False`.

    `arguments=False` makes each argument an error, even after `--`, for programs that
    take none; for `--bool true` and `--list 1 2`, the message suggests what to write.
    `stop_at_argument=True` ends at the first argument and returns it and everything
    after it, for programs with subcommands; with `arguments=False`, all of that is an
    error.

    Raises FlagConflictError or another FlagError, before anything is read, while a library
    is loaded that was refused when it was linked, imported or opened past `load_plugin`:
    its own code does not see the flags; see `check`. `check_modules=False` goes on
    with it.

    `order` is what to return: the arguments without flags ("remove"), all tokens in
    their order ("leave"), or the flags, `--` and the arguments ("reorder").

    If the command line is invalid, no flag changes, all errors are printed to stderr, and
    the program exits with status 2. `--help` prints `usage` and the flags, `--version`
    prints the program and `version`; both exit with status 0. With `exit=False`,
    FlagParseError or HelpRequested is raised instead. With `exit="gflags"`, help and
    errors exit with status 1, as with gflags. If a shell asks for completions, they are
    written and the program exits with status 0.
    """
    check_exit(exit)
    options = ParseOptions(
        env_prefix=env_prefix,
        env_flags=env_flags,
        env_ignore_empty=env_ignore_empty,
        env_files=env_files,
        warn_unknown_env=warn_unknown_env,
        config=config,
        config_flag=config_flag,
        plugins=plugins,
        plugin_flag=plugin_flag,
        allow_pending=allow_pending,
        known_only=known_only,
        arguments=arguments,
        stop_at_argument=stop_at_argument,
        order=order,
        usage=usage,
        version=version,
    )
    if "_PD_FLAGS_COMPLETE" in os.environ:  # a shell asks what could be typed
        from paddle_flags._completion.flags import answer_shell

        define_flags_for_completion(options)
        answer_shell(arguments=arguments, stop_at_argument=stop_at_argument)
    if check_bool("check_modules", check_modules):
        check_refused_modules()
    tokens = get_argv_tokens(argv)
    load_named_plugins(tokens, options)
    return parse_command_line(tokens, options, exit)


def check_exit(exit: Exit) -> None:
    """Raise an error for an invalid argument `exit` of `parse`."""
    if exit not in (True, False, "gflags"):
        message = f"exit is {quote_value(exit)}: expected True, False or 'gflags'"
        raise errors.FlagArgumentError(message)


def define_config_flag(name: str) -> None:
    """Define the flag that names files, unless the program has."""
    from paddle_flags._input.named_files import find_or_define_config_flag

    find_or_define_config_flag(ParseOptions(config_flag=name))


def load_named_plugins(tokens: list[str], options: ParseOptions) -> None:
    """Load the plugins of the program and those that a line names, if there can be any."""
    if options.plugins is not None or options.plugin_flag is not None:
        from paddle_flags._input.named_plugins import load_plugins

        load_plugins(tokens, options)


def define_flags_for_completion(options: ParseOptions) -> None:
    """Define the flags that `parse` would define before it reads the line of a shell."""
    from paddle_flags._completion.request import read_request

    if options.config_flag is not None:
        define_config_flag(options.config_flag)
    request = read_request()
    if request:
        load_named_plugins(["", *request.tokens], options)


def get_argv_tokens(argv: Sequence[str] | None) -> list[str]:
    """Return the tokens of a command line, by default of the program's own."""
    return _get_clean_sys_argv() if argv is None else _check_argv(argv)


def parse_command_line(
    tokens: list[str],
    options: ParseOptions,
    exit: Exit,
    name: str = "",
) -> list[str]:
    """Read a command line as `parse` does; messages begin with `name`, or the program's name."""
    if not exit:
        return _parse_or_raise(tokens, options)
    return _parse_or_exit(tokens, options, name, gflags=exit == "gflags")


def _parse_or_raise(tokens: list[str], options: ParseOptions) -> list[str]:
    try:
        rest = read_flags(tokens, options)
    except errors.FlagParseError:
        try:
            issue_warnings()
        except Warning:  # the error is what the caller must know
            pass
        raise
    _warn_and_raise_deferred(tokens, rest)
    return rest


def _parse_or_exit(
    tokens: list[str], options: ParseOptions, name: str, *, gflags: bool
) -> list[str]:
    try:
        rest = read_flags(tokens, options)
    except errors.FlagParseError as error:
        print_warnings(name or get_program_name(tokens), error)
        why = error
    else:
        print_warnings(name or get_program_name(tokens))
        _warn_and_raise_deferred(tokens, rest)
        return rest
    sys.exit(_print_refusal(name or get_program_name(tokens), why, gflags=gflags))


def _warn_and_raise_deferred(tokens: list[str], rest: list[str]) -> None:
    """Warn of what had no effect, and hand out what callbacks left."""
    for warning in ineffective_flag_warnings(tokens):
        queue_warning(warning)
    raise_deferred(rest)


def get_program_name(tokens: Sequence[str]) -> str:
    """Return the name of the program, for messages."""
    return os.path.basename(tokens[0] if tokens else "") or _NAMELESS


def print_warnings(program: str, refusal: errors.FlagError | None = None) -> None:
    """Print the warnings about the command line, such as deprecated names, to stderr.

    Those about variables that name no flag are left for `raise_deferred`: filters are about them.
    Those with advice that an error has too are left out.
    """
    refusals = "\n".join(map(str, refusal.errors)) if refusal else ""
    for message in pop_warnings():
        advice = str(message).partition("; ")[2]
        if advice and advice in refusals:
            continue
        if isinstance(message, errors.UnknownVariableWarning):
            queue_warning(message)
        else:
            print_error(f"{program}: warning: {message}")


def _get_clean_sys_argv() -> list[str]:
    """Return `sys.argv` without arguments of pytest, or of a notebook's kernel."""
    tokens = list(sys.argv)
    if getattr(sys.modules.get("_paddle_flags_pytestplugin"), "arguments", None) == tokens:
        del tokens[1:]
    if len(tokens) > 1 and os.path.basename(tokens[0]).endswith("kernel_launcher.py"):
        message = (
            "parse() in a notebook: the arguments of its kernel are ignored;"
            " pass your own, as in parse(['notebook', '--name=value'])"
        )
        queue_warning(errors.FlagWarning(message))
        del tokens[1:]
    return tokens


def _check_argv(argv: Sequence[str]) -> list[str]:
    if isinstance(argv, (str, bytes)) or not isinstance(argv, Iterable):
        message = f"argv is {quote_value(argv)}: expected a list of str, the program first"
        raise errors.FlagTypeError(message)
    tokens = list(argv)
    if tokens and isinstance(tokens[0], str) and tokens[0].startswith("--"):
        message = f"argv[0] is {tokens[0]!r}: expected the program, as in sys.argv"
        raise errors.FlagArgumentError(message)
    return tokens


def _print_refusal(program: str, why: errors.FlagParseError, *, gflags: bool) -> int:
    """Print help or errors; return the exit status."""
    if isinstance(why, errors.HelpRequested):
        print_or_exit(str(why))
        return 1 if gflags and why.kind != "version" else 0
    for error in why.errors:
        print_error(f"{program}: error: {error}")
    print_error(f"Try '{program} --help'.")
    return 1 if gflags else 2
