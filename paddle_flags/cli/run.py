"""The command run: load plugins and set flags, then run a script or module."""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
from typing import TYPE_CHECKING

from paddle_flags import errors
from paddle_flags._completion.flags import argument_at
from paddle_flags._report.listing import flags_table
from paddle_flags.cli.options import add_command, set_flags
from paddle_flags.cli.output import print_text

if TYPE_CHECKING:
    import argparse

    from paddle_flags.cli.options import Action, Commands


def add(commands: Commands) -> None:
    """Add the command to the parsers of a command line."""
    parser = add_command(
        commands,
        "run",
        "load plugins and set flags, then run a script or module, or show the flags",
        "[--show] [--allow-pending] [--flag=value]... [SCRIPT | -m MODULE] [ARGUMENT]...",
    )
    parser.add_argument("--show", action="store_true", help="show the flags at the end")
    parser.add_argument(
        "--allow-pending",
        action="store_true",
        help="keep values for flags that the script or its plugins define later",
    )


def _module_at(tokens: list[str]) -> int:
    return tokens.index("-m") if "-m" in tokens else len(tokens)


def program_at(tokens: list[str]) -> int:
    """Give the index of the script or of -m, or of the end."""
    return argument_at(tokens[: _module_at(tokens)])


def prepare(options: argparse.Namespace, tokens: list[str]) -> Action:
    """Set the flags, and find what is to be run."""
    at = _module_at(tokens)
    script = set_flags(
        options, tokens[:at], stop_at_argument=True, allow_pending=options.allow_pending
    )
    if script:
        script += tokens[at:]  # a script's own -m
    module = tokens[at + 1 :] if not script else []
    _check_program(script, module, wanted=at < len(tokens))

    def act() -> None:
        try:
            if script:
                _run_script(script)
            elif module:
                _run_module(module)
        finally:
            if options.show or not (script or module):
                print_text(flags_table())

    return act


def _check_program(script: list[str], module: list[str], *, wanted: bool) -> None:
    if script and not os.path.exists(script[0]):
        message = f"{script[0]}: no such file"
        raise errors.FlagArgumentError(message)
    if script or not wanted:
        return
    if not module:
        message = "-m: expected the name of a module"
        raise errors.FlagArgumentError(message)
    sys.path.insert(0, os.getcwd())
    try:
        found = importlib.util.find_spec(module[0])
    except ModuleNotFoundError:  # of a package that isn't there either
        found = None
    if found is None:
        message = f"{module[0]}: no such module"
        raise errors.FlagArgumentError(message)


def _run_module(tokens: list[str]) -> None:
    sys.argv = list(tokens)
    runpy.run_module(tokens[0], run_name="__main__", alter_sys=True)


def _run_script(tokens: list[str]) -> None:
    sys.argv = list(tokens)
    sys.path.insert(0, os.path.dirname(os.path.abspath(tokens[0])))
    runpy.run_path(tokens[0], run_name="__main__")
