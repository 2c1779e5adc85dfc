"""Valid names of projects: not taken by a language, module or library."""

from __future__ import annotations

import argparse
import importlib.machinery
import keyword
import os
import re
import sys

from paddle_flags._new.project import LANGUAGES

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
""".split()


def check_name(name: str) -> str:
    """Return the name of a project; an error says what was expected."""
    if not _NAME.fullmatch(name) or len(name) > _NAME_MAX:
        message = (
            f"{name!r:.80}: expected a letter, then letters, digits and '_', all lower-case,"
            f" at most {_NAME_MAX}"
        )
        usable = re.sub(r"[^a-z0-9_]+", "_", name.lower()).strip("_0123456789")[:_NAME_MAX]
        raise argparse.ArgumentTypeError(f"{message}, such as '{usable or 'alpha'}'")
    modules = sys.stdlib_module_names
    if name in _TAKEN or name in keyword.kwlist or name in modules:
        raise argparse.ArgumentTypeError(
            f"{name!r}: is a keyword of a language or the name of a well-known module, expected"
            f" another name, such as '{name}_plugin'"
        )
    return name


# lib<name>.so is then that of the C library, or of a compiler, to who links with -l<name>.
_OF_SYSTEM = """
anl asan atomic c crypt dl gcc gcc_s gfortran gomp itm lsan m mvec nsl pthread quadmath resolv rt
ssp stdc thread_db tsan ubsan unwind util
""".split()


def check_no_name_clash(name: str, language: str) -> None:
    """Refuse a name that a system library or a module of this Python has."""
    if LANGUAGES[language].shared == "plugin":
        taken = f"lib{name}.so is a system library" if name in _OF_SYSTEM else ""
    else:
        # `python -m` looks into the current directory too, where older projects may be.
        path = [place for place in sys.path if place not in ("", os.getcwd())]
        found = importlib.machinery.PathFinder.find_spec(name, path)
        taken = f"is a module of this Python, {found.origin}" if found and found.origin else ""
    if taken:
        message = f"{name!r}: {taken}, expected another name, such as '{name}_plugin'"
        raise argparse.ArgumentTypeError(message)
