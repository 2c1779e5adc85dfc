"""A new project with a flag: python -m paddle_flags new."""

from __future__ import annotations

import argparse
import importlib.machinery
import keyword
import os
import re
import shlex
import sys
from typing import Any, NamedTuple

from paddle_flags import _completion
from paddle_flags._output import print_text

_TEMPLATES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "templates")


class _Language(NamedTuple):
    about: str
    shared: str  # the directory of what it has in common with others
    plugin: str  # what the build makes, where that is a plain shared library
    build: str  # what to do first


_PIP = "python -m pip install --no-build-isolation ."

LANGUAGES = {
    "c": _Language("a plugin in C, by make", "plugin", "lib@name@.so", "make test"),
    "cpp": _Language("a plugin in C++, by make", "plugin", "lib@name@.so", "make test"),
    "cython": _Language("a Python module in Cython", "module", "", _PIP),
    "pybind11": _Language("a Python module by pybind11", "module", "", _PIP),
    "nanobind": _Language("a Python module by nanobind", "module", "", _PIP),
    "rust": _Language(
        "a plugin in Rust, by cargo",
        "plugin",
        "target/release/lib@name@.so",
        "cargo build --release",
    ),
    "zig": _Language("a plugin in Zig, by make", "plugin", "lib@name@.so", "make test"),
}

# The name becomes that of a file, a module, a crate and a C function.
_NAME_MAX = 64
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_TAKEN = """
auto bool case catch char class const default delete do double enum explicit export extern
float friend goto inline int long mutable namespace new operator private protected public
register short signed sizeof static struct switch template this throw typedef typename union
unsigned using virtual void volatile
box const crate dyn enum extern fn impl let loop match mod move mut pub ref static struct super
trait type unsafe use where
alloc cffi core cython main nanobind paddle_flags pd_flags pybind11 setuptools std test
""".split()  # noqa: SIM905 - read as words


def check_name(name: str) -> str:
    """Give the name of a project, or say what was expected."""
    if not _NAME.fullmatch(name) or len(name) > _NAME_MAX:
        message = (
            f"{name!r:.80}: expected up to {_NAME_MAX} lower-case letters, digits and '_',"
            " a letter first"
        )
        usable = re.sub(r"[^a-z0-9_]+", "_", name.lower()).strip("_0123456789")[:_NAME_MAX]
        raise argparse.ArgumentTypeError(f"{message}, such as '{usable or 'alpha'}'")
    modules = getattr(sys, "stdlib_module_names", ())
    if name in _TAKEN or name in keyword.kwlist or name in modules:
        message = (
            f"{name!r}: is a word of a language or the name of a known module; expected"
            f" a name of your own, such as '{name}_plugin'"
        )
        raise argparse.ArgumentTypeError(message)
    return name


# lib<name>.so is then that of the C library, or of a compiler, to who links with -l<name>.
_OF_SYSTEM = """
anl asan atomic c crypt dl gcc gcc_s gfortran gomp itm lsan m mvec nsl pthread quadmath resolv rt
ssp stdc thread_db tsan ubsan unwind util
""".split()  # noqa: SIM905 - read as words


def check_free(name: str, language: str) -> None:
    """Refuse a name under which the system or this Python has a library or module."""
    if LANGUAGES[language].shared == "plugin":
        taken = f"lib{name}.so is a library of the system" if name in _OF_SYSTEM else ""
    else:
        # `python -m` looks into the current directory too, where older projects may be.
        path = [place for place in sys.path if place not in ("", os.getcwd())]
        found = importlib.machinery.PathFinder.find_spec(name, path)
        taken = f"is a module of this Python, {found.origin}" if found and found.origin else ""
    if taken:
        message = f"{name!r}: {taken}; expected a name of your own, such as '{name}_plugin'"
        raise argparse.ArgumentTypeError(message)


def check_directory(text: str) -> str:
    """Give the path of a directory, which may not be there yet."""
    if not text:
        message = "'': expected the path of a new or an empty directory, such as 'alpha' or '.'"
        raise argparse.ArgumentTypeError(message)
    return text


