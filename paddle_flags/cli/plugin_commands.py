"""The commands that load plugins and set their flags: run, list, explain, impls, stubs, doctor."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from paddle_flags import errors
from paddle_flags._core.plugin import split_plugin_argument
from paddle_flags._core.registry import FLAGS
from paddle_flags._report.explain import explain
from paddle_flags._report.facts import escape_controls
from paddle_flags._report.listing import LISTINGS, render_flag_list
from paddle_flags.cli import run
from paddle_flags.cli.options import (
    NO_ARGUMENT,
    PROGRAM,
    SECRET,
    check_not_flag_value,
    find_argument_errors,
    load_plugin_argument,
    may_be_secret,
    set_flags,
    suggest_flag_value,
)
from paddle_flags.cli.output import print_error, print_or_exit
from paddle_flags.cli.parser import choice_converter, repeated_option, switch_option, value_option

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from paddle_flags.cli.line import Line
    from paddle_flags.cli.options import Action
    from paddle_flags.cli.parser import Parser


_COMMON = (
    "[-p FILE]... [--config FILE]... [--env-prefix PREFIX]",
    "[--env-ignore-empty] [--env-files] [--env-flags VARIABLE]",
)
_PLUGINS = repeated_option("FILE", "load a shared library; NAMESPACE=FILE loads it in a namespace")
_MODULES = {
    "-m": repeated_option("MODULE", "import a Python module that defines flags", dest="module")
}
_VALUES = {
    "--config": repeated_option(
        "FILE", "read a configuration file: TOML, YAML, JSON or a flagfile"
    ),
    "--env-prefix": value_option(
        "PREFIX", "read flags from environment variables named PREFIX<flag>"
    ),
    "--env-ignore-empty": switch_option("treat an empty variable as one that isn't set"),
    "--env-files": switch_option("let PREFIX<flag>_FILE name a file with the value"),
    "--env-flags": value_option(
        "VARIABLE",
        "read flags from this variable, written --name=value and separated by blanks",
    ),
}


class PluginCommand(NamedTuple):
    """A command that loads plugins and takes their flags."""

    summary: str
    use: str
    example: str
    prepare: Callable[[Parser, argparse.Namespace, Line], Action]
    """Sets the flags and finds what is to be done; what it returns does that."""
    modules: bool = False
    """Whether it also imports modules."""
    options: Mapping[str, dict[str, Any]] = {}
    order: str = "Options, flags and names may come in any order."

    def add_to_parser(self, main_parser: Parser, name: str) -> Parser:
        """Add the command to a command line, and return its parser."""
        indent = "\n" + " " * len(f"usage: {PROGRAM} {name} ")
        use = " ".join(["[-m MODULE]..."] * self.modules + [self.use] * bool(self.use))
        parser = main_parser.add_command(
            name,
            self.summary,
            usage=f"{PROGRAM} {name} " + indent.join([*_COMMON, *use.splitlines()]),
            epilog=f"{self.order}\n\nexample:\n  {PROGRAM} {self.example}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        modules = _MODULES if self.modules else {}
        parser.add_options({"-p --plugin": _PLUGINS, **modules, **_VALUES, **self.options})
        return parser


def _prepare_list(parser: Parser, options: argparse.Namespace, line: Line) -> Action:
    rest = set_flags(parser, options, line)
    if rest:
        raise errors.FlagArgumentError(_unexpected_argument(rest[0], line))
    left_out: dict[str, str] = {}
    text = render_flag_list(options.format, program=PROGRAM, all=options.all, left_out=left_out)

    def print_list() -> None:
        print_or_exit(text)
        for name, why in left_out.items():
            print_error(f"{PROGRAM}: left out: {escape_controls(name)} {why}")

    return print_list


def _unexpected_argument(argument: str, line: Line) -> str:
    """Return what is wrong with a line that has an argument."""
    error = find_argument_errors(line.rest)[0]
    if error.startswith("argv["):  # it may be a part of a secret
        return error
    suggestion = error.rpartition(NO_ARGUMENT)[2]
    if argument and not suggestion:
        suggestion = f"; to load a plugin, use -p {argument}"
    return f"unexpected argument {argument or repr(argument)}{suggestion}"


def _prepare_explain(parser: Parser, options: argparse.Namespace, line: Line) -> Action:
    rest = set_flags(parser, options, line)
    if len(rest) != 1:
        message = f"expected the name of one flag, not {len(rest)} arguments"
        raise errors.FlagArgumentError(message + suggest_flag_value(line.rest))
    try:
        if not may_be_secret(line.rest):
            check_not_flag_value(rest[0], line, is_known=rest[0] in FLAGS)
        text = explain(rest[0])
    except errors.UndefinedFlagError:
        if not may_be_secret(line.rest):
            raise
        message = f"expected the name of a flag; the argument {SECRET}"
        raise errors.FlagArgumentError(message) from None
    return lambda: print_or_exit(text)


def _prepare_impls(parser: Parser, options: argparse.Namespace, line: Line) -> Action:
    from paddle_flags._op.operation import op, ops
    from paddle_flags._report.impls import op_details, ops_as_json, ops_table

    rest = set_flags(parser, options, line)
    if len(rest) > 1:
        message = f"expected the name of one operation, not {len(rest)} arguments"
        raise errors.FlagArgumentError(message + suggest_flag_value(line.rest))
    if rest:
        check_not_flag_value(rest[0], line, is_known=any(each.name == rest[0] for each in ops()))
    found = [op(rest[0])] if rest else list(ops())
    if options.json:
        text = json.dumps(ops_as_json(found), indent=2)
    else:
        text = op_details(found[0]) if rest else ops_table(found)
    return lambda: print_or_exit(text)


def _prepare_stubs(parser: Parser, options: argparse.Namespace, line: Line) -> Action:
    from paddle_flags._report.stubs import render_stub

    rest = set_flags(parser, options, line)
    if rest:
        message = f"unexpected argument {rest[0]}; to load a plugin, use -p {rest[0]}"
        raise errors.FlagArgumentError(message)
    names = [os.path.basename(plugin) for plugin in options.plugin] + options.module
    if not names:
        message = "expected a plugin or a module whose flags to write: -p FILE or -m MODULE"
        raise errors.FlagArgumentError(message)
    words = [word for plugin in options.plugin for word in ("-p", plugin)]
    words += [word for module in options.module for word in ("-m", module)]
    text = render_stub(", ".join(names), shlex.join([*PROGRAM.split(), "stubs", *words]))
    return lambda: print_or_exit(text.removesuffix("\n"))


def _prepare_doctor(parser: Parser, options: argparse.Namespace, line: Line) -> Action:
    """Load the plugins, too: the report includes what goes wrong in that."""
    from paddle_flags._doctor.examine import examine
    from paddle_flags._doctor.read import check_is_file
    from paddle_flags._doctor.text import format_report_lines

    refused: list[errors.FlagError] = []
    refused_files: list[str] = []
    for plugin in options.plugin:
        path = split_plugin_argument(plugin)[1]
        try:
            if os.path.exists(path):  # a loader searches for others
                check_is_file(path)
            load_plugin_argument(plugin)
        except errors.FlagError as error:
            refused.append(error)
            refused_files.append(path)
    files = set_flags(parser, options, line, allow_pending=True)
    report = examine(files, refused, refused_files, options.env_prefix)

    def print_report_or_exit() -> None:
        print_or_exit(
            json.dumps(report, indent=2) if options.json else "\n".join(format_report_lines(report))
        )
        if report["problems"]:
            sys.exit(1)

    return print_report_or_exit


COMMANDS = {
    "run": PluginCommand(
        "run a script or module with plugins loaded and flags set; without either, list the flags",
        "[--show] [--explain NAME]... [--allow-pending] [--flag=value]...\n"
        "[SCRIPT | -m MODULE] [ARGUMENT]...",
        "run -p libalpha.so --alpha_level=9 train.py data.txt",
        run.prepare,
        options={
            "--show": switch_option("list the flags when the program ends"),
            "--explain": repeated_option(
                "NAME", "when the program ends, print why this flag has its value"
            ),
            "--allow-pending": switch_option(
                "keep values for flags that the program or its plugins define later"
            ),
        },
        order="Options and flags may come in any order before SCRIPT or -m MODULE.\n"
        "Everything after that is passed to the program.",
    ),
    "list": PluginCommand(
        "list all flags",
        "[--all] [--format FORMAT] [--flag=value]...",
        "list -p libalpha.so --alpha_level=9",
        _prepare_list,
        modules=True,
        options={
            "--format": value_option(
                "FORMAT",
                f"write {', '.join(LISTINGS)}; the default is %(default)s",
                type=choice_converter(LISTINGS),
                default="table",
            ),
            "--long": {
                "dest": "format",
                "action": "store_const",
                "const": "text",
                "help": "show the help of each flag; short for --format=text",
            },
            "--all": switch_option(
                "include hidden flags; in formats that can be loaded again, include defaults"
            ),
        },
    ),
    "explain": PluginCommand(
        "describe a flag and where its value comes from",
        "[--flag=value]... NAME",
        "explain alpha_level -p libalpha.so --config app.toml",
        _prepare_explain,
        modules=True,
    ),
    "impls": PluginCommand(
        "list operations, and show which implementation runs",
        "[--json] [--flag=value]... [NAME]",
        "impls pow -p libpow.so --impl.pow=fast,*",
        _prepare_impls,
        options={"--json": switch_option("write JSON")},
    ),
    "stubs": PluginCommand(
        "write a type stub of all flags, for mypy, pyright and editors",
        "",
        "stubs -p libalpha.so > flags.pyi",
        _prepare_stubs,
        modules=True,
    ),
    "doctor": PluginCommand(
        "check plugins, files and the process; exit with 1 if there are problems",
        "[--json] [--flag=value]... [FILE]...",
        "doctor -p libalpha.so libbeta.so",
        _prepare_doctor,
        options={"--json": switch_option("write the report as JSON")},
    ),
}
