"""python -m paddle_flags gen diff OLD NEW."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NoReturn

from paddle_flags.cli.output import print_error, print_text
from paddle_flags.errors import FlagError
from paddle_flags.gen import load
from paddle_flags.gen.diff import compare
from paddle_flags.gen.diff_text import to_json, to_lines, to_markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paddle_flags.gen.model import FlagSet

SAME, COMPATIBLE, BREAKING, FAILED = range(4)  # exit statuses


class _Parser(argparse.ArgumentParser):
    """Ends with a status that no difference has."""

    def error(self, message: str) -> NoReturn:
        self.exit(FAILED, f"{self.format_usage()}{self.prog}: error: {message}\n")


def _parser(program: str) -> argparse.ArgumentParser:
    parser = _Parser(
        program,
        description="Tell what changed between two versions of flags.yaml, with the files beside"
        " them, and whom it breaks.",
        epilog="Ends with 0 when nothing changed, 1 when all changes are compatible, 2 when one"
        " breaks users, 3 when a file can't be read or the command is wrong.",
        allow_abbrev=False,
    )
    parser.add_argument("old", metavar="OLD", help="flags.yaml as it was")
    parser.add_argument("new", metavar="NEW", help="flags.yaml as it is")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="write a changelog in Markdown")
    form.add_argument("--json", action="store_true", help="write JSON")
    return parser


def _load(path: str, errors: list[FlagError]) -> Any:
    try:
        return load(path)
    except FlagError as error:
        errors += error.errors


def run(program: str, words: Sequence[str]) -> int:
    """Read the words behind `gen diff`, and do what they say; gives the exit status."""
    options = _parser(program).parse_args(words)
    errors: list[FlagError] = []
    sets: list[FlagSet] = [_load(path, errors) for path in (options.old, options.new)]
    if errors:
        for error in errors:
            print_error(str(error))
        return FAILED
    old, new = sets
    found = compare(old, new)
    write = to_json if options.json else to_markdown if options.markdown else to_lines
    try:
        print_text(write(old, new, found), end="")
    except SystemExit:  # what can't be printed has no difference's status either
        return FAILED
    if not found:
        return SAME
    return BREAKING if any(each.breaks for each in found) else COMPATIBLE
