"""python -m paddle_flags gen diff OLD NEW."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paddle_flags.cli.output import print_error, print_or_exit
from paddle_flags.cli.parser import Parser, switch_option
from paddle_flags.errors import FlagError
from paddle_flags.gen import load
from paddle_flags.gen.diff import compare
from paddle_flags.gen.diff_text import to_json, to_lines, to_markdown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from paddle_flags.gen.model import FlagSet

SAME, COMPATIBLE, BREAKING, FAILED = range(4)  # exit statuses


def _parser(program: str) -> Parser:
    parser = Parser(
        program,
        description="List what changed between two versions of flags.yaml and of the files beside"
        " it, and what each change breaks.",
        epilog="Exits with 0 if nothing changed, 1 if all changes are compatible, 2 if one"
        " breaks users, 3 if a file can't be read or the command line is wrong.",
    )
    parser.failed = FAILED  # which no result of a comparison has
    parser.add_argument("old", metavar="OLD", help="the old flags.yaml")
    parser.add_argument("new", metavar="NEW", help="the new flags.yaml")
    forms = {
        "--markdown": switch_option("write a changelog in Markdown"),
        "--json": switch_option("write JSON"),
    }
    parser.add_options(forms, exclusive=True)
    return parser


def run(program: str, words: Sequence[str]) -> int:
    """Run `gen diff` with these tokens; returns the exit status."""
    options = _parser(program).parse_args(words)
    errors: list[FlagError] = []
    sets: list[FlagSet] = []
    for path in (options.old, options.new):
        try:
            sets.append(load(path))
        except FlagError as error:
            errors += error.errors
    if errors:
        for each in errors:
            print_error(str(each))
        return FAILED
    old, new = sets
    found = compare(old, new)
    write = to_json if options.json else to_markdown if options.markdown else to_lines
    try:
        print_or_exit(write(old, new, found), end="")
    except SystemExit:  # a failed write mustn't look like the result of a comparison
        return FAILED
    if not found:
        return SAME
    return BREAKING if any(each.breaks for each in found) else COMPATIBLE
