"""python -m paddle_flags gen: the command line of the generator."""

from __future__ import annotations

import gc
import json
import os
from typing import TYPE_CHECKING

from paddle_flags.cli.output import print_error, print_or_exit
from paddle_flags.cli.parser import (
    Parser,
    choice_converter,
    switch_option,
    value_option,
    whole_number_converter,
)
from paddle_flags.errors import FlagError
from paddle_flags.extend import suggest_name
from paddle_flags.gen import cli_diff, cli_import, load_files
from paddle_flags.gen.model import FILES, to_json
from paddle_flags.gen.read import find_companions, import_fields_module, read_flag_files
from paddle_flags.gen.render import LANGUAGES, SPLIT, render
from paddle_flags.gen.write import find_obsolete_sources, find_outdated, write_and_prune

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

STAGES = ("read", "normal", "files")


_OPTIONS = {
    "-o --output": value_option(
        "DIR", "the directory for the generated files; %(default)s by default", default="."
    ),
    "--lang": value_option(
        "LANG,...",
        f"what to generate: {', '.join(LANGUAGES)}; all by default",
        type=lambda text: [choice_converter(LANGUAGES)(each) for each in text.split(",")],
        default=list(LANGUAGES),
    ),
    "--compat": value_option("FILE", "flags_compat.yaml; by default the one beside flags.yaml"),
    "--versions": value_option("FILE", "flags_version.yaml; by default the one beside flags.yaml"),
    "--templates": value_option("DIR", "your own templates, which replace the built-in ones"),
    "--split": value_option(
        "N",
        "about how many flags go into one C source; %(default)s by default",
        type=whole_number_converter("a number above 0", least=1),
        default=SPLIT,
    ),
}
# Those that write no files.
_OTHER_USES = {
    "--check": switch_option("write nothing; exit with 1 if a generated file is stale"),
    "--list": switch_option("print the names of the generated files and exit"),
    "--dump": value_option(
        "STAGE",
        f"print the result of a stage and exit: {', '.join(STAGES)}; normal by default",
        nargs="?",
        const="normal",
        type=choice_converter(STAGES),
    ),
    "--schema": value_option(
        "NAME",
        f"print a JSON Schema for editors and exit: {', '.join(FILES)}",
        type=choice_converter(FILES),
    ),
}


def main(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Run the command; returns the exit status."""
    if options.schema:
        print_or_exit(import_fields_module().schema_text(options.schema), end="")
        return 0
    if options.file is None:
        parser.error("expected the path of flags.yaml")
    collects = gc.isenabled()
    gc.disable()  # everything that is allocated lives until the process ends
    try:
        return _run(options)
    except FlagError as error:
        for each in error.errors:
            print_error(f"{each}")
        return 2
    finally:
        if collects:
            gc.enable()


def _run(options: argparse.Namespace) -> int:
    paths = find_companions(options.file)
    paths |= {"flags_compat": options.compat} if options.compat else {}
    paths |= {"flags_version": options.versions} if options.versions else {}
    if options.dump in ("read", "normal"):
        print_or_exit(_DUMPS[options.dump](paths), end="")
        return 0
    files = render(load_files(paths), options.lang, templates=options.templates, size=options.split)
    if options.dump:
        print_or_exit("".join(f"==> {name} <==\n{text}" for name, text in files.items()), end="")
    elif options.list:
        print_or_exit("\n".join(_output_path(options.output, name) for name in files))
    elif options.check:
        return _check_outputs(files, options.output)
    else:
        for name in write_and_prune(files, options.output):
            print_or_exit(_output_path(options.output, name))
    return 0


def _output_path(directory: str, name: str) -> str:
    return os.path.normpath(os.path.join(directory, name))


def _check_outputs(files: dict[str, str], directory: str) -> int:
    stale = [(name, "is stale") for name in find_outdated(files, directory)]
    stale += [(name, "is no longer generated") for name in find_obsolete_sources(files, directory)]
    for name, how in stale:
        print_error(f"{_output_path(directory, name)}: {how}; run gen again")
    return 1 if stale else 0


def _dump_unnormalized_flags(paths: dict[str, str]) -> str:
    source = read_flag_files(paths)
    parts = {"flags": source.flags, "compat": source.compat, "version": source.version}
    data = {
        name: part and part.model_dump(by_alias=True, exclude_unset=True, warnings=False)
        for name, part in parts.items()
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


_DUMPS: dict[str, Callable[[dict[str, str]], str]] = {
    "read": _dump_unnormalized_flags,
    "normal": lambda paths: to_json(load_files(paths)),
}


def new_parser(program: str) -> Parser:
    """Return the parser of `gen FILE`."""
    parser = Parser(
        f"{program} gen",
        description="Generate C, C++, Python and documents from flags in a YAML file.",
        epilog="gen diff OLD NEW lists what changed between two versions of the file; gen import"
        " writes the file from a plugin, a program with --helpxml or an argparse parser.",
    )
    parser.add_argument("file", nargs="?", help="flags.yaml")
    parser.add_options(_OPTIONS)
    parser.add_options(_OTHER_USES, exclusive=True)
    return parser


# Subcommands: each takes the name of the program and the tokens after the subcommand.
COMMANDS: dict[str, Callable[[str, Sequence[str]], int]] = {
    "diff": cli_diff.run,
    "import": cli_import.run,
}


def run(words: Sequence[str], program: str) -> int:
    """Run `gen` with these tokens; returns the exit status."""
    if words and words[0] in COMMANDS:
        return COMMANDS[words[0]](f"{program} gen {words[0]}", words[1:])
    parser = new_parser(program)
    is_file = not words or words[0].startswith("-") or os.path.exists(words[0])
    if not is_file and (hint := suggest_name(words[0], COMMANDS)):
        parser.error(f"no such file or command {words[0]}{hint}")
    return main(parser, parser.parse_args(words))
