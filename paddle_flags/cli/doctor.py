"""The command doctor: check plugins, files and the process."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from paddle_flags import errors
from paddle_flags._core.plugin import plugin_parts
from paddle_flags.cli.options import add_command, load, set_flags
from paddle_flags.cli.output import print_text

if TYPE_CHECKING:
    import argparse

    from paddle_flags.cli.line import Line
    from paddle_flags.cli.options import Action
    from paddle_flags.cli.parser import Parser


def add(main_parser: Parser) -> None:
    """Add the command to a command line."""
    parser = add_command(
        main_parser,
        "doctor",
        "check plugins, files and the process; exit with 1 if there are problems",
        "[--json] [--flag=value]... [FILE]...",
        "doctor -p libalpha.so libbeta.so",
    )
    parser.add_argument("--json", action="store_true", help="write the report as JSON")


def prepare(parser: Parser, options: argparse.Namespace, line: Line) -> Action:
    """Load the plugins and set the flags; the report includes what went wrong in that."""
    from paddle_flags._doctor.examine import check_file, examine
    from paddle_flags._doctor.text import to_lines

    refused: list[errors.FlagError] = []
    refused_files: list[str] = []
    for plugin in options.plugin:
        try:
            check_file(plugin_parts(plugin)[1])
            load(plugin)
        except errors.FlagError as error:
            refused.append(error)
            refused_files.append(plugin_parts(plugin)[1])
    files = set_flags(parser, options, line, allow_pending=True)
    report = examine(files, refused, refused_files, options.env_prefix)

    def act() -> None:
        print_text(json.dumps(report, indent=2) if options.json else "\n".join(to_lines(report)))
        if report["problems"]:
            sys.exit(1)

    return act