def check_language(text: str) -> str:
    """Give a language, or name the nearest."""
    if text in LANGUAGES:
        return text
    import difflib  # noqa: PLC0415 - seldom used

    near = difflib.get_close_matches(text.lower(), [*LANGUAGES, *_ALSO], 1, 0.5)
    hint = f"; did you mean '{_ALSO.get(near[0], near[0])}'?" if near else ""
    message = f"{text!r:.80}: expected one of {', '.join(LANGUAGES)}{hint}"
    raise argparse.ArgumentTypeError(message)


_ALSO = {"c++": "cpp", "cxx": "cpp", "cc": "cpp", "rs": "rust", "pyx": "cython"}


def render(name: str, language: str) -> dict[str, str]:
    """Give the text of each file of a new project, by its path in it."""
    chosen = LANGUAGES[language]
    texts: dict[str, str] = {}
    for directory in (language, chosen.shared):
        top = os.path.join(_TEMPLATES, directory)
        for place, _, files in os.walk(top):
            for file in files:
                with open(os.path.join(place, file), encoding="utf-8") as template:
                    text = template.read()
                path = os.path.relpath(os.path.join(place, file), top).replace("NAME", name)
                if file == "gitignore.in":
                    path = ".gitignore"
                texts[re.sub(r"\.in$", "", path)] = text.replace("@plugin@", chosen.plugin).replace(
                    "@name@", name
                )
    return texts


def write_project(directory: str, texts: dict[str, str]) -> None:
    """Write the files, all or none, into a directory that is new or empty."""
    if os.path.isdir(directory) and os.listdir(directory):
        message = f"{directory}: isn't empty; expected a new or an empty directory"
        raise FileExistsError(message)
    made: list[str] = []
    try:
        for path in sorted(texts):
            place = os.path.join(directory, path)
            _make_directory(os.path.dirname(place), made)
            with open(place, "x", encoding="utf-8", newline="\n") as file:
                made.append(place)
                file.write(texts[path])
    except OSError:
        _take_back(made)
        raise


def _make_directory(path: str, made: list[str]) -> None:
    """Make a directory and those above it; note which are new."""
    if os.path.lexists(path) and not os.path.isdir(path):
        what = "is a file" if os.path.exists(path) else "is a link to nothing"
        message = f"{path}: {what}; expected a new or an empty directory"
        raise FileExistsError(message)
    if path and not os.path.isdir(path):
        _make_directory(os.path.dirname(path), made)
        os.mkdir(path)
        made.append(path)


def _take_back(made: list[str]) -> None:
    for path in reversed(made):
        (os.rmdir if os.path.isdir(path) else os.remove)(path)


def add_parser(commands: Any, program: str) -> None:
    """Add the command to the parsers of a command line."""
    summary = "write a small project that defines a flag"
    parser: argparse.ArgumentParser = commands.add_parser(
        "new",
        help=summary,
        description=f"{summary.capitalize()}, builds, tests and installs at once.",
        usage=f"{program} new NAME --lang LANGUAGE [--dir DIRECTORY]",
        epilog="languages:\n"
        + "".join(f"  {name:<10}{each.about}\n" for name, each in LANGUAGES.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "name", metavar="NAME", type=check_name, help="the name of the project, as in my_plugin"
    )
    parser.add_argument(
        "--lang",
        metavar="LANGUAGE",
        type=check_language,
        required=True,
        help=", ".join(LANGUAGES),
    )
    parser.add_argument(
        "--dir",
        metavar="DIRECTORY",
        type=check_directory,
        help="where to write it: a new or an empty directory; NAME",
    )
    parser.set_defaults(act=lambda options: _write(parser, options))


def complete(option: str, word: str) -> _completion.Answer:
    """Complete the value of an option."""
    if option == "--dir":
        return _completion.files(word)
    languages = (_completion.Candidate(name, each.about) for name, each in LANGUAGES.items())
    return _completion.match(languages, word)


def _write(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    directory = options.name if options.dir is None else options.dir
    try:
        check_free(options.name, options.lang)
        texts = render(options.name, options.lang)
        write_project(directory, texts)
    except argparse.ArgumentTypeError as error:
        parser.error(f"argument NAME: {error}")
    except OSError as error:  # a message of ours, or the system's
        told = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        parser.error(told)
    print_text(f"{directory}: {', '.join(sorted(texts))}")
    print_text(f"Next: cd {shlex.quote(directory)} && {LANGUAGES[options.lang].build}")
    print_text("README.md in it has all commands.")
