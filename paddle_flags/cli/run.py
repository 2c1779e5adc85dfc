"""The command run: load plugins and set flags, then run a script or module."""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
from typing import TYPE_CHECKING

from paddle_flags import errors
from paddle_flags._report.explain import explain
from paddle_flags._report.listing import format_flags_table
from paddle_flags.cli.options import (
    PROGRAM,
    SECRET,
    may_be_secret,
    set_flags,
    suggest_flag_value,
)
from paddle_flags.cli.output import print_error, print_or_exit

if TYPE_CHECKING:
    import argparse

    from paddle_flags.cli.line import Line
    from paddle_flags.cli.options import Action
    from paddle_flags.cli.parser import Parser


def prepare(parser: Parser, options: argparse.Namespace, line: Line) -> Action:
    """Set the flags, and find what is to be run."""
    left = set_flags(
        parser, options, line, stop_at_argument=True, allow_pending=options.allow_pending
    )
    program = left + line.program
    if program:
        _check_program(program, line)

    def run_and_report() -> None:
        try:
            _run_python_program(program)
        except BaseException as error:
            # A program that fails may not have come to the definition of a flag to explain.
            _print_reports(options, program, has_failed=not isinstance(error, SystemExit))
            raise
        if not _print_reports(options, program):
            sys.exit(2)

    return run_and_report


def _run_python_program(program: list[str]) -> None:
    if not program:
        return
    if program[0] == "-m":
        sys.argv = program[1:]
        runpy.run_module(program[1], run_name="__main__", alter_sys=True)
        return
    sys.argv = list(program)
    sys.path.insert(0, os.path.dirname(os.path.abspath(program[0])))
    runpy.run_path(program[0], run_name="__main__")


def _print_reports(
    options: argparse.Namespace, program: list[str], *, has_failed: bool = False
) -> bool:
    """Print what the options ask for; return False if a flag is not defined."""
    if options.show or not (program or options.explain):
        print_or_exit(format_flags_table())
    known = True
    for name in options.explain:
        try:
            print_or_exit(explain(name))
        except errors.FlagError as error:
            if not has_failed:
                print_error(f"{PROGRAM}: error: --explain: {error}")
            known = False
    return known


# ---- what can be run ----


def _check_program(program: list[str], line: Line) -> None:
    """Raise FlagArgumentError for what Python would answer with a traceback of ours."""
    if program[0] == "-m":
        why = (
            _describe_module_problem(program[1])
            if program[1:]
            else "-m: expected the name of a module"
        )
    elif program[0]:
        why = _describe_script_problem(program[0])
        if why and not os.path.exists(program[0]):
            why = _describe_missing_script(why, line.rest + line.program)
    else:
        why = "expected the path of a Python script, not an empty argument"
    if why:
        raise errors.FlagArgumentError(why)


def _describe_missing_script(why: str, tokens: list[str]) -> str:
    """Return why a script that isn't there can't be run, and what may be meant."""
    if may_be_secret(tokens, stop_at_argument=True):
        return f"no such file; its path {SECRET}"
    return why + suggest_flag_value(tokens, stop_at_argument=True)


def _describe_script_problem(path: str) -> str:
    """Return what is wrong with a script, or ""."""
    if os.path.isdir(path):
        if os.path.isfile(os.path.join(path, "__main__.py")):
            return ""
        return f"{path}: is a directory without __main__.py, expected a Python script"
    try:
        with open(path, "rb") as file:
            start = file.read(4)
    except FileNotFoundError:
        return f"{path}: no such file"
    except (OSError, ValueError) as error:
        return f"{path}: {getattr(error, 'strerror', None) or error}, expected a Python script"
    if start == b"\x7fELF" or path.endswith((".so", ".dylib", ".dll", ".pyd")):
        return f"{path}: is a native binary, expected a Python script; to load a plugin, use -p"
    return ""


def _describe_module_problem(name: str) -> str:
    """Return what is wrong with a module, or ""."""
    expected = "expected the name of a module, as in package.module"
    if not all(name.split(".")) or "/" in name:
        return f"-m {name}: {expected}"
    sys.path.insert(0, os.getcwd())
    try:
        found = importlib.util.find_spec(name)
        if found is None:
            return f"-m {name}: no such module"
        is_package = found.submodule_search_locations is not None
        if is_package and importlib.util.find_spec(f"{name}.__main__") is None:
            return f"-m {name}: is a package without __main__.py, {expected}"
    except ModuleNotFoundError:  # the package that it should be in isn't there either
        return f"-m {name}: no such module"
    except ValueError:  # __spec__ is None, as in __main__
        return f"-m {name}: is a module that cannot be run again, {expected}"
    return ""
