"""python -m paddle_flags gen import KIND ...: write flags.yaml for existing flags."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from paddle_flags.cli.output import print_error, print_or_exit
from paddle_flags.cli.parser import Parser, switch_option, value_option
from paddle_flags.errors import FlagError
from paddle_flags.gen.importers import render_without_refused
from paddle_flags.gen.model import FILES
from paddle_flags.gen.problems import GenerateError
from paddle_flags.gen.write import write_and_prune

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from paddle_flags.gen.importers import Found

WHOLE, WITH_LOSSES, FAILED = range(3)  # exit statuses
HEAD = "# Imported from {}.\n"


def _import_plugin(options: argparse.Namespace) -> Found:
    from paddle_flags.gen.importers.plugin import import_plugin

    return import_plugin(options.file, options.name, options.version)


def _import_helpxml(options: argparse.Namespace) -> Found:
    from paddle_flags.gen.importers import helpxml

    if options.program.endswith(".xml"):
        for word in (*options.words, *options.behind):
            raise GenerateError(f"{word}: found an argument after FILE.xml, expected none")
        return helpxml.import_file(options.program, options.name, options.version)
    words = [options.program, *options.words, *options.behind]
    return helpxml.import_program(words, options.name, options.version)


def _import_argparse(options: argparse.Namespace) -> Found:
    from paddle_flags.gen.importers.argparse_parser import import_parser_options

    return import_parser_options(options.parser, options.name, options.version)


def _parser(program: str) -> Parser:
    parser = Parser(
        program,
        description="Write flags.yaml, and flags_compat.yaml if it is needed, for flags that exist"
        " already. What the files can't express is reported with its place.",
        epilog="Exits with 0, with 1 if the files can't express something, and with 2 if an"
        " error kept it from writing anything.",
    )
    parser.add_commands("KIND")
    for name, act, argument, summary in (
        ("plugin", _import_plugin, "file", "a shared library, which is loaded"),
        (
            "helpxml",
            _import_helpxml,
            "program",
            "a program, run with --helpxml, or its output as FILE.xml",
        ),
        (
            "argparse",
            _import_argparse,
            "parser",
            "MODULE:ATTRIBUTE, a parser or a function that returns one",
        ),
    ):
        kind = parser.add_command(name, summary, description=summary)
        kind.add_options(_OPTIONS)
        kind.add_argument(argument, metavar=argument.upper(), help=summary)
        kind.set_defaults(act=act)
        if name == "helpxml":
            more = (
                "arguments of the program, which come before --helpxml; its options come after --"
            )
            kind.add_argument("words", nargs="*", metavar="ARGUMENT", help=more)
            kind.advice = "; options of the program come after --"
    return parser


_OPTIONS = {
    "-o --output": value_option(
        "FILE", "the file to write; %(default)s by default", default="flags.yaml"
    ),
    "--force": switch_option("replace existing files"),
    "--name": value_option("NAME", "the name of the set; by default made from what is imported"),
    "--version": value_option("X.Y.Z", "the version of the set", default=""),
}


def _parse_options(program: str, words: Sequence[str]) -> argparse.Namespace:
    """Parse the tokens; with helpxml, those after -- belong to the program that it runs."""
    runs = words[:1] == ["helpxml"] and "--" in words
    end = words.index("--") if runs else len(words)
    options = _parser(program).parse_args(words[:end])
    options.behind = words[end + 1 :]
    return options


def _check_has_flags(found: Found) -> None:
    flags = found.flags
    own = flags.flags or flags.imports or flags.retired
    if not (own or found.notes or len(found.losses)):
        found.losses.add(flags.at.get(""), "", "no flags", "some")


def run(program: str, words: Sequence[str]) -> int:
    """Run `gen import` with these tokens; returns the exit status."""
    options = _parse_options(program, words)
    try:
        found: Found = options.act(options)
        texts = render_without_refused(found)
        _check_has_flags(found)
        written = _write_imported_files(texts, options, " ".join(words))
    except FlagError as error:
        for each in error.errors:
            print_error(str(each))
        return FAILED
    for path in written:
        print_or_exit(path)
    for note in found.notes:
        print_error(f"note: {note}")
    losses = _losses(found)
    for line in losses:
        print_error(line)
    return WITH_LOSSES if losses else WHOLE


def _write_imported_files(texts: dict[str, str], options: Any, words: str) -> list[str]:
    directory, name = os.path.split(options.output)
    stem, extension = os.path.splitext(name)
    files = {key: f"{stem}{key[len('flags') :]}{extension}" for key in FILES}
    for key, each in files.items():
        path = os.path.join(directory, each)
        if os.path.exists(path) and not (options.force and key in texts):
            remedy = "; --force replaces it" if key in texts else f" beside {options.output}"
            raise GenerateError(f"{path}: found a file, expected none{remedy}")
    head = HEAD.format(words if words.isprintable() else ascii(words))
    write_and_prune(
        {files[key]: head + text for key, text in texts.items()}, directory or os.curdir
    )
    return [os.path.join(directory, files[key]) for key in texts]


def _losses(found: Found) -> list[str]:
    try:
        found.losses.raise_if_any()
    except GenerateError as error:
        return [f"{place}: {text}" if place else text for place, text in error.found]
    return []
