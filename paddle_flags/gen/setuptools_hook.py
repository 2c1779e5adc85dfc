"""Flags from YAML in packages that setuptools builds.

    from paddle_flags.gen.setuptools_hook import Flags, cmdclass

    setup(
        ext_modules=[Extension("counter._native", ["native.c"])],
        cmdclass=cmdclass(Flags("flags.yaml", extension="counter._native", package="counter")),
    )

The sources are generated where objects are built, and compiled into the extension; the
Python module and its stub go into the package, with py.typed; the YAML files go into the source
distribution. Unchanged files aren't written, and so aren't compiled again.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.errors import OptionError, SetupError

from paddle_flags import get_include
from paddle_flags.errors import FlagError
from paddle_flags.gen import load_files
from paddle_flags.gen.problems import suggest
from paddle_flags.gen.read import find_companions
from paddle_flags.gen.render import SPLIT, render
from paddle_flags.gen.write import write_and_prune

if TYPE_CHECKING:
    from collections.abc import Sequence

TYPED = "py.typed"  # the mark of PEP 561


@dataclass(frozen=True)
class Flags:
    """One flags.yaml, with the files beside it, and where generated files go."""

    file: str
    extension: str | None = None  # the name of the extension that defines the flags
    package: str | None = None  # the name of the package that gets <name>_flags.py
    templates: str | None = None
    split: int = SPLIT

    def inputs(self) -> list[str]:
        """Return the YAML files, which must be in the source distribution."""
        return list(find_companions(self.file).values())

    def generate(self, languages: Sequence[str], directory: str) -> list[str]:
        """Write the files that changed; returns the paths of all files."""
        try:
            flags = load_files(find_companions(self.file))
            files = render(flags, languages, templates=self.templates, size=self.split)
            write_and_prune(files, directory)
        except FlagError as error:
            lines = "\n".join(str(each) for each in error.errors)
            raise SetupError(f"flags can't be generated:\n{lines}") from error
        return [os.path.join(directory, name) for name in files]


class _BuildExtension(build_ext):
    """Compiles generated sources into extensions."""

    sets: tuple[Flags, ...]

    def build_extensions(self) -> None:
        """Generate, then build."""
        known = {each.name: each for each in self.extensions}
        for each in self.sets:
            if each.extension is not None:
                _generate_into_extension(each, known, str(self.build_temp))
        super().build_extensions()


class _BuildPython(build_py):
    """Puts generated modules into packages."""

    sets: tuple[Flags, ...]

    def run(self) -> None:
        """Build, then generate."""
        super().run()
        for each in self.sets:
            if each.package is not None:
                each.generate(["python"], self._get_output_directory(each.package))
                mark = Path(self._get_output_directory(each.package), TYPED)
                if not mark.exists():  # without it, no type checker reads the stub
                    mark.touch()

    def _get_output_directory(self, package: str) -> str:
        if self.editable_mode:
            return str(self.get_package_dir(package))
        return os.path.join(str(self.build_lib), *package.split("."))

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        """Return the files to install."""
        made = [
            os.path.join(self._get_output_directory(each.package), name)
            for each in self.sets
            if each.package is not None
            for name in (*render(load_files(find_companions(each.file)), ["python"]), TYPED)
        ]
        return list(dict.fromkeys([*super().get_outputs(include_bytecode), *made]))

    def get_source_files(self) -> list[str]:
        """Return the files of a source distribution."""
        inputs = (path for each in self.sets for path in each.inputs())
        return [*super().get_source_files(), *inputs]  # type: ignore[no-untyped-call]


def cmdclass(
    *sets: Flags, ext: type[build_ext] = build_ext, py: type[build_py] = build_py
) -> dict[str, Any]:
    """Return the `cmdclass` for setup(); `ext` and `py` are the project's own commands."""
    return {
        "build_ext": type(
            "build_ext", _bases_with(_BuildExtension, ext, build_ext), {"sets": sets}
        ),
        "build_py": type("build_py", _bases_with(_BuildPython, py, build_py), {"sets": sets}),
    }


def _bases_with(ours: type, theirs: type, base: type) -> tuple[type, ...]:
    return (ours,) if theirs is base else (ours, theirs)


def _generate_into_extension(flags: Flags, known: dict[str, Any], build_temp: str) -> None:
    extension = known.get(flags.extension or "")
    if extension is None:
        names = ", ".join(known) or "none"
        hint = suggest(flags.extension or "", known)
        raise OptionError(f"extension: found '{flags.extension}', expected one of {names}{hint}")
    stem = os.path.splitext(os.path.basename(flags.file))[0]
    directory = os.path.join(build_temp, "pd_flags", extension.name, stem)
    made = flags.generate(["c"], directory)
    extension.sources = [*extension.sources, *(path for path in made if path.endswith(".c"))]
    extension.depends = [*extension.depends, *(path for path in made if path.endswith(".h"))]
    extension.include_dirs = [*extension.include_dirs, directory, get_include()]
