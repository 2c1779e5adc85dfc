"""The command new: write a small project that defines a flag."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING

from paddle_flags._completion.answer import Candidate, offer_files, offer_matches
from paddle_flags._core.names import find_nearest
from paddle_flags._new.names import check_name, check_no_name_clash
from paddle_flags._new.project import LANGUAGES, render_project_files, write_project
from paddle_flags.cli.options import PROGRAM
from paddle_flags.cli.output import print_or_exit

if TYPE_CHECKING:
    from paddle_flags._completion.answer import Answer
    from paddle_flags.cli.parser import Parser


def _check_directory(text: str) -> str:
    """Return the path of a directory, which need not exist."""
    if not text:
        message = "'': expected the path of a new or empty directory, such as 'alpha' or '.'"
        raise argparse.ArgumentTypeError(message)
    return text


def _check_language(text: str) -> str:
    """Return a language; an error names the nearest one."""
    if text in LANGUAGES:
        return text
    near = find_nearest(text, [*LANGUAGES, *_ALSO])
    suggestion = f"; did you mean '{_ALSO.get(near, near)}'?" if near else ""
    message = f"{text!r:.80}: expected one of {', '.join(LANGUAGES)}{suggestion}"
    raise argparse.ArgumentTypeError(message)


_ALSO = {"c++": "cpp", "cxx": "cpp", "cc": "cpp", "rs": "rust", "pyx": "cython", "wheel": "c-wheel"}


def add_to_parser(main_parser: Parser) -> None:
    """Add the command to a command line."""
    summary = "write a small project that defines a flag"
    parser = main_parser.add_command(
        "new",
        summary,
        description=f"{summary.capitalize()}, ready to build, test and install.",
        usage=f"{PROGRAM} new NAME --lang LANGUAGE [--dir DIRECTORY]",
        epilog="languages:\n"
        + "".join(f"  {name:<10}{each.about}\n" for name, each in LANGUAGES.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(act=lambda options: _write_project(parser, options))
    parser.add_argument(
        "name", metavar="NAME", type=check_name, help="the name of the project, such as my_plugin"
    )
    parser.add_argument(
        "--lang",
        metavar="LANGUAGE",
        type=_check_language,
        required=True,
        help=", ".join(LANGUAGES),
    )
    parser.add_argument(
        "--dir",
        metavar="DIRECTORY",
        type=_check_directory,
        help="a new or empty directory to write to; the default is NAME",
    )


def complete(option: str, token: str) -> Answer:
    """Complete the value of an option."""
    if option == "--dir":
        return offer_files(token)
    languages = (Candidate(name, each.about) for name, each in LANGUAGES.items())
    return offer_matches(languages, token)


def _write_project(parser: Parser, options: argparse.Namespace) -> None:
    directory = options.name if options.dir is None else options.dir
    try:
        check_no_name_clash(options.name, options.lang)
        texts = render_project_files(options.name, options.lang)
        write_project(directory, texts)
    except argparse.ArgumentTypeError as error:
        parser.error(f"argument NAME: {error}")
    except OSError as error:  # a message of ours, or the system's
        why = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        parser.error(why)
    print_or_exit(f"{directory}: {', '.join(sorted(texts))}")
    print_or_exit(f"Next: cd {shlex.quote(directory)} && {LANGUAGES[options.lang].build}")
    print_or_exit("README.md in it has all commands.")
