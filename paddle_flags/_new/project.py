"""The files of a new project with a flag, made from `templates/`."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from paddle_flags._core.missing import ON_INDEX

_TEMPLATES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "templates")


class _Language(NamedTuple):
    about: str
    shared: str  # the directory of what it has in common with others
    plugin: str  # what the build makes, where that is a plain shared library
    build: str  # what to do first


def _format_build_command(backend: str) -> str:
    return f"python -m pip install {backend} && python -m pip install --no-build-isolation ."


_SETUPTOOLS = "-U 'setuptools>=70.1'"

LANGUAGES = {
    "c": _Language("a plugin in C, built with make", "plugin", "lib@name@.so", "make test"),
    "cpp": _Language("a plugin in C++, built with make", "plugin", "lib@name@.so", "make test"),
    "cython": _Language(
        "a Python module in Cython", "module", "", _format_build_command(f"{_SETUPTOOLS} cython")
    ),
    "pybind11": _Language(
        "a Python module with pybind11",
        "module",
        "",
        _format_build_command(f"{_SETUPTOOLS} pybind11"),
    ),
    "nanobind": _Language(
        "a Python module with nanobind",
        "module",
        "",
        _format_build_command("scikit-build-core nanobind"),
    ),
    "rust": _Language(
        "a plugin in Rust, built with cargo",
        "plugin",
        "target/release/lib@name@.so",
        "cargo build --release",
    ),
    "zig": _Language("a plugin in Zig, built with make", "plugin", "lib@name@.so", "make test"),
    "c-wheel": _Language(
        "a Python package with a plugin in C",
        "module",
        "lib@name@.so",
        _format_build_command(_SETUPTOOLS),
    ),
}


# Projects name this package when the package index has it; until then, it is installed from a file.
if ON_INDEX:
    _REQUIREMENTS = {"@paddle_flags@": '["paddle_flags"]', "@and_paddle_flags@": ', "paddle_flags"'}
else:
    _REQUIREMENTS = {
        "@paddle_flags@": '[]  # add "paddle_flags" when the package index has it',
        "@and_paddle_flags@": "",
    }


def render_project_files(name: str, language: str) -> dict[str, str]:
    """Return the text of each file of a new project, by its path in it, which has slashes."""
    chosen = LANGUAGES[language]
    texts: dict[str, str] = {}
    values = {"@plugin@": chosen.plugin, "@name@": name, **_REQUIREMENTS}
    for directory in (language, chosen.shared):
        top = os.path.join(_TEMPLATES, directory)
        for place, _, files in os.walk(top):
            for file in files:
                with open(os.path.join(place, file), encoding="utf-8") as template:
                    text = template.read()
                path = os.path.relpath(os.path.join(place, file), top).replace("NAME", name)
                path = path.replace(os.sep, "/")
                if file == "gitignore.in":
                    path = ".gitignore"
                for key, value in values.items():
                    text = text.replace(key, value)
                texts[re.sub(r"\.in$", "", path)] = text
    return texts


def write_project(directory: str, texts: dict[str, str]) -> None:
    """Write the files, all or none, into a directory that is new or empty."""
    if os.path.isdir(directory) and os.listdir(directory):
        raise FileExistsError(f"{directory}: is not empty, expected a new or empty directory")
    made: list[str] = []
    try:
        for path in sorted(texts):
            place = os.path.join(directory, path)
            _make_directory(os.path.dirname(place), made)
            with open(place, "x", encoding="utf-8", newline="\n") as file:
                made.append(place)
                file.write(texts[path])
    except OSError:
        _remove_created(made)
        raise


def _make_directory(path: str, made: list[str]) -> None:
    """Make a directory and those above it; note which are new."""
    if os.path.lexists(path) and not os.path.isdir(path):
        what = "is a file" if os.path.exists(path) else "is a broken link"
        raise FileExistsError(f"{path}: {what}, expected a new or empty directory")
    if path and not os.path.isdir(path):
        _make_directory(os.path.dirname(path), made)
        os.mkdir(path)
        made.append(path)


def _remove_created(made: list[str]) -> None:
    for path in reversed(made):
        (os.rmdir if os.path.isdir(path) else os.remove)(path)
