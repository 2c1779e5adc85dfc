"""C and C++ tests: each TEST of a test_*.c is a pytest item, run in a process of its own.

A line ` * Built with: <arguments>` in a source adds arguments for the compiler, and
` * Also built with (<label>): <arguments>` makes a second build, whose items carry the label.
$LIBRARY stands for an object of the whole library, compiled in; without it the program links
libpd_flags. plugins/<name>.c become shared libraries in the directory that $PLUGINS stands for;
the programs find it in their environment, and the file of libpd_flags as LIBRARY. $SOURCES stands
for csrc/src: a source of it that is compiled in can be tested by functions that the library doesn't
export.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import support
from packages import library_object, once

if TYPE_CHECKING:
    from collections.abc import Iterator

TEST = re.compile(r"^TEST\((\w+)\)", re.MULTILINE)
BUILT_WITH = re.compile(r"^ \* (?:Also built|Built) with(?: \((\w+)\))?:(.*)$", re.MULTILINE)
PLUGINS = pytest.StashKey[Path]()
PROGRAMS = pytest.StashKey["dict[tuple[Path, str], Path]"]()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.File | None:
    if file_path.suffix in (".c", ".cpp") and file_path.name.startswith("test_"):
        return SourceFile.from_parent(parent, path=file_path)
    return None


class SourceFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        text = self.path.read_text("utf-8")
        builds = dict(BUILT_WITH.findall(text))
        builds.setdefault("", "")
        for label, arguments in builds.items():
            if support.SANITIZE and "-fsanitize=" in arguments:
                continue  # compilers take one of these sanitizers at a time
            for name in TEST.findall(text):
                shown = f"{name}[{label}]" if label else name
                item = TestItem.from_parent(self, name=shown, test=name, arguments=arguments)
                if "-fsanitize=" in arguments:  # builds the whole library once more
                    item.add_marker(pytest.mark.release)
                yield item


class TestItem(pytest.Item):
    def __init__(self, *, test: str, arguments: str, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.test = test
        self.arguments = arguments

    def runtest(self) -> None:
        program = build_program(self.config, self.path, self.arguments)
        environment = {k: v for k, v in os.environ.items() if not k.startswith("FLAGS_")}
        environment["PLUGINS"] = str(plugins(self.config))
        environment["LIBRARY"] = f"{support.LIBDIR}/libpd_flags.so"
        support.run(program, self.test, env=environment, cwd=program.parent, errors="replace")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> str:  # type: ignore[override]
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


def expand(arguments: str, directory: Path) -> list[str]:
    sources = support.ROOT / "csrc" / "src"
    return arguments.replace("$PLUGINS", str(directory)).replace("$SOURCES", str(sources)).split()


def build_program(config: pytest.Config, source: Path, arguments: str) -> Path:
    """Build a test's program, once in a session."""
    made = config.stash.setdefault(PROGRAMS, {})
    if (source, arguments) not in made:
        directory = plugins(config)
        out = factory(config).mktemp(source.stem) / "program"
        flags = ("-pthread", *expand(arguments, directory))
        if "$LIBRARY" not in arguments:
            made[source, arguments] = support.build_program(out, source, flags=flags)
        else:
            checks = [word for word in (*support.CHECKED, *flags) if "sanitize" in word]
            library = library_object(factory(config), support.CC, *checks)
            flags = tuple(str(library) if word == "$LIBRARY" else word for word in flags)
            made[source, arguments] = support.build(out, source, flags=(*flags, "-ldl"))
    return made[source, arguments]


def factory(config: pytest.Config) -> pytest.TempPathFactory:
    return config._tmp_path_factory  # type: ignore[attr-defined,no-any-return]


def plugins(config: pytest.Config) -> Path:
    """Build plugins/*.c, once for all workers: the directory that they are in."""

    def make(directory: Path) -> None:
        for source in sorted((Path(__file__).parent / "plugins").glob("*.c")):
            found = BUILT_WITH.search(source.read_text("utf-8"))
            flags = expand(found[2], directory) if found else []
            support.build_plugin(directory / f"lib{source.stem}.so", source, flags=tuple(flags))

    if PLUGINS not in config.stash:
        config.stash[PLUGINS] = once(factory(config), "plugins", make)
    return config.stash[PLUGINS]
