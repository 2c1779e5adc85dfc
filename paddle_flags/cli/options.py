"""What the commands share: their parsers, and how plugins and flags are read."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from paddle_flags import errors
from paddle_flags._core.plugin import load_plugin_with_remedy, split_plugin_argument
from paddle_flags._input.options import ParseOptions
from paddle_flags.cli.parse import read_flags

if TYPE_CHECKING:
    import argparse

    from paddle_flags.cli.line import Line
    from paddle_flags.cli.parser import Parser

Action = Callable[[], Any]

CONSOLE = "paddle-flags"
"""The console script. What it does, `python -m paddle_flags` does too."""


def _program_name() -> str:
    """Return the name under which the user started us, for messages and usage lines."""
    started = os.path.basename(sys.argv[0]) if sys.argv else ""
    return CONSOLE if started.partition(".")[0] == CONSOLE else "python -m paddle_flags"


PROGRAM = _program_name()

NO_ARGUMENT = ": expected no argument"  # in messages of C


def load_plugin_argument(plugin: str) -> None:
    """Load FILE or NAMESPACE=FILE."""
    namespace, file = split_plugin_argument(plugin)
    if not file:
        message = "-p: expected the path of a shared library, not an empty argument"
        raise errors.FlagArgumentError(message)
    if file.endswith((".py", ".pyw")):
        raise errors.FlagArgumentError(
            f"{file}: is a Python program, expected a shared library; to run it and see its"
            f" flags, use '{PROGRAM} run --show {file}'; to see why a flag has its value,"
            f" use '{PROGRAM} run --explain NAME {file}'"
        )
    load_plugin_with_remedy(file, namespace, "-p {namespace}={path}")


def import_module(name: str) -> None:
    """Import a Python module, which may be in the current directory."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        importlib.import_module(name)
    except ImportError as error:
        raise errors.FlagArgumentError(f"-m {name}: {error}") from None


def set_flags(
    parser: Parser,
    options: argparse.Namespace,
    line: Line,
    *,
    allow_pending: bool = False,
    stop_at_argument: bool = False,
) -> list[str]:
    """Set the flags of the plugins; return the other tokens."""
    line.check_flag_values()
    if not allow_pending:
        line.check_spelling(parser)
    for option, given in (
        ("--env-ignore-empty", options.env_ignore_empty),
        ("--env-files", options.env_files),
    ):
        if given and options.env_prefix is None:
            raise errors.FlagArgumentError(f"{option}: expected --env-prefix PREFIX with it")
    wanted = ParseOptions(
        env_prefix=options.env_prefix,
        env_flags=options.env_flags,
        env_ignore_empty=options.env_ignore_empty,
        env_files=options.env_files,
        config=options.config or None,
        keep_startup=True,
        allow_pending=allow_pending,
        stop_at_argument=stop_at_argument,
    )
    return read_flags([PROGRAM, *line.rest], wanted)


def find_argument_errors(tokens: list[str], *, stop_at_argument: bool = False) -> list[str]:
    """Return what is wrong with each argument among tokens that should have none.

    An error ends with a suggestion if the argument looks like a part of a flag's value, and
    does not show what may be a part of a secret.
    """
    wanted = ParseOptions(
        keep_startup=True,
        allow_pending=True,
        arguments=False,
        stop_at_argument=stop_at_argument,
    )
    try:
        read_flags([PROGRAM, *tokens], wanted)
    except errors.FlagParseError as error:
        return [str(each) for each in error.errors if NO_ARGUMENT in str(each)]
    return []


def suggest_flag_value(tokens: list[str], *, stop_at_argument: bool = False) -> str:
    """Return "; " and how an argument may be meant as the value of a flag, or ""."""
    found = find_argument_errors(tokens, stop_at_argument=stop_at_argument)
    return next(filter(None, (each.rpartition(NO_ARGUMENT)[2] for each in found)), "")


def check_not_flag_value(name: str, line: Line, *, is_known: bool) -> None:
    """Raise FlagArgumentError for an unknown name that may be meant as the value of a flag."""
    suggestion = "" if is_known else suggest_flag_value(line.rest)
    if suggestion:
        raise errors.FlagArgumentError(f"unexpected argument {name}{suggestion}")


def may_be_secret(tokens: list[str], *, stop_at_argument: bool = False) -> bool:
    """Return whether the first argument may be the rest of a sensitive value."""
    found = find_argument_errors(tokens, stop_at_argument=stop_at_argument)
    return bool(found) and found[0].startswith("argv[")


SECRET = "is not shown, as it may be a part of a secret"
